"""Draw ``images/report.png``: ``python docs/draw_report.py``, the demo's page in a browser.

Needs Chromium (or Chrome) on the path. The picture is the top of the page as a reader of a
laptop sees it, in at most 300 kB.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

PICTURE = Path(__file__).resolve().parent / "images" / "report.png"
WIDTH, HEIGHT = 1200, 1000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-color-profile=srgb", "--virtual-time-budget=5000"),
)


def draw(page: Path, out: Path) -> None:
    """Take a picture of the top of a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is here")
    with tempfile.TemporaryDirectory() as profile:
        shot = Path(profile) / "shot.png"
        where = (f"--user-data-dir={profile}", f"--screenshot={shot}")
        subprocess.run(
            [browser, *QUIET, *where, f"--window-size={WIDTH},{HEIGHT}", page.resolve().as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(128).save(out, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "netcosim", "demo"], cwd=folder, check=True)
        draw(Path(folder) / "netcosim-demo" / "report.html", PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
