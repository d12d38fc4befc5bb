"""What every page and command of a study begins with: one recommendation, and its limits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netcosim.report.effect import Effect, counted
from netcosim.report.page import Section
from netcosim.report.templates import part
from netsim.units import format_quantity
from queuesim.statistics import MATTERS, Interval

MOST_TIMES = 20
"""More samples than so many times those there are will not be recommended."""


@dataclass(frozen=True)
class Recommendation:
    """The answer of a study in plain words."""

    sentence: str
    """What to do, or what came out."""
    effects: tuple[Effect, ...]
    """What the sentence is made from: printed with intervals and samples."""
    condition: str
    """The assumption that it depends on most."""
    next_step: str
    rating: str = ""
    """How far the study can rely on its own simulation; empty where nothing rates it."""
    reliable: bool = True
    """Whether ``sentence`` may be read without ``rating``; if not, the rating comes first."""
    others: tuple[Effect, ...] = ()
    """All other effects, for JSON."""
    level: float | None = 0.95
    """Confidence of the intervals; None where their ends are no confidence."""

    @property
    def head(self) -> tuple[str, ...]:
        """Return what comes first: the sentence, below the rating unless it is reliable."""
        return (self.sentence,) if self.reliable else (self.rating, self.sentence)

    @property
    def interval(self) -> str:
        """Return what the sentence leaves out: samples and level, and effects that it lacks."""
        inside = [effect for effect in self.effects if effect.clause() in self.sentence]
        others = [effect for effect in self.effects if effect not in inside]
        several = len({effect.subject for effect in self.effects}) > 1
        parts = [f"{e.subject}: {e.interval()}" if several else e.interval() for e in others]
        against = {effect.against for effect in others}
        if len(against) == 1 and (name := against.pop()) not in self.sentence:
            parts[-1] += f", compared with {name}"
        over: dict[str, list[str]] = {}
        for effect in inside:
            if effect.has_interval:
                names = over.setdefault(counted(effect.samples, effect.sample), [])
                names.append(effect.quantity.name)
        for count, names in over.items():
            if not any(f"; {count})" in part for part in parts):
                named = bool(others) or len(over) > 1
                parts.append(f"{', '.join(names)}: {count}" if named else count)
        known = self.level is not None and any(effect.has_interval for effect in self.effects)
        level = f". Intervals at {100 * (self.level or 0):g} %" if known else ""
        return f"{'; '.join(parts)}{level}." if parts else ""

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        """Return title and text of what follows."""
        listed = [("Interval", self.interval), ("Condition", self.condition)]
        listed += [("Rating", self.rating)] if self.reliable else []
        return tuple((name, text) for name, text in (*listed, ("Next", self.next_step)) if text)

    def lines(self) -> list[str]:
        """Return the lines of a command's output."""
        return [*self.head, *(f"  {name}: {text}" for name, text in self.limits)]

    def section(self) -> Section:
        """Return the first section of a page."""
        return Section("Recommendation", html=part("recommendation", self.head, self.limits))

    def record(self) -> dict[str, object]:
        """Return the recommendation and all effects for JSON (docs/results.md)."""
        return {
            "recommendation": self.sentence,
            "reliable": self.reliable,
            "condition": self.condition,
            "rating": self.rating or None,
            "next": self.next_step,
            "confidence": self.level,
            "effects": [effect.record() for effect in (*self.effects, *self.others)],
        }


def print_answer(
    answer: Recommendation, lines: Iterable[str], files: Mapping[str, object], as_json: bool
) -> None:
    """Print a recommendation with further lines, or all of it and the files as JSON."""
    if as_json:
        written = {name: str(path) for name, path in files.items()}
        print(json.dumps({**answer.record(), "files": written}, indent=2, allow_nan=False))
    else:
        print("\n".join([*answer.lines(), *lines]))


def listed(files: Mapping[str, object]) -> str:
    """Return the files of a command in a line: "page: a.html; results: a.db"."""
    return "; ".join(f"{name}: {path}" for name, path in files.items())


def deciding(effects: Iterable[Effect], samples: int, seconds: float) -> tuple[int, str] | None:
    """Return how many more samples would decide the easiest of some effects, and that as text.

    None where none is open, or too many would be needed. ``seconds`` is what the samples took.
    """
    needs = {
        effect.subject: (samples_to_decide(effect.ratio, samples), effect)
        for effect in effects
        if effect.has_interval and not effect.significant
    }
    more = more_to_decide((need for need, _ in needs.values()), samples)
    if more is None:
        return None
    subject, (_, effect) = min(needs.items(), key=lambda pair: pair[1][0])
    took = format_more(more, effect.sample, seconds * (samples + more) / samples)
    return more, f"{took}, on {effect.quantity.name} under {subject}"


def samples_to_decide(ratio: Interval, samples: int, noise: float = 0.0) -> float:
    """Return about how many samples would decide whether a ratio is above or below 1.

    The half-width of the interval has two parts, one beside the other: ``noise``, which more
    samples do not change, and another that falls as their square root. The number is at most that
    of the interval's independent samples where the ratio is decided, infinite where none would
    decide, nan where an interval or the noise is not known.
    """
    if any(map(math.isnan, (ratio.low, ratio.high, noise))):
        return math.nan
    off = abs(ratio.value - 1) - MATTERS
    if off <= noise:
        return math.inf
    half = ratio.value - ratio.low if ratio.value > 1 else ratio.high - ratio.value
    return samples * max(half**2 - noise**2, 0.0) / (off**2 - noise**2)


def more_to_decide(needs: Iterable[float], samples: int) -> int | None:
    """Return how many more samples would decide the easiest of some questions.

    None where that is not known, or more than `MOST_TIMES` the samples there are.
    """
    need = min((one for one in needs if not math.isnan(one)), default=math.nan)
    if not need <= MOST_TIMES * samples:
        return None
    return max(math.ceil(need) - samples, 1)


def format_more(more: float, what: str, seconds: float, effect: str = "would decide") -> str:
    """Describe more samples: "40 more snapshots would decide, about 6 min"."""
    plural = "" if more == 1 else "s"
    return f"{more:,.0f} more {what}{plural} {effect}, about {format_quantity(seconds, 'time', 1)}"
