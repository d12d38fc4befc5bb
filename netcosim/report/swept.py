"""What a sweep varies: axes with their values, and the place of each point on them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netsim.units import format_quantity, quantity_of, short_name

if TYPE_CHECKING:
    import pandas as pd

REPETITIONS = ("run.seed", "run.repetition")
"""Parameters that repeat a point with other draws: means and intervals go over these alone."""

_LEAST_RATIO = 3.0
"""Geometric values that span less look the same on a linear axis, which is easier to read."""
_SAME_RATIO = 0.02
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Axis:
    """A parameter that a sweep runs through."""

    key: str
    """Dotted; of several that run together the one with the most values."""
    title: str
    labels: tuple[str, ...]
    """Its values as a reader wants them, ascending where they are numbers."""
    values: tuple[float, ...] = ()
    """The numbers; empty for categories."""
    log: bool = False
    """Whether the numbers are geometric."""
    follow: tuple[str, ...] = ()
    """Keys whose values this axis' value decides."""

    def __len__(self) -> int:
        return len(self.labels)


Cell = tuple[int, ...]
"""Where on each axis, by position among its values."""
Repetition = tuple[object, ...]


@dataclass(frozen=True)
class Swept:
    """The axes of a sweep and the place of each point."""

    axes: tuple[Axis, ...]
    """Numeric ones first, the longest first."""
    cells: Mapping[str, Cell]
    """By the point's key."""
    repetitions: Mapping[str, Repetition]
    """By the point's key: its values of `REPETITIONS`."""

    def describe(self, cell: Cell, but: Sequence[int] = ()) -> str:
        """Format a cell as text, without some of the axes: "routing minimal, load 0.9"."""
        return ", ".join(
            f"{axis.title} {axis.labels[at]}"
            for i, (axis, at) in enumerate(zip(self.axes, cell, strict=True))
            if i not in but
        )


def swept(frame: pd.DataFrame, own: Sequence[str]) -> Swept:
    """Return the axes of a table of all points, from the columns that are not its own.

    Parameters that are equivalent (a machine's name and its size, keys that run together) are one
    axis; what varies in one section without all combinations, as whole machines do, is one, too.
    """
    params = [str(c) for c in frame.columns if c != "point" and c not in own]
    points = frame.drop_duplicates("point")
    keys = [str(key) for key in points["point"]]
    columns = {name: [_plain(v) for v in points[name]] for name in params}
    repeats = [name for name in params if name in REPETITIONS]
    repetitions = {key: tuple(columns[name][i] for name in repeats) for i, key in enumerate(keys)}
    mains, follow = _without_followers(
        {name: values for name, values in columns.items() if name not in REPETITIONS}
    )
    groups = _merged(mains)
    titles = _titles([names[0] if len(names) == 1 else section for section, names in groups])
    made = []
    for (section, names), title in zip(groups, titles, strict=True):
        decided = tuple(f for name in names for f in follow[name])
        if len(names) == 1:
            made.append(_axis(names[0], title, mains[names[0]], decided))
        else:
            joined = [
                ", ".join(f"{_last(name)} {label_of(name, mains[name][i])}" for name in names)
                for i in range(len(keys))
            ]
            made.append(_axis(section, title, joined, (*names, *decided)))
    made.sort(key=lambda pair: (not pair[0].values, -len(pair[0])))
    cells = {key: tuple(places[i] for _, places in made) for i, key in enumerate(keys)}
    return Swept(tuple(axis for axis, _ in made), cells, repetitions)


def label_of(name: str, value: object) -> str:
    """Format a parameter's value for a reader: "10 KB", "8 GB/s", "minimal"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        quantity = quantity_of(name)
        if quantity is not None:
            return format_quantity(value, quantity.dimension, 3)
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    if isinstance(value, list):
        return ", ".join(label_of("", entry) for entry in value) or "-"
    text = str(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _plain(value: object) -> object:
    """Convert a cell of a frame to a Python value, so that values can be compared."""
    item = getattr(value, "item", None)
    found = item() if callable(item) else value
    return None if isinstance(found, float) and math.isnan(found) else found


def _without_followers(
    columns: Mapping[str, list[object]],
) -> tuple[dict[str, list[object]], dict[str, tuple[str, ...]]]:
    """Return parameters that no other decides, in their order, and what each of them decides."""
    order = list(columns)

    def rank(name: str) -> tuple[int, bool, int]:
        distinct = len({repr(v) for v in columns[name]})
        return -distinct, not name.endswith("name"), order.index(name)

    follow: dict[str, list[str]] = {}
    for name in sorted(columns, key=rank):
        by = next((main for main in follow if _decides(columns[main], columns[name])), None)
        if by is None:
            follow[name] = []
        else:
            follow[by].append(name)
    mains = [name for name in order if name in follow]
    return {m: columns[m] for m in mains}, {m: tuple(follow[m]) for m in mains}


def _decides(main: Sequence[object], other: Sequence[object]) -> bool:
    return len({(repr(a), repr(b)) for a, b in zip(main, other, strict=True)}) == len(
        {repr(a) for a in main}
    )


def _merged(mains: Mapping[str, list[object]]) -> list[tuple[str, list[str]]]:
    """Group the parameters of a section that have not all combinations; others stay single."""
    sections: dict[str, list[str]] = {}
    for name in mains:
        sections.setdefault(name.split(".")[0], []).append(name)
    groups: list[tuple[str, list[str]]] = []
    for section, names in sections.items():
        rows = {tuple(map(repr, row)) for row in zip(*(mains[n] for n in names), strict=True)}
        full = math.prod(len({repr(v) for v in mains[n]}) for n in names)
        if len(rows) < full:
            groups.append((section, names))
        else:
            groups += [(name, [name]) for name in names]
    return groups


def _axis(
    key: str, title: str, column: Sequence[object], follow: tuple[str, ...]
) -> tuple[Axis, list[int]]:
    """Return an axis, and where each point is on it."""
    distinct = list({repr(v): v for v in column}.values())
    numeric = all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v)
        for v in distinct
    )
    if numeric:
        distinct.sort(key=lambda v: float(str(v)))
    values = tuple(float(str(v)) for v in distinct) if numeric else ()
    places = {repr(v): i for i, v in enumerate(distinct)}
    labels = tuple(label_of(key, v) for v in distinct)
    axis = Axis(key, title, labels, values, is_geometric(values), follow)
    return axis, [places[repr(v)] for v in column]


def is_geometric(values: Sequence[float]) -> bool:
    """Return whether ascending values are at equal ratios, and not at equal distances.

    Examples
    --------
    >>> is_geometric((1, 2, 4)), is_geometric((1, 2, 3)), is_geometric((0.5, 1))
    (True, False, False)
    """
    if len(values) < 3 or values[0] <= 0 or values[-1] < _LEAST_RATIO * values[0]:
        return False
    ratios = [b / a for a, b in itertools.pairwise(values)]
    return max(ratios) <= (1 + _SAME_RATIO) * min(ratios)


def _titles(keys: Sequence[str]) -> list[str]:
    """Return the last part of each key as text; full keys where two end alike."""
    short = [_last(key) for key in keys]
    return [
        title if short.count(title) == 1 else key.replace("machine.parameters.", "machine.")
        for title, key in zip(short, keys, strict=True)
    ]


def _last(key: str) -> str:
    if key.endswith(".name"):
        return key.split(".")[0]
    return short_name(key.rsplit(".", 1)[-1]).removesuffix("_bytes").replace("_", " ")
