"""The compiled queue for policies that place by node count: decisions first, places afterwards.

Such a policy does not affect which jobs start when, so a kernel decides that only with the number
of free nodes (`queuesim.compiled.kernels_queue`). If placements are needed, or the policy may draw,
it is then called for each start and each end in the order of a queue by events.
"""

from __future__ import annotations

from math import nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Placement
from netsim.errors import NetcosimError
from queuesim.compiled.kernels_profile import STEP
from queuesim.compiled.kernels_queue import advance
from queuesim.compiled.kernels_state import (
    ARRIVAL,
    CONSERVATIVE,
    EASY,
    EVENT,
    JOB,
    LISTED,
    MANY,
    NEEDS_SCORES,
    PROMISE,
    STATE,
    STRICT,
    STUCK,
    Plan,
    Queue,
)
from queuesim.compiled.kernels_waiting import BLOCK, PAIR, Rows
from queuesim.machine import Machine
from queuesim.ordering.order_checks import with_checks
from queuesim.queue_setup import QueueSetup
from queuesim.result import COMPLETED, CUT, PlacementArrays, QueueResult
from queuesim.runtime import FixedRunTimes

PASSES = {"none": STRICT, "easy": EASY, "easy-retest": EASY, "conservative": CONSERVATIVE}
"""How the kernel calls a backfilling; by count nothing is held, and "easy-retest" is "easy"."""


def run_by_count(setup: QueueSetup) -> QueueResult | None:
    """Run a queue whose policy places by count; None if the run by events has to raise the error.

    Parameters
    ----------
    setup : QueueSetup
        One whose `why_by_events` is empty.
    """
    began = perf_counter()
    columns = _empty_queue(setup)
    if not _run(setup, columns):
        return None
    state, queue, *_ = columns
    n, by_rank, rank = len(setup.workload), queue.jobs, queue.arrivals["rank"].copy()
    overran = by_rank["late"][rank] == 1
    cut = overran & (setup.overrun == "cut")
    events = (
        queue.events["time_s"].copy(),
        by_rank["index"][queue.events["rank"]],
        queue.events["is_start"] == 1,
    )
    places: list[Placement | None] = []
    scheduling_s = np.zeros(n)
    if setup.keep_placements or not (setup.policy.deterministic or setup.only_times):
        places, scheduling_s = _places(setup, *events)
    if setup.progress is not None:
        for count in (*range(max(1, n // 1000), n, max(1, n // 1000)), *[n][:n]):
            setup.progress(count, n)
    return QueueResult(
        workload=setup.workload,
        policy=setup.policy.name,
        **setup.labels._asdict(),
        topology=setup.policy.topology,
        wall_s=perf_counter() - began,
        eligible_s=np.array(setup.workload.submit_s, dtype=np.float64),
        overran=overran,
        outcome=np.where(cut, CUT, COMPLETED).astype(np.int8),
        allocated_nodes=setup.workload.n_nodes.astype(np.int32),
        scheduling_s=scheduling_s,
        event_s=events[0],
        event_job=events[1],
        event_is_start=events[2],
        first_blocked_s=float(state[0]["first_blocked_s"]),
        placements=PlacementArrays.from_placements(places) if setup.keep_placements else None,
        needs_Bps=setup.bandwidth_Bps,
        start_s=by_rank["start_s"][rank],
        end_s=by_rank["end_s"][rank],
        promised_s=by_rank["promised_s"][rank],
    ).frozen()


class _Columns(NamedTuple):
    """What `advance` works on."""

    state: Any
    queue: Queue
    ranked: Rows | None
    plan: Plan | None


def _empty_queue(setup: QueueSetup) -> _Columns:
    """Build the columns of a queue before its first arrival."""
    workload, window = setup.workload, setup.labels.window
    n, n_free = len(workload), setup.policy.n_free
    order = with_checks(setup.chosen)
    index = np.arange(n)
    if order.static_key is not None:
        index = np.argsort(order.static_key(workload), kind="stable")
    arrivals = np.empty(n, dtype=ARRIVAL)
    arrivals["enters_s"] = workload.submit_s
    arrivals["rank"][index] = np.arange(n)
    jobs = np.zeros(n, dtype=JOB)
    jobs["nodes"] = workload.n_nodes[index]
    jobs["requested_s"] = workload.requested_s[index]
    assert isinstance(setup.run_times, FixedRunTimes)
    jobs["work_s"] = setup.run_times.all_s[index]
    jobs["index"] = index
    for column in ("start_s", "end_s", "promised_s"):
        jobs[column] = nan
    jobs["reserved_in"] = -1
    passes, by_score = PASSES[setup.labels.backfill], order.static_key is None
    n_running = min(n, n_free) + 1
    queue = Queue(
        jobs,
        arrivals,
        np.zeros(n // 64 + 1, dtype=BLOCK),
        np.empty(2 * n, dtype=EVENT),
        np.empty(n_running, dtype=PROMISE),
        np.empty(n_running, dtype=PAIR),
        np.empty(n if by_score or passes == CONSERVATIVE else 0, dtype=LISTED),
    )
    ranked = np.empty(n, dtype=PAIR) if by_score else None
    plan = None
    if passes == CONSERVATIVE:
        # a step for each running job, and two for each that waits, in either half of a pass
        plan = Plan(np.empty(n_free + 4 * n + 2, dtype=STEP), np.empty(n, dtype=PAIR))
    state = np.zeros(1, dtype=STATE)
    state["backfill"] = passes
    state["window"] = MANY if window is None else min(window, MANY)
    state["depth"] = max(n, 1) if window is None else min(window, MANY) + 1
    state["reservations"] = MANY if setup.reservations is None else setup.reservations
    state["by_score"] = by_score
    state["cuts"] = setup.labels.overrun == "cut"
    state["arrives_s"] = workload.submit_s[0] if n else 0.0
    state["n_free"] = n_free
    state["reserved_for"] = -1
    state["shadow_s"] = state["due_s"] = np.inf
    state["first_blocked_s"] = nan
    return _Columns(state, queue, ranked, plan)


def _run(setup: QueueSetup, columns: _Columns) -> bool:
    """Run the kernel to the last end; false if that does not come."""
    n, s, queue = len(setup.workload), columns.state[0], columns.queue
    score = with_checks(setup.chosen).score
    while s["n_done"] < n:
        # in portions, so that an interrupt is heard; a call costs as much as some twenty jobs, but
        # for plans of all that wait
        until = min(n, int(s["n_done"]) + max(1 if columns.plan else 10_000, n // 100))
        status = advance(*columns, until)
        if status == STUCK:
            return False
        if status == NEEDS_SCORES:
            assert score is not None
            listed = queue.listed[: s["n_listed"]]
            listed["score"] = score(setup.workload, listed["rank"].copy(), float(s["now_s"]))
    return True


def _places(
    setup: QueueSetup,
    event_s: NDArray[np.float64],
    event_job: NDArray[np.int64],
    event_is_start: NDArray[np.bool_],
) -> tuple[list[Placement | None], NDArray[np.float64]]:
    """Place each start by the policy, and return the placements and scheduling times of jobs."""
    policy, estimates = setup.policy, setup.known_s
    machine = Machine(setup.workload, policy, setup.bandwidth_Bps, estimates)
    n = len(setup.workload)
    places: list[Any] = [None] * n
    began_s, scheduling_s = [0.0] * n, [0.0] * n
    for now_s, job, is_start in zip(
        event_s.tolist(), event_job.tolist(), event_is_start.tolist(), strict=True
    ):
        clock = perf_counter()
        if is_start:
            place = policy.allocate(machine.request(job, now_s))
            if place is None or len(place.nodes) != machine.n_nodes[job]:
                raise NetcosimError(
                    f"policy {policy.name!r}: counts_only means that any free nodes will do, but "
                    f"job {setup.workload.job_id[job]} of {machine.n_nodes[job]} nodes got "
                    f"{'none' if place is None else len(place.nodes)}"
                )
            places[job] = place
            began_s[job] = now_s
        else:
            policy.release(places[job])
            if estimates is not None:
                estimates.completed(job, now_s - began_s[job])
        scheduling_s[job] += perf_counter() - clock
    return places, np.asarray(scheduling_s)
