"""Check that what is installed is exactly what pyproject.toml declares as the least."""

import re
import sys
import tomllib
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path

SKIPPED = ("docs", "dev")  # tools, of which any version will do


def numbers(text: str) -> list[int]:
    """Return the parts of a version."""
    return [int(part) for part in re.findall(r"\d+", text)]


project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
declared = [*project["dependencies"]]
declared += [line for name, lines in extras.items() if name not in SKIPPED for line in lines]
wrong = []
for line in declared:
    found = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)", line)
    if found is None:
        continue  # the package's own extras
    name, least = found.groups()
    pairs = zip_longest(numbers(version(name)), numbers(least), fillvalue=0)
    if any(have != want for have, want in pairs):
        wrong.append(f"{name} {version(name)}, declared from {least}")
if wrong:
    sys.exit("The declared versions do not install together: " + "; ".join(wrong))
