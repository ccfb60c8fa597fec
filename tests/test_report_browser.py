"""The report in a real browser: no errors, no network, pictures, sorting, phone and desktop."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.report import make_report

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright: pip install 'hesitant[test]'"
)
without_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser: install chromium (apt-get install chromium)"
)
pytestmark = [pytest.mark.slow, without_browser]

WIDTHS = {"phone": 390, "desktop": 1280}
PICTURES = 5  # the map, reliability, two of the evidence, what if


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """Write a report with hostile names, for a browser to stumble over."""
    data = simulate(300, random_state=1)
    hostile = ["<img src=x onerror=document.title='hacked'>", "</script><b>" + "Z" * 10_000]
    y = np.array([None if v is None else hostile[v] for v in data.labels], dtype=object)
    clf = MixtureClassifier(missing_label=None).fit(data.features, y)
    ids = [f"</title>{i}" for i in range(300)]
    report = make_report(
        clf, data.features, y, ids=ids, name="<h1>x", notes=["<script>1</script>"]
    )
    return report.write_html(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
        flags += ["--disable-background-networking", "--disable-component-update"]
        shown = driver.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield shown
        shown.close()


@pytest.fixture
def open_page(browser, page_file):
    """Return a function that opens the report and notes errors and requests."""
    contexts = []

    def visit(width, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.problems, page.requests = [], []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(page_file.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_stands_by_itself(open_page, page_file, width, scheme):
    page = open_page(WIDTHS[width], color_scheme=scheme)
    assert page.problems == []
    assert page.requests == [page_file.as_uri()]
    assert page.title().startswith("The blanks mark the hard cases.")
    # nothing sticks out sideways, whatever the names
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
    charts = page.locator("svg.chart")
    assert charts.count() == PICTURES
    for k in range(PICTURES):
        box = charts.nth(k).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 120
    # ink on paper, in both schemes
    paper, ink = page.evaluate(
        "[getComputedStyle(document.documentElement).backgroundColor,"
        " getComputedStyle(document.body).color]"
    )
    lightness = [sum(map(int, c.strip("rgb()").split(","))) for c in (paper, ink)]
    assert (lightness[0] > lightness[1]) == (scheme == "light")


def column(page, k):
    return page.evaluate(
        "k => [...document.querySelector('#triage table').tBodies[0].rows]"
        ".filter(row => !row.hidden)"
        ".map(row => row.cells[k].dataset.sort ?? row.cells[k].textContent)",
        k,
    )


def test_the_triage_list_sorts_by_mouse_and_keyboard(open_page):
    page = open_page(1280)
    heads = page.locator("#triage table").first.locator("thead th")
    before = [float(v) for v in column(page, 3)]
    heads.nth(3).locator("button").click()
    assert heads.nth(3).get_attribute("aria-sort") == "ascending"
    assert [float(v) for v in column(page, 3)] == sorted(before)
    heads.nth(3).locator("button").press("Enter")
    assert heads.nth(3).get_attribute("aria-sort") == "descending"
    assert [float(v) for v in column(page, 3)] == sorted(before, reverse=True)
    heads.nth(1).locator("button").click()
    assert heads.nth(3).get_attribute("aria-sort") is None
    assert column(page, 1)[0].startswith("</title>")
    assert page.problems == []


def test_tables_are_filtered_and_downloaded(open_page, tmp_path):
    page = open_page(1280)
    every = column(page, 1)
    page.locator("#triage input[type=search]").first.fill(every[3])
    assert every[3] in column(page, 1)
    assert len(column(page, 1)) < len(every)
    with page.expect_download() as waiting:
        page.locator("#triage .tools button").first.click()
    waiting.value.save_as(tmp_path / "rows.csv")
    text = (tmp_path / "rows.csv").read_text(encoding="utf-8-sig")
    lines = text.splitlines()
    assert lines[0].startswith("rank,row,predicted")
    assert len(lines) == 1 + len(column(page, 1))
    assert page.problems == []


def test_points_say_which_row_they_are(open_page):
    """By pointer and by keyboard; a click finds the row in the list."""
    page = open_page(1280, reduced_motion="reduce")  # a page that still scrolls moves its points
    chart, tip = page.locator("svg.rows"), page.locator("#tip")
    assert not tip.is_visible()
    chart.focus()
    page.keyboard.press("ArrowRight")
    first = tip.inner_text()
    assert first.startswith("</title>")
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() != first
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    # the first blank point that the triage list has, wherever it lies
    x, y, row = page.evaluate(
        """() => {
            const path = document.querySelector("svg.rows path.dots.blank");
            const places = path.getAttribute("d").split("M").slice(1);
            const rows = path.dataset.rows.split(" ");
            const k = rows.findIndex((r) => document.querySelector(`#triage tr[data-row="${r}"]`));
            const [a, b] = places[k].split("h")[0].split(",").map(Number);
            const svg = path.ownerSVGElement;
            svg.scrollIntoView({ block: "center", behavior: "instant" });
            const at = new DOMPoint(a, b).matrixTransform(svg.getScreenCTM());
            return [at.x, at.y, rows[k]];
        }"""
    )
    page.mouse.move(x, y)
    tip.filter(has_text=f"</title>{row}").wait_for()
    page.mouse.click(x, y)
    assert page.locator("tr.found").get_attribute("data-row") == row
    assert page.problems == []


def test_everything_is_there_without_javascript(open_page):
    page = open_page(390, java_script_enabled=False)
    assert page.locator("svg.chart").count() == PICTURES
    assert page.locator("thead button").count() == 0
    assert page.locator("#triage tbody tr").count() > 50
    assert page.locator("h1").inner_text() == "The blanks mark the hard cases."


def test_the_keyboard_reaches_the_report(open_page):
    page = open_page(1280)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")


CONTRAST = """
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const bytes = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ratio = (a, b) => {
    const [x, y] = [light(bytes(a)), light(bytes(b))];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (bytes(color)[3] === 255) return color;
    }
    return "white";
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const seen = ratio(e.closest("svg") ? style.fill : style.color, behind(e));
    if (seen < 4.5) bad.push(`${e.tagName} ${e.className} ${seen.toFixed(2)}`);
  }
  const root = getComputedStyle(document.documentElement);
  for (const name of ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "labelled", "blank"]) {
    const seen = ratio(root.getPropertyValue(`--${name}`), root.backgroundColor);
    if (seen < 3) bad.push(`${name} ${seen.toFixed(2)}`);
  }
  return bad;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(open_page, scheme):
    """WCAG AA: 4.5 for text, 3 for the marks of pictures."""
    page = open_page(1280, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("width", [1100, 1280, 1920])
def test_the_triage_list_is_not_cut_off(open_page, width):
    page = open_page(width)
    # names as short as most are
    page.evaluate(
        "for (const cell of document.querySelectorAll('#triage td.tight, #triage td[title]'))"
        " cell.lastChild.textContent = 'CD5+ B cells'"
    )
    inside, whole = page.evaluate(
        "(tall => [tall.clientWidth, tall.scrollWidth])(document.querySelector('#triage .scroll'))"
    )
    assert whole <= inside


def test_a_printed_table_has_its_head_on_every_page(open_page):
    page = open_page(800)
    page.emulate_media(media="print")
    look = page.evaluate(
        "(head => [getComputedStyle(head).position,"
        " getComputedStyle(head.querySelector('button')).display])"
        "(document.querySelector('.tall thead th'))"
    )
    assert look == ["static", "contents"]
    swatch = page.locator(".swatch").first
    assert swatch.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact"


def test_print_is_dark_on_white(open_page):
    page = open_page(800, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    printed = page.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 6
