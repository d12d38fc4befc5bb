"""Draw ``images/report.png``: ``python docs/draw_report.py``, the demo's page in a browser.

The page's answer, and below it the figure of its policies. Needs Chromium on the
path and Playwright (``pip install "netcosim[browser]"``).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
WIDTH, GAP = 720, 4
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
)


def take(page: Path, folder: Path) -> list[Path]:
    """Pictures of the page's answer, and of its policies."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no Chromium on the path")
    shots = [folder / "answer.png", folder / "policies.png"]
    with sync_playwright() as running:
        program = running.chromium.launch(executable_path=browser, args=list(QUIET))
        shown = program.new_page(viewport={"width": WIDTH, "height": 900})
        shown.goto(page.resolve().as_uri())
        _shoot(shown, "h1", "#recommendation .recommendation", 8, shots[0])
        _shoot(shown, "#policies .legend", "#policies figure", 8, shots[1])
        program.close()
    return shots


def _shoot(shown: Page, first: str, last: str, below: int, out: Path) -> None:
    """The page from one element to another, and some pixels below it."""
    shown.evaluate("scrollTo(0, 0)")  # what sticks to the top stays there
    top = shown.locator(first).first.evaluate("e => e.getBoundingClientRect().top") - 16
    end = shown.locator(last).first.evaluate("e => e.getBoundingClientRect().bottom") + below
    clip = {"x": 0, "y": top, "width": WIDTH, "height": end - top}
    shown.screenshot(path=out, full_page=True, clip=clip)


def draw(page: Path, out: Path) -> None:
    """Put the pictures below each other."""
    with tempfile.TemporaryDirectory() as folder:
        shots = [Image.open(shot).convert("RGB") for shot in take(page, Path(folder))]
    height = sum(shot.height for shot in shots) + GAP * (len(shots) - 1)
    both = Image.new("RGB", (WIDTH, height), "#c8ccd0")
    top = 0
    for shot in shots:
        both.paste(shot, (0, top))
        top += shot.height + GAP
    both.quantize(256).save(out, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "netcosim", "demo"], cwd=folder, check=True)
        draw(Path(folder) / "netcosim-demo" / "report.html", PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
