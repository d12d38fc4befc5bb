"""End points fitted on the rows that they determine; the other rows judge the fit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from experiments.machines.match.machine import MatchMachine
from experiments.machines.match.rows import NAMES, Row, plain
from experiments.machines.match.tests import LIBRARY_NAMES, Matched, match
from netsim.errors import ModelWarning
from netsim.packet.model import PacketConfig
from netsim.parameters import parameters_of
from netsim.topologies.family import Family
from netsim.topologies.registry import FAMILIES

ROUNDS = 4
SETTLED = 0.002
"""Change of a parameter between two rounds from which it is fitted."""
FEW_NODES, MOST_ROWS = 64, 8
"""Exchanges that a parameter is fitted on: of at most so many nodes, if there are any."""
FASTER, AS_LONG = 4, 0.8
"""With links `FASTER` times as fast a row that determines a rate takes at least `AS_LONG` of its
time."""
SWITCH, LATENCY = "message-size switch", "NIC latency"


@dataclass(frozen=True)
class FitParameter:
    """A number of the end points and the rows that determine it; see ``names.toml``."""

    name: str
    paths: tuple[str, ...]
    tests: tuple[str, ...] = ()
    sizes: tuple[int, int] = (0, 0)
    instead: tuple[Mapping[str, Any], ...] = ()
    high: float = math.inf
    is_rate: bool = False
    unit: str = "s"
    alike: tuple[str, ...] = ()
    below_wire: float | None = None
    statistic: str = ""


PARAMETERS = tuple(FitParameter(**entry) for entry in NAMES["fit"])


@dataclass(frozen=True)
class Fitted:
    """A fitted parameter."""

    parameter: FitParameter
    path: tuple[str, ...]
    before: float | None
    after: float | None
    rows: tuple[Row, ...]

    @property
    def source(self) -> str:
        """What it was fitted from."""
        listed = [f"{row.test} {row.bytes} B: {row.value:g} {row.unit}" for row in self.rows[:4]]
        more = f"; {len(self.rows) - 4} more rows" if len(self.rows) > 4 else ""
        return f"{'; '.join(listed)}{more}"


def fit(
    machine: MatchMachine,
    rows: Sequence[Row],
    left_out: frozenset[tuple[str, Row]] = frozenset(),
) -> tuple[MatchMachine, list[Fitted]]:
    """Fit the parameters that rows determine; return machine and what was fitted.

    Where links between switches bound a row on the fitted machine, it determines no rate: the fit
    is made again without it.
    """
    chosen: list[tuple[FitParameter, tuple[str, ...], list[Row]]] = []
    of_pairs = {test for parameter in PARAMETERS for test in parameter.tests}
    pairs = any(plain(row.test) in of_pairs for row in rows)
    for parameter in PARAMETERS:
        path = _path_in(machine, parameter)
        others = [row for row in rows if (parameter.name, row) not in left_out]
        determining = _determining(parameter, others, pairs)
        determining = [row for row in determining if not match(row, machine).reason]
        if path is not None and determining:
            chosen.append((parameter, path, determining))
    first = {path: _value(machine, path) for _, path, _ in chosen}
    described, values = machine, dict(first)
    for _ in range(ROUNDS):
        last = dict(values)
        for parameter, path, determining in chosen:
            one = _switch if parameter.name == SWITCH else _solve
            values[path] = one(machine, parameter, path, determining, first[path])
            machine = _with(machine, parameter, path, values[path])
        if all(_alike(last[path], values[path]) for path in values):
            break
    if any(parameter.statistic and values[path] for parameter, path, _ in chosen) and any(
        parameter.name == LATENCY and not values[path] for parameter, path, _ in chosen
    ):
        # jitter that leaves no time for the network is not what makes the 99 %
        return fit(described, [row for row in rows if row.statistic != "p99"])
    bound_elsewhere = {
        (parameter.name, row)
        for parameter, _, determining in chosen
        if parameter.is_rate
        for row in determining
        if _bound_by_links(machine, row)
    }
    if bound_elsewhere:
        return fit(described, rows, left_out | bound_elsewhere)
    return machine, [
        Fitted(parameter, path, first[path], values[path], tuple(determining))
        for parameter, path, determining in chosen
    ]


def _bound_by_links(machine: MatchMachine, row: Row) -> bool:
    """Return whether a row is clearly faster with faster links between switches."""
    nics = {path for parameter in PARAMETERS for path in parameter.paths}
    links: dict[tuple[str, ...], int] = {}
    for name in parameters_of(_builder(machine)):
        if name.endswith("_bandwidth_Bps") and f"machine.parameters.{name}" not in nics:
            path = ("machine", "parameters", name)
            if value := _value(machine, path):
                links[path] = round(FASTER * value)
    faster = _log_ratio([row], machine.with_values(links))
    return faster - _log_ratio([row], machine) < math.log(AS_LONG)


def _with(
    machine: MatchMachine, parameter: FitParameter, path: tuple[str, ...], value: float | None
) -> MatchMachine:
    keys = [path, *(tuple(dotted.split(".")) for dotted in parameter.alike)]
    return machine.with_values(dict.fromkeys(keys, value))


def _alike(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is after
    return abs(after - before) <= SETTLED * max(abs(before), 1e-15)


def _determining(parameter: FitParameter, rows: Sequence[Row], pairs: bool) -> list[Row]:
    """Return the rows that determine a parameter."""
    rows = [row for row in rows if (row.statistic == "p99") == (parameter.statistic == "p99")]
    if pairs and parameter.tests:
        low, high = parameter.sizes
        of_pair = (row for row in rows if plain(row.test) in parameter.tests and row.ranks == 2)
        return sorted((row for row in of_pair if low <= row.bytes <= high), key=lambda r: r.bytes)
    found: list[Row] = []
    for source in parameter.instead:
        (low, high), named = source["sizes"], tuple(source["algorithms"])
        found = found or [
            row
            for row in rows
            if plain(row.test).removeprefix("osu") in source["operations"]
            and plain(LIBRARY_NAMES.sub("", row.algorithm)) in named
            and low <= row.bytes <= high
            and row.ranks == row.nodes
        ]
    few = max(FEW_NODES, min((row.nodes for row in found), default=0))
    found = sorted((r for r in found if r.nodes <= few), key=lambda r: (r.nodes, r.bytes))
    return found[:: max(1, math.ceil(len(found) / MOST_ROWS))]


def _path_in(machine: MatchMachine, parameter: FitParameter) -> tuple[str, ...] | None:
    """Return the path of a parameter in the content, or None if the machine has none."""
    for dotted in parameter.paths:
        *above, name = dotted.split(".")
        known = {
            "machine.parameters": parameters_of(_builder(machine)),
            "machine.packet": parameters_of(PacketConfig),
        }.get(".".join(above))
        if known is None or name in known:
            return (*above, name)
    return None


def _builder(machine: MatchMachine) -> Callable[..., object]:
    section = machine.content["machine"]
    family: Family = FAMILIES[section["family"]]
    return family.builder_for(section["parameters"])


def _value(machine: MatchMachine, path: tuple[str, ...]) -> float | None:
    """Return a number of the content, or its default."""
    value = machine.value(path)
    if value is None and path[1] == "parameters":
        value = parameters_of(_builder(machine))[path[-1]].default
    return None if value is None else float(value)


def _solve(
    machine: MatchMachine,
    parameter: FitParameter,
    path: tuple[str, ...],
    rows: Sequence[Row],
    described: float | None,
) -> float:
    """Return the value with which the rows take the measured time, in the geometric mean."""
    from scipy.optimize import brentq

    def value_of(x: float) -> float:
        value = math.exp(x) if parameter.is_rate else x
        return round(value) if parameter.unit == "B/s" else value

    def off(x: float) -> float:
        return _log_ratio(rows, _with(machine, parameter, path, value_of(x)))

    if parameter.is_rate:
        most = (described or 1.0) * parameter.high
        low, high = math.log(most / 200), math.log(most)
        tolerance = 1e-4
    else:
        low, high = 0.0, parameter.high
        if parameter.below_wire is not None:
            bandwidths = (_path_in(machine, one) for one in PARAMETERS if one.unit == "B/s")
            found = [_value(machine, path) for path in bandwidths if path is not None]
            high = min([high, *(parameter.below_wire / value for value in found if value)])
        tolerance = high * 1e-6
    at_low, at_high = off(low), off(high)
    if at_low * at_high >= 0:  # no value will do: the nearest
        best = low if abs(at_low) <= abs(at_high) else high
    else:
        best = float(brentq(off, low, high, xtol=tolerance, rtol=1e-6))
    return value_of(best)


def _log_ratio(rows: Sequence[Row], machine: MatchMachine) -> float:
    with warnings.catch_warnings():  # tried values are far from the fitted one
        warnings.simplefilter("ignore", ModelWarning)
        ratios = [match(row, machine).ratio for row in rows]
    return float(np.mean(np.log([ratio for ratio in ratios if ratio == ratio] or [1.0])))


def _switch(
    machine: MatchMachine,
    parameter: FitParameter,
    path: tuple[str, ...],
    rows: Sequence[Row],
    described: float | None,
) -> int | None:
    """Return the size above which rendezvous explains the latencies better; None if none does."""
    errors = []
    for limit in (None, 0):
        other = machine.with_values({path: limit})
        errors.append([math.log(match(row, other).ratio) ** 2 for row in rows])
    eager, rendezvous = np.array(errors)
    # entry k: the first k rows are eager
    total = np.concatenate(([0], np.cumsum(eager))) + (
        rendezvous.sum() - np.concatenate(([0], np.cumsum(rendezvous)))
    )
    best = int(np.argmin(total))
    if total[best] > 0.8 * total[-1] or best == len(rows):
        return None
    return rows[best - 1].bytes if best else 0


def match_all(
    rows: Sequence[Row],
    machine: MatchMachine,
    algorithms: Mapping[str, str],
    fitted: Sequence[Fitted] = (),
) -> list[Matched]:
    """Simulate all rows, and mark those that something was fitted on."""
    used: dict[Row, list[str]] = {}
    for one in fitted:
        for row in one.rows:
            used.setdefault(row, []).append(one.parameter.name)
    return [
        replace(match(row, machine, algorithms), fitted=", ".join(used.get(row, ())))
        for row in rows
    ]


def explaining(
    machine: MatchMachine, matched: Sequence[Matched], algorithms: Mapping[str, str]
) -> tuple[Fitted, float, float] | None:
    """Return the parameter whose fitted value alone brings the rows nearest to what was measured.

    With it are the medians, before and after, of the factors by which simulated and measured
    differ.
    """
    compared = [one for one in matched if one.ratio == one.ratio]
    _, fitted = fit(machine, [one.row for one in compared])
    sample = compared[:: max(1, len(compared) // 24)]

    def spread(ratios: Sequence[float]) -> float:
        return float(np.exp(np.median(np.abs(np.log(ratios)))))

    before = spread([one.ratio for one in sample])
    best: tuple[Fitted, float, float] | None = None
    for one in fitted:
        changed = _with(machine, one.parameter, one.path, one.after)
        again = partial(match, machine=changed, algorithms=algorithms)
        after = spread([again(other.row).ratio for other in sample])
        if best is None or after < best[2]:
            best = (one, before, after)
    return best
