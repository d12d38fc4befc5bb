"""A real browser for tests of pages: Chromium through Playwright, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)

CUT = """
() => {
  const scrolls = (e) => e !== document.body && e !== null
    && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  const found = [...document.body.querySelectorAll("*")].filter((e) =>
    e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && !scrolls(e)
    && !["SELECT", "OPTION", "INPUT"].includes(e.tagName) && !e.closest("svg"));
  return found.map((e) => `${e.tagName}.${e.className}: ${e.scrollWidth} > ${e.clientWidth}`);
}
"""
"""Elements whose content is wider than they are, but for what is meant to scroll."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A Chromium that is on the PATH; skips where it or Playwright is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright (pip install netcosim[browser])"
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no Chromium on the PATH (one of {', '.join(NAMES)})")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page in a browser, and what went wrong in it."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **context)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def text(self, selector: str) -> str:
        """The text of the first element, its spaces plain."""
        return self.page.locator(selector).first.inner_text().replace("\u00a0", " ")

    def texts(self, selector: str) -> list[str]:
        """The texts of all of them."""
        return [t.replace("\u00a0", " ") for t in self.page.locator(selector).all_inner_texts()]

    def cut(self) -> list[str]:
        """What is wider than its place; the whole page among it."""
        wide = self.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        return [*(["the page"] if wide else []), *self.page.evaluate(CUT)]
