"""The loop closed: one log, one machine, several policies; packets measured, queue run again.

1. The queue runs under each policy with logged run times.
2. Snapshots of the schedules go through the packet engine (`queuesim.measure`).
3. The measured communication times, against the reference's, change the jobs' run times, and
   the queue runs again under each policy.

That is what the run-time model "measured" asks for; the registry's other models ask for less
(`queuesim.model_context`), and step 2 then measures the schedules that they gave. With
``snapshots = 0`` no packets are sent. The reference is a policy of the run, or one elsewhere
(`experiments.reference`), which then is run beforehand with the same jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alloc.registry import POLICIES
from experiments.build import (
    BuiltMachine,
    build_machine,
    communication_mix,
)
from experiments.config import Config
from experiments.config_load import config_from
from experiments.cosim_tables import result_tables
from experiments.estimate import campaign_hops, check_snapshots, estimate_line
from experiments.estimate_flows import flow_level_line
from experiments.inputs import checked_path
from experiments.reference import Reference, reference_of
from experiments.schedules import queues_of
from experiments.store import Rows
from queuesim.communication import Communication
from queuesim.ensemble import SharedNetwork
from queuesim.job_network import JobNetwork
from queuesim.measure import MEASURES
from queuesim.measured import SpeedupTable
from queuesim.metrics import QueueSummary, summarise
from queuesim.model_context import ModelContext, Pilot
from queuesim.registry import RUNTIME_MODELS
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel
from queuesim.snapshots import Measurement, Measurements, Ratio, Side, Study
from workloads.job import Workload

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of the whole run that is done, 0 to 1."""
Notice = Callable[[str], None]
"""Called with a line that the user should read before a long step begins."""


@dataclass(frozen=True, eq=False)
class CosimResult:
    """What a run gave, by policy in the config's order.

    Attributes
    ----------
    config : Config
    machine : BuiltMachine
    workload : Workload
    logged : dict of str to QueueResult
        Schedules with logged run times; empty unless the model has them measured.
    schedules : dict of str to QueueResult
        Schedules with the config's run-time model.
    measurement : Measurement or None
        None with ``snapshots = 0``.
    reference : Reference
    reference_schedule : QueueResult
        With the config's run-time model.
    """

    config: Config
    machine: BuiltMachine
    workload: Workload
    logged: dict[str, QueueResult]
    schedules: dict[str, QueueResult]
    measurement: Measurement | None
    reference: Reference
    reference_schedule: QueueResult

    @property
    def measured(self) -> dict[str, Measurements]:
        """Communication times, by policy; empty with ``snapshots = 0``."""
        found = {} if self.measurement is None else self.measurement.jobs
        return {name: found[name] for name in self.schedules if name in found}

    @property
    def ratios(self) -> dict[str, Ratio]:
        """Mean communication time over the reference's, all jobs together."""
        found = {} if self.measurement is None else self.measurement.ratios
        return {name: found[name] for name in self.schedules if name in found}

    @property
    def table(self) -> SpeedupTable:
        """The speed-up table of what was measured; without rows if nothing was."""
        if self.measurement is None:
            return SpeedupTable(self.reference.column, ())
        return self.measurement.table

    def summaries(self) -> dict[str, QueueSummary]:
        """Queue metrics of the final schedules."""
        return {name: summarise(result) for name, result in self.schedules.items()}


def run_cosim(
    config: Config, progress: Progress | None = None, notice: Notice | None = None
) -> CosimResult:
    """Run a config.

    Parameters
    ----------
    config : Config
    progress : callable, optional
        See `Progress`.
    notice : callable, optional
        See `Notice`.

    Raises
    ------
    NetcosimError
        What a part refuses: a log that cannot be read, a job larger than the machine, ...
    """
    reference = reference_of(config)
    run = _Run(config, reference, progress, notice)
    if reference.elsewhere is not None:
        part = 1 / (1 + len(config.queue.policies))
        own = reference_of(reference.elsewhere)
        there = _within(progress, "reference: ", 0.0, part)
        # measured with those that are compared with it, not by itself
        silent = reference.elsewhere.run.model_copy(update={"snapshots": 0})
        elsewhere = reference.elsewhere.model_copy(update={"run": silent})
        run.other = _Run(elsewhere, own, there, notice, run.workload)
        run.workload = run.other.workload
        run.progress = _within(progress, "", part, 1.0)
        run.other.simulate()
    run.simulate()
    return run.result()


def _within(progress: Progress | None, what: str, low: float, high: float) -> Progress | None:
    """Progress of a part of a run, which goes from one share of the whole to another."""
    if progress is None:
        return None
    return lambda part, share: progress(what + part, low + share * (high - low))


class _Run:
    """The steps of a run and what they leave for each other.

    Parameters
    ----------
    config : Config
    reference : Reference
    progress : callable or None
    notice : callable or None
    jobs : Workload, optional
        Instead of the config's own.
    """

    def __init__(
        self,
        config: Config,
        reference: Reference,
        progress: Progress | None,
        notice: Notice | None,
        jobs: Workload | None = None,
    ) -> None:
        self.config = config
        self.reference = reference
        self.notice = notice
        self.progress = progress
        self.done = 0.0
        self.other: _Run | None = None
        self.piloted: Pilot | None = None
        self.logged: dict[str, QueueResult] = {}
        self.measurement: Measurement | None = None
        self.schedules: dict[str, QueueResult] = {}
        self.machine = build_machine(config.machine)
        self.waiting = queues_of(config, self.machine.topology, jobs)
        self.workload = self.waiting.jobs

    def tell(self, what: str, share: float) -> None:
        """Report progress: ``share`` is the part of the run that is done."""
        if self.progress is not None:
            self.progress(what, share)

    def simulate(self) -> None:
        """The queue under each policy, and packets measured, before or after as the model asks."""
        table = self.config.queue.measured.table
        if table is not None:
            checked_path(table.model_dump())
        context = ModelContext(
            settings=self.config.model_settings(),
            mix=communication_mix(self.config.communication),
            network=self.network,
            measured_speedups=self.measured_speedups,
            pilot=self.pilot,
        )
        model = RUNTIME_MODELS[self.config.queue.run_time_model].from_config(context)
        snapshots_follow = bool(self.config.run.snapshots) and self.measurement is None
        self.schedules = self.queues(
            model, share_of_run=(0.3 if snapshots_follow else 1.0) - self.done
        )
        if snapshots_follow:
            there = {} if self.other is None else self.other.schedules
            self.measurement = self.campaign(self.schedules, there, share_of_run=1.0 - self.done)

    def draws(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Communication and its fraction of each job: the same for packets and run-time models."""
        mix = communication_mix(self.config.communication)
        return mix.draw(self.workload, self.waiting.draws.rng("jobs"))

    @cached_property
    def shared(self) -> SharedNetwork:
        """What jobs on the machine share, for packets and run-time models."""
        section = self.config.communication
        return SharedNetwork(
            self.machine.routing,
            self.machine.packets,
            section.ranks_per_node,
            section.task_mapping,
            int(self.waiting.draws.rng("packets").integers(0, 2**32)),
        )

    # What a run-time model may ask for

    def network(self) -> JobNetwork:
        """The network that coupled run times take their contention from."""
        section = self.config.communication
        share, _ = self.draws()
        n_policies = len(self.config.queue.policies)
        line = flow_level_line(
            self.machine.routing, self.communications(), share, self.workload.n_nodes, n_policies
        )
        if line is not None and self.notice is not None:
            self.notice(line)
        return JobNetwork(self.shared, communication_mix(section), self.communications())

    def measured_speedups(self) -> SpeedupTable:
        """Snapshots of schedules with logged run times, against the reference's."""
        self.logged = self.queues(AsLogged(), share_of_run=0.15)
        if not self.config.run.snapshots:
            return SpeedupTable(self.reference.column, ())
        there = {} if self.other is None else self.other.logged
        self.measurement = self.campaign(self.logged, there, share_of_run=0.7)
        return self.measurement.table

    def pilot(self, build: Callable[[JobNetwork], RunTimeModel]) -> Pilot:
        """The reference policy's run, where the reference is."""
        if self.other is not None:
            return self.other.pilot(build)
        if self.piloted is None:
            name = self.reference.policy
            part = 0.3 / (1 + len(self.config.queue.policies))
            found = self.queues(build(self.network()), share_of_run=part, only=name)
            _, fraction = self.draws()
            self.piloted = Pilot(found[name], fraction)
        return self.piloted

    # Steps

    def communications(self) -> list[Communication]:
        """What the jobs of each entry of the mix send."""
        section = self.config.communication
        return [
            Communication(
                e.pattern,
                e.message_bytes,
                e.iterations,
                e.parameters,
                None if e.node_bytes is None else max(1, e.node_bytes // section.ranks_per_node),
            )
            for e in section.mix
        ]

    def queues(
        self,
        model: RunTimeModel,
        *,
        share_of_run: float,
        only: str | None = None,
    ) -> dict[str, QueueResult]:
        """One schedule a policy, with a run-time model."""
        queue = self.config.queue
        policies = queue.policies if only is None else (only,)
        results = {}
        for name in policies:
            begun, part = self.done, share_of_run / len(policies)
            what = f"queue, {model.name}, {name}"

            def count(
                done: int, total: int, what: str = what, begun: float = begun, part: float = part
            ) -> None:
                self.tell(what, begun + part * done / max(total, 1))

            # the pilot of "contended-baseline" has to see its jobs through
            overrun = "keep" if only is not None else None
            results[name] = self.waiting.under(name, model, overrun=overrun, progress=count)
            self.done = begun + part
        return results

    def sides(self, schedules: Mapping[str, QueueResult]) -> dict[str, Side]:
        """Schedules on this run's network."""
        return {
            name: Side(result, self.shared, POLICIES[name].policy.isolates)
            for name, result in schedules.items()
        }

    def campaign(
        self,
        schedules: Mapping[str, QueueResult],
        elsewhere: Mapping[str, QueueResult],
        *,
        share_of_run: float,
    ) -> Measurement:
        """Snapshots of every policy's schedule, and of the reference's where that is elsewhere."""
        sides = self.sides(schedules)
        if self.other is not None:
            there = self.other.sides(elsewhere)
            sides = {self.reference.column: there[self.reference.policy], **sides}
        section = self.config.run
        # the same draws as the measured model's, so a job has the same pattern in both
        share, fraction = self.draws()
        study = Study(
            sides,
            self.reference.column,
            self.communications(),
            share,
            fraction,
            section.snapshots,
            section.only_snapshot,
            section.confidence,
        )
        given = section.paired.model_dump() if section.measure == "paired" else {}
        measure = MEASURES[section.measure](**given)
        check_snapshots(section.snapshots, len(sides), self.machine.topology.n_links)
        hops = campaign_hops(study, measure.sent(study))
        line = estimate_line(hops, len(study.numbers) * len(sides))
        if line is not None and self.notice is not None:
            self.notice(line)
        begun = self.done

        def count(what: str, share: float) -> None:
            self.tell(f"packets, {what}", begun + share_of_run * share)

        found = measure.measure(study, lambda: self.waiting.draws.rng("bootstrap"), count)
        self.done = begun + share_of_run
        return found

    def result(self) -> CosimResult:
        """Everything together."""
        home = self if self.other is None else self.other
        return CosimResult(
            self.config,
            self.machine,
            self.workload,
            self.logged,
            self.schedules,
            self.measurement,
            self.reference,
            home.schedules[self.reference.policy],
        )


def cosim_point(content: Mapping[str, object]) -> dict[str, Rows]:
    """A sweep's point: a resolved config to its tables."""
    return result_tables(run_cosim(config_from(dict(content))))
