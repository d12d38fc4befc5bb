"""The compiled queue, for policies that place by node count and for those with a kernel's state.

The former do not affect which jobs start when, so a kernel decides that only with the number of
free nodes (`queuesim.compiled.kernels_queue`). If placements are needed, or the policy may draw, it
is then called for each start and each end in the order of a queue by events. The state of the
latter is in the kernel (`queuesim.compiled.kernels_room`), which places jobs as the policy does.
"""

from __future__ import annotations

from math import nan
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alloc.fattree.kernels_places import MAX_NEEDS
from alloc.policy import Placement
from netsim.errors import NetcosimError
from queuesim.compiled.kernels_profile import STEP
from queuesim.compiled.kernels_queue import advance
from queuesim.compiled.kernels_room import ENTRY, KIND, PLACED, Room
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
from queuesim.machine import Machine, kinds_of
from queuesim.ordering.orders import with_checks
from queuesim.queue_setup import QueueSetup
from queuesim.result import COMPLETED, CUT, PlacementArrays, QueueResult
from queuesim.runtime import FixedRunTimes

PASSES = {"none": STRICT, "easy": EASY, "easy-retest": EASY, "conservative": CONSERVATIVE}
"""How the kernel calls a backfilling; by count nothing is held, and "easy-retest" is "easy"."""

PASSES_KEPT = 16
"""Placements of the passes between two portions, in machines full of jobs."""


def run_by_count(setup: QueueSetup) -> QueueResult | None:
    """Run a queue that is compiled; None if the run by events has to raise the error."""
    began = perf_counter()
    columns = _empty_queue(setup)
    out = Written(columns)
    if not _run(setup, columns, out):
        return None
    state, queue, _, _, room = columns
    n, by_rank, rank = len(setup.workload), queue.jobs, queue.arrivals["rank"].copy()
    overran = by_rank["late"][rank] == 1
    cut = overran & (setup.overrun == "cut")
    events = (
        queue.events["time_s"].copy(),
        by_rank["index"][queue.events["rank"]],
        queue.events["is_start"] == 1,
    )
    places: PlacementArrays | None = None
    scheduling_s = np.zeros(n)
    allocated = setup.workload.n_nodes.astype(np.int32)
    if room is not None:
        placed = room.jobs[rank]
        allocated = placed["nodes"].astype(np.int32)
        started = events[1][events[2]]
        scheduling_s[started] = np.repeat(out.shares_s, np.diff(out.starts, prepend=0))
        if setup.keep_placements:
            places = out.placements(started, placed)
    elif setup.keep_placements or not (setup.policy.deterministic or setup.only_times):
        placed_one, scheduling_s = _places(setup, *events)
        places = PlacementArrays.from_placements(placed_one)
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
        allocated_nodes=allocated,
        scheduling_s=scheduling_s,
        event_s=events[0],
        event_job=events[1],
        event_is_start=events[2],
        first_blocked_s=float(state[0]["first_blocked_s"]),
        placements=places if setup.keep_placements else None,
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
    room: Room | None


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
    state["opened"] = -1
    return _Columns(state, queue, ranked, plan, _empty_room(setup, index, state))


def _empty_room(setup: QueueSetup, index: NDArray[np.int64], state: Any) -> Room | None:
    """Build what a queue has where nodes and links matter; None if a count decides."""
    policy, needs_Bps = setup.policy, setup.bandwidth_Bps
    if policy.counts_only:
        return None
    kind, sizes, first = kinds_of(setup.workload, policy, needs_Bps)
    needs = [None] * len(first) if needs_Bps is None else needs_Bps[first].tolist()
    places = policy.kernel_state(needs)
    # Invariant: kinds of one size follow one another, by what they need.
    pairs, alike = np.unique([sizes, places.needs], axis=1, return_inverse=True)
    kind = alike.reshape(-1)[kind]
    kinds = np.zeros(pairs.shape[1], dtype=KIND)
    kinds["nodes"], kinds["need"] = pairs
    kinds["failed"] = kinds["failed_held"] = -1
    kinds["slot"] = np.unique(pairs[1], return_inverse=True)[1] % MAX_NEEDS
    jobs = np.zeros(len(index), dtype=PLACED)
    jobs["kind"] = kind[index]
    waiting = np.zeros(len(index), dtype=ENTRY)
    waiting["rank"] = np.argsort(jobs["kind"], kind="stable")
    waiting["requested_s"] = nan
    jobs["entry"][waiting["rank"]] = np.arange(len(index))
    kinds["end"] = np.cumsum(np.bincount(kind, minlength=len(kinds)))
    kinds["begin"], kinds["shortest_s"] = kinds["end"], np.inf
    n_kept = PASSES_KEPT * policy.topology.n_nodes if setup.keep_placements else 0
    state["most_out"] = max(0, n_kept - policy.topology.n_nodes)
    # as many up-links as nodes at most, and as many spines, both ways
    written = np.empty(n_kept, dtype=np.int32), np.empty(4 * n_kept, dtype=np.int32)
    return Room(*places[:4], jobs, kinds, waiting, np.empty(len(kinds), dtype=PAIR), *written)


class Written:
    """What the kernel wrote, portion by portion: nodes and links of jobs as they started.

    Attributes
    ----------
    starts : list of int
        How many jobs had started at the end of each portion.
    shares_s : list of float
        The time that a portion took for each start in it.
    """

    def __init__(self, columns: _Columns) -> None:
        self._state, self._room = columns.state[0], columns.room
        self.starts: list[int] = []
        self.shares_s: list[float] = []
        self._nodes: list[NDArray[np.int32]] = []
        self._links: list[NDArray[np.int32]] = []

    def read(self, took_s: float) -> None:
        """Take what was written since the last call."""
        if self._room is None:
            return
        s = self._state
        started = int(s["n_events"] - s["n_done"])
        self.shares_s.append(took_s / max(1, started - (self.starts or [0])[-1]))
        self.starts.append(started)
        self._nodes.append(self._room.nodes[: s["n_nodes_out"]].copy())
        self._links.append(self._room.links_out[: s["n_links_out"]].copy())
        s["n_nodes_out"] = s["n_links_out"] = 0

    def placements(self, jobs: NDArray[np.int64], placed: Rows) -> PlacementArrays:
        """Return the placements in job order of jobs that started in this order."""
        arrays: list[Any] = []
        for column, parts in (("nodes", self._nodes), ("links", self._links)):
            n, flat = placed[column], np.concatenate(parts)
            ptr = np.concatenate([[0], np.cumsum(n)])
            begin, n_first = ptr[:-1][jobs], np.cumsum(n[jobs]) - n[jobs]
            ordered = np.empty_like(flat)
            ordered[np.arange(len(flat)) + np.repeat(begin - n_first, n[jobs])] = flat
            arrays += [ptr, ordered]
        return PlacementArrays(*arrays)


def _run(setup: QueueSetup, columns: _Columns, out: Written) -> bool:
    """Run the kernel to the last end; false if that does not come."""
    n, s, queue = len(setup.workload), columns.state[0], columns.queue
    score = with_checks(setup.chosen).score
    while s["n_done"] < n:
        # in portions, so that an interrupt is heard; a call costs as much as some twenty jobs, but
        # for plans of all that wait
        until = min(n, int(s["n_done"]) + max(1 if columns.plan else 10_000, n // 100))
        began = perf_counter()
        status = advance(*columns, until)
        out.read(perf_counter() - began)
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
