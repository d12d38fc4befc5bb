"""Draw ``images/report.png``: ``python docs/draw_report.py``, the demo's page in a browser.

Beside each other the top of the page, and the machine with a job chosen. Needs Chromium on the
path and Playwright (``pip install "netcosim[browser]"``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
WIDTH, HEIGHT, GAP = 720, 900, 24
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
)


def take(page: Path, folder: Path) -> list[Path]:
    """Pictures of the page's verdict, and of the job that is slowed most on the machine."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no Chromium on the path")
    shots = [folder / "verdict.png", folder / "machine.png"]
    with sync_playwright() as running:
        program = running.chromium.launch(executable_path=browser, args=list(QUIET))
        shown = program.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(page.resolve().as_uri())
        shown.screenshot(path=shots[0])
        shown.click(".views-measured tbody .views-link >> nth=0")
        slider = shown.locator(".views input[type=range]").first
        slider.evaluate("e => scrollTo(0, e.getBoundingClientRect().top + scrollY - 60)")
        shown.wait_for_timeout(500)
        shown.screenshot(path=shots[1])
        program.close()
    return shots


def draw(page: Path, out: Path) -> None:
    """Put the pictures beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        both = Image.new("RGB", (2 * WIDTH + GAP, HEIGHT), "#c8ccd0")
        for number, shot in enumerate(take(page, Path(folder))):
            both.paste(Image.open(shot).convert("RGB"), (number * (WIDTH + GAP), 0))
    both.quantize(256).save(out, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "netcosim", "demo"], cwd=folder, check=True)
        draw(Path(folder) / "netcosim-demo" / "report.html", PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
