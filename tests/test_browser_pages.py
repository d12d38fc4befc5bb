"""What every page does in a real browser: tables sort, terms explain themselves, figures follow."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import Opened

from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf
from netcosim.report.page import Section, render_page

pytestmark = pytest.mark.full

NASTY = '<img src=x onerror="window.hurt = 1">'
TABLE = pd.DataFrame(
    {
        "policy": ["b10", "b9", NASTY, "a", "none"],
        "wait_s": [1234.56, 1234.5, -2.0, 1e-7, np.nan],
        "jobs": [10, 9, 9, 1_000_000, 9],
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wide = pd.DataFrame({f"column number {i}": [i] for i in range(30)})
    figure = Drawing(
        "a", "A", [Panel(partial(cdf, samples={"a": [1.0, 2.0], NASTY: [3.0]}, xlabel="time (s)"))]
    ).draw()
    text = render_page(
        "Waits",
        "The makespan and the stretch.",
        [
            Section("Table", "What a wait is.", TABLE),
            Section("Wide", table=wide),
            Section("Figure", figure=figure, caption="A figure."),
            Section(NASTY, NASTY, TABLE.head(1), folded=True),
        ],
        config="a = 1\n" + "x" * 300,
    )
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    found = Opened(browser, path)
    yield found
    assert found.wrong == []
    assert not found.page.evaluate("window.hurt")
    found.context.close()


def order(opened: Opened) -> list[str]:
    return opened.texts("#table tbody tr td:first-child")


def head(opened: Opened, column: int) -> Any:
    return opened.page.locator("#table th button").nth(column)


def test_numbers_sort_by_value_and_what_has_none_stays_last(opened: Opened) -> None:
    head(opened, 1).click()
    assert order(opened) == [NASTY, "a", "b9", "b10", "none"]
    assert opened.page.locator("#table th").nth(1).get_attribute("aria-sort") == "ascending"
    head(opened, 1).click()
    assert order(opened) == ["b10", "b9", "a", NASTY, "none"]
    assert opened.page.locator("#table th[aria-sort]").count() == 1
    assert opened.page.locator("#table th").nth(1).get_attribute("aria-sort") == "descending"


def test_equal_rows_keep_their_order_both_ways_and_texts_count(opened: Opened) -> None:
    head(opened, 2).press("Enter")
    assert order(opened) == ["b9", NASTY, "none", "b10", "a"]
    head(opened, 2).press("Space")
    assert order(opened) == ["a", "b10", "b9", NASTY, "none"]
    head(opened, 0).click()
    found = order(opened)
    assert found.index("b9") < found.index("b10")


def test_a_terms_meaning_is_a_hover_a_tab_or_a_tap_away(opened: Opened) -> None:
    page, tip = opened.page, opened.page.locator("#tip")
    term = page.locator(".lead abbr.term").first
    assert not tip.is_visible()
    term.hover()
    assert tip.inner_text().startswith("From the first submission")
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    term.focus()
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator("#table th button").nth(1).focus()
    assert tip.inner_text() == "From submission to start."
    page.locator("#table p abbr.term").click()
    assert tip.inner_text() == "From submission to start."
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280


def test_the_first_stop_of_the_keyboard_skips_to_the_content(opened: Opened) -> None:
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.className") == "skip"
    assert opened.page.locator(".skip").bounding_box()["x"] >= 0


def test_a_link_to_what_is_folded_opens_it(opened: Opened) -> None:
    fold = opened.page.locator("#glossary details")
    assert fold.get_attribute("open") is None
    opened.page.locator("nav a[href='#glossary']").click()
    opened.page.wait_for_selector("#glossary details[open]")
    assert "From the first submission" in opened.text("#glossary dl")


INK = """(selector) => {
  const value = getComputedStyle(document.querySelector(selector)).fill.match(/[0-9.]+/g);
  return value.slice(0, 3).map(Number);
}"""


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_a_figures_ink_follows_the_scheme(
    browser: Any, path: Path, scheme: str, dark: bool
) -> None:
    found = Opened(browser, path, color_scheme=scheme)
    ink = found.page.evaluate(INK, ".drawing svg text")
    assert (min(ink) > 200) == dark
    assert (max(ink) < 60) != dark
    family = "(s) => getComputedStyle(document.querySelector(s)).fontFamily"
    assert found.page.evaluate(family, ".drawing svg text") == found.page.evaluate(family, "p")
    found.page.emulate_media(media="print", color_scheme=scheme)
    assert found.page.evaluate(INK, ".drawing svg text") == [0, 0, 0]
    assert not found.page.locator("nav.contents").is_visible()
    found.context.close()


def test_a_phone_shows_all_and_scrolls_what_is_wide_in_its_own_box(
    browser: Any, path: Path
) -> None:
    found = Opened(browser, path, width=390)
    found.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert found.cut() == []
    wide = found.page.locator("#wide .scroll").first
    assert wide.get_attribute("tabindex") == "0"
    before = found.page.locator("#wide td").first.bounding_box()
    wide.evaluate("(box) => { box.scrollLeft = 400; }")
    assert found.page.locator("#wide td").first.bounding_box() == before
    assert found.page.locator("#wide td").nth(1).bounding_box()["x"] < 0
    found.context.close()
