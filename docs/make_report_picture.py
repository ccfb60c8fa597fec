"""Take the README's picture of a report: the top of the page, as Chromium shows it."""

import os
import shutil
import tempfile
from pathlib import Path

from pictures import example_report
from PIL import Image
from playwright.sync_api import sync_playwright

TARGET = Path(__file__).parent / "_static" / "report.png"
WIDTH, HEIGHT = 1200, 1660


def main():
    """Write the picture."""
    browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = Path(folder) / "report.html"
        page_file.write_text(example_report(), encoding="utf-8")
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.as_uri())
        page.screenshot(path=str(TARGET))
        chromium.close()
    # the page has few colours: a palette makes the file much smaller
    small = Image.open(TARGET).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE)
    small.save(TARGET, optimize=True)


if __name__ == "__main__":
    main()
