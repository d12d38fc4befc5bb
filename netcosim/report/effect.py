"""One measured effect: sentences, labels, headings and JSON records are made from it alone.

A change is in percent of what it is compared with, and a minus means less: on the screen, in
tables, figures and JSON. The words of a sentence carry the sign where the effect is significant. An
effect of fewer than two independent samples has no interval, is never significant, and so is never
recommended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netsim.errors import NetcosimError
from netsim.units import format_quantity
from queuesim.statistics import ENDS, MATTERS, Interval, interval_cells

LEAST_PERCENT = 100 * MATTERS
OFF = "taken_off_percent"
"""Column of how much shorter run times are, by node-hours."""
MANY_PERCENT = 100.0
"""A time that is at least twice as long is printed as a multiple."""


@dataclass(frozen=True)
class Quantity:
    """What an effect is of."""

    name: str
    unit: str = "s"
    """Of the quantity itself; a change of it is in percent."""
    less: str = "shortens"
    more: str = "lengthens"
    more_is_better: bool = False
    column: str = ""
    """Of the table of policies."""
    possible: tuple[float, float] = (0.0, math.inf)
    """The least and the most that its mean can be, as the table has it."""

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.name.removeprefix("mean ").capitalize()

    @property
    def is_ratio(self) -> bool:
        """Whether the table of policies has it relative to a reference."""
        return self.column.endswith("_ratio")

    @property
    def sign(self) -> float:
        """1 where less is better, else -1."""
        return -1.0 if self.more_is_better else 1.0

    def label(self, against: str = "") -> str:
        """Return the text of an axis or a column: the quantity, or its change, with the unit."""
        if against:
            return f"{self.name}, change from {against} (%)"
        return f"{self.name} ({self.unit})" if self.unit else self.name


COMMUNICATION = Quantity("communication time", column="communication_ratio")
RUN_TIME = Quantity("run time")
WAIT = Quantity("mean wait", column="mean_wait_s")
TURNAROUND = Quantity("mean turnaround", column="mean_turnaround_s")
SLOWDOWN = Quantity(
    *("mean bounded slowdown", "", "reduces", "increases"),
    column="mean_bounded_slowdown",
    possible=(1.0, math.inf),
)
MAKESPAN = Quantity("makespan", column="makespan_s")
UTILISATION = Quantity(
    *("utilisation", "%", "lowers", "raises", True), column="utilisation", possible=(0.0, 1.0)
)
METRICS = (COMMUNICATION, WAIT, TURNAROUND, SLOWDOWN, UTILISATION, MAKESPAN)
"""What policies are compared by."""


@dataclass(frozen=True)
class Effect:
    """A quantity of something, or its change from what it is compared with."""

    subject: str
    """What has it: a policy, a routing, an algorithm."""
    quantity: Quantity
    against: str
    """What it is compared with; empty: the quantity itself, in its unit."""
    value: float
    low: float = math.nan
    high: float = math.nan
    sample: str = "run"
    """The unit of sampling: snapshot, block of the log, batch of jobs, repetition, window."""
    samples: int = 1
    """Independent ones (`distinct`)."""
    method: str = ""
    part: str = ""
    """Of which jobs, or "at" which setting; empty: of all."""
    levels: tuple[float, float] | None = None
    """In the quantity's unit: of what it is compared with, and of the subject."""

    def __post_init__(self) -> None:
        if self.samples < 2 or not (math.isfinite(self.low) and math.isfinite(self.high)):
            object.__setattr__(self, "low", math.nan)
            object.__setattr__(self, "high", math.nan)

    @classmethod
    def of_ratio(cls, ratio: Interval, **fields: Any) -> Effect:
        """Return the change of which a ratio to the reference is known."""
        value, *ends = (100 * (end - 1) for end in ratio)
        return cls(value=value, low=ends[0], high=ends[1], **fields)

    @classmethod
    def of_row(cls, row: Mapping[str, Any], name: str, **fields: Any) -> Effect | None:
        """Return the change that a row of a table has as a ratio with its ends; None without."""
        if row.get(name) is None:
            return None
        ends = interval_cells({f"{name}_low": None, f"{name}_high": None, **row}, name)
        return cls.of_ratio(
            Interval(*(math.nan if e is None else float(e) for e in ends)), **fields
        )

    @property
    def unit(self) -> str:
        """The unit of value and ends."""
        return "%" if self.against else self.quantity.unit

    @property
    def has_interval(self) -> bool:
        """Whether the ends are known."""
        return not math.isnan(self.low)

    @property
    def significant(self) -> bool:
        """Whether the interval excludes no change."""
        known = bool(self.against) and self.has_interval
        return known and (self.low > LEAST_PERCENT or self.high < -LEAST_PERCENT)

    @property
    def better(self) -> bool:
        """Whether it is significant, and in the direction that is wanted."""
        return self.significant and (self.value > 0) == self.quantity.more_is_better

    @property
    def gain(self) -> float:
        """How much better in percent, whatever the direction."""
        return self.value if self.quantity.more_is_better else -self.value

    @property
    def ratio(self) -> Interval:
        """The change as a ratio to the reference."""
        return Interval(*(1 + end / 100 for end in (self.value, self.low, self.high)))

    def interval(self) -> str:
        """Return value, ends and samples: "communication time -35 % (-42 to -28; 20 snapshots)"."""
        text = f"{self._name()} {self._format(self.value)}"
        if not self.has_interval:
            return f"{text} ({self._no_interval()})"
        return f"{text} ({self._ends()}; {counted(self.samples, self.sample)})"

    def clause(self) -> str:
        """Return what the subject does to the quantity: "shortens it by 35 % (28 to 42)"."""
        name, levels = self._name(), ""
        if self.levels is not None:
            before, after = (self._level(level) for level in self.levels)
            levels = f", from {before} to {after}"
        if not self.against:
            ends = f" ({self._ends()})" if self.has_interval else ""
            part = name.removeprefix(self.quantity.name)
            return f"has {self.quantity.name} of {self._format(self.value)}{ends}{part}"
        if self.value == 0 and not self.low < self.high:
            return f"leaves {name} unchanged"
        if not self.has_interval:
            return f"changes {name} by {self._format(self.value)} ({self._no_interval()}){levels}"
        if not self.significant:
            ends = f"{self._format(self.value)}, {self._ends()}"
            return f"does not change {name} significantly ({ends}){levels}"
        if self.value >= MANY_PERCENT:
            times = [number(1 + end / 100) for end in (self.value, self.low, self.high)]
            long = "long" if self.quantity.unit == "s" else "large"
            made = f"makes {name} {times[0]} times as {long} ({joined_ends(*times[1:])})"
            return f"{made}{levels}"
        verb = self.quantity.more if self.value > 0 else self.quantity.less
        ends = joined_ends(*map(number, sorted(map(abs, (self.low, self.high)))))
        return f"{verb} {name} by {number(abs(self.value))} % ({ends}){levels}"

    def record(self) -> dict[str, object]:
        """Return the effect for JSON; None where something is not known."""
        known = self.has_interval
        return {
            "subject": self.subject,
            "quantity": self.quantity.name,
            "unit": self.unit,
            "better": "higher" if self.quantity.more_is_better else "lower",
            "against": self.against or None,
            "part": self.part or None,
            "value": self.value if math.isfinite(self.value) else None,
            "low": self.low if known else None,
            "high": self.high if known else None,
            "sample": self.sample,
            "samples": self.samples,
            "method": self.method if known else None,
            "significant": self.significant,
            "sentence": sentence([self]),
        }

    def _name(self) -> str:
        of = "" if self.part.startswith("at ") else "of "
        return f"{self.quantity.name} {of}{self.part}" if self.part else self.quantity.name

    def _no_interval(self) -> str:
        return f"no interval: {counted(self.samples, self.sample)}"

    def _ends(self) -> str:
        return joined_ends(*(self._format(end).removesuffix(" %") for end in (self.low, self.high)))

    def _format(self, value: float) -> str:
        return f"{signed(value)} %" if self.against else self._level(value)

    def _level(self, value: float) -> str:
        if self.quantity.unit == "s":
            return format_duration(value)
        if self.quantity.unit == "B/s":
            return format_quantity(value, "bandwidth", 3)
        return f"{value:.3g} {self.quantity.unit}".rstrip()


def change_of(row: Mapping[str, Any], name: str = OFF) -> Interval:
    """Return the change in percent of what a row of a table has as percent less."""
    value, *ends = (row.get(f"{name}{end}") for end in ENDS)
    low, high = (math.nan if end is None else -end for end in ends)
    return Interval(-float(value or 0.0) + 0.0, high, low)


def sentence(effects: Sequence[Effect]) -> str:
    """Return one sentence on all effects of one subject against one reference."""
    subject, against = effects[0].subject, effects[0].against
    compared = f" compared with {against}" if against else ""
    first, *others = (effect.clause() for effect in effects)
    return "; ".join([f"{subject} {first}{compared}", *others]) + "."


def use(effect: Effect) -> str:
    """Return the recommendation of what an effect is of; it must be significantly better."""
    if not effect.better:
        raise NetcosimError(f"{effect.subject}: its {effect.quantity.name} is not better")
    return f"Use {effect.subject}: it {effect.clause()} compared with {effect.against}."


def best(effects: Iterable[Effect]) -> Effect | None:
    """Return the largest of the effects that are significantly better; None if none is."""
    return max((e for e in effects if e.better), key=lambda effect: effect.gain, default=None)


def contrary(headline: Effect, parts: Sequence[Effect]) -> str:
    """Return how the parts of an effect differ from it; empty where they have its sign and range.

    Named are the parts that are significant in the other direction, for communication also those of
    run times, which contain it; and the range of parts of its own quantity if it is outside of it.
    """
    own = headline.quantity
    alike = (own, RUN_TIME) if own == COMMUNICATION else (own,)
    near = [part for part in parts if part.quantity in alike]
    other = [p for p in near if p.significant and p.value * headline.value < 0]
    texts = []
    if other:
        named = (f"{part.part} ({signed(part.value)} %)" for part in other)
        verb = other[0].quantity.more if other[0].value > 0 else other[0].quantity.less
        texts.append(f"It {verb} {other[0].quantity.name} of {', '.join(named)}.")
    ends = sorted(part.value for part in parts if part.quantity == own)
    if ends and not ends[0] <= headline.value <= ends[-1]:
        extent = joined_ends(*(signed(end) for end in (ends[0], ends[-1])))
        texts.append(f"By pattern and size it is {extent} %; jobs weigh otherwise in the mean.")
    return " ".join(texts)


def between(mine: Effect | None, other: Effect | None) -> Effect:
    """Return the change from one subject to another, of which both have changes from a third.

    Each end is that of the two intervals that are furthest apart, so it is no narrower than if both
    had been compared with each other. None is the third itself.
    """
    known = mine or other
    assert known is not None
    no_change = Interval(1.0, 1.0, 1.0)
    top, bottom = (no_change if one is None else one.ratio for one in (mine, other))
    if bottom.value <= 0 or bottom.low <= 0:
        ratio = Interval(math.nan, math.nan, math.nan)
    else:
        ratio = Interval(top.value / bottom.value, top.low / bottom.high, top.high / bottom.low)
    value, low, high = (100 * (end - 1) for end in ratio)
    subject = known.against if mine is None else mine.subject
    against = known.against if other is None else other.subject
    samples = min(one.samples for one in (mine, other) if one is not None)
    return replace(
        known,
        subject=subject,
        against=against,
        value=value,
        low=low,
        high=high,
        samples=samples,
        levels=None,
    )


def distinct(samples: Iterable[object]) -> int:
    """Return the number of different samples: equal ones are one sample."""
    return len({repr(sample) for sample in samples})


def effect_rows(effects: Sequence[Effect]) -> list[dict[str, object]]:
    """Return effects as a table: a row a part and subject, a column a quantity."""
    rows: dict[tuple[str, str], dict[str, object]] = {}
    for e in effects:
        row = rows.setdefault((e.part, e.subject), ({"jobs": e.part} if e.part else {}))
        head = e.quantity.label(e.against)
        row |= {"policy": e.subject, head: e.value}
        if any(one.has_interval for one in effects if one.quantity == e.quantity):
            row |= {f"{head}_low": e.low, f"{head}_high": e.high}
    return list(rows.values())


def counted(count: int, what: str) -> str:
    """Format a number of things: "1 snapshot", "5 batches of jobs", "10 blocks of the log"."""
    noun, of, rest = what.partition(" of ")
    plural = "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}{'' if count == 1 else plural}{of}{rest}"


def number(value: float) -> str:
    """Format a percentage for a sentence: 12, 3.4, 0.02."""
    size = abs(round(value, 9))
    text = (
        f"{value:.0f}"
        if size >= 9.95
        else f"{value:.1f}"
        if size >= 0.095
        else f"{round(value, 9):.2g}"
    )
    return "0" if float(text) == 0 else text


def signed(value: float) -> str:
    """Format a change: +12, -3.4, 0."""
    text = number(value)
    return f"+{text}" if value > 0 and text != "0" else text


def joined_ends(low: str, high: str) -> str:
    """Join the ends of an interval: "2" where they are printed alike, else "2 to 3"."""
    return low if low == high else f"{low} to {high}"


def format_duration(seconds: float) -> str:
    """Format a time for a sentence: 2.2 h."""
    return format_quantity(float(seconds), "time", 2)
