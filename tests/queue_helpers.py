"""Tiny policies, workloads and a plain second queue, for the tests of the queue alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alloc.policy import Placement, Policy, Request
from netsim.topology import Ports, RouterLinks, Topology, build_topology
from queuesim.ordering.orders import Order, OrderContext
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel, RunTimes
from workloads.job import Workload


def same_schedule(one: QueueResult, other: QueueResult) -> bool:
    """Starts, ends, nodes, and the order of all events."""
    assert one.placements is not None
    assert other.placements is not None
    return all(
        np.array_equal(a, b)
        for a, b in (
            (one.start_s, other.start_s),
            (one.end_s, other.end_s),
            (one.event_job, other.event_job),
            (one.placements.nodes, other.placements.nodes),
        )
    )


def made(order: Order, parameters: object, context: OrderContext | None = None) -> Order:
    """The order with these parameters."""
    assert order.made is not None
    return order.made(parameters, context or OrderContext())


def flat_machine(n_nodes: int) -> Topology:
    """Nodes on one router."""
    none = np.empty(0, dtype=np.int32)
    return build_topology(
        family="graph",
        name=f"flat-{n_nodes}",
        shape=None,
        n_routers=1,
        ports=Ports(router=np.zeros(n_nodes, dtype=np.int32), bandwidth_Bps=1, latency_s=0.0),
        links=RouterLinks(
            src=none,
            dst=none,
            kind=none,
            kinds=(),
            bandwidth_Bps=1,
            latency_s=0.0,
        ),
    )


class Mask(Policy):
    """The lowest free nodes, by a mask; says that it places by count."""

    name = "mask"
    description = "lowest free nodes"
    counts_only = True
    holds_any = True

    def __init__(self, n_nodes: int) -> None:
        super().__init__(flat_machine(n_nodes), np.random.default_rng(0))
        self.free = np.ones(n_nodes, dtype=bool)
        self.held = np.zeros(n_nodes, dtype=bool)
        self.calls: list[int] = []

    @property
    def n_free(self) -> int:
        return int(np.count_nonzero(self.free & ~self.held))

    def find(self, usable: np.ndarray, n_nodes: int) -> np.ndarray | None:
        """Which nodes a job takes."""
        nodes = np.flatnonzero(usable)[:n_nodes]
        return nodes if len(nodes) == n_nodes else None

    def allocate(self, request: Request) -> Placement | None:
        self.calls.append(request.n_nodes)
        nodes = self.find(self.free & ~self.held, request.n_nodes)
        if nodes is None:
            return None
        self.free[nodes] = False
        return Placement(request.job_id, nodes.astype(np.int32))

    def release(self, placement: Placement) -> None:
        assert not self.free[placement.nodes].any()
        self.free[placement.nodes] = True

    def hold(self, placement: Placement) -> None:
        assert not self.held.any()
        self.held[placement.nodes] = True

    def unhold(self) -> None:
        self.held[:] = False

    def clone(self) -> Mask:
        other = type(self)(len(self.free))
        other.free[:] = self.free
        return other


class HeldMask(Mask):
    """The same placement, but the queue has to hold nodes."""

    counts_only = False


class Contiguous(Mask):
    """The first run of free nodes that is long enough: a placement that can fail by shape."""

    name = "contiguous"
    description = "first free run"
    counts_only = False

    def find(self, usable: np.ndarray, n_nodes: int) -> np.ndarray | None:
        run = np.convolve(usable, np.ones(n_nodes, dtype=int), "valid") == n_nodes
        starts = np.flatnonzero(run)
        return np.arange(starts[0], starts[0] + n_nodes) if len(starts) else None


class Pairs(Mask):
    """Whole pairs of nodes (0-1, 2-3, ...): a placement that rounds up and fails by shape."""

    name = "pairs"
    description = "free pairs of nodes"
    counts_only = False

    def find(self, usable: np.ndarray, n_nodes: int) -> np.ndarray | None:
        pairs = np.flatnonzero(usable.reshape(-1, 2).all(axis=1))[: -(-n_nodes // 2)]
        nodes = (2 * pairs[:, None] + np.arange(2)).reshape(-1)
        return nodes if len(nodes) >= n_nodes else None


def make_workload(
    submit: Sequence[float],
    run: Sequence[float],
    nodes: Sequence[int],
    requested: Sequence[float] | None = None,
) -> Workload:
    """Jobs 1, 2, ...; exact estimates unless given."""
    n = len(submit)
    missing = np.full(n, -1, dtype=np.int32)
    return Workload(
        name="test",
        job_id=np.arange(1, n + 1),
        submit_s=np.asarray(submit, dtype=float),
        run_time_s=np.asarray(run, dtype=float),
        n_nodes=np.asarray(nodes, dtype=np.int32),
        requested_s=np.asarray(run if requested is None else requested, dtype=float),
        user=missing,
        project=missing,
        wait_s=np.full(n, np.nan),
    )


class Live(RunTimeModel):
    """These run times."""

    name = "live"
    description = "for tests"

    def __init__(self, live: RunTimes) -> None:
        self.live = live

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        return self.live


class PlainEasy:
    """EASY from its definition: an event list, no SimPy, nothing remembered but reservations.

    With a policy that places by count the reservation is made anew in each pass;
    otherwise it is kept as the documentation of `EasyBackfill` says.
    """

    def __init__(self, workload: Workload, policy: Policy, order: str, window: int) -> None:
        self.w, self.policy, self.order, self.window = workload, policy, order, window
        n = len(workload)
        self.start, self.end = np.full(n, np.nan), np.full(n, np.nan)
        self.waiting: list[int] = []
        self.running: dict[int, Placement] = {}
        self.reservation: tuple[int, float, Placement] | None = None

    def run(self) -> np.ndarray:
        w, now = self.w, -1.0
        n = len(w)
        while np.isnan(self.end).any() or self.running:
            times = [w.submit_s[j] for j in range(n) if w.submit_s[j] > now]
            times += [self.start[j] + w.run_time_s[j] for j in self.running]
            if not times:
                break
            now = min(times)
            for j in list(self.running):
                if self.start[j] + w.run_time_s[j] == now:
                    self.end[j] = now
                    self.policy.release(self.running.pop(j))
                    late = self.reservation is not None and now > self.reservation[1]
                    if self.promised(j) > now or late:
                        self.reservation = None
            self.waiting += [j for j in range(n) if w.submit_s[j] == now]
            self.one_pass(now)
        return self.start

    def promised(self, j: int) -> float:
        return float(self.start[j] + self.w.requested_s[j])

    def sort(self, now: float) -> None:
        w = self.w
        if self.order == "shortest":
            self.waiting.sort(key=lambda j: (w.requested_s[j], j))
        elif self.order in ("smallest", "largest"):
            sign = 1 if self.order == "smallest" else -1
            self.waiting.sort(key=lambda j: (sign * w.n_nodes[j], j))
        elif self.order == "wfp":
            wait = {j: now - w.submit_s[j] for j in self.waiting}
            self.waiting.sort(
                key=lambda j: (-((wait[j] / w.requested_s[j]) ** 3 * w.n_nodes[j]), j)
            )
        else:
            self.waiting.sort()

    def place(self, j: int, now: float) -> bool:
        placement = self.policy.allocate(Request(j, int(self.w.n_nodes[j])))
        if placement is None:
            return False
        self.waiting.remove(j)
        self.running[j] = placement
        self.start[j] = now
        return True

    def one_pass(self, now: float) -> None:
        self.sort(now)
        while self.waiting and self.place(self.waiting[0], now):
            self.reservation = None
        if not self.waiting:
            return
        head, rest = self.waiting[0], self.waiting[1 : 1 + self.window]
        if self.reservation is not None and (
            self.reservation[0] != head
            or any(self.reservation[1] < self.promised(j) <= now for j in self.running)
        ):
            self.reservation = None
        if self.policy.counts_only:
            self.by_count(head, rest, now)
        else:
            self.by_shape(head, rest, now)

    def by_shape(self, head: int, rest: list[int], now: float) -> None:
        for j in rest:
            if self.w.n_nodes[j] > self.policy.n_free:
                continue
            if self.reservation is None:
                self.reservation = self.reserve(head, now)
            _, shadow, held = self.reservation
            if now + self.w.requested_s[j] > shadow:
                self.policy.hold(held)
            self.place(j, now)
            self.policy.unhold()

    def free_at(self, time: float, now: float) -> list[int]:
        """Running jobs that have ended by then, if they keep their promises."""
        return [j for j in self.running if max(self.promised(j), now) <= time]

    def by_count(self, head: int, rest: list[int], now: float) -> None:
        size = self.w.n_nodes
        for j in rest:
            for shadow in sorted({now, *(max(now, self.promised(k)) for k in self.running)}):
                then = self.policy.n_free + sum(size[k] for k in self.free_at(shadow, now))
                if then >= size[head]:
                    break
            ends_before = now + self.w.requested_s[j] <= shadow
            if ends_before or size[j] <= then - size[head]:
                self.place(j, now)

    def reserve(self, head: int, now: float) -> tuple[int, float, Placement]:
        for shadow in sorted({now, *(max(now, self.promised(k)) for k in self.running)}):
            trial = self.policy.clone()
            for k in self.free_at(shadow, now):
                trial.release(self.running[k])
            placement = trial.allocate(Request(head, int(self.w.n_nodes[head])))
            if placement is not None:
                return head, shadow, placement
        raise AssertionError("the head never fits")


class PlainRetest(PlainEasy):
    """EASY without a hold, from its definition: every job is tried, and the head after it."""

    def by_shape(self, head: int, rest: list[int], now: float) -> None:
        for j in rest:
            if self.w.n_nodes[j] > self.policy.n_free:
                continue
            if self.reservation is None:
                self.reservation = self.reserve(head, now)
            shadow = self.reservation[1]
            if not self.place(j, now) or now + self.w.requested_s[j] <= shadow:
                continue
            trial = self.policy.clone()
            # once the shadow time has passed, "then" is now: who is late counts as ending
            for k in self.free_at(max(shadow, now), now):
                trial.release(self.running[k])
            if trial.allocate(Request(head, int(self.w.n_nodes[head]))) is None:
                self.policy.release(self.running.pop(j))
                self.start[j] = np.nan
                self.waiting.append(j)
                self.sort(now)
