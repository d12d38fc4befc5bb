"""The loop closed: one log, one machine, several policies; packets measured, queue run again.

1. The queue runs under each policy with logged run times.
2. Snapshots of each schedule go through the packet engine (`queuesim.campaign`).
3. The measured communication times, against the first policy's, change the jobs' run times,
   and the queue runs again under each policy.

With another run-time model than "measured", or with speed-ups from a file, the queue runs once
with that model, and step 2 measures its schedules. The coupled models take their contention from
the same routing, task mapping and communication; how far flows were from packets is in
``judgements``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from experiments.build import (
    BuiltMachine,
    build_machine,
    build_policy,
    build_workload,
    communication_mix,
    with_notes_on_needs,
)
from experiments.config import Config
from experiments.config_load import config_from
from experiments.inputs import checked_path
from experiments.points import point_rng
from experiments.store import Rows
from netsim.packet.model import PS_PER_S
from queuesim.assumed import Assumed
from queuesim.bandwidth import bandwidth_by_class
from queuesim.campaign import (
    Measurements,
    Ratio,
    Yardsticks,
    measure,
    ratio_of_stretches,
    speedup_table,
)
from queuesim.coupled import CoupledFlow, mean_stretches
from queuesim.coupled_packets import CoupledPackets, PacketBudget, PacketRecord
from queuesim.job_network import JobNetwork
from queuesim.measured import Measured, SpeedupTable
from queuesim.metrics import QueueSummary, summarise
from queuesim.multijob import Communication
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel
from queuesim.speedup_file import read_speedups
from workloads.job import Workload

FloatArray = NDArray[np.float64]

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
    judgements : dict of str to PacketRecord
        Flow against packet stretches; empty unless the model is "coupled-packets".
    """

    config: Config
    machine: BuiltMachine
    workload: Workload
    logged: dict[str, QueueResult]
    schedules: dict[str, QueueResult]
    measured: dict[str, Measurements]
    ratios: dict[str, Ratio]
    table: SpeedupTable
    judgements: dict[str, PacketRecord] = field(default_factory=dict)

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
    chosen = config.queue.measured
    if config.queue.run_time_model != "measured" or chosen.table is not None:
        if config.queue.run_time_model.startswith("coupled"):
            schedules, records = run.coupled_queues(share_of_run=0.3)
        else:
            model: RunTimeModel = AsLogged()
            if config.queue.run_time_model == "assumed":
                model = Assumed(config.queue.scenario)
            elif chosen.table is not None and config.queue.run_time_model == "measured":
                table = read_speedups(checked_path(chosen.table.model_dump()))
                model = Measured(table, communication_mix(config.communication), chosen.bound)
            schedules, records = run.queues(lambda name: model, share_of_run=0.3), {}
        measured = run.campaign(schedules, share_of_run=0.7)
        return run.result({}, schedules, measured, run.speedups(measured), records)
    logged = run.queues(lambda name: AsLogged(), share_of_run=0.15)
    measured = run.campaign(logged, share_of_run=0.7)
    table = run.speedups(measured)
    final = Measured(table, communication_mix(config.communication), chosen.bound)
    schedules = run.queues(lambda name: final, share_of_run=0.15)
    return run.result(logged, schedules, measured, table, {})


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
        self.workload = with_notes_on_needs(config.queue, self.workload)

    def rng(self, purpose: str, leave_out: tuple[str, ...] = ()) -> np.random.Generator:
        """The generator of one purpose, which the keys left out do not change."""
        return point_rng(self.content, purpose, leave_out)

    def needs(self, policy: Policy) -> FloatArray | None:
        """Bandwidth that each job needs, for a policy that reads it; the same for all of them."""
        classes = self.config.queue.bandwidth_need_Bps
        if not classes or not policy.without_need:
            return None
        return bandwidth_by_class(self.workload, classes, self.rng("bandwidth", JOB_KEYS))

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

    def communications(self) -> list[Communication]:
        """What the jobs of each entry of the mix send."""
        return [
            Communication(e.pattern, e.message_bytes, e.iterations, e.parameters)
            for e in self.config.communication.mix
        ]

    def coupled_queues(
        self, *, share_of_run: float
    ) -> tuple[dict[str, QueueResult], dict[str, PacketRecord]]:
        """One schedule a policy with live contention, and the packet level's records."""
        section, chosen = self.config.communication, self.config.queue.coupled
        network = JobNetwork(
            self.machine.routing,
            communication_mix(section),
            self.communications(),
            self.machine.packets,
            section.ranks_per_node,
            section.task_mapping,
            int(self.rng("packets", RANK_KEYS).integers(0, 2**32)),
        )
        budget = chosen.model_dump()
        reference = budget.pop("runtime_reference")
        records: dict[str, PacketRecord] = {}

        def model(
            name: str, reference: str = reference, stretch: FloatArray | None = None
        ) -> RunTimeModel:
            if self.config.queue.run_time_model == "coupled-flow":
                return CoupledFlow(network, reference, stretch)
            records[name] = PacketRecord()
            return CoupledPackets(
                network,
                PacketBudget(**budget),
                reference,
                stretch,
                records[name],
            )

        if reference == "isolated":
            return self.queues(model, share_of_run=share_of_run), records
        # the first policy's run with times alone says how contended the log's jobs were
        first = self.config.queue.policies[0]
        part = share_of_run / (1 + len(self.config.queue.policies))
        pilot = self.queues(lambda name: model(name, "isolated"), share_of_run=part, only=first)
        _, fraction = network.mix.draw(self.workload, self.rng("jobs", RANK_KEYS))
        stretch = mean_stretches(pilot[first], fraction)
        schedules = self.queues(
            lambda name: model(name, reference, stretch), share_of_run=share_of_run - part
        )
        return schedules, records

    def queues(
        self,
        model_of: Callable[[str], RunTimeModel],
        *,
        share_of_run: float,
        only: str | None = None,
    ) -> dict[str, QueueResult]:
        """One schedule a policy, with the run-time model that it is given."""
        queue = self.config.queue
        policies = queue.policies if only is None else (only,)
        results = {}
        for name in policies:
            model = model_of(name)
            policy, _ = build_policy(
                self.machine.topology,
                name,
                self.rng(f"policy {name}", PLACEMENT_KEYS),
                self.workload,
                drop=False,
            )
            begun, part = self.done, share_of_run / len(policies)
            what = f"queue, {model.name}, {name}"

            def count(
                done: int, total: int, what: str = what, begun: float = begun, part: float = part
            ) -> None:
                self.tell(what, begun + part * done / max(total, 1))

            results[name] = simulate_queue(
                self.workload,
                policy,
                order=queue.order,
                backfill=queue.backfill,
                window=None if queue.window == "all" else queue.window,
                run_time_model=model,
                rng=self.rng("jobs", RANK_KEYS),
                bandwidth_Bps=self.needs(policy),
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
            self.communications(),
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
        judgements: dict[str, PacketRecord],
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
            self.config,
            self.machine,
            self.workload,
            logged,
            schedules,
            measured,
            ratios,
            table,
            judgements,
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
    tables: dict[str, Rows] = {
        "policies": policies,
        "speedups": speedups,
        "measured_jobs": measured,
        "links": _link_rows(result),
    }
    if result.judgements:
        tables["flow_vs_packets"] = [
            {"policy": name, **record.summary()} for name, record in result.judgements.items()
        ]
    return tables


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
