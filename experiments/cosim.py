"""The loop closed: one log, one machine, several policies; packets measured, queue run again.

1. The queue runs under each policy with logged run times.
2. Snapshots of each schedule go through the packet engine (`queuesim.campaign`).
3. The measured communication times, against the first policy's, change the jobs' run times,
   and the queue runs again under each policy.

With another run-time model than "measured", the queue runs once with that model, and step 2
measures its schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.build import (
    BuiltMachine,
    build_machine,
    build_policy,
    build_workload,
    communication_mix,
)
from experiments.config import Config
from experiments.config_load import config_from
from experiments.points import point_rng
from experiments.store import Rows
from netsim.packet.model import PS_PER_S
from queuesim.assumed import Assumed
from queuesim.campaign import (
    Measurements,
    Ratio,
    Yardsticks,
    measure,
    ratio_of_stretches,
    speedup_table,
)
from queuesim.measured import Measured, SpeedupTable
from queuesim.metrics import QueueSummary, summarise
from queuesim.multijob import Communication
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel
from workloads.job import Workload

_RUN_KEYS = ("run.name", "run.snapshots", "run.confidence")
JOB_KEYS = ("machine", "queue", "communication", *_RUN_KEYS)
"""What the jobs' draws do not depend on: every machine and policy gets the same jobs."""
RANK_KEYS = ("machine", "queue", *_RUN_KEYS)
"""What patterns and task mappings do not depend on: the same ranks talk on every machine."""
PLACEMENT_KEYS = ("machine", "queue", "communication", *_RUN_KEYS)
"""What a policy's draws do not depend on: faster links get the same placements."""

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the whole run that is done, 0 to 1."""


@dataclass(frozen=True, eq=False)
class CosimResult:
    """What a run gave, by policy in the config's order.

    Attributes
    ----------
    config : Config
    machine : BuiltMachine
    workload : Workload
    logged : dict of str to QueueResult
        Schedules with logged run times; empty unless the model is "measured".
    schedules : dict of str to QueueResult
        Schedules with the config's run-time model.
    measured : dict of str to Measurements
    ratios : dict of str to Ratio
        Mean communication time over the first policy's, all jobs together.
    table : SpeedupTable
    """

    config: Config
    machine: BuiltMachine
    workload: Workload
    logged: dict[str, QueueResult]
    schedules: dict[str, QueueResult]
    measured: dict[str, Measurements]
    ratios: dict[str, Ratio]
    table: SpeedupTable

    def summaries(self) -> dict[str, QueueSummary]:
        """Queue metrics of the final schedules."""
        return {name: summarise(result) for name, result in self.schedules.items()}


def run_cosim(config: Config, progress: Progress | None = None) -> CosimResult:
    """Run a config.

    Parameters
    ----------
    config : Config
    progress : callable, optional
        See `Progress`.

    Raises
    ------
    NetcosimError
        What a part refuses: a log that cannot be read, a job larger than the machine, ...
    """
    run = _Run(config, progress)
    if config.queue.run_time_model != "measured":
        model: RunTimeModel = AsLogged()
        if config.queue.run_time_model == "assumed":
            model = Assumed(config.queue.scenario)
        schedules = run.queues(model, share_of_run=0.3)
        measured = run.campaign(schedules, share_of_run=0.7)
        return run.result({}, schedules, measured, run.speedups(measured))
    logged = run.queues(AsLogged(), share_of_run=0.15)
    measured = run.campaign(logged, share_of_run=0.7)
    table = run.speedups(measured)
    model = Measured(table, communication_mix(config.communication))
    return run.result(logged, run.queues(model, share_of_run=0.15), measured, table)


class _Run:
    """The parts that the steps of a run share."""

    def __init__(self, config: Config, progress: Progress | None) -> None:
        self.config = config
        self.content = config.resolved()
        self.progress = progress
        self.done = 0.0
        self.machine = build_machine(config.machine)
        nodes = self.machine.topology.n_nodes
        self.workload = build_workload(config.workload, nodes, self.rng("workload", JOB_KEYS))
        drop = config.workload.larger_jobs == "drop"
        for name in config.queue.policies:
            # every policy gets the same jobs: those that all of them can place
            _, self.workload = build_policy(
                self.machine.topology, name, np.random.default_rng(0), self.workload, drop=drop
            )

    def rng(self, purpose: str, leave_out: tuple[str, ...] = ()) -> np.random.Generator:
        """The generator of one purpose, which the keys left out do not change."""
        return point_rng(self.content, purpose, leave_out)

    def speedups(self, measured: Mapping[str, Measurements]) -> SpeedupTable:
        """The speed-up table against the config's first policy."""
        return speedup_table(
            measured,
            self.config.queue.policies[0],
            [entry.pattern for entry in self.config.communication.mix],
            self.rng("bootstrap"),
            confidence=self.config.run.confidence,
        )

    def tell(self, what: str, share: float) -> None:
        """Report progress: ``share`` is the part of the present step that is done."""
        if self.progress is not None:
            self.progress(what, share)

    def queues(self, model: RunTimeModel, *, share_of_run: float) -> dict[str, QueueResult]:
        """One schedule a policy."""
        queue = self.config.queue
        results = {}
        for name in queue.policies:
            policy, _ = build_policy(
                self.machine.topology,
                name,
                self.rng(f"policy {name}", PLACEMENT_KEYS),
                self.workload,
                drop=False,
            )
            begun, part = self.done, share_of_run / len(queue.policies)

            def count(
                done: int, total: int, name: str = name, begun: float = begun, part: float = part
            ) -> None:
                self.tell(f"queue, {model.name}, {name}", begun + part * done / max(total, 1))

            results[name] = simulate_queue(
                self.workload,
                policy,
                order=queue.order,
                backfill=queue.backfill,
                window=None if queue.window == "all" else queue.window,
                run_time_model=model,
                rng=self.rng("jobs", RANK_KEYS),
                keep_placements=True,
                progress=count,
            )
            self.done = begun + part
        return results

    def campaign(
        self, logged: Mapping[str, QueueResult], *, share_of_run: float
    ) -> dict[str, Measurements]:
        """Measurements of every policy's snapshots."""
        section = self.config.communication
        # the same draws as the measured model's, so a job has the same pattern in both
        share, _ = communication_mix(section).draw(self.workload, self.rng("jobs", RANK_KEYS))
        seed = int(self.rng("packets", RANK_KEYS).integers(0, 2**32))
        yardsticks = Yardsticks(
            self.machine.routing,
            [
                Communication(e.pattern, e.message_bytes, e.iterations, e.parameters)
                for e in section.mix
            ],
            self.machine.packets,
            section.ranks_per_node,
            section.task_mapping,
            seed,
        )
        measured = {}
        for name, result in logged.items():
            begun, part = self.done, share_of_run / len(logged)

            def count(
                done: int, total: int, name: str = name, begun: float = begun, part: float = part
            ) -> None:
                self.tell(f"packets, {name}, snapshot {done}/{total}", begun + part * done / total)

            measured[name] = measure(
                result,
                share,
                yardsticks,
                n_snapshots=self.config.run.snapshots,
                seed=seed,
                progress=count,
            )
            self.done = begun + part
        return measured

    def result(
        self,
        logged: dict[str, QueueResult],
        schedules: dict[str, QueueResult],
        measured: dict[str, Measurements],
        table: SpeedupTable,
    ) -> CosimResult:
        """Everything together, with the overall ratios."""
        ratios = {}
        first = self.config.queue.policies[0]
        for name, mine in measured.items():
            ratio = ratio_of_stretches(
                mine, measured[first], self.rng("bootstrap"), confidence=self.config.run.confidence
            )
            if ratio is not None:
                ratios[name] = Ratio(1.0, 1.0, 1.0, ratio.n_jobs) if name == first else ratio
        return CosimResult(
            self.config, self.machine, self.workload, logged, schedules, measured, ratios, table
        )


def result_tables(result: CosimResult) -> dict[str, Rows]:
    """Tables of a run, for the store: policies, speed-ups, measured jobs, links."""
    summaries = result.summaries()
    first = summaries[result.config.queue.policies[0]]
    policies: list[dict[str, object]] = []
    for name, summary in summaries.items():
        ratio = result.ratios.get(name)
        policies.append(
            {
                "policy": name,
                "communication_ratio": None if ratio is None else ratio.ratio,
                "communication_ratio_low": None if ratio is None else ratio.low,
                "communication_ratio_high": None if ratio is None else ratio.high,
                "measured_jobs": 0 if ratio is None else ratio.n_jobs,
                "mean_wait_s": summary.mean_wait_s,
                "mean_turnaround_s": summary.mean_turnaround_s,
                "turnaround_ratio": summary.mean_turnaround_s / first.mean_turnaround_s,
                "mean_bounded_slowdown": summary.mean_bounded_slowdown,
                "utilisation": summary.utilisation,
                "steady_utilisation": summary.steady_utilisation,
                "makespan_s": summary.makespan_s,
                "makespan_ratio": summary.makespan_s / first.makespan_s,
                "jobs": summary.n_jobs,
            }
        )
    speedups: list[dict[str, object]] = [
        {
            "pattern": row.pattern,
            "min_nodes": row.min_nodes,
            "max_nodes": row.max_nodes,
            "policy": row.policy,
            "ratio": row.ratio,
            "ratio_low": row.ratio_low,
            "ratio_high": row.ratio_high,
        }
        for row in result.table.rows
    ]
    mix = result.config.communication.mix
    measured: list[dict[str, object]] = [
        {
            "policy": name,
            "snapshot": int(m.snapshot[i]),
            "job_id": int(result.workload.job_id[m.job[i]]),
            "n_nodes": int(m.n_nodes[i]),
            "pattern": mix[int(m.share[i])].pattern,
            "time_s": float(m.time_s[i]),
            "yardstick_s": float(m.yardstick_s[i]),
        }
        for name, m in result.measured.items()
        for i in range(len(m.job))
    ]
    return {
        "policies": policies,
        "speedups": speedups,
        "measured_jobs": measured,
        "links": _link_rows(result),
    }


def _link_rows(result: CosimResult) -> list[dict[str, object]]:
    """Sums over all snapshots, and quantiles over links, by policy and kind of link."""
    rows: list[dict[str, object]] = []
    topology = result.machine.topology
    quantiles = (0, 25, 50, 75, 100)
    for name, m in result.measured.items():
        if not m.packets:
            continue
        columns = {
            "packets": np.sum([p.link_packets for p in m.packets], axis=0),
            "bytes": np.sum([p.link_bytes for p in m.packets], axis=0),
            "busy_s": np.sum([p.link_busy_ps for p in m.packets], axis=0) / PS_PER_S,
            "stall_s": np.sum([p.link_stall_ps for p in m.packets], axis=0) / PS_PER_S,
        }
        for kind in topology.kinds:
            mask = topology.kind_mask(kind)
            row: dict[str, object] = {"policy": name, "kind": kind, "links": int(mask.sum())}
            for column, values in columns.items():
                row[column] = values[mask].sum().item()
                if mask.any() and column in ("packets", "stall_s"):
                    found = np.percentile(values[mask], quantiles)
                    row |= {
                        f"{column}_p{q}": float(v) for q, v in zip(quantiles, found, strict=True)
                    }
            rows.append(row)
    return rows


def cosim_point(content: Mapping[str, object]) -> dict[str, Rows]:
    """A sweep's point: a resolved config to its tables."""
    return result_tables(run_cosim(config_from(dict(content))))
