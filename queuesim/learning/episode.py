"""Scheduling as a sequence of decisions: observations and rewards.

For agents that learn to schedule. An episode is one run of the queue (`queuesim.run.Run`). It
pauses at every instant with a decision, and continues when the agent waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log1p

import numpy as np
from numpy.typing import NDArray

from netsim.hierarchy import hierarchy_of
from netsim.topology import Topology
from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.learning import kernels_observation as kernels
from queuesim.metrics import SLOWDOWN_BOUND_S
from queuesim.run import Run
from workloads.job import Workload

FloatArray = NDArray[np.float32]

LONGEST_S = 30 * 86400.0
"""Times are seen by their logarithm, as a part of this one's."""

_LOG_LONGEST = log1p(LONGEST_S)

JOB_COLUMNS = ("size", "walltime", "waited", "pattern", "communication", "fits", "there")
"""Of a waiting job: nodes over the machine's, requested and waited time (`log_time`), pattern
(place in the mix over its length), communication fraction, whether it could start, and 1."""
DOMAIN_COLUMNS = ("free", "mean_link_use", "largest_link_use")
"""Of a domain: free nodes over its nodes, and for which share of the time its links are busy."""
MACHINE_COLUMNS = ("free", "waiting", "next_end", "day")
"""Free nodes over all, jobs that wait over the jobs of the episode, time to the next promised end
(`log_time`), part of the day that has gone."""


def log_time(seconds: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the times from 0 to 1: log(1 + s) over that of `LONGEST_S`, cut there."""
    clipped = np.minimum(np.maximum(seconds, 0.0), LONGEST_S)
    return np.asarray(np.log1p(clipped) / _LOG_LONGEST)


class Reward:
    """Cumulative reward from ended jobs; differences between decisions are the rewards."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.n_jobs = len(run.workload)
        self.n_nodes: list[int] = run.workload.n_nodes.tolist()
        self.submit_s: list[float] = run.workload.submit_s.tolist()
        self.total = 0.0

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        """Add the reward of an ended job."""
        raise NotImplementedError


class SlowdownReward(Reward):
    """Minus the mean bounded slowdown (`queuesim.metrics.bounded_slowdown`)."""

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        run_s = max(end_s - start_s, SLOWDOWN_BOUND_S)
        self.total -= max((end_s - self.submit_s[job]) / run_s, 1.0) / self.n_jobs


class StretchReward(Reward):
    """Minus the mean turnaround over the isolated run time, with that raised to 10 s.

    The slowdown with the run time as it was divides by what contention has made of it.
    """

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        isolated_s = max(self.run.run_times.work_s(job), SLOWDOWN_BOUND_S)
        self.total -= max((end_s - self.submit_s[job]) / isolated_s, 1.0) / self.n_jobs


class TurnaroundReward(Reward):
    """Minus the mean time from submission to end, in hours."""

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        self.total -= (end_s - self.submit_s[job]) / 3600 / self.n_jobs


class CommunicationReward(Reward):
    """Minus the node-hours that contention adds to run times."""

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        added_s = end_s - start_s - self.run.run_times.work_s(job)
        self.total -= self.n_nodes[job] * added_s / 3600


class UtilisationReward(Reward):
    """Node-seconds of ended jobs over the machine's from the first start to the last end."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.machine_nodes = run.machine.policy.topology.n_nodes
        self.node_s = 0.0
        self.first_s: float | None = None

    def ended(self, job: int, start_s: float, end_s: float) -> None:
        if self.first_s is None:
            self.first_s = self.run.event_s[0]
        self.node_s += self.n_nodes[job] * (end_s - start_s)
        self.total = self.node_s / (self.machine_nodes * (end_s - self.first_s))


REWARDS: dict[str, tuple[type[Reward], str]] = {
    "bounded-slowdown": (SlowdownReward, "minus the mean bounded slowdown (10 s)"),
    "bounded-stretch": (
        StretchReward,
        "minus the mean turnaround over the isolated run time (10 s)",
    ),
    "turnaround": (TurnaroundReward, "minus the mean hours from submission to end"),
    "communication": (
        CommunicationReward,
        "minus the node-hours that contention adds to run times",
    ),
    "utilisation": (
        UtilisationReward,
        "node-hours of jobs over the machine's, first start to last end",
    ),
}
"""Rewards by name: of an episode they sum to this."""


class Domains:
    """A machine's nodes and links by domain, for all episodes.

    ``level`` is one of its hierarchy (0 is the machine); the lowest if that is higher.
    """

    def __init__(self, topology: Topology, level: int) -> None:
        hierarchy = hierarchy_of(topology)
        level = min(level, len(hierarchy.levels) - 1)
        self.of = hierarchy.domain[level].astype(np.int64)
        """(n_nodes,) int64: the domain of each node."""
        self.n = hierarchy.counts[level]
        self.nodes = np.bincount(self.of, minlength=self.n)
        """(n,) int64: nodes of each domain."""
        self._links, self._link_begin = _links_by_domain(topology, self.of, self.n)

    def add_link_use(self, table: FloatArray, use: NDArray[np.float64]) -> None:
        """Write the link use of each domain to a table of `DOMAIN_COLUMNS`.

        ``use`` (n_links,) is the share of the time for which each link is busy.
        """
        if len(self._links):
            mine, some = np.minimum(use[self._links], 1.0), np.diff(self._link_begin) > 0
            begin = self._link_begin[:-1][some]
            table[some, 1] = np.add.reduceat(mine, begin) / np.diff(self._link_begin)[some]
            table[some, 2] = np.maximum.reduceat(mine, begin)


class View:
    """Observations at decisions, as arrays; created once for the jobs of a run.

    A decider (`queuesim.decide.Decider`) that creates one in `begin` observes with `observe` what
    an environment of the same config shows. ``details`` of the workload have the patterns and
    communication fractions of its jobs, of which ``depth`` that wait are seen.
    """

    def __init__(self, domains: Domains, workload: Workload, depth: int) -> None:
        self.domains = domains
        self.depth = depth
        n, n_nodes = len(workload), len(domains.of)
        rows = np.zeros((n, len(JOB_COLUMNS)), dtype=np.float32)
        rows[:, 0] = workload.n_nodes / n_nodes
        rows[:, 1] = log_time(workload.requested_s)
        details = workload.details
        if details.pattern is not None:
            rows[:, 3] = (details.pattern.code + 1) / max(len(details.pattern.names), 1)
        if details.communication_fraction is not None:
            rows[:, 4] = np.nan_to_num(details.communication_fraction)
        rows[:, 6] = 1
        submit_s = np.asarray(workload.submit_s, dtype=np.float64)
        self._jobs = kernels.JobArrays(rows, submit_s, workload.n_nodes.astype(np.int64))
        self._n_jobs = n

    def nothing(self) -> dict[str, FloatArray]:
        """Return the final observation: zeros."""
        return {
            "jobs": np.zeros((self.depth, len(JOB_COLUMNS)), dtype=np.float32),
            "domains": np.zeros((self.domains.n, len(DOMAIN_COLUMNS)), dtype=np.float32),
            "machine": np.zeros(len(MACHINE_COLUMNS), dtype=np.float32),
        }

    def waiting(self, point: DecisionPoint) -> list[int]:
        """Return the visible jobs, in order; none where no node is free."""
        return point.waiting()[: self.depth] if point.n_free else []

    def observe(
        self,
        point: DecisionPoint,
        waiting: list[int] | None = None,
        busy: NDArray[np.int64] | None = None,
    ) -> dict[str, FloatArray]:
        """Return a decision as arrays of `JOB_COLUMNS`, `DOMAIN_COLUMNS` and `MACHINE_COLUMNS`.

        Rows behind the visible jobs are zeros. ``waiting`` (these jobs) and ``busy`` (nodes of each
        domain) are found if they are not known.
        """
        if busy is None:
            busy = np.zeros(self.domains.n, dtype=np.int64)
            for placement in point.machine.placements.values():
                kernels.count(busy, self.domains.of, placement.nodes, 1)
        arrays, ends, use = self.nothing(), point.running(), point.link_use()
        moment = kernels.Moment(
            point.now_s,
            max(ends[0][0] - point.now_s, 0.0) if ends else LONGEST_S,
            point.n_free,
            point.n_waiting / self._n_jobs,
        )
        kernels.observe(
            self._jobs,
            np.array(self.waiting(point) if waiting is None else waiting, dtype=np.int64),
            busy,
            self.domains.nodes,
            moment,
            LONGEST_S,
            kernels.ObservationTables(**arrays),
        )
        if use is not None:
            self.domains.add_link_use(arrays["domains"], use)
        return arrays


def _links_by_domain(
    topology: Topology, domain: NDArray[np.int64], n_domains: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the links between routers, by the domain of the nodes of the router that they leave.

    Links of routers without nodes (spines) belong to no domain.
    """
    of_router = np.full(topology.n_routers, -1, dtype=np.int64)
    of_router[topology.node_router] = domain
    links = np.arange(topology.first_router_link, topology.n_links)
    mine = of_router[topology.link_src[links] - topology.n_ports]
    links, mine = links[mine >= 0], mine[mine >= 0]
    order = np.argsort(mine, kind="stable")
    return links[order], np.searchsorted(mine[order], np.arange(n_domains + 1))


class Episode:
    """A run, before its first arrival and with placements kept, that stops at each decision.

    ``decider`` selects the job that the agent decides on; without it the agent may select any
    visible job.
    """

    def __init__(
        self, run: Run, view: View, reward: Reward, decider: Decider | None = None
    ) -> None:
        self.run, self.view, self.reward, self.decider = run, view, reward, decider
        self._passes: Iterator[float] = run.passes()
        self._n_followed, self._reported = 0, 0.0
        self._busy = np.zeros(view.domains.n, dtype=np.int64)
        self.point: DecisionPoint | None = None
        self.waiting: list[int] = []
        """Visible jobs, in order."""
        self.fits: list[bool] = []
        """For each of them, whether there are free nodes enough."""
        self.offered: int | None = None
        """The job offered by ``decider``, if given."""

    def forward(self) -> bool:
        """Wait: advance to the next decision; False when all jobs have ended."""
        for now_s in self._passes:
            self.point = DecisionPoint(self.run.scheduler, now_s)
            if self.needs_decision():
                return True
        self.point, self.waiting, self.fits = None, [], []
        self._follow()
        return False

    def needs_decision(self) -> bool:
        """Return whether there is a decision to make now."""
        point = self.point
        assert point is not None
        free, sizes = point.n_free, self.run.machine.n_nodes
        self.waiting = self.view.waiting(point)
        self.fits = [sizes[job] <= free for job in self.waiting]
        if self.decider is None:
            return True in self.fits
        choice = self.decider.decide(point) if self.waiting else None
        self.offered = None if choice is None else choice.job
        return choice is not None

    def start(self, choice: Choice) -> bool:
        """Start a job; see `queuesim.decide.DecisionPoint.start`."""
        assert self.point is not None
        return self.point.start(choice)

    @property
    def may_wait(self) -> bool:
        """Whether anything will happen by itself: a job runs, or one is still to come."""
        run = self.run
        return bool(run.running or run.new) or run.n_done + len(run.queue) < len(run.workload)

    def free_nodes(self) -> NDArray[np.int64]:
        """Return the free nodes of each domain, (domains,)."""
        self._follow()
        return self.view.domains.nodes - self._busy

    def reward_since_last(self) -> float:
        """Return the reward since the last call."""
        self._follow()
        gained = self.reward.total - self._reported
        self._reported = self.reward.total
        return gained

    def observation(self) -> dict[str, FloatArray]:
        """Return the view's ``jobs``, ``domains`` and ``machine``; zeros when the run is over."""
        self._follow()
        view, point = self.view, self.point
        if point is None:
            return view.nothing()
        return view.observe(point, self.waiting, self._busy)

    def _follow(self) -> None:
        """Process the starts and ends since the last call."""
        run = self.run
        if self._n_followed == len(run.event_s):
            return
        domain, kept = self.view.domains.of, run.kept
        for k in range(self._n_followed, len(run.event_s)):
            job, starts = run.event_job[k], run.event_is_start[k]
            place = None if kept is None else kept[job]
            assert place is not None, "the run keeps placements"
            kernels.count(self._busy, domain, place.nodes, 1 if starts else -1)
            if not starts:
                self.reward.ended(job, float(run.start_s[job]), float(run.end_s[job]))
        self._n_followed = len(run.event_s)
