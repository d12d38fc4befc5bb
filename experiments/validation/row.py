"""A row of the validation: a number measured here, what it should be, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Scale = Literal["quick", "full"]
Verdict = Literal["holds", "fails"]


@dataclass(frozen=True)
class Row:
    """One number."""

    what: str
    """What is measured, and on what."""
    expected: float
    simulated: float
    unit: str
    """Of both."""
    source: str
    """Where the expected number is from."""
    low: float
    high: float
    """low, high: Allowed range of ``simulated``."""
    note: str = ""
    """What else a reader has to know."""

    @property
    def verdict(self) -> Verdict:
        """Whether the number lies where it may."""
        return "holds" if self.low <= self.simulated <= self.high else "fails"

    @property
    def difference(self) -> float:
        """netcosim's value less the expected one, in the unit of the row."""
        return self.simulated - self.expected

    @property
    def allowed(self) -> str:
        """Format the interval."""
        if self.low == self.high == self.expected:
            return "0"
        if not math.isfinite(self.high):
            return f"at least {shown(self.low)}"
        if not math.isfinite(self.low):
            return f"at most {shown(self.high)}"
        return f"{shown(self.low)} to {shown(self.high)}"


def exact(
    what: str, expected: float, simulated: float, unit: str, source: str, note: str = ""
) -> Row:
    """Return a row whose number must equal the expected one."""
    return Row(what, expected, simulated, unit, source, expected, expected, note)


def within(
    what: str,
    expected: float,
    simulated: float,
    unit: str,
    source: str,
    *,
    share: float,
    note: str = "",
) -> Row:
    """Return a row whose number may differ by a share of the expected one."""
    room = abs(expected) * share
    return Row(what, expected, simulated, unit, source, expected - room, expected + room, note)


def at_least(
    what: str, expected: float, simulated: float, unit: str, source: str, note: str = ""
) -> Row:
    """Return a row whose number must not be below the expected one."""
    return Row(what, expected, simulated, unit, source, expected, math.inf, note)


def at_most(
    what: str, expected: float, simulated: float, unit: str, source: str, note: str = ""
) -> Row:
    """Return a row whose number must not be above the expected one."""
    return Row(what, expected, simulated, unit, source, -math.inf, expected, note)


@dataclass(frozen=True)
class Curve:
    """Points of one line of a figure."""

    panel: str
    name: str
    x: Sequence[float]
    y: Sequence[float]
    published: bool = False
    """Drawn with a separate line style: values from the literature."""


@dataclass(frozen=True)
class Measured:
    """What a group has found."""

    rows: Sequence[Row]
    curves: Sequence[Curve] = ()


@dataclass(frozen=True)
class Setting:
    """How much is measured."""

    scale: Scale = "full"
    seed: int = 1
    """Of all that is drawn."""
    cases: int = 100
    """Random cases of the two packet engines for each family."""
    python: str = ""
    """The interpreter that has the other simulator's package; empty to look for one."""

    @property
    def quick(self) -> bool:
        """Whether short runs are enough."""
        return self.scale == "quick"


COLUMNS = (
    "group",
    "what",
    "expected",
    "simulated",
    "difference",
    "unit",
    "allowed",
    "verdict",
    "source",
    "note",
)


def as_record(group: str, row: Row) -> dict[str, object]:
    """Return the row as the files have it, in the order of `COLUMNS`."""
    values = {name: getattr(row, name) for name in COLUMNS[1:]}
    return {"group": group, **values}


def as_text(group: str, row: Row) -> dict[str, str]:
    """Format the row for a page: numbers with their unit and as many digits as they need."""
    unit = f" {row.unit}" if row.unit else ""
    return {
        "group": group,
        "what": row.what,
        "expected": f"{shown(row.expected)}{unit}",
        "from": row.source,
        "simulated": f"{shown(row.simulated)}{unit}",
        "difference": shown(row.difference),
        "allowed": row.allowed,
        "verdict": row.verdict,
        "note": row.note,
    }


def failed(found: Mapping[str, Measured]) -> list[tuple[str, Row]]:
    """Return the rows that fail, with the name of their group."""
    return [(name, row) for name, m in found.items() for row in m.rows if row.verdict == "fails"]


def shown(value: float) -> str:
    """Format a number with as many digits as it needs."""
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.1f}"
