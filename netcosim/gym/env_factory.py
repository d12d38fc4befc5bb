"""A config as a factory of episodes: each runs part of its jobs on its empty machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from alloc.any_rule import AnyRule
from alloc.policy import Policy
from alloc.registry import POLICIES, make_policy
from cosim.registry import RUNTIME_MODELS
from cosim.run_times.measured_times import Measured
from cosim.run_times.model_context import ModelContext
from netcosim.config.config import Config, QueueSection
from netcosim.config.content import checked_config
from netcosim.config.decider import DeciderProgram, check_by_count, make_decider
from netcosim.config.load import config_from, load_config
from netcosim.config.unread import as_read
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import replaced
from netcosim.runs.run_context import RunContext, run_context
from netsim.errors import NetcosimError, need_name, unknown_name
from queuesim.decide import Decider, Easy, Strict, known_at_submit
from queuesim.learning.episode import REWARDS, Domains, Episode, View
from queuesim.queue_setup import QueueSetup
from queuesim.rule_times import RuleModel
from queuesim.runtime import RunTimeModel
from workloads.transform import from_zero, select

ORDER_DECIDERS: dict[str, type[Decider]] = {"none": Strict, "easy": Easy}
"""Decider by the config's ``queue.backfill``, where it names no decider."""


@dataclass(frozen=True, kw_only=True)
class EpisodeOptions:
    """What episodes are made of."""

    reward: str = "bounded-slowdown"
    """A name of `queuesim.learning.episode.REWARDS`."""
    depth: int = 16
    """Waiting jobs that are seen (`queuesim.learning.episode.View`)."""
    level: int = 1
    """Of the machine's domains: 1 for groups or pods, 2 for what is below."""
    n_jobs: int = 256
    """Of an episode."""
    part: tuple[float, float] = (0.0, 1.0)
    """Episodes are cut from this part of the jobs, in the order of their submission."""

    def __post_init__(self) -> None:
        need_name("reward", self.reward, REWARDS)
        for name, value in (("depth", self.depth), ("n_jobs", self.n_jobs)):
            if not (isinstance(value, int) and value >= 1):
                raise NetcosimError(f"{name} = {value!r}; it must be a whole number, at least 1")
        if not 0 <= self.part[0] < self.part[1] <= 1:
            message = "it must be two shares of the jobs, such as (0, 0.8)"
            raise NetcosimError(f"part = {self.part}; {message}")


@dataclass(frozen=True, eq=False, kw_only=True)
class EnvFactory(EpisodeOptions):
    """What all episodes of a config share."""

    context: RunContext
    model: RunTimeModel
    rules: tuple[str, ...]
    """Placement rules among which an agent chooses; empty: the config's first policy places."""
    decider: Decider | None
    """Selects the next job, where the agent does not."""

    @cached_property
    def domains(self) -> Domains:
        """Of the machine, as they are seen."""
        return Domains(self.context.machine.topology, self.level)

    @property
    def first_jobs(self) -> tuple[int, int]:
        """The least and the greatest index with which an episode begins."""
        n = len(self.context.queues.jobs)
        begin, end = (round(share * n) for share in self.part)
        return begin, max(begin, end - self.n_jobs)

    def episode(
        self, rng: np.random.Generator, first: int | None = None, as_run: bool = False
    ) -> Episode:
        """Start a new episode from job ``first``, counted from 0.

        The generator draws the first job, and is that of the placement rules. With ``as_run`` it
        has all jobs, by the clock and with the draws of ``netcosim run``.
        """
        context, queues = self.context, self.context.queues
        least, most = self.first_jobs
        drawn = int(rng.integers(least, most + 1))
        begin = drawn if first is None else first
        if not 0 <= begin < len(queues.jobs):
            raise NetcosimError(
                f"first = {begin}; the episodes' jobs are counted from 0 to {len(queues.jobs) - 1}"
            )
        some = np.arange(begin, min(begin + self.n_jobs, len(queues.jobs)))
        jobs = queues.jobs if as_run else from_zero(select(queues.jobs, some))
        jobs = context.mix.with_traffic(jobs, queues.draws.rng("jobs"))
        section = queues.section
        window = None if section.window == "all" else section.window
        setup = QueueSetup(
            jobs,
            self._policy(None if as_run else rng),
            order=queues.order,
            backfill="none",
            window=self.depth - 1 if self.decider is None else window,
            overrun=section.overrun,
            run_time_model=self.model,
            rng=queues.job_rng(self.model),
            estimates=queues.estimates,
            rules=queues.rules,
            keep_placements=True,
        )
        run = setup.by_events()
        if self.decider is not None:
            draws = queues.job_rng(self.model).spawn(1)[0]
            self.decider.begin(known_at_submit(jobs), queues.topology, draws)
        view = View(self.domains, jobs, self.depth)
        return Episode(run, view, REWARDS[self.reward][0](run), self.decider)

    def _policy(self, rng: np.random.Generator | None) -> Policy:
        """Return the rules, or the one policy; with the draws of a run without a generator."""
        queues = self.context.queues
        names = self.rules or queues.section.policies[:1]
        policies = {
            name: make_policy(
                queues.topology,
                name,
                queues.draws.rng("policy", name)
                if rng is None
                else np.random.default_rng(int(rng.integers(2**62))),
                queues.tables.of(name),
            )
            for name in names
        }
        return AnyRule(policies) if self.rules else policies[names[0]]


def config_of(config: str | Path | Mapping[str, Any] | Config, contention: str = "") -> Config:
    """Return the config of episodes, in which packets serve only measured run times."""
    if isinstance(config, str | Path):
        config = load_config(config)
    elif not isinstance(config, Config):
        config = config_from(config)
    name = contention or config.queue.run_time_model
    changes: dict[str, object] = {"queue.run_time_model": name}
    if name != Measured.name:
        changes |= {"run.snapshots": 0, "run.only_snapshot": None}
    with config.plugged():
        need_name("run-time model", name, RUNTIME_MODELS)
        return as_read(checked_config(replaced(config.resolved(), changes)))


def env_factory_from(
    config: Config,
    *,
    decides_jobs: bool = True,
    decides_rules: bool = False,
    rules: Sequence[str] = (),
    decides_domains: bool = False,
    options: EpisodeOptions = EpisodeOptions(),
) -> EnvFactory:
    """Build environments from a config of `config_of`.

    The agent selects the next job, the rule that places it (of ``rules``, by default all the
    config's policies), or the domain of its placement by the config's first policy. What it does
    not select, the config's backfilling and first policy do.
    """
    if not decides_jobs and config.queue.backfill not in ORDER_DECIDERS:
        raise unknown_name("backfill of this environment", config.queue.backfill, ORDER_DECIDERS)
    with config.plugged():
        context = run_context(config)
        if context.queues.rules.interrupts:
            raise NetcosimError(
                "environments do not support preemption, quotas, random failures, jobs that are "
                "requeued, and checkpoints; remove them from [queue]"
            )
        named = tuple(rules or config.queue.policies) if decides_rules else ()
        if decides_domains:
            first = config.queue.policies[0]
            check_by_count('places = "domains"', first, POLICIES[first])
        decider = None if decides_jobs else _decider_of(config.queue)
        model = _model(context, named)
        return EnvFactory(
            **vars(options), context=context, model=model, decider=decider, rules=named
        )


def _decider_of(queue: QueueSection) -> Decider:
    """Return what selects the next job, where the agent does not."""
    if queue.decider is None:
        return ORDER_DECIDERS[queue.backfill]()
    if isinstance(queue.decider, DeciderProgram):
        raise NetcosimError("queue.decider: environments do not run programs; use a name or class")
    return make_decider(queue.decider, queue.decider_files)


def _model(context: RunContext, rules: tuple[str, ...]) -> RunTimeModel:
    """Build the config's run-time model."""

    def table(rounds: int = 1, build: object = None, runtime_reference: str = "") -> Any:
        found = run_cosim(context.config).measurement
        assert found is not None
        return found.table

    queue = context.config.queue
    model_context = ModelContext(context.mix, lambda: context.network, table)
    kind = RUNTIME_MODELS[queue.run_time_model]
    model = kind.from_config(model_context, queue.model_parameters())
    return RuleModel(model) if rules and isinstance(model, Measured) else model
