"""A week played: who decides, on which machine, with which contention, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from alloc.any_rule import AnyRule
from alloc.policy import Policy
from alloc.registry import make_policy
from cosim.registry import RUNTIME_MODELS
from cosim.run_times.model_context import ModelContext
from experiments.learning.cells import MACHINES, NETWORK, weeks_of
from experiments.learning.learned import LearnedAgent
from netcosim.config.content import checked_config
from netcosim.runs.run_context import RunContext, run_context
from netsim.errors import NetcosimError
from netsim.topology import Topology
from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.metrics import SLOWDOWN_BOUND_S, bounded_slowdown, turnaround_s
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel
from workloads.job import Workload

PPO = "ppo"
Row = dict[str, Any]

METRICS = {
    "bounded-stretch": "mean turnaround over the isolated run time (10 s)",
    "bounded-slowdown": "mean turnaround over the run time (10 s), contention included",
    "turnaround": "mean hours from submission to end",
    "communication": "node-hours that contention adds to run times",
}
"""Measures of a week, the smaller the better; minus these are rewards of the environments."""


def costs(result: QueueResult) -> dict[str, float]:
    """Return `METRICS` of a schedule."""
    jobs = result.workload
    took_s = turnaround_s(result)
    stretch = np.maximum(took_s / np.maximum(jobs.run_time_s, SLOWDOWN_BOUND_S), 1.0)
    added_s = result.end_s - result.start_s - jobs.run_time_s
    return {
        "bounded-stretch": float(stretch.mean()),
        "bounded-slowdown": float(bounded_slowdown(result).mean()),
        "turnaround": float(took_s.mean() / 3600),
        "communication": float((jobs.n_nodes * added_s).sum() / 3600),
    }


class RandomPlayer(Decider):
    """A random choice with equal probability of all that is possible: a fitting job, or waiting."""

    name = "random"
    description = "any waiting job that fits by any rule, or waiting, at random"

    def __init__(self, rules: Sequence[str], seed: int) -> None:
        self._rules, self._seed = tuple(rules), seed

    def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
        """Begin the draws anew."""
        self._rng = np.random.default_rng(self._seed)

    def decide(self, point: DecisionPoint) -> Choice | None:
        """Choose at random; wait only while a job runs, so that another event follows."""
        sizes, free = point.machine.n_nodes, point.n_free
        fits = [job for job in point.waiting() if sizes[job] <= free]
        if not fits:
            return None
        k = int(self._rng.integers(len(fits) + bool(point.running())))
        rule = self._rules[int(self._rng.integers(len(self._rules)))]
        return Choice(fits[k], rule) if k < len(fits) else None


class BenchmarkCase:
    """A cell's weeks on its machine, from a config and what `experiments.learning.points` adds."""

    def __init__(self, point: Mapping[str, Any]) -> None:
        request = point["bench_rl"]
        self.config = checked_config({k: v for k, v in point.items() if k != "bench_rl"})
        self.rules = MACHINES[request["machine"]].rules
        self.n_training, self.n_held_out = request["training"], request["held_out"]
        self._cut = (request["training"] + request["held_out"], request["week"], request["burst"])
        self._models: dict[str, RunTimeModel] = {}

    @cached_property
    def context(self) -> RunContext:
        """The machine and the jobs."""
        return run_context(self.config)

    @cached_property
    def weeks(self) -> list[Workload]:
        """Training weeks, then those held out; jobs are known to send what they send."""
        mix, draws = self.context.mix, self.context.queues.draws
        weeks = weeks_of(self.context.queues.jobs, *self._cut)
        return [mix.with_traffic(week, draws.rng("jobs")) for week in weeks]

    @property
    def training(self) -> range:
        """Numbers of the training weeks."""
        return range(self.n_training)

    @property
    def held_out(self) -> range:
        """Numbers of the weeks that are held out."""
        return range(self.n_training, self.n_training + self.n_held_out)

    def model(self, contention: str) -> RunTimeModel:
        """Return a run-time model with the config's parameters."""
        if contention not in self._models:

            def no_table(*args: object, **keys: object) -> Any:
                raise NetcosimError(f"contention {contention!r} is none of the benchmark's")

            context = self.context
            model_context = ModelContext(context.mix, lambda: context.network, no_table, no_table)
            queue = self.config.queue.model_copy(update={"run_time_model": contention})
            found = RUNTIME_MODELS[contention].from_config(model_context, queue.model_parameters())
            self._models[contention] = found
        return self._models[contention]

    def agent(self, weights: Any) -> LearnedAgent:
        """Return the numpy agent of this cell."""
        patterns = [share.pattern for share in self.context.mix.shares]
        return LearnedAgent(weights, self.rules, patterns)

    def played(
        self,
        week: int,
        backfill: str | Decider,
        *,
        order: str = "fcfs",
        rule: str = "",
        contention: str = NETWORK,
        true_times: bool = False,
    ) -> QueueResult:
        """Simulate the schedule of a week under one rule, or under all for one who chooses.

        ``true_times``: jobs request their isolated run times.
        """
        queues, jobs = self.context.queues, self.weeks[week]
        return simulate_queue(
            replace(jobs, requested_s=jobs.run_time_s) if true_times else jobs,
            self._policy(week, rule),
            order=order,
            backfill=backfill,
            run_time_model=self.model(contention),
            rng=queues.job_rng(self.model(contention)),
            estimates=queues.estimates,
        )

    def _policy(self, week: int, rule: str) -> Policy:
        queues = self.context.queues
        made = {
            name: make_policy(
                queues.topology,
                name,
                queues.draws.rng("policy", f"{name}, week {week}"),
                queues.tables.of(name),
            )
            for name in ([rule] if rule else self.rules)
        }
        return made[rule] if rule else AnyRule(made)


def row_of(
    benchmark: BenchmarkCase,
    point: Mapping[str, Any],
    player: str,
    week: int,
    found: Mapping[str, float],
) -> Row:
    """Return the row of a player and week, of the measures that are known."""
    cell = {key: point["bench_rl"][key] for key in ("machine", "workload")}
    part = "training" if week in benchmark.training else "held out"
    measures = {name: found.get(name, float("nan")) for name in METRICS}
    return {**cell, "player": player, "week": week, "part": part, **measures}


def rows_of(
    benchmark: BenchmarkCase,
    point: Mapping[str, Any],
    plays: Mapping[str, Callable[[int], QueueResult]],
    weeks: Sequence[int] | None = None,
) -> list[Row]:
    """Return a row a player and week (all by default): the measures of its schedule."""
    every = range(benchmark.n_training + benchmark.n_held_out)
    return [
        row_of(benchmark, point, player, week, costs(play(week)))
        for player, play in plays.items()
        for week in (every if weeks is None else weeks)
    ]
