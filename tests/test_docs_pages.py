"""The documentation is complete: every public name, link and picture is there."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
EXAMPLES = sorted((DOCS / "examples").glob("plot_*.py"))
ROOMS = (
    "families",
    "model_selection",
    "mechanisms",
    "uncertainty",
    "diagnostics",
    "inference",
    "report",
    "persistence",
    "datasets",
    "studies",
    "tables",
)


@pytest.mark.parametrize("room", ROOMS)
def test_reference_lists_every_public_name(room):
    reference = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    start = reference.index(f".. currentmodule:: hesitant.{room}\n")
    section = reference[start : reference.find(".. currentmodule::", start + 5)]
    registries = reference[reference.index("Registries") :]
    for name in importlib.import_module(f"hesitant.{room}").__all__:
        assert re.search(rf"^   {name}$", section, re.M) or f".{name}``" in registries, name


def test_reference_lists_the_top():
    import hesitant

    reference = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    for name in hesitant.__all__:
        if not name.startswith("__"):
            assert re.search(rf"^   {name}$|``{name}``", reference, re.M), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    made = {f"_pictures/{name}.png" for name in drawn_pictures()}
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if target.startswith("http"):
            continue
        example = re.fullmatch(r"gallery/(plot_\w+)\.rst", target)
        path = DOCS / "examples" / f"{example[1]}.py" if example else DOCS / target
        assert path.exists(), target
    # screenshots have a committed copy, for builds without a browser
    made |= {f"_pictures/{path.name}" for path in (DOCS / "_static" / "desk").glob("*.png")}
    for target in re.findall(r"^```\{figure\} (\S+)", text, re.M):
        assert target in made or (DOCS / target).exists(), target


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda p: p.name)
def test_files_that_pages_name_exist(page):
    for span in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
        for name in re.findall(r"[\w/]+\.py\b", span):
            where = (ROOT, ROOT / "src" / "hesitant")
            assert any((folder / name).exists() for folder in where), name


def test_the_report_page_explains_every_headline():
    from hesitant.diagnostics._diagnosis import _HEADLINES

    text = (DOCS / "report.md").read_text(encoding="utf-8")
    for headline in _HEADLINES.values():
        assert headline.format(row="row").partition(" to tell")[0] in text


def drawn_pictures():
    """Return the names in `PICTURES` of docs/pictures.py, without running it."""
    tree = ast.parse((DOCS / "pictures.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PICTURES":
            return [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name) and n.id != "f"]
    raise AssertionError("docs/pictures.py has no PICTURES")


def test_every_page_is_in_the_menu():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.stem != "index":
            assert re.search(rf"^{page.stem}$", index, re.M), page.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_have_a_title(path):
    lines = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
    assert set(lines[1]) == {"="}, "the gallery takes its title from the docstring"
    assert len(lines[1]) >= len(lines[0])


def test_own_family_and_mechanism_are_short():
    text = (DOCS / "extending.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    for block in blocks:
        assert len([line for line in block.splitlines() if line.strip()]) < 40


def test_citation_names_this_version():
    import hesitant

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {hesitant.__version__}\n" in text
