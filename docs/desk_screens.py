"""Screenshots of the desk for its page; where no browser is, the committed ones are used.

``python docs/desk_screens.py`` makes the committed ones anew.
"""

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

NAMES = ("desk_columns", "desk_case", "desk_learnt", "desk_phone")
KEPT = Path(__file__).parent / "_static" / "desk"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
FLAGS += ["--disable-background-networking"]


def shoot(folder):
    """Write the screenshots to a folder: fresh ones, or the committed ones without a browser."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
    try:
        import uvicorn  # noqa: F401
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        for name in NAMES:
            shutil.copy(KEPT / f"{name}.png", folder)
        return
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=browser, args=FLAGS)
        with _Served(Path(place)) as served:
            _sit(shown, served, Path(folder))
        shown.close()


class _Served:
    """Invented cells on a desk."""

    def __init__(self, place):
        import uvicorn

        from hesitant.datasets import make_cytometry_like
        from hesitant.desk import Desk, make_app

        data = make_cytometry_like(1200, random_state=1)
        frame = data.to_frame("population")
        frame.insert(0, "cell", [f"cell-{i + 1:04d}" for i in range(len(frame))])
        frame.to_csv(place / "cells.csv", index=False, float_format="%.1f")
        self.truth = dict(zip(frame["cell"], data.truth, strict=True))
        self.desk = Desk(place / "cells.csv", "Anna", audit=0.3)
        self.desk._seed = 1  # the same cases in every build
        config = uvicorn.Config(None, port=0, log_level="warning")
        listening = config.bind_socket()
        self.port = listening.getsockname()[1]
        config.app = make_app(self.desk, "shown", self.port)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.server.should_exit = True
        self.thread.join()
        self.desk.close()

    def address(self, path="/", reader="Anna"):
        """Return where a page is."""
        return f"http://127.0.0.1:{self.port}{path}?token=shown&reader={reader}"


def _sit(browser, served, folder):
    page = browser.new_page(viewport={"width": 1000, "height": 690})
    page.goto(served.address())
    page.screenshot(path=folder / "desk_columns.png", full_page=True)
    page.click("button.go")
    page.wait_for_selector("#case .case")
    served.desk.worker.settle()
    classes = list(served.desk.data.setup.classes)
    for reader in ("Anna", "Ben"):
        for k in range(40):
            case = served.desk.case(reader)
            told = None if k % 6 == 5 else classes[(classes.index(served.truth[case["id"]]))]
            if reader == "Ben" and k % 4 == 1:
                told = "other"
            served.desk.answer(reader, case["row"], "label" if told else "cannot tell", told)
            served.desk.worker.settle()
    page.goto(served.address())
    for _ in range(2):
        page.wait_for_selector("#case .case")
        row, name = (page.get_attribute("#case .case", f"data-{k}") for k in ("row", "id"))
        page.keyboard.press(str(classes.index(served.truth[name]) + 1))
        page.wait_for_selector(f"#case .case:not([data-row='{row}'])")
        page.wait_for_function("document.querySelector('#last').textContent")
        served.desk.worker.settle()
    page.screenshot(path=folder / "desk_case.png")
    page.goto(served.address("/report"))
    page.wait_for_selector(".figures")
    page.screenshot(path=folder / "desk_learnt.png", full_page=True)
    phone = browser.new_page(viewport={"width": 390, "height": 760}, color_scheme="dark")
    phone.goto(served.address(reader="Ben"))
    phone.wait_for_selector("#case .case")
    phone.screenshot(path=folder / "desk_phone.png")


def _shrink(path):
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").quantize(160).save(path, optimize=True)


if __name__ == "__main__":
    KEPT.mkdir(parents=True, exist_ok=True)
    shoot(KEPT)
    for name in NAMES:
        _shrink(KEPT / f"{name}.png")
    sys.exit()
