"""Which policy is best where, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from netcosim.report.compared import Compared
from netcosim.report.effect import COMMUNICATION, TURNAROUND, WAIT, Effect, Quantity, use
from netcosim.report.recommendation import (
    Recommendation,
    format_more,
    more_to_decide,
    samples_to_decide,
)
from netcosim.report.swept import Cell
from netcosim.report.verdict import repeated
from queuesim.statistics import LEAST_SAMPLES

FIRST = (COMMUNICATION, TURNAROUND)
"""What a page begins with."""
MAIN = (TURNAROUND, COMMUNICATION, WAIT)
"""What a policy is recommended by: the first of them that decides anything."""
_MOST_PLACES = 4


@dataclass(frozen=True)
class _Decided:
    """What a metric decides: the places where each policy is best, and where none is."""

    metric: Quantity
    best: dict[str, list[Cell]]
    without_interval: dict[str, list[Cell]]
    undecided: list[Cell]

    def text(self, compared: Compared) -> str:
        """Return which policies are best where."""
        cells = compared.cells()
        parts = [f"{p}{_where(compared, mine, cells)}" for p, mine in self.best.items()]
        parts += [
            f"{policy}{_where(compared, mine, cells)}, without an interval"
            for policy, mine in self.without_interval.items()
        ]
        if self.undecided:
            parts.append(f"no significant difference{_where(compared, self.undecided, cells)}")
        return "; ".join(parts)


def _decided(compared: Compared, metric: Quantity) -> _Decided:
    found = _Decided(metric, {}, {}, [])
    for cell in compared.cells():
        best = compared.best(metric, cell)
        if best is not None and best.state == "not significant":
            found.undecided.append(cell)
        elif best is not None and best.state != "alone":
            named = found.best if best.state == "significant" else found.without_interval
            named.setdefault(best.policy, []).append(cell)
    most = sorted(found.best.items(), key=lambda pair: -len(pair[1]))
    return replace(found, best=dict(most))


def verdict(compared: Compared) -> list[str]:
    """Return a sentence a metric: what is best where, the two that matter most first."""
    if len(compared.policies) < 2:
        return [f"One policy alone ({', '.join(compared.policies)}): there is nothing to compare."]
    ordered = sorted(compared.metrics, key=lambda m: m not in FIRST)
    return [f"Best {m.name}: {_decided(compared, m).text(compared)}." for m in ordered]


def recommend(compared: Compared, seconds_per_point: float, level: float = 0.95) -> Recommendation:
    """Return which policy to use, and where."""
    ranked = sorted(
        (_decided(compared, metric) for metric in compared.metrics),
        key=lambda d: (
            not d.best,
            _all_equal(compared, d.metric),
            bool(d.without_interval),
            MAIN.index(d.metric) if d.metric in MAIN else len(MAIN),
        ),
    )
    found, cells = ranked[0], compared.cells()
    name, best = found.metric.name, [*found.best.items()]
    sentence = f"Best {name}: {found.text(compared)}."
    if len(compared.policies) < 2:
        sentence = verdict(compared)[0]
    elif len(best) == 1 and 2 * len(best[0][1]) > len(cells):
        # at fewer settings chance alone finds one that is best somewhere
        [(policy, mine)] = best
        sentence = f"Use {policy}: best {name}{_where(compared, mine, cells)}."
    elif len(best) > 1:
        sentence = f"The best policy depends on the setting. {sentence}"
    most = (_changes(compared, found.metric, policy, mine)[:1] for policy, mine in best)
    shown = tuple(effect for effects in most for effect in effects)
    if len(cells) == 1 and shown:
        sentence = use(shown[0])
    every = [
        effect
        for metric in compared.metrics
        for policy in compared.policies[1:]
        for effect in _changes(compared, metric, policy, cells, compared.policies[0])
    ]
    return Recommendation(
        sentence,
        shown,
        "These settings alone were simulated, with the jobs and traffic of this config.",
        _next_step(compared, found, seconds_per_point),
        _rating(compared, found),
        reliable=not found.without_interval,
        others=tuple(effect for effect in every if effect not in shown),
        level=level,
    )


def _all_equal(compared: Compared, metric: Quantity) -> bool:
    """Return whether all policies have one value at every cell."""
    at = (compared.at(metric, cell).values() for cell in compared.cells())
    return all(len({estimate.interval.value for estimate in found}) == 1 for found in at)


def _changes(
    compared: Compared, metric: Quantity, policy: str, cells: Sequence[Cell], against: str = ""
) -> list[Effect]:
    """Return a policy's effects at cells, the largest gain first.

    Against the config's first policy by default, or its second if it is the first.
    """
    other = against or next(iter(p for p in compared.policies if p != policy), policy)
    found = (compared.change(metric, cell, policy, other) for cell in cells)
    return sorted(filter(None, found), key=lambda effect: -effect.gain)


def _rating(compared: Compared, found: _Decided) -> str:
    """Return what the comparison is made from, in a line."""
    estimates = compared.of(found.metric)
    if len(compared.policies) < 2:
        return ""
    if found.without_interval:
        return (
            f"No interval: another sample might name another policy as the best.{_equal(compared)}"
        )
    if any(one.method == "measurement" for one in estimates):
        return f"Compared by the measurement's own intervals; jobs of one seed.{_equal(compared)}"
    counts = {len(one.samples) for one in estimates}
    if any(one.redrawn for one in estimates):
        return f"Compared on the same {max(counts)} logs: blocks of this one drawn again."
    text = f"Compared within each of {min(counts)} repetitions; Student's t intervals."
    return f"{text}{_equal(compared) or (SAME_LOG if compared.over_log else '')}"


def _equal(compared: Compared) -> str:
    """Return what repetitions that are equal count, where there are some."""
    if not compared.equal:
        return ""
    return (
        f" {compared.equal} repetition{'' if compared.equal == 1 else 's'} gave what another one "
        f"gave: equal runs are one sample.{SAME_LOG if compared.over_log else ''}"
    )


SAME_LOG = " Over a log run.seed changes random placements and what jobs send, not the jobs."


def _next_step(compared: Compared, found: _Decided, seconds_per_point: float) -> str:
    samples = min(len(e.samples) for e in compared.of(found.metric))
    if found.without_interval or (found.undecided and samples < LEAST_SAMPLES):
        more = max(LEAST_SAMPLES - samples, 1) * len(compared.cells())
        took = format_more(more, "point", more * seconds_per_point, "would give intervals")
        return f"{took} of computing: {repeated(compared.over_log)}."
    needs = list(_needs(compared, found, samples))
    more_repetitions = more_to_decide(needs, samples)
    if more_repetitions is not None:
        points = more_repetitions * len(compared.cells())
        took = format_more(points, "point", points * seconds_per_point, "would decide one more")
        return f"{took}: {samples + more_repetitions} repetitions (run.repetition)."
    return "Read the page of a point, or vary another key of the config."


def _needs(compared: Compared, found: _Decided, samples: int) -> Iterator[float]:
    """Return how many repetitions would decide between the two best, where that is open."""
    metric = found.metric
    for cell in found.undecided:
        at = compared.at(metric, cell)
        first, second = sorted(at, key=lambda p: metric.sign * at[p].interval.value)[:2]
        effect = compared.change(metric, cell, first, second)
        # more drawn logs have no more blocks
        open_ = effect is None or bool(at[first].redrawn)
        yield math.inf if open_ or effect is None else samples_to_decide(effect.ratio, samples)


def _where(compared: Compared, mine: Sequence[Cell], cells: Sequence[Cell]) -> str:
    """Describe some of the cells, after a space; nothing of the only one."""
    if len(mine) == len(cells):
        return " everywhere" if len(cells) > 1 else ""
    others = [cell for cell in cells if cell not in mine]
    if len(others) <= min(len(cells) // 4, _MOST_PLACES):
        but = "; ".join(map(compared.swept.describe, others))
        return f" at {len(mine)} of {len(cells)} (all but {but})"
    axes = compared.swept.axes
    left, places = set(mine), []
    for i, axis in sorted(enumerate(axes), key=lambda pair: bool(pair[1].values)):
        for at, label in enumerate(axis.labels):
            row_cells = {cell for cell in cells if cell[i] == at}
            if len(row_cells) > 1 and row_cells <= left:
                places.append(f"{axis.title} {label}")
                left -= row_cells
    places += [compared.swept.describe(cell) for cell in sorted(left)]
    more = len(places) - _MOST_PLACES
    if more > 0:
        places = [*places[:_MOST_PLACES], f"{more} more"]
    return f" at {len(mine)} of {len(cells)} ({'; '.join(places)})"
