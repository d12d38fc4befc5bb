"""Short text and HTML table of results, for consoles and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from netsim.units import title_and_unit

Kind = TypeVar("Kind", bound=type)
LONGEST = 80
"""Characters of a value."""
MOST_ITEMS = 8
"""Of a list, before it is a number of items."""
_LEFT = ' style="text-align:left"'


def short_repr(*names: str) -> Callable[[Kind], Kind]:
    """Give a class a ``repr`` of a few lines, and an HTML table with the same content.

    Shown are attributes, dots allowed ("config.machine"), by default the fields of the dataclass.
    Arrays are shown by length, type and range, long lists by length, other results by name.
    """

    def text(self: Any) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in _shown(self, names).items())
        return f"{type(self).__name__}({inner})"

    def html(self: Any) -> str:
        rows = []
        for name, value in _shown(self, names).items():
            title, unit = title_and_unit(name.replace(".", " "))
            shown = escape(f"{value} {unit}".rstrip())
            cells = f"<th{_LEFT}>{escape(title)}</th><td{_LEFT}>{shown}</td>"
            rows.append(f"<tr>{cells}</tr>")
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"

    def decorate(cls: Kind) -> Kind:
        cls.__repr__ = text  # type: ignore[assignment]
        cls._repr_html_ = html  # type: ignore[attr-defined]
        return cls

    return decorate


def _shown(value: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the text of each attribute that has a value."""
    chosen = names or [field.name for field in fields(value) if field.repr]
    found = {name: attrgetter(name)(value) for name in chosen}
    return {name: text_of(one) for name, one in found.items() if not _is_empty(one)}


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, (np.ndarray, Mapping, tuple)) and not len(value))


def text_of(value: object) -> str:
    """Return a value in at most `LONGEST` characters."""
    if isinstance(value, np.ndarray):
        text = _array(value)
    elif isinstance(value, Mapping):
        more = f", ... {len(value)} keys" if len(value) > MOST_ITEMS else ""
        text = "{" + ", ".join(map(str, list(value)[:MOST_ITEMS])) + more + "}"
    elif isinstance(value, (tuple, list, range)):
        text = _sequence(value)
    elif isinstance(value, float):
        text = f"{value:.6g}"
    elif is_dataclass(value) and not isinstance(value, type):
        text = f"{type(value).__name__} {getattr(value, 'name', '')}".rstrip()
    else:
        text = repr(value)
        if " at 0x" in text:  # an address has no meaning to a reader
            text = type(value).__name__
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _sequence(values: Sequence[object]) -> str:
    simple = all(isinstance(value, (str, int, float)) for value in values)
    if simple and len(values) <= MOST_ITEMS:
        return repr(list(values))
    return f"{len(values)} x {type(values[0]).__name__}"


def _array(values: np.ndarray[Any, Any]) -> str:
    size = " x ".join(map(str, values.shape))
    if values.ndim == 1 and len(values) <= MOST_ITEMS:
        return f"[{', '.join(text_of(value) for value in values.tolist())}]"
    flat = values.ravel()
    known = flat[np.isfinite(flat)] if values.dtype.kind in "iuf" else flat[:0]
    span = f", {known.min():.6g} to {known.max():.6g}" if known.size else ""
    return f"<{size} {values.dtype}{span}>"
