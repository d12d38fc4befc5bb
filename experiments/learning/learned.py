"""An agent that learns who is next and how it is placed: two linear scores and EASY backfilling.

The waiting job of the largest score is the head of the queue. If it fits it starts; if not, the
best-scored job behind it starts that does not delay it by count (EASY: Skovira et al. 1996). A
second score for each placement rule selects how it is placed. All weights 0 is first come, first
served under the first rule; one weight alone is an order such as shortest first or smallest first.
Weights are shared by all jobs, so an agent works on any machine with the same rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import log1p, log2

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alloc.any_rule import AnyRule
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from netsim.topology import Topology
from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.learning.episode import LONGEST_S, log_time
from queuesim.metrics import SLOWDOWN_BOUND_S
from workloads.job import Workload

FloatArray = NDArray[np.float64]

JOB_FEATURES = (
    "nodes",
    "log nodes",
    "log walltime",
    "log node-seconds",
    "log waited",
    "log stretch",
    "communication",
    "communicating nodes",
)
"""Of a waiting job, all about 0 to 1: nodes over the machine's, their logarithm, requested time,
requested node-seconds, time waited and (waited + walltime) over walltime by logarithms,
communication fraction, and that times the first."""
PLACE_FEATURES = ("one", "log nodes", "communication", "free", "one domain holds", "busy network")
"""Of a job that is to be placed, before its pattern (1 in one of several columns): 1, size,
communication fraction, share of free nodes, whether a group, pod or plane has room for all of it,
and the share of the machine's nodes that running jobs communicate with."""


def n_weights(n_rules: int, n_patterns: int = 0) -> int:
    """Return the weights of an agent: one a job feature, more for each rule but the first.

    There are no rules where the machine has one policy, no patterns where the mix is unknown.
    """
    return len(JOB_FEATURES) + max(n_rules - 1, 0) * (len(PLACE_FEATURES) + n_patterns)


class ByScore(Decider):
    """Starts the waiting job of the largest score, with EASY backfilling by score behind it."""

    def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
        """Look up sizes and walltimes."""
        self._size = workload.n_nodes.astype(np.int64)
        self._requested_s = np.asarray(workload.requested_s, dtype=np.float64)

    @abstractmethod
    def scores(self, jobs: NDArray[np.int64], now_s: float) -> FloatArray:
        """Return the scores of waiting jobs, (k,), larger first."""

    @abstractmethod
    def rule(self, point: DecisionPoint, job: int) -> str:
        """Return the rule that places a job; empty: the machine's policy."""

    def decide(self, point: DecisionPoint) -> Choice | None:
        """Return the job of the largest score, or the best behind it that does not delay it."""
        waiting, n_free = point.waiting(), point.n_free
        if not point.machine.policy.counts_only:
            raise NetcosimError(
                f"policy {point.machine.policy.name!r}: the {self.name} agent needs policies that "
                "place any job that there are enough free nodes for"
            )
        jobs = np.array(waiting, dtype=np.int64)
        size = self._size[jobs]
        if not len(jobs) or size.min() > n_free:
            return None
        order = np.argsort(-self.scores(jobs, point.now_s), kind="stable")
        jobs, size = jobs[order], size[order]
        if size[0] > n_free:
            shadow_s, extra = point.shadow(int(jobs[0]))
            ends_in_time = point.now_s + self._requested_s[jobs] <= shadow_s
            may = (size <= n_free) & (ends_in_time | (size <= extra))
            if not may.any():
                return None
            jobs = jobs[may]
        job = int(jobs[0])
        return Choice(job, self.rule(point, job))


class LearnedAgent(ByScore):
    """The agent; see the module's text. It observes what jobs send, where the run knows it.

    It chooses from the rules of the machine (`alloc.any_rule.AnyRule`), or has its one policy.
    Patterns are those of the mix, in the order of the weights.
    """

    name = "learned"
    description = "who is next, and which rule places it, by learned scores; EASY around the best"

    def __init__(
        self,
        weights: ArrayLike,
        rules: Sequence[str] = (),
        patterns: Sequence[str] = (),
    ) -> None:
        given = np.asarray(weights, dtype=np.float64)
        wanted = n_weights(len(rules), len(patterns))
        if given.shape != (wanted,):
            raise NetcosimError(
                f"learned agent: {given.size} weights; {len(rules)} rules and "
                f"{len(patterns)} patterns need {wanted}"
            )
        k = len(JOB_FEATURES)
        self.rules, self.patterns = tuple(rules), tuple(patterns)
        self._order = given[:k]
        self._place = given[k:].reshape(max(len(rules) - 1, 0), len(PLACE_FEATURES) + len(patterns))

    def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
        """Look up what does not change in a run."""
        super().begin(workload, topology, rng)
        machine_nodes, details = topology.n_nodes, workload.details
        hierarchy = hierarchy_of(topology)
        level = min(1, len(hierarchy.levels) - 1)
        self._domain, self._n_domains = hierarchy.domain[level], hierarchy.counts[level]
        self._domain_nodes = np.bincount(self._domain, minlength=self._n_domains)
        self._machine_nodes = machine_nodes
        self._submit_s = np.asarray(workload.submit_s, dtype=np.float64)
        known = details.communication_fraction
        self._fraction = np.zeros(len(workload)) if known is None else np.nan_to_num(known)
        self._sends = np.zeros((len(workload), len(self.patterns)))
        """1 in the column of a job's pattern."""
        for k, pattern in enumerate(self.patterns):
            if details.pattern is not None and pattern in details.pattern.names:
                self._sends[:, k] = details.pattern.code == details.pattern.names.index(pattern)
        size, most = self._size / machine_nodes, max(log2(machine_nodes), 1.0)
        self._log_size = np.log2(self._size) / most
        node_s = np.log1p(self._size * self._requested_s) / log1p(machine_nodes * LONGEST_S)
        self._communicating = self._size * self._fraction
        # what a job keeps while it waits, weighed; the rest is added on request
        fixed = [size, self._log_size, log_time(self._requested_s), node_s]
        fixed += [self._fraction, size * self._fraction]
        self._kept = np.stack(fixed, axis=1) @ self._order[[0, 1, 2, 3, 6, 7]]

    def scores(self, jobs: NDArray[np.int64], now_s: float) -> FloatArray:
        """Return the scores of waiting jobs, (k,), larger first."""
        waited = now_s - self._submit_s[jobs]
        promised = np.maximum(self._requested_s[jobs], SLOWDOWN_BOUND_S)
        stretch = np.log1p(waited / promised) / log1p(LONGEST_S / SLOWDOWN_BOUND_S)
        return np.asarray(
            self._kept[jobs] + self._order[4] * log_time(waited) + self._order[5] * stretch
        )

    def rule(self, point: DecisionPoint, job: int) -> str:
        """Return the rule of the largest score, the first one's being 0."""
        if not self.rules or not isinstance(point.machine.policy, AnyRule):
            return ""
        scores = self._place @ self.place_features(point, job)
        best = int(np.argmax(scores)) if len(scores) else 0
        return self.rules[best + 1] if len(scores) and scores[best] > 0 else self.rules[0]

    def place_features(self, point: DecisionPoint, job: int) -> FloatArray:
        """Return `PLACE_FEATURES` and the pattern's columns."""
        machine, nodes = point.machine, self._machine_nodes
        free = self._domain_nodes.copy()
        if machine.placements:
            taken = np.concatenate([place.nodes for place in machine.placements.values()])
            free -= np.bincount(self._domain[taken], minlength=self._n_domains)
        busy = sum(self._communicating[running] for _, running in point.running())
        features = (
            *(1.0, self._log_size[job], self._fraction[job], machine.n_free / nodes),
            *(float(free.max() >= self._size[job]), busy / nodes),
        )
        return np.concatenate([features, self._sends[job]])
