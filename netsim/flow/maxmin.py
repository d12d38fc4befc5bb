"""Max-min fair rates of flows, and when flows that weights links so finish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.errors import NetcosimError
from netsim.flow import kernels_events, kernels_filling, kernels_symmetry
from netsim.flow.paths import FlowPaths
from netsim.short_repr import short_repr

_NO_WEIGHTS = np.empty(0, dtype=np.float64)
_WORTHWHILE = 0.5  # classes over flows, above which classes save nothing


def checked_capacity(capacity_Bps: ArrayLike) -> NDArray[np.float64]:
    """Return link capacities as the kernels' type; raise `NetcosimError` if one is not positive."""
    capacity = np.array(capacity_Bps, dtype=np.float64, ndmin=1)
    if len(capacity) and not (np.all(np.isfinite(capacity)) and capacity.min() > 0):
        raise NetcosimError(f"link capacity {capacity.min()} bytes/s; it must be positive")
    return capacity


def _per_flow(what: str, values: ArrayLike, n_flows: int) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n_flows, float(array))
    if len(array) != n_flows:
        raise NetcosimError(f"{len(array)} {what} for {n_flows} flows")
    if n_flows and not (np.all(np.isfinite(array)) and array.min() >= 0):
        raise NetcosimError(f"{what} = {array.min()}; it must be >= 0 and finite")
    return array


def _flow_weights(flow_weight: ArrayLike | None, n_flows: int) -> NDArray[np.float64] | None:
    if flow_weight is None:
        return None
    weight = _per_flow("flow_weight", flow_weight, n_flows)
    if n_flows and weight.min() <= 0:
        raise NetcosimError(f"flow_weight = {weight.min()}; it must be positive and finite")
    return weight


def _scaled(paths: FlowPaths, flow_weight: NDArray[np.float64]) -> FlowPaths:
    """Return paths on which the rate ``x / flow_weight`` loads the links as ``x`` does now.

    Weighted fair rates are unweighted ones on these paths: all rise together in rate over weight.
    """
    scaled = np.repeat(flow_weight, np.diff(paths.ptr))
    return paths._replace(weights=scaled if paths.weights is None else paths.weights * scaled)


def max_min_rates(
    ptr: NDArray[np.int64],
    links: NDArray[np.int32],
    capacity_Bps: ArrayLike,
    weights: NDArray[np.float64] | None = None,
    *,
    flow_weight: ArrayLike | None = None,
    flow_priority: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Compute max-min fair rates by progressive filling, in bytes per second.

    A link carries ``weight`` times the rate of the flow. Flows that one link stops get rates in
    proportion to ``flow_weight``, by default all alike; 1 / path latency is how TCP shares, and
    SimGrid. Flows share what those of higher ``flow_priority`` leave of their links. The rate is
    inf for a flow without links, 0 where higher priorities leave nothing.

    O(entries + stops log links). Bertsekas and Gallager, Data Networks (1992), section 6.5.2.
    """
    capacity = checked_capacity(capacity_Bps)
    paths = FlowPaths(ptr, links, weights).check(len(capacity))
    shares = _flow_weights(flow_weight, paths.n_flows)
    if shares is not None:
        paths = _scaled(paths, shares)
    rates = _rates(paths, capacity, _priorities(flow_priority, paths.n_flows))
    return rates if shares is None else rates * shares


EVENT = 1e-12
"""Relative difference of times below which flows finish at once."""
EXHAUSTED = 1e-9
"""Share of a link below which higher priorities leave nothing of it."""


def _priorities(flow_priority: ArrayLike | None, n_flows: int) -> NDArray[np.float64] | None:
    return None if flow_priority is None else _per_flow("flow_priority", flow_priority, n_flows)


def _rates(
    paths: FlowPaths, capacity: NDArray[np.float64], priority: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the rates; each priority shares what the higher ones leave of the links."""
    if priority is None:
        known = _NO_WEIGHTS if paths.weights is None else paths.weights
        return np.asarray(kernels_filling.max_min(paths.ptr, paths.links, known, capacity))
    rates, left = np.zeros(paths.n_flows), capacity.copy()
    for level in np.unique(priority)[::-1]:
        mine = priority == level
        some = paths.only(mine)
        rates[mine] = got = _rates(some, left, None)
        carried = np.repeat(got, np.diff(some.ptr))
        if some.weights is not None:
            carried *= some.weights
        left -= np.bincount(some.links, carried, len(left))
        left[left < EXHAUSTED * capacity] = 0.0
    return rates


@short_repr()
@dataclass(frozen=True, eq=False)
class FlowRun:
    """Finish times and what they cost."""

    finish_s: NDArray[np.float64]
    """(n_flows,) float64."""
    n_classes: int
    """Flows that were simulated, each for all flows equivalent to it."""
    n_events: int
    """Distinct times at which flows started or finished."""
    n_solved: int
    """Rates that moved, over all events."""


def run_flows(
    paths: FlowPaths,
    message_bytes: ArrayLike,
    capacity_Bps: ArrayLike,
    start_s: ArrayLike = 0.0,
    *,
    flow_weight: ArrayLike | None = None,
    flow_priority: ArrayLike | None = None,
) -> FlowRun:
    """Simulate flows to their end; like `flow_finish_times`, with counts."""
    capacity = checked_capacity(capacity_Bps)
    paths = paths.check(len(capacity))
    amount = _per_flow("message_bytes", message_bytes, paths.n_flows)
    shares = _flow_weights(flow_weight, paths.n_flows)
    if shares is not None:
        paths, amount = _scaled(paths, shares), amount / shares
    start = _per_flow("start_s", start_s, paths.n_flows)
    priority = _priorities(flow_priority, paths.n_flows)
    if priority is not None and len(np.unique(priority)) > 1:
        return _run_by_priority(paths, amount, capacity, start, priority)
    ptr, links = paths.ptr, paths.links
    weights = _NO_WEIGHTS if paths.weights is None else paths.weights
    flow_colour = _mixed(amount) + np.uint64(3) * _mixed(start)
    link_colour = _mixed(capacity)
    even = kernels_symmetry.refine(ptr, links, weights, flow_colour, link_colour)
    flow_class, flow_first = kernels_symmetry.group(flow_colour)
    if not even or len(flow_first) > _WORTHWHILE * paths.n_flows:
        finish, events, solved = _simulate(ptr, links, weights, capacity, amount, start)
        return FlowRun(finish, paths.n_flows, events, solved)
    link_class, link_first = kernels_symmetry.group(link_colour)
    few_ptr, few_links, few_weights = kernels_symmetry.quotient(
        ptr, links, weights, flow_class, flow_first, link_class, link_first
    )
    finish, events, solved = _simulate(
        few_ptr,
        few_links,
        few_weights,
        capacity[link_first],
        amount[flow_first],
        start[flow_first],
    )
    return FlowRun(finish[flow_class], len(flow_first), events, solved)


def _run_by_priority(
    paths: FlowPaths,
    amount: NDArray[np.float64],
    capacity: NDArray[np.float64],
    start: NDArray[np.float64],
    priority: NDArray[np.float64],
) -> FlowRun:
    """Simulate flows of several priorities: all rates are solved again at each event."""
    finish, left = start.copy(), amount.copy()
    todo = (np.diff(paths.ptr) > 0) & (amount > 0)
    now, events, solved = float(start.min(initial=0.0)), 0, 0
    while todo.any():
        active = todo & (start <= now)
        until = float(start[todo & ~active].min(initial=np.inf))
        if active.any():
            rate = _rates(paths.only(active), capacity, priority[active])
            solved += len(rate)
            with np.errstate(divide="ignore"):
                needed_s = left[active] / rate
            # the highest priority always moves, so this is finite
            step_s = min(until - now, float(needed_s.min()))
            left[active] -= rate * step_s
            done = np.flatnonzero(active)[needed_s <= step_s * (1.0 + EVENT)]
            now = min(until, now + step_s)
            finish[done], todo[done] = now, False
        else:
            now = until
        events += 1
    return FlowRun(finish, paths.n_flows, events, solved)


def _mixed(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return a 64-bit colour of each value (the finaliser of `kernels_random.mix64`)."""
    x = (values + 0.0).view(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def _simulate(
    ptr: NDArray[np.int64],
    links: NDArray[np.int32],
    weights: NDArray[np.float64],
    capacity: NDArray[np.float64],
    amount: NDArray[np.float64],
    start: NDArray[np.float64],
) -> tuple[NDArray[np.float64], int, int]:
    moving = np.flatnonzero((np.diff(ptr) > 0) & (amount > 0))
    by_start = moving[np.argsort(start[moving], kind="stable")]
    # count from the first start: a late hour must not swallow short flows
    zero = float(start.min()) if len(start) else 0.0
    finish, events, solved = kernels_events.simulate(
        ptr, links, weights, capacity, amount, start - zero, by_start
    )
    return finish + zero, int(events), int(solved)


def flow_finish_times(
    paths: FlowPaths,
    message_bytes: ArrayLike,
    capacity_Bps: ArrayLike,
    start_s: ArrayLike = 0.0,
    *,
    flow_weight: ArrayLike | None = None,
    flow_priority: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return the finish time of each flow under max-min fair rates, in seconds.

    No latency: add the path's own. A flow without links or bytes finishes as it starts. Weights and
    priorities are those of `max_min_rates`. With a weight of 1 / path latency and the path latency
    as ``start_s`` it gives the finish times of SimGrid's model CM02. With several priorities all
    rates are solved at each event.

    Rates are brought up to date at each start and finish, only those that the event reaches
    (`kernels_levels`); equivalent flows are one (`kernels_symmetry`). Finishes within a relative
    1e-12 of the time since the first start are one event. It is SimGrid's fluid limit at zero
    latency.
    """
    run = run_flows(
        paths,
        message_bytes,
        capacity_Bps,
        start_s,
        flow_weight=flow_weight,
        flow_priority=flow_priority,
    )
    return run.finish_s
