"""The loop closed: one log, one machine, several policies; packets measured, queue run again.

1. The queue runs under each policy with logged run times.
2. Snapshots of the schedules go through the packet engine (`cosim.registry.MEASURES`).
3. The measured communication times, against the reference's, change the jobs' run times, and
   the queue runs again under each policy.

With ``queue.measured.rounds`` the schedules of step 3 are measured and run again.

That is what the run-time model "measured" requests; the registry's other models request less
(`cosim.run_times.model_context`), and step 2 then measures the schedules that they gave. With
``snapshots = 0`` no packets are sent. The reference is a policy of the run, or one elsewhere
(`netcosim.config.run`), which then is run beforehand with the same jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.snapshots import Measurement, Study
from cosim.measuring.tasks import (
    Columns,
    PrefixedRunner,
    Progress,
    SerialExecutor,
    TaskRunner,
    schedule_columns,
    schedule_from,
)
from cosim.parameters import CONTENDED, ISOLATED
from cosim.registry import RUNTIME_MODELS
from cosim.run_times.model_context import ModelContext, Pilot
from netcosim.archive.extract import archive_of
from netcosim.archive.serialize import serialize
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.config.run import Reference, keeps_nodes
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.outcome import PointResult
from netcosim.runs.progress import Notice, ProgressReporter
from netcosim.runs.run_context import RunContext, run_context
from netsim.errors import NetcosimError, warn_of_model, warning_once
from netsim.kinds import FUNCTION, NONE, need_kinds
from netsim.packet.credit import warn_of_buffers
from netsim.topologies.registry import family_of
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel
from workloads.job import Workload

if TYPE_CHECKING:
    from cosim.measuring.neighbours import Neighbours
    from cosim.network.job_network import JobNetwork

Schedules = dict[str, QueueResult]

MANY_AT_ONCE = 20_000
"""Jobs at time 0 whose queue takes long: twice as many take four times as long."""


def run_cosim(
    config: Config,
    progress: Progress | None = None,
    notice: Notice | None = None,
    runner: TaskRunner | None = None,
    jobs: Workload | None = None,
) -> CosimResult:
    """Run a config.

    Parameters
    ----------
    config : Config
    progress : callable, optional
        See `cosim.measuring.tasks.Progress`.
    notice : callable, optional
        See `netcosim.runs.progress.Notice`.
    runner : TaskRunner, optional
        Runner of schedules and packet simulations; by default in this process, one by one.
    jobs : Workload, optional
        Jobs that replace the config's own.

    Raises
    ------
    NetcosimError
        What a part refuses: a log that cannot be read, a job larger than the machine, ...

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    ...         "run": {"snapshots": 2},
    ...     }
    ... )
    >>> result = nc.run_cosim(config)
    >>> round(result.ratios["simple"].ratio, 2)
    0.93
    """
    need_kinds("run_cosim", {"config": (config, Config), "jobs": (jobs, (Workload, NONE))})
    for what, value in (("progress", progress), ("notice", notice)):
        need_kinds("run_cosim", {what: (value, (FUNCTION, NONE))})
    with config.plugged(), warning_once():
        result = _run(
            config,
            ProgressReporter(progress, notice),
            SerialExecutor() if runner is None else runner,
            jobs,
        )
        if config.queue.run_time_model == "coupled-flow":
            from cosim.run_times.flow_errors import flow_warnings

            for line in flow_warnings(result.machine.routing, result.flow_classes):
                warn_of_model(line)
    return result


def _run(
    config: Config, reporter: ProgressReporter, runner: TaskRunner, given: Workload | None
) -> CosimResult:
    reference, context = config.relative_to, run_context(config, given)
    machine = context.machine.topology
    for line in family_of(machine).notes(machine):
        reporter.notify(line)
    jobs = context.queues.jobs
    if len(jobs) >= MANY_AT_ONCE and config.queue.window == "all" and not jobs.submit_s.any():
        load = ", or load = 0.9 under [workload.synthetic]" if config.workload.synthetic else ""
        reporter.notify(
            f"all {len(jobs):,} jobs arrive at time 0, and each pass looks at all that wait, which "
            f"takes long: set window = 50 under [queue]{load}"
        )
    # also for packets that other processes send
    if config.run.snapshots or "run.threads" in RUNTIME_MODELS[config.queue.run_time_model].reads:
        warn_of_buffers(machine, context.machine.packets)
    if reference.elsewhere is None:
        return _Loop(context, reference, reporter, runner, _reads_placements(context)).result()
    # measured with those that are compared with it, not by itself
    silent = reference.elsewhere.run.model_copy(update={"snapshots": 0})
    elsewhere = reference.elsewhere.model_copy(update={"run": silent})
    reference_run = _Loop(
        run_context(elsewhere, context.queues.jobs),
        Reference(reference.policy, (), None),
        reporter.first(1 / (1 + len(config.queue.policies)), "reference: "),
        runner,
        config.run.snapshots > 0 or _reads_placements(context),
    )
    reference_run.run()
    jobs = reference_run.context.queues.jobs
    context = context.with_jobs(jobs)
    return _Loop(
        context, reference, reporter, runner, _reads_placements(context), reference_run
    ).result()


def _reads_placements(context: RunContext) -> bool:
    """Return whether a run needs more of its schedules than starts and ends."""
    run, power = context.config.run, context.config.machine.power
    tables = bool(run.observables) or power is not None
    return run.snapshots > 0 or tables or keeps_nodes(run, len(context.queues.jobs))


@dataclass
class _Loop:
    """The steps of a run and what they leave for each other."""

    context: RunContext
    reference: Reference[Config]
    reporter: ProgressReporter
    runner: TaskRunner
    reads_placements: bool
    """Whether the schedules of the config's model have to keep them."""
    reference_run: _Loop | None = None
    """The reference's own run, if it is elsewhere."""
    logged: Schedules = field(default_factory=dict)
    schedules: Schedules = field(default_factory=dict)
    model: RunTimeModel = field(default_factory=AsLogged)
    study: Study | None = None
    measurement: Measurement | None = None
    neighbours: dict[str, Neighbours] = field(default_factory=dict)
    piloted: dict[str, Pilot] = field(default_factory=dict)
    """By the name of the run-time model."""
    rounds: list[Measurement] = field(default_factory=list)
    round_schedules: list[Schedules] = field(default_factory=list)
    """rounds, round_schedules: What each round measured, and what schedules, those of the first
    left out."""

    def run(self) -> None:
        """Run the queue under each policy and send packets, in the order that the model needs."""
        queue = self.context.config.queue
        parameters = queue.model_parameters()
        context = ModelContext(
            mix=self.context.mix,
            network=self.network,
            measured_speedups=self.measured_speedups,
            pilot=self.pilot,
        )
        model = RUNTIME_MODELS[queue.run_time_model].from_config(context, parameters)
        self.model = model
        follow = bool(self.context.config.run.snapshots) and self.measurement is None
        self.schedules = self.queues(model, 0.3 if follow else 1.0)
        if follow:
            base = {} if self.reference_run is None else self.reference_run.schedules
            self.measurement = self.campaign(self.schedules, base, 1.0)
        if len(self.rounds) > 1:
            from cosim.measuring.rounds import with_rounds

            rounds = zip(self.rounds, [*self.round_schedules, self.schedules], strict=True)
            self.measurement = with_rounds(list(rounds), self.reference.policy)

    # What a run-time model may ask for

    def network(self) -> JobNetwork:
        """Return the network on which coupled run times compute contention."""
        self.reporter.notify(self.context.flow_cost())
        return self.context.network

    def measured_speedups(
        self,
        rounds: int = 1,
        build: Callable[[SpeedupTable], RunTimeModel] | None = None,
        runtime_reference: str = CONTENDED,
    ) -> SpeedupTable:
        """Measure snapshots of schedules against the reference's, in rounds."""
        isolated = runtime_reference == ISOLATED
        if isolated and self.reference_run is not None:
            raise NetcosimError(
                f'queue.measured.runtime_reference = "{ISOLATED}" is for a reference that is a '
                "policy of the run; [reference] names another one"
            )
        self.logged = schedules = self.queues(AsLogged(), 0.15)
        table = SpeedupTable(self.reference.column, ())
        if not self.context.config.run.snapshots:
            return table
        base = {} if self.reference_run is None else self.reference_run.logged
        for number in range(1, rounds + 1):
            if number > 1 and build is not None:
                schedules = self.queues(build(table), 0.1, round_number=number)
                self.round_schedules.append(schedules)
            left = rounds + 1 - number
            found = self.measurement = self.campaign(
                schedules, base, 0.8 / left, round_number=number, rounds_left=left
            )
            table = found.table
            if isolated and self.study is not None:
                from cosim.measuring.rounds import isolated_speedups

                table = isolated_speedups(found, self.study, self._bootstrap)
            self.rounds.append(found)
        return table

    def _bootstrap(self) -> np.random.Generator:
        return self.context.queues.draws.rng("bootstrap")

    def pilot(self, build: Callable[[JobNetwork], RunTimeModel]) -> Pilot:
        """Run the reference policy to the end of its jobs, on the reference's machine."""
        if self.reference_run is not None:
            return self.reference_run.pilot(build)
        network = self.network()
        model = build(network)
        if model.name not in self.piloted:
            name, share = self.reference.policy, 0.3 / (1 + len(self.context.config.queue.policies))
            found = self.queues(model, share, [name], overrun="keep", places=True)
            _, fraction = self.context.drawn
            self.piloted[model.name] = Pilot(found[name], fraction, network)
        return self.piloted[model.name]

    # Steps

    def queues(
        self,
        model: RunTimeModel,
        share: float,
        policies: Sequence[str] = (),
        overrun: str | None = None,
        round_number: int = 1,
        places: bool = False,
    ) -> Schedules:
        """Return one schedule a policy with a model; ``share`` is its part of the progress."""
        names, queues = policies or self.context.config.queue.policies, self.context.queues
        what = f"queue, {model.name}, {'' if overrun is None else f'{overrun}, '}"
        places = places or self.reads_placements
        what += "" if places else "times only, "
        options: dict[str, Any] = {"overrun": overrun, "keep_placements": places}

        def compute(name: str, report_share: Callable[[float], None]) -> Columns:
            def count(done: int, jobs: int) -> None:
                report_share(done / max(jobs, 1))

            return schedule_columns(queues.under(name, model, progress=count, **options))

        tasks = {f"{self.reporter.what}{what}{n}": (n,) for n in names}
        with self.reporter.step("", share) as report:
            schedules = _in_round(self.runner, round_number).each(
                compute,
                tasks,
                lambda task, done: report(task.removeprefix(self.reporter.what), done),
                {task: queues.digest(n, model, **options) for task, (n,) in tasks.items()},
            )
        return {n: schedule_from(run, queues.jobs, queues.topology) for n, run in schedules}

    def campaign(
        self,
        schedules: Mapping[str, QueueResult],
        reference_schedules: Mapping[str, QueueResult],
        share: float,
        *,
        round_number: int = 1,
        rounds_left: int = 1,
    ) -> Measurement:
        """Measure every policy's schedule, and the reference's where that is elsewhere.

        ``share`` is its part of what is left to do. Rounds are counted from 1; ``rounds_left`` has
        this one among them.
        """
        sides = self.context.sides(schedules)
        if self.reference_run is not None:
            own = self.reference_run.context.sides(reference_schedules)
            sides = {self.reference.column: own[self.reference.policy], **sides}
        study = self.study = self.context.study(sides, self.reference.column)
        finds_neighbours = rounds_left == 1 and self.context.config.run.keep == "all"
        self.reporter.notify(self.context.faults_seen(study))
        self.reporter.notify(self.context.packet_cost(study, rounds_left))
        with self.reporter.step("packets, ", share / 2 if finds_neighbours else share) as report:
            runner = _in_round(self.runner, round_number)
            found = self.context.measure.measure(study, self._bootstrap, runner, report)
        self.neighbours = {}
        if finds_neighbours:
            from cosim.measuring.neighbours import neighbours_of

            with self.reporter.step("", share / 2) as report:
                measured = {n: found.jobs[n] for n in schedules if n in found.jobs}
                self.neighbours = neighbours_of(study, measured, self.runner, report)
        return found

    def result(self) -> CosimResult:
        """Run, and collect all results."""
        self.run()
        home = self if self.reference_run is None else self.reference_run
        return CosimResult(
            self.context.config,
            self.context.machine,
            self.context.queues,
            self.logged,
            self.schedules,
            self.measurement,
            self.model,
            self.reference,
            home.schedules[self.reference.policy],
            *self.context.drawn,
            self.study,
            self.neighbours,
        )


BETWEEN_POINTS = SerialExecutor(keep=24)
"""Schedules that a process has made for other points of its sweep and can use again."""


def _in_round(runner: TaskRunner, number: int) -> TaskRunner:
    """Return a runner of tasks whose names begin with their round, but for the first."""
    return runner if number == 1 else PrefixedRunner(runner, f"round {number}, ")


def cosim_point(content: Mapping[str, object]) -> PointResult:
    """Compute a point of a sweep: its tables, and what is archived of it."""
    config = checked_config(dict(content))
    with config.plugged():
        return point_result(run_cosim(config, runner=BETWEEN_POINTS))


def point_result(result: CosimResult) -> PointResult:
    """Return what a store saves of a run."""
    from netcosim.report.about import ABOUT, jobs_rows

    kept = {} if result.config.run.keep == "tables" else serialize(archive_of(result))
    about = jobs_rows(result.workload)
    return PointResult(result_tables(result) | ({ABOUT: about} if about else {}), kept)
