"""What there is to find in a week: a search that knows all of it, and a bound that no one passes.

The search knows run times, arrivals, and by playing each plan what contention makes of it. Its
best schedule is possible: its score is an upper bound on the optimum's. `lower_bound` is below it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.learning.learned import ByScore
from experiments.learning.play import BenchmarkCase, Row, costs, row_of
from netcosim.runs.points import point_rng
from queuesim.decide import DecisionPoint
from queuesim.metrics import SLOWDOWN_BOUND_S
from queuesim.result import QueueResult, Rows
from workloads.job import Workload

CLAIRVOYANT, TRUE_TIMES, BOUND = "clairvoyant", "true run times", "lower bound"
BEGINS = ((0, 1), (1, 1), (1, 2))
"""Powers of nodes and run time by which jobs are sorted at first: shortest, least node-seconds, and
Smith's rule for the mean stretch (node-seconds over the weight, which is 1 over the run time)."""
MOVES = ((0.03, 1.0), (0.5, 0.3))
"""Part of the jobs that a move shifts, and how far, in the logarithm of their key."""
NEW_RULE = 0.02
"""Part of the jobs that a move gives another placement rule."""

FloatArray = NDArray[np.float64]


class Plan(ByScore):
    """A fixed priority and the place of a rule for each job, with EASY by true run times."""

    name = "plan"
    description = "each job by a priority and a rule of its own; EASY around the first"

    def __init__(self, priority: FloatArray, rule: NDArray[np.int64], rules: Sequence[str]) -> None:
        self.priority, self.rule_of, self.rules = priority, rule, rules

    def scores(self, jobs: NDArray[np.int64], now_s: float) -> FloatArray:
        """Return the priorities."""
        return self.priority[jobs]

    def rule(self, point: DecisionPoint, job: int) -> str:
        """Return the job's own rule."""
        return self.rules[int(self.rule_of[job])]

    def moved(self, rng: np.random.Generator) -> Plan:
        """Return a plan nearby."""
        n = len(self.priority)
        part, far = MOVES[int(rng.integers(len(MOVES)))]
        shift = far * rng.standard_normal(n) * (rng.random(n) < part)
        other = rng.integers(len(self.rules), size=n)
        rule = np.where(rng.random(n) < NEW_RULE, other, self.rule_of)
        return Plan(self.priority + shift, rule, self.rules)


def searched(
    benchmark: BenchmarkCase, week: int, reward: str, evaluations: int, rng: np.random.Generator
) -> tuple[QueueResult, QueueResult]:
    """Return the best schedule of `BEGINS` with each rule, and the best that is found from there.

    Hill climbing: a move is kept unless it is worse. The evaluations include the beginning.
    """
    jobs, rules = benchmark.weeks[week], benchmark.rules
    nodes, run_s = np.log(jobs.n_nodes), np.log(jobs.run_time_s)
    best, least, found = None, np.inf, []

    def play(plan: Plan) -> None:
        nonlocal best, least
        result = benchmark.played(week, plan, true_times=True)
        cost = costs(result)[reward]
        if cost <= least:
            best, least = plan, cost
            found.append(result)

    for (a, b), rule in product(BEGINS, range(len(rules))):
        play(Plan(-(a * nodes + b * run_s), np.full(len(jobs), rule), rules))
    begin = found[-1]
    for _ in range(evaluations - len(BEGINS) * len(rules)):
        assert best is not None
        play(best.moved(rng))
    return begin, found[-1]


def lower_bound(jobs: Workload, machine_nodes: int) -> float:
    """Return a mean bounded stretch below that of every schedule.

    The machine becomes one server that may serve any job with all nodes, and be taken from it: then
    the least weighted sum of mean service times serves the least node-seconds over weight first
    (Goemans, Queyranne, Schulz, Skutella and Wang, SIAM J. Discrete Math. 2002). A job ends at
    least half its run time after its mean service time.
    """
    weight = 1 / np.maximum(jobs.run_time_s, SLOWDOWN_BOUND_S)
    service_s = jobs.n_nodes * jobs.run_time_s / machine_nodes
    left, mean_s = service_s.tolist(), np.zeros(len(jobs))
    submit_s = [*jobs.submit_s.tolist(), np.inf]
    waiting: list[tuple[float, int]] = []
    now_s, k = 0.0, 0
    while waiting or k < len(jobs):
        if not waiting:
            now_s = max(now_s, submit_s[k])
        while submit_s[k] <= now_s:
            heapq.heappush(waiting, (float(service_s[k] / weight[k]), k))
            k += 1
        job = waiting[0][1]
        served_s = min(left[job], submit_s[k] - now_s)
        mean_s[job] += served_s * (now_s + served_s / 2) / service_s[job]
        left[job] -= served_s
        now_s += served_s
        if left[job] <= 1e-9 * service_s[job]:
            heapq.heappop(waiting)
    stretch = weight * (mean_s + jobs.run_time_s / 2 - jobs.submit_s)
    return max(1.0, float(stretch.mean()))


def clairvoyant(benchmark: BenchmarkCase, point: Mapping[str, Any]) -> dict[str, Rows]:
    """Search every so many held-out weeks; the lower bound is of all of them."""
    request = point["bench_rl"]
    machine_nodes = benchmark.context.machine.topology.n_nodes
    rows: list[Row] = []
    for week in benchmark.held_out:
        bound = {"bounded-stretch": lower_bound(benchmark.weeks[week], machine_nodes)}
        rows.append(row_of(benchmark, point, BOUND, week, bound))
        if (week - benchmark.n_training) % request["searched"]:
            continue
        rng = point_rng(point, f"search {week}")
        pair = searched(benchmark, week, request["reward"], request["evaluations"], rng)
        for player, result in zip((TRUE_TIMES, CLAIRVOYANT), pair, strict=True):
            rows.append(row_of(benchmark, point, player, week, costs(result)))
    return {"weeks": rows}
