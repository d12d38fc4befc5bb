"""What a run would do and how long it would take, from one queue that is run to find out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cosim.measuring.cost import HOPS_PER_S, campaign_hops, flow_level_s, isolated_hops
from cosim.registry import RUNTIME_MODELS
from cosim.run_times.coupled import CoupledFlow
from cosim.run_times.measured_times import Measured
from cosim.run_times.packet_judge import cost_s
from netcosim.config.config import Config
from netcosim.config.decider import DeciderProgram
from netcosim.runs.points import point_key, results_in
from netcosim.runs.run_context import run_context
from netcosim.runs.tasks import count_tasks
from netsim.units import format_quantity


@dataclass(frozen=True)
class RunPlan:
    """What a run would do."""

    schedules: int
    """Queues that are run."""
    snapshots: int
    """Over all policies."""
    tasks_done: int
    """Stored by a run before."""
    queue_s: float
    """Of one queue with logged run times, tried."""
    live_s: float
    """Of putting all jobs on the network under all policies, for a live run-time model, and of its
    packets."""
    packets_s: float
    """Of all packet simulations, by the number of their hops."""
    rounds: int
    """Queues one after the other, on so many processes."""
    jobs: int
    """Processes."""
    starts_program: bool
    """Whether a program decides; the queue that is tried has EASY backfilling in its place."""
    by_events: Mapping[str, str]
    """Why a policy's queue is not compiled, by policy; empty if it is."""

    @property
    def estimated_s(self) -> float:
        """Time that a run from its start takes, about."""
        return self.rounds * self.queue_s + (self.live_s + self.packets_s) / self.jobs

    def lines(self) -> str:
        """Return two lines, and one for each reason why queues are not compiled."""
        done = f"; {self.tasks_done:,} tasks are stored" if self.tasks_done else ""
        sent = f", {self.snapshots:,} snapshots" if self.snapshots else ""
        spans = [f"{_time(self.queue_s)} a queue"]
        spans += [f"{_time(self.live_s)} of live run times"] if self.live_s else []
        spans += [f"{_time(self.packets_s)} of packets"] if self.snapshots else []
        policies: dict[str, list[str]] = {}
        for policy, why in self.by_events.items():
            policies.setdefault(why, []).append(policy)
        paths = [
            f"queues of {', '.join(names)} " + (f"run by events: {why}" if why else "are compiled")
            for why, names in policies.items()
        ]
        if self.starts_program:
            paths.append("the program of queue.decider is not started: its answers take longer")
        return "\n".join(
            [
                f"{self.schedules:,} queues{sent}{done}",
                f"estimate: {_time(self.estimated_s)} from the start on {self.jobs} "
                f"process{'es' if self.jobs > 1 else ''} ({', '.join(spans)})",
                *paths,
            ]
        )


def plan_run(config: Config, out: Path | None, jobs: int) -> RunPlan:
    """Estimate what a run would do; write nothing.

    The first policy's queue is run with logged run times; its schedule represents all others'. No
    program of the user's is started. ``out`` is the folder of its results.
    """
    context, reference = run_context(config), config.relative_to
    queues, starts_program = context.queues, isinstance(config.queue.decider, DeciderProgram)
    if starts_program:
        undecided = queues.section.model_copy(update={"decider": None})
        queues = replace(queues, config=queues.config.model_copy(update={"queue": undecided}))
    policies, section = config.queue.policies, config.run
    began = time.perf_counter()
    schedule = queues.under(policies[0])
    queue_s = time.perf_counter() - began
    columns = list(dict.fromkeys([reference.column, *policies]))
    # with logged run times, then with those of every round
    measured = config.queue.run_time_model == Measured.name
    rounds = config.queue.model_parameters().rounds if measured else 0
    stages = 1 + rounds
    live_s = packets_s = 0.0
    if RUNTIME_MODELS[config.queue.run_time_model].solves_flows:
        share, _ = context.drawn
        one_s, _ = flow_level_s(
            context.machine.routing, context.communications, share, context.queues.jobs.n_nodes
        )
        live_s = one_s * len(policies)
    budget_s = getattr(config.queue.model_parameters(), "budget_s", 0.0)
    n_nodes = context.machine.topology.n_nodes
    if config.queue.run_time_model == CoupledFlow.name:
        jobs_sent = context.drawn[0], context.queues.jobs.n_nodes
        hops = isolated_hops(context.shared, context.communications, *jobs_sent)
        budget_s = min(budget_s, cost_s(round(hops), n_nodes))
    sides = len(columns) if section.snapshots else 0
    study_snapshots = 0
    if section.snapshots:
        like = context.sides(dict.fromkeys(policies, schedule))
        named = {reference.column: like[policies[0]], **like}
        study = context.study(named, reference.column)
        often = max(1, rounds)
        packets_s = often * campaign_hops(study, context.measure) / HOPS_PER_S
        study_snapshots = often * len(study.numbers) * sides
        # each start and each end is judged by the packets of at most all that run
        one_s = cost_s(round(packets_s * HOPS_PER_S / max(1, study_snapshots)), n_nodes)
        budget_s = min(budget_s, 2 * len(context.queues.jobs) * one_s)
    live_s += budget_s * len(policies)
    elsewhere = 0 if reference.elsewhere is None else 1
    return RunPlan(
        schedules=stages * (len(policies) + elsewhere),
        snapshots=study_snapshots,
        tasks_done=(
            0 if out is None else count_tasks(results_in(out), point_key(config.resolved()))
        ),
        queue_s=queue_s,
        live_s=live_s,
        packets_s=packets_s,
        rounds=stages * (math.ceil(len(policies) / jobs) + elsewhere),
        jobs=jobs,
        starts_program=starts_program,
        by_events={policy: context.queues.why_by_events(policy) for policy in policies},
    )


def _time(seconds: float) -> str:
    return format_quantity(seconds, "time", 2)
