"""Make the picture of a report that README shows.

    python tools/readme_picture.py leukemia-report/report.html docs/images/report.png

Needs Chromium and the package playwright.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(page_file: str, picture_file: str) -> None:
    """Open the page and keep its first screen."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1060, "height": 1170}, color_scheme="light")
        page.goto(Path(page_file).resolve().as_uri())
        page.screenshot(path=picture_file)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
