"""Open-loop streams for latency-load curves: every rank sends on its own clock."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from netsim.topologies.checks import need_int
from netsim.topology import Topology
from netsim.traffic import Program
from patterns.build import build_program, make_messages
from patterns.destinations import (
    Destinations,
    adversarial_destinations,
    permutation_destinations,
    shift_destinations,
    tornado_destinations,
    uniform_random_destinations,
)

PROCESSES = ("poisson", "periodic")
DESTINATIONS: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "uniform-random": (),
    "permutation": (),
    "shift": ("distance",),
    "tornado": ("grid",),
    "adversarial": ("group_size", "offset"),
}
"""Names for `named_destinations`, with their parameters.

"uniform-random" leaves the sender out, "uniform" does not.
"""


def uniform_destinations(n_ranks: int) -> Destinations:
    """Return destinations: any rank with equal probability, the sender included (BookSim)."""
    return lambda src, rng: rng.integers(0, n_ranks, len(src))


def matrix_destinations(table: NDArray[np.float64]) -> Destinations:
    """Return destinations drawn with the probability of their column's weight in the sender's row.

    A rank whose row is 0 sends nothing, so its receivers are not used.
    """
    n = len(table)
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    # one ascending line of all rows, each of length 1: rank r's receivers lie from r to r + 1
    edges = np.minimum(np.cumsum(share, axis=1), 1.0)
    edges[:, -1:] = 1.0
    line = (edges + np.arange(n)[:, None]).ravel()

    def draw(src: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        at = np.searchsorted(line, src + rng.random(len(src)), side="right")
        last = n - 1 - (table[src, ::-1] > 0).argmax(axis=1)
        return np.asarray(np.minimum(at - src * n, last), dtype=np.int64)

    return draw


def named_destinations(
    name: str,
    n_ranks: int,
    rng: np.random.Generator,
    params: Mapping[str, object] | None = None,
) -> Destinations:
    """Return the destinations of a standard load by name; the generator draws the permutation.

    Parameters of shift: ``distance`` (1). tornado: ``grid`` (one ring). adversarial: ``group_size``
    (needed), ``offset`` (1).
    """
    need_name("destinations", name, DESTINATIONS)
    given = dict(params or {})
    for key in given:
        need_name(f"parameter of {name}", key, DESTINATIONS[name])

    def integer(key: str, default: int | None) -> int:
        value = given.get(key, default)
        if not isinstance(value, (int, np.integer)):
            raise NetcosimError(f"{name}: {key} = {value!r}; a whole number is needed")
        return int(value)

    if name == "uniform":
        return uniform_destinations(n_ranks)
    if name == "uniform-random":
        return uniform_random_destinations(n_ranks)
    if name == "permutation":
        return permutation_destinations(n_ranks, rng)
    if name == "shift":
        return shift_destinations(n_ranks, integer("distance", 1))
    if name == "adversarial":
        return adversarial_destinations(n_ranks, integer("group_size", None), integer("offset", 1))
    grid = given.get("grid", (n_ranks,))
    if not isinstance(grid, (list, tuple)) or int(np.prod(grid)) != n_ranks:
        raise NetcosimError(f"tornado: grid = {grid!r}; sides with product {n_ranks} are needed")
    return tornado_destinations(grid)


def open_loop(
    n_ranks: int,
    destinations: str | Destinations,
    message_bytes: int,
    rate_Bps: float | NDArray[np.float64],
    duration_s: float,
    rng: np.random.Generator,
    process: str = "poisson",
    params: Mapping[str, object] | None = None,
) -> Program:
    """Build streams of single messages that wait for nothing.

    Each message is a step of its own: it computes for the gap since the message before, then sends.
    No rank waits (``recv_need`` is 0 everywhere), so offered load does not fall when the network is
    full. With a send overhead in the engine each message comes that much later; keep it 0 for
    latency-load curves. Every rank ends with an empty step, which the messages sent to it name.

    Destinations are a name, or ``f(src, rng) -> dst`` on arrays of ranks. The rate is what each
    rank offers; of several, some may be 0. Messages are posted in ``[0, duration_s)``: poisson:
    with exponential gaps. periodic: equal gaps from a random phase in the first one.
    """
    need_int("open loop", "n_ranks", n_ranks, 1)
    need_int("open loop", "message_bytes", message_bytes, 1)
    rates = np.broadcast_to(np.asarray(rate_Bps, dtype=np.float64), n_ranks)
    good = np.isfinite(rates).all() and rates.min() >= 0 and rates.max() > 0
    if not (good and np.isfinite(duration_s) and duration_s > 0):
        raise NetcosimError(
            f"open loop: rate_Bps = {rate_Bps}, duration_s = {duration_s}; both must be above 0"
        )
    need_name("open-loop process", process, PROCESSES)
    destination_of = (
        named_destinations(destinations, n_ranks, rng, params)
        if isinstance(destinations, str)
        else destinations
    )
    count, src, time = _posts(process, rates, message_bytes, duration_s, rng)
    n_steps = (count + 1).astype(np.int64)
    first = np.cumsum(count) - count
    number = np.arange(len(src)) - first[src]
    gaps = np.where(number == 0, time, np.diff(time, prepend=0.0))
    compute_s = np.zeros(int(n_steps.sum()))
    compute_s[np.arange(len(src)) + src] = np.maximum(gaps, 0.0)  # one empty step a rank before
    dst = np.asarray(destination_of(src, rng), dtype=np.int64)
    if dst.shape != src.shape or (len(dst) and (dst.min() < 0 or dst.max() >= n_ranks)):
        raise NetcosimError(
            f"open loop: destinations must be one rank of 0..{n_ranks - 1} a message"
        )
    messages = make_messages(src, number, dst, count[dst], message_bytes)
    return build_program(n_ranks, n_steps, messages, compute_s=compute_s, wait=False)


def _posts(
    process: str,
    rates: NDArray[np.float64],
    message_bytes: int,
    duration_s: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the messages of each rank, and rank and time of each message, by rank, then time."""
    ranks, sends = np.arange(len(rates), dtype=np.int64), rates > 0
    gap_s = message_bytes / np.where(sends, rates, 1.0)
    if process == "poisson":
        # Given their number, the times of a Poisson process are independent and uniform.
        count = rng.poisson(np.where(sends, duration_s / gap_s, 0.0))
        src = np.repeat(ranks, count)
        time = rng.uniform(0.0, duration_s, len(src))
        return count, src, time[np.lexsort((time, src))]
    phase = rng.uniform(0.0, gap_s)
    count = np.maximum(0, np.ceil((duration_s - phase) / gap_s)).astype(np.int64) * sends
    src = np.repeat(ranks, count)
    number = np.arange(len(src)) - (np.cumsum(count) - count)[src]
    return count, src, phase[src] + number * gap_s[src]


def lone_messages(
    n_ranks: int,
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    message_bytes: int,
    gap_s: float,
) -> Program:
    """Build message i from src[i] to dst[i] at i x gap; sources are different ranks."""
    sends = np.zeros(n_ranks, dtype=np.int64)
    sends[src] = 1
    n_steps = sends + 1
    first = np.cumsum(n_steps) - n_steps
    compute = np.zeros(int(n_steps.sum()))
    compute[first[src]] = np.arange(len(src)) * gap_s
    order = np.argsort(src)
    messages = make_messages(src[order], 0, dst[order], sends[dst[order]], message_bytes)
    return build_program(n_ranks, n_steps, messages, compute_s=compute, wait=False)


def traffic_params(topology: Topology, traffic: str) -> dict[str, object]:
    """Return a traffic's parameters from the network: the nodes of a group, the grid of a torus."""
    shape = topology.shape
    if traffic == "adversarial" and hasattr(shape, "nodes_per_group"):
        return {"group_size": shape.nodes_per_group}
    if traffic == "tornado" and hasattr(shape, "dims"):
        return {"grid": tuple(reversed(shape.dims))}
    return {}
