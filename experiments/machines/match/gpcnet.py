"""GPCNeT's tests, isolated and beside its congestors, and its congestion impact."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.machines.match.machine import MatchMachine
from experiments.machines.match.rows import NAMES, Row
from netsim.errors import NetcosimError
from netsim.packet.model import PS_PER_S, PacketResult
from netsim.traffic import Program
from patterns.gpcnet import gpcnet

CONGESTING_SHARE = 0.8
CONGESTORS = ("all-to-all", "incast", "put-incast", "get-broadcast")
CONGESTOR_BYTES, CONGESTOR_ITERATIONS = 4096, 32
WARM_UP_S = 500e-6
"""Congestors run so long before a test begins: what they start with has left the network."""

Sender = Callable[..., PacketResult]


@dataclass(frozen=True)
class GpcnetTest:
    """A line of GPCNeT's tables."""

    phase: str
    """Either "isolated", "congested" or "impact"."""
    pattern: str
    algorithm: str = ""
    """As the table names it."""
    window: int = 1
    draws: int = 1
    """Random rings (GPCNeT draws 30)."""
    iterations: int = 2
    """Exchanges of a ring; the last of all is not measured."""

    @property
    def is_latency(self) -> bool:
        """Whether smaller is better."""
        return self.window == 1 and self.pattern != "all-to-all"


def test_of(row: Row) -> GpcnetTest | None:
    """Return the test of a row; None if it is unknown."""
    words = row.test.lower().split()
    phases = [phase for phase in ("impact", "congested") if phase in words]
    for entry in NAMES["gpcnet"]:
        if set(entry["words"]) <= set(words):
            how = {key: value for key, value in entry.items() if key != "words"}
            return GpcnetTest((*phases, "isolated")[0], **how)
    return None


def simulated(row: Row, test: GpcnetTest, machine: MatchMachine, send: Sender) -> float:
    """Return what GPCNeT would print for a row, in s, bytes/s a rank, or as a factor."""
    given = (replace(test, phase=""), row.bytes, row.nodes, row.ranks // row.nodes, machine, send)
    if test.phase != "impact":
        return _statistic(row, test, _values(*given, *[test.phase == "congested"] * 2))
    # the impact is a ratio of numbers as they are printed, to 0.1 us or MiB/s
    unit = 1e-6 if test.is_latency else 2.0**20
    before, after = (
        round(_statistic(row, test, _values(*given, True, congested)) / unit, 1)
        for congested in (False, True)
    )
    return after / before if test.is_latency else before / after


def _statistic(row: Row, test: GpcnetTest, values: NDArray[np.float64]) -> float:
    if row.statistic == "p99":
        return float(np.quantile(values, 0.99 if test.is_latency else 0.01))
    return float(values.mean())


@lru_cache(maxsize=4)
def _values(
    test: GpcnetTest,
    size: int,
    n_nodes: int,
    per_node: int,
    machine: MatchMachine,
    send: Sender,
    of_load_test: bool,
    congested: bool,
) -> NDArray[np.float64]:
    """Return the number of each rank in each exchange: s, or bytes/s.

    ``of_load_test``: other nodes congest, if ``congested``, or would.
    """
    nodes, groups = _nodes_of(machine, n_nodes, of_load_test)
    if not congested:
        groups = []
    rng = np.random.default_rng(machine.seed)

    def part(kind: str, size: int, nodes: NDArray[np.int64], n: int, **how: Any) -> Any:
        how |= {"test": kind, "ranks_per_node": per_node}
        return gpcnet(len(nodes) * per_node, size, n, rng, **how), np.repeat(nodes, per_node)

    how: dict[str, Any] = {"window": test.window, "draws": test.draws}
    if test.pattern == "all-to-all":
        how["algorithm"] = test.algorithm
    tested = part(test.pattern, size, nodes, test.iterations, **how)
    beside = [
        part(kind, CONGESTOR_BYTES, group, CONGESTOR_ITERATIONS)
        for kind, group in zip(CONGESTORS, groups, strict=congested)
    ]
    result = send(
        machine,
        [tested, *beside],
        start_s=[WARM_UP_S if beside else 0.0, *[0.0] * len(beside)],
        group_loops=[False, *[True] * len(beside)],
    )
    each = exchange_s(tested[0], result.message_post_ps, test.iterations * test.draws)
    if test.pattern == "all-reduce":
        return each
    if test.is_latency:
        return each / 2  # an exchange with both neighbors counts as two
    sent = 2 * test.window if test.pattern != "all-to-all" else len(nodes) - 1
    rates: NDArray[np.float64] = sent * size / each
    return rates


def _nodes_of(
    machine: MatchMachine, n_nodes: int, of_load_test: bool
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the nodes that test, and those of each congestor of the load test."""
    # a fifth of the nodes tests, rounded up: 5 n - 1 is the middle of the totals that give n
    total = min(5 * n_nodes - 1, machine.topology.n_nodes) if of_load_test else n_nodes
    nodes = machine.nodes(total)
    if nodes is None:
        raise NetcosimError(f"{n_nodes} nodes; the machine has {machine.topology.n_nodes}")
    if not of_load_test:
        return nodes, []
    shuffled = np.random.default_rng([machine.seed, total]).permutation(nodes)
    congesting, kinds = math.floor(CONGESTING_SHARE * total), len(CONGESTORS)
    if congesting < 2 * kinds or total - congesting < 2:
        raise NetcosimError("GPCNeT's load test needs at least 10 nodes")
    groups = [np.sort(shuffled[i:congesting:kinds]) for i in range(kinds)]
    return np.sort(shuffled[congesting:]), groups


def exchange_s(program: Program, post_ps: NDArray[np.int64], exchanges: int) -> NDArray[np.float64]:
    """Return the time of each exchange of each rank but the last: from first send to first send.

    The program's messages are the first of the posted ones.
    """
    own = np.flatnonzero(~program.nic_ends()[0])
    rank = program.send_src()[own]
    steps = np.searchsorted(program.send_ptr, own, side="right") - 1
    steps -= program.rank_step_ptr[rank]
    of_exchange = steps // (program.step_ptr[1] // exchanges) + rank * exchanges
    begin = np.full(program.n_ranks * exchanges, np.iinfo(np.int64).max)
    np.minimum.at(begin, of_exchange, post_ps[own])
    return np.diff(begin.reshape(-1, exchanges), axis=1).ravel() / PS_PER_S
