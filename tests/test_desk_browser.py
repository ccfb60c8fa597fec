"""The desk in a real browser: a sitting, two readers, the hidden guess, keys, small, dark."""

import csv
import os
import shutil
import threading
import zipfile

import pytest

from hesitant.datasets import simulate

desk_room = pytest.importorskip("hesitant.desk", reason="no desk: pip install 'hesitant[desk]'")
uvicorn = pytest.importorskip("uvicorn", reason="no uvicorn: pip install 'hesitant[desk]'")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="no playwright: pip install 'hesitant[test]'"
)
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
without_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser: install chromium (apt-get install chromium)"
)
pytestmark = [pytest.mark.slow, without_browser]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
FLAGS += ["--disable-background-networking"]
TOKEN = "browser-token"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield shown
        shown.close()


class Served:
    """A desk on a port of its own, and pages that look at it."""

    def __init__(self, folder, browser, **given):
        data = simulate(150, random_state=5)
        self.truth = {f"cell-{i}": "ab"[z] for i, z in enumerate(data.truth)}
        with (folder / "cells.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["cell", "CD3", "CD19", "note", "population"])
            for i, (x, y) in enumerate(zip(data.features, data.labels, strict=True)):
                told = "ungated" if y is None else "ab"[y]
                out.writerow([f"cell-{i}", *x, f"seen in the morning, {i}", told])
        self.desk = desk_room.Desk(folder / "cells.csv", "Anna", **given)
        self.desk.worker.settle()
        config = uvicorn.Config(lambda *_: None, port=0, log_level="warning")
        listening = config.bind_socket()
        self.port = listening.getsockname()[1]
        config.app = desk_room.make_app(self.desk, TOKEN, self.port)
        self.server = uvicorn.Server(config)
        self.server.install_signal_handlers = lambda: None
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()
        self.browser, self.contexts, self.problems = browser, [], []

    def open(self, path="/", width=1200, reader="Anna", **options):
        """Open a page in a browser of its own and note what goes wrong."""
        context = self.browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", self._note)
        page.goto(f"http://127.0.0.1:{self.port}{path}?token={TOKEN}&reader={reader}")
        return page

    def _note(self, request):
        if not request.url.startswith(f"http://127.0.0.1:{self.port}/"):
            self.problems.append(request.url)

    def answer(self, page, key=None):
        """Press a key, by default that of the truth, and wait for the next case."""
        case = page.locator("#case .case")
        row, name = case.get_attribute("data-row"), case.get_attribute("data-id")
        page.keyboard.press(key or str("ab".index(self.truth[name]) + 1))
        page.wait_for_selector(f"#case .case:not([data-row='{row}'])")
        page.wait_for_function(
            "name => document.querySelector('#last').textContent.startsWith(name)", arg=name
        )
        return name

    def close(self):
        """Close all windows, then the desk."""
        for context in self.contexts:
            context.close()
        self.server.should_exit = True
        self.thread.join()
        self.desk.close()
        assert self.problems == []


@pytest.fixture
def serve(browser, tmp_path):
    """Return a function that serves a desk; nothing may have gone wrong at the end."""
    served = []

    def start(**given):
        served.append(Served(tmp_path, browser, **given))
        return served[-1]

    yield start
    for desk in served:
        desk.close()


def test_a_whole_sitting(serve, tmp_path):
    served = serve()
    page = served.open()
    # columns: all guessed but what to look at
    assert page.locator("h1").inner_text() == "Which column is what?"
    assert page.input_value("#label") == "population"
    assert page.input_value("#id") == "cell"
    assert page.input_value("#blank") == "ungated"
    page.select_option("#show", "note")
    page.click("button.go")
    page.wait_for_selector("#case .case")
    assert "seen in the morning" in page.locator(".show").inner_text()
    names = [served.answer(page) for _ in range(8)]
    names.append(served.answer(page, "0"))
    names.append(served.answer(page, "n"))
    assert len(set(names)) == 10
    # undo by key: the last case is back
    page.keyboard.press("u")
    page.wait_for_selector(f"#case .case[data-id='{names[-1]}']")
    assert "taken back" in page.locator("#last").inner_text()
    # a reload keeps the case and the count
    page.reload()
    page.wait_for_selector(f"#case .case[data-id='{names[-1]}']")
    assert "9 answers so far" in page.locator(".answers").inner_text()
    kept = served.desk.journal.answers()
    assert [a["id"] for a in kept] == names[:9]
    assert [a["answer"] for a in kept] == ["label"] * 8 + ["cannot tell"]
    assert all(a["label"] == served.truth[a["id"]] for a in kept[:8])
    with page.expect_download() as waiting:
        page.click("nav >> text=Export")
    waiting.value.save_as(tmp_path / "out.zip")
    assert "cells.labelled.csv" in zipfile.ZipFile(tmp_path / "out.zip").namelist()
    page.click("text=What is learnt")
    page.wait_for_selector(".figures")
    assert "The next ten answers" in page.locator("#findings").inner_text()


def test_the_guess_is_hidden_until_the_answer(serve):
    served = serve(label="population", id="cell", audit=0)
    served.desk.configure(served.desk.guesses())
    served.desk.worker.settle()
    warned = []
    page = served.open()
    page.wait_for_selector("#case .case")
    page.on("response", lambda r: warned.append(r.url.partition("?")[0].rpartition("/")[2]))
    row = int(page.get_attribute("#case .case", "data-row"))
    model = served.desk.model
    guess, sure = "ab"[model.guess[row]], f"{100 * model.probability[row]:.0f} %"
    assert sure not in page.content()
    assert page.locator("#last").inner_text() == ""
    # every class is named by one button and one legend, in the order of the classes
    buttons = page.locator(".answers .class").all_inner_texts()
    assert [text.strip() for text in buttons] == ["a 1", "b 2"]
    other = "ab".replace(guess, "")
    page.click(f".answers [data-label={other}]")
    page.wait_for_selector("#last[data-agrees=false]")
    said = page.locator("#last").inner_text()
    assert f"you said {other}" in said
    assert f"guessed {guess} ({sure})" in said
    assert warned.index("answer") < warned.index("case")


def test_two_readers_at_once(serve):
    served = serve(label="population", audit=0.5)
    served.desk.configure(served.desk.guesses())
    anna, ben = served.open(), served.open(reader="Ben")
    for page in (anna, ben):
        page.wait_for_selector("#case .case")
    for _ in range(4):
        served.answer(anna)
        served.answer(ben, "1")
    kept = served.desk.journal.answers()
    assert [a["reader"] for a in kept] == ["Anna", "Ben"] * 4
    assert len({(a["row"], a["reader"]) for a in kept}) == 8
    ben.click("text=What is learnt")
    ben.wait_for_selector(".figures")
    text = ben.locator("#findings").inner_text()
    assert "Anna and Ben labelled" in text
    # the names of readers are kept apart by the address, so a window stays its reader's
    assert ben.input_value("#reader") == "Ben"


def test_keys_alone_and_no_answer_by_accident(serve):
    served = serve(label="population")
    served.desk.configure(served.desk.guesses())
    page = served.open()
    page.wait_for_selector("#case .case")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("Control+1")
    page.focus("#reader")
    page.keyboard.type("1")
    assert served.desk.journal.answers() == []
    page.focus("#case h1")
    # Tab goes on to the answers, where Enter and Space work too
    page.keyboard.press("Tab")
    while "class" not in (page.evaluate("document.activeElement.className") or ""):
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    row = page.get_attribute("#case .case", "data-row")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#case .case:not([data-row='{row}'])")
    (kept,) = served.desk.journal.answers()
    assert (kept["row"], kept["label"]) == (int(row), "a")
    # a key held down answers one case
    row = page.get_attribute("#case .case", "data-row")
    page.evaluate(
        "for (const repeat of [false, true, true])"
        " document.body.dispatchEvent("
        "new KeyboardEvent('keydown', {key: '0', repeat, bubbles: true}))"
    )
    page.wait_for_selector(f"#case .case:not([data-row='{row}'])")
    assert len(served.desk.journal.answers()) == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_and_dark(serve, scheme):
    served = serve(label="population")
    served.desk.configure(served.desk.guesses())
    page = served.open(width=390, color_scheme=scheme)
    page.wait_for_selector("#case .case")
    served.answer(page)
    for path, there in (("/", "#case .case"), ("/report", ".figures"), ("/setup", "#setup")):
        page.goto(f"http://127.0.0.1:{served.port}{path}")
        page.wait_for_selector(there)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        paper, ink = page.evaluate(
            "[getComputedStyle(document.documentElement).backgroundColor,"
            " getComputedStyle(document.body).color]"
        )
        light = [sum(map(int, color.strip("rgb()").split(","))) for color in (paper, ink)]
        assert (light[0] > light[1]) == (scheme == "light")
    page.goto(f"http://127.0.0.1:{served.port}/")
    page.wait_for_selector("#case .case")
    for button in page.locator(".answers button").all():
        assert button.is_visible()
        box = button.bounding_box()
        assert box["y"] + box["height"] <= 800  # in reach without scrolling
