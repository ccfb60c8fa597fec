"""The code of the documentation and of the docstrings runs, and prints what it claims to print."""

import doctest
import importlib
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import hesitant

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["../README.md", *sorted(path.name for path in DOCS.glob("*.md"))]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+\.\d+(?:e[-+]?\d+)?")


class Tolerant(doctest.OutputChecker):
    """Forgives decimals that differ in the last digit printed, or by two parts in a hundred."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        wanted, found = NUMBER.findall(want), NUMBER.findall(got)
        if len(wanted) != len(found) or not all(map(self.near, wanted, found)):
            return False
        return super().check_output(NUMBER.sub("#", want), NUMBER.sub("#", got), optionflags)

    @staticmethod
    def near(a, b):
        last_digit = 10.0 ** -len(a.partition(".")[2].partition("e")[0])
        x, y = (float(v.replace("−", "-")) for v in (a, b))
        return abs(x - y) <= max(1.01 * last_digit, 0.02 * abs(x))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def cells(page):
    """Yield (first line, language, code) of every Python block of a page."""
    language, start, lines = None, 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines()):
        if language is None and line.strip() in ("```python", "```pycon"):
            language, start, lines = line.strip()[3:], number + 1, []
        elif language is not None and line.strip() == "```":
            yield start, language, "\n".join(lines) + "\n"
            language = None
        elif language is not None:
            lines.append(line)


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    page, parser, failures = DOCS / name, doctest.DocTestParser(), []
    names = {"__name__": "__main__"}
    for start, language, code in cells(page):
        if language == "python":
            exec(compile("\n" * start + code, str(page), "exec"), names)
            continue
        test = parser.get_doctest(code, names, name, str(page), start)
        runner = doctest.DocTestRunner(Tolerant(), optionflags=OPTIONS)
        runner.run(test, out=failures.append, clear_globs=False)
        names.update(test.globs)
    assert not failures, "".join(failures)


def modules():
    for info in pkgutil.walk_packages(hesitant.__path__, "hesitant."):
        if not info.name.endswith("__main__"):
            yield info.name


@pytest.mark.parametrize("name", ["hesitant", *modules()])
def test_docstrings(name):
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    failures = []
    runner = doctest.DocTestRunner(Tolerant(), optionflags=OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in finder.find(module, name):
            runner.run(test, out=failures.append)
    assert not failures, "".join(failures)
