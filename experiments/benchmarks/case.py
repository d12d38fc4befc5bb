"""One measurement: what is timed, how often, and what came out."""

from __future__ import annotations

import resource
import statistics
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from netsim.errors import NetcosimError


@cache
def read_bench() -> dict[str, Any]:
    """Return ``bench.toml``, read once; do not change it."""
    return tomllib.loads(files("experiments.benchmarks").joinpath("bench.toml").read_text("utf-8"))


Amounts = Mapping[str, float]
"""What one round has done, by unit; the first is the case's."""

Round = Callable[[], Amounts]


@dataclass(frozen=True)
class Case:
    """What can be measured."""

    name: str
    part: str
    """Heading of its section."""
    description: str
    """One line: machine, load, what counts."""
    prepare: Callable[[], Round]
    """Builds the input, untimed; gives what is timed, called once a round."""
    unit: str
    """What a round does, such as "hops"; "s" if only its time is reported."""
    quick: bool = False
    """Whether it is measured by default."""
    peers: tuple[str, ...] = ()
    """Of `experiments.benchmarks.peers.PEERS`: whose recorded rate is printed next to it."""
    clock: Literal["cpu", "wall"] = "cpu"
    """{"cpu", "wall"}. What is reported: CPU time, which others on the machine hardly change, or
    for what waits for a disk or runs on several cores the wall's."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What figures are drawn against: nodes, threads, routing, ..."""
    once: bool = False
    """Whether it is measured only by its name or part, in a single round without a warm-up."""


@dataclass(frozen=True)
class Reading:
    """What came out."""

    name: str
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    """wall_s, cpu_s: Of each round; CPU time is that of all threads and child processes."""
    amounts: Amounts
    """Of one round, by unit."""
    prepare_s: float
    memory_bytes: int
    """Most that the process or a child held, the interpreter and what it has imported among it."""
    clock: Literal["cpu", "wall"] = "cpu"

    @property
    def reported_s(self) -> tuple[float, ...]:
        """Of each round, by the clock that counts."""
        return self.cpu_s if self.clock == "cpu" else self.wall_s

    @property
    def best_s(self) -> float:
        """The shortest round: others had company."""
        return min(self.reported_s)

    @property
    def spread(self) -> float:
        """How much longer the median round took than the best, as a share."""
        return statistics.median(self.reported_s) / self.best_s - 1

    def rate(self, unit: str) -> float:
        """Return the amount a second in the best round."""
        return self.amounts[unit] / self.best_s


@dataclass(frozen=True)
class Patience:
    """How often a case is measured."""

    rounds: int
    """At most so many, after one to warm up."""
    enough_s: float
    """No further round once the rounds have taken so long."""


QUICK, FULL = Patience(5, 1.5), Patience(9, 8.0)
_FEWEST = 3
"""Rounds in any case, unless one alone takes longer than is enough."""


def measure(case: Case, patience: Patience) -> Reading:
    """Measure a case in this process."""
    began = time.perf_counter()
    timed = case.prepare()
    prepare_s = time.perf_counter() - began
    wall: list[float] = []
    cpu: list[float] = []
    if case.once:
        patience = Patience(1, 0.0)
    amounts = None if case.once else timed()
    while len(wall) < patience.rounds:
        cpu_began, began = _cpu_s(), time.perf_counter()
        again = timed()
        wall.append(time.perf_counter() - began)
        cpu.append(_cpu_s() - cpu_began)
        if again != (amounts or again):
            raise NetcosimError(f"bench {case.name}: {amounts}, then {again}")
        amounts = again
        fewest = 1 if wall[0] > patience.enough_s else _FEWEST
        if sum(wall) > patience.enough_s and len(wall) >= fewest:
            break
    assert amounts is not None
    return Reading(case.name, tuple(wall), tuple(cpu), amounts, prepare_s, peak_bytes(), case.clock)


def _cpu_s() -> float:
    """Return the CPU time of this process, its threads and its finished children."""
    own_use, children_use = (resource.getrusage(who) for who in (_SELF, _CHILDREN))
    return own_use.ru_utime + own_use.ru_stime + children_use.ru_utime + children_use.ru_stime


_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def peak_bytes() -> int:
    """Return the peak memory of this process so far, or of a child that had more."""
    peak = max(resource.getrusage(who).ru_maxrss for who in (_SELF, _CHILDREN))
    return peak if sys.platform == "darwin" else peak * 1024
