"""The picture of the packages, and the functions that its page names, are those of the code."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")

_spec = importlib.util.spec_from_file_location("draw_house", DOCS / "draw_house.py")
assert _spec is not None
assert _spec.loader is not None
draw_house = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(draw_house)


def arrows(found: dict[str, list[tuple[str, str, int]]]) -> list[tuple[str, str]]:
    return [(source, target) for source, target, _ in found["arrows"]]


def test_the_pictures_arrows_are_the_codes() -> None:
    """After a change of them: python docs/draw_house.py. Lines may differ."""
    stored = json.loads((DOCS / "house.json").read_text(encoding="utf-8"))
    now = draw_house.house()
    assert arrows(stored) == arrows(now)
    assert {name: sorted(told["rooms"]) for name, told in stored["packages"].items()} == {
        name: sorted(told["rooms"]) for name, told in now["packages"].items()
    }
    text = draw_house.PICTURE.read_text(encoding="utf-8")
    assert all(f"<!-- {name} " in text for name in draw_house.ORDER)


def test_no_arrow_goes_up() -> None:
    order = draw_house.ORDER
    assert [
        pair for pair in arrows(draw_house.house()) if order.index(pair[0]) >= order.index(pair[1])
    ] == []


NAMES = sorted(set(re.findall(rf"`((?:{'|'.join(draw_house.ORDER)})\.[\w.]+)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_exists(name: str) -> None:
    module, *rest = name.split(".")
    thing: object = importlib.import_module(module)
    for part in rest:
        module = f"{module}.{part}"
        thing = getattr(thing, part, None) or importlib.import_module(module)
    assert callable(thing), name
