"""The picture of the packages, and the functions that its page names, are those of the code."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")

_spec = importlib.util.spec_from_file_location("draw_house", DOCS / "draw_house.py")
assert _spec is not None
assert _spec.loader is not None
draw_house = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(draw_house)


@cache
def found() -> dict[str, Any]:
    return draw_house.house()


def arrows(found: dict[str, list[tuple[str, str, int]]]) -> list[tuple[str, str]]:
    return [(source, target) for source, target, _ in found["arrows"]]


def test_the_picture_has_every_package_and_every_arrow(tmp_path: Path) -> None:
    draw_house.draw(found(), tmp_path / "house.svg")
    text = (tmp_path / "house.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} " in text for name in draw_house.ORDER)
    # a width of 1 is the default and is left out
    drawn = re.findall(r"stroke: #7d93ad;(?: stroke-width: [\d.]+;)? stroke-linecap", text)
    assert len(drawn) == 2 * len(arrows(found()))  # a line and its head


def test_no_arrow_goes_up() -> None:
    order = draw_house.ORDER
    assert [pair for pair in arrows(found()) if order.index(pair[0]) >= order.index(pair[1])] == []


NAMES = sorted(set(re.findall(rf"`((?:{'|'.join(draw_house.ORDER)})\.[\w.]+)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_exists(name: str) -> None:
    module, *rest = name.split(".")
    thing: object = importlib.import_module(module)
    for part in rest:
        module = f"{module}.{part}"
        thing = getattr(thing, part, None) or importlib.import_module(module)
    assert callable(thing) or inspect.ismodule(thing), name
