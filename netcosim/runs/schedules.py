"""The one way from a config to schedules: its machine and jobs, and the queue under a policy.

``netcosim run``, sweeps and the papers all use this module; what a paper's method can do is in
the config's ``[workload]`` and ``[queue]``.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from alloc.registry import POLICIES, make_policy
from cosim.registry import RUNTIME_MODELS
from netcosim.config.config import Config, PolicyTables, QueueSection
from netcosim.config.decider import backfill_or_decider, check_by_count
from netcosim.config.errors import ConfigError
from netcosim.runs.draws import Draws
from netsim.short_repr import short_repr
from netsim.topology import Topology
from queuesim.compiled.choice import why_by_events
from queuesim.estimates import EstimateModel
from queuesim.ordering.orders import Order
from queuesim.queue import fitting, run_queue
from queuesim.queue_setup import QueueSetup
from queuesim.registry import BACKFILLS, DECIDERS, ESTIMATES
from queuesim.result import QueueResult
from queuesim.runtime import AsLogged, RunTimeModel
from queuesim.setup import setup_of
from queuesim.site.rules import Rules
from workloads.job import Workload
from workloads.transform import from_zero, refuse_empty

if TYPE_CHECKING:
    from queuesim.decide import Decider

Count = Callable[[int, int], None]
"""``count(jobs done, jobs)``."""


@short_repr()
@dataclass(frozen=True, eq=False)
class Queues:
    """A machine and its jobs, which wait for a policy."""

    config: Config
    topology: Topology
    jobs: Workload
    """Every policy gets the same: those that all of them can place."""
    estimates: EstimateModel
    """Run times that the placement knows."""
    order: Order
    rules: Rules
    draws: Draws
    with_traffic: Callable[[Workload, np.random.Generator], Workload] | None = None
    """Adds to jobs what they send, as `cosim.network.mix.CommunicationMix.with_traffic`."""

    @property
    def section(self) -> QueueSection:
        """Keys of the queue."""
        return self.config.queue

    @property
    def tables(self) -> PolicyTables:
        """Parameters of the policies."""
        return self.config.policies

    @cached_property
    def gateways(self) -> NDArray[np.int32]:
        """Nodes that no job gets."""
        io = self.config.communication.io
        hosts = None if io is None else io.gateways
        if hosts is None:
            return np.empty(0, np.int32)
        from cosim.network.gateways import gateway_nodes

        return gateway_nodes(hosts, self.topology)

    def prepared(self, drop_larger: bool) -> Queues:
        """Return the queues with their jobs checked against the policies, and notes on them.

        ``drop_larger`` leaves out jobs that a policy cannot place.
        """
        section, jobs = self.section, self.jobs
        if self.rules.uses_node_sets:
            from queuesim.backfilling.easy_sets import node_set_method
            from queuesim.site.node_sets import check_holds_any

            node_set_method(section.backfill)
            for name in section.policies:
                check_holds_any(POLICIES[name])
        for name in section.policies if drop_larger else ():
            rng = np.random.default_rng(0)
            policy = make_policy(self.topology, name, rng, self.tables.of(name))
            placed = fitting(jobs, policy, self.rules)
            if len(self.gateways):
                from cosim.network.gateways import with_room

                placed = with_room(placed, policy, self.gateways)
            jobs = refuse_empty(placed, jobs)
        if any(POLICIES[name].replays for name in section.policies):
            from queuesim.logged import with_replay_notes

            jobs = with_replay_notes(jobs, self.topology)
        return replace(self, jobs=_with_notes_on_needs(section, jobs))

    def under(
        self,
        policy: str,
        model: RunTimeModel | None = None,
        *,
        overrun: str | None = None,
        bandwidth_Bps: NDArray[np.float64] | None = None,
        keep_placements: bool = True,
        progress: Count | None = None,
    ) -> QueueResult:
        """Simulate the schedule under a policy.

        Parameters
        ----------
        model : RunTimeModel, optional
            As logged by default.
        overrun, bandwidth_Bps : str, (n,) float64, optional
            Instead of the config's, and of a draw of its classes.
        keep_placements : bool
            False if only starts and ends are needed.
        """
        with self._backfill_or_decider() as who:
            given: dict[str, Any] = {"keep_placements": keep_placements, "progress": progress}
            given["only_times"] = not keep_placements
            if overrun is not None:
                given["overrun"] = overrun
            if bandwidth_Bps is not None:
                given["bandwidth_Bps"] = bandwidth_Bps
            return run_queue(self._setup(policy, model, who)(**given))

    def redrawn(
        self, policy: str, model: RunTimeModel, repeats: int, which: str = ""
    ) -> QueueSetup:
        """Return one of so many queues of which nothing but starts and ends is wanted.

        ``which`` names the draws of what jobs send.
        """
        with self._backfill_or_decider() as who:
            return self._setup(policy, model, who, which)(only_times=True, repeats=repeats)

    def _backfill_or_decider(self) -> AbstractContextManager[str | Decider]:
        section = self.section
        return backfill_or_decider(section.backfill, section.decider, section.decider_files)

    def _setup(
        self, policy: str, model: RunTimeModel | None, who: str | Decider, which: str = ""
    ) -> Callable[..., QueueSetup]:
        """Return what makes a queue under a policy of the config's keys."""
        placing, section, known = self.empty(policy), self.section, None
        if self.with_traffic is not None and not isinstance(who, str):
            known = self.with_traffic(self.jobs, self.draws.rng("jobs", which))
        return partial(
            QueueSetup,
            self.jobs,
            placing,
            order=self.order,
            rules=self.rules,
            backfill=who,
            window=None if section.window == "all" else section.window,
            reservations=None if section.reservations == "all" else section.reservations,
            overrun=section.overrun,
            run_time_model=model,
            rng=self.job_rng(model, which),
            failures_rng=self.draws.rng("failures", which),
            bandwidth_Bps=self._needs(placing.without_need, model),
            estimates=self.estimates,
            known=known,
        )

    def job_rng(self, model: RunTimeModel | None, which: str = "") -> np.random.Generator:
        """Return the generator of a run-time model and a decider.

        ``[communication]`` moves the draws only of a model that reads it.
        """
        sent = model is not None and model.reads_traffic()
        return (self.draws if sent else self.draws.without_traffic).rng("jobs", which)

    def why_by_events(self, policy: str, repeats: int = 1) -> str:
        """Return why so many queues under a policy are not compiled; empty if they are."""
        model = RUNTIME_MODELS[self.section.run_time_model]
        with self._backfill_or_decider() as who:
            placing = self.empty(policy)
            parts = placing, self.order, who, self.rules, model
            return why_by_events(len(self.jobs), *parts, repeats=repeats)

    def empty(self, policy: str, snapshot: int | None = None) -> Policy:
        """Return a policy with all nodes free but gateways; draws are a queue's or a snapshot's.

        With ``queue.placement_rules`` it is the first of them all.
        """
        names = dict.fromkeys((policy, *self.section.placement_rules))
        policies = {name: self._made(name, snapshot) for name in names}
        if not self.section.placement_rules:
            return policies[policy]
        from alloc.any_rule import AnyRule

        return AnyRule(policies, policy)

    def _made(self, policy: str, snapshot: int | None) -> Policy:
        which = policy if snapshot is None else f"{policy}, snapshot {snapshot}"
        rng = self.draws.rng("policy", which)
        placing = make_policy(self.topology, policy, rng, self.tables.of(policy))
        if self.section.decider is not None:
            check_by_count("decider", policy, placing)
        if len(self.gateways):
            from cosim.network.gateways import keep_off

            keep_off(placing, self.gateways)
        return placing

    def digest(
        self,
        policy: str,
        model: RunTimeModel,
        overrun: str | None = None,
        keep_placements: bool = True,
    ) -> str:
        """Return a digest of all that `under` depends on; empty if that is not known.

        For a machine that is its content; bandwidths and latencies count only for policies
        that place by bandwidth. It is known for logged run times and built-in policies, whose
        sources do not change in a process.
        """
        section = self.section
        placed_by = (policy, *section.placement_rules)
        added = {*POLICIES.added, *BACKFILLS.added, *DECIDERS.added}
        if type(model) is not AsLogged or added & {*placed_by, section.backfill, section.decider}:
            return ""
        machine = {**vars(self.topology), "name": ""}
        if not POLICIES[policy].without_need:
            machine |= {"link_bandwidth_Bps": None, "link_latency_s": None}
        needs = self._needs(POLICIES[policy].without_need, model)
        jobs = vars(replace(self.jobs, notes=(), dropped={}))
        given = (
            *(section.backfill, section.decider, section.decider_files, section.window),
            section.reservations,
            section.overrun if overrun is None else overrun,
        )
        of_policy = [(p, self.tables.of(p), self.draws.rng("policy", p)) for p in placed_by]
        rest = (self.order, self.rules, self.estimates, needs, keep_placements)
        try:
            content = pickle.dumps((machine, jobs, given, of_policy, rest))
        except (pickle.PicklingError, AttributeError, TypeError):
            return ""
        return hashlib.sha256(content).hexdigest()

    def _needs(self, without_need: str, model: RunTimeModel | None) -> NDArray[np.float64] | None:
        """Return each job's bandwidth need from its run-time model, the log, or its class.

        Classes are drawn for a policy that reads them; the draw is the same for all of them.
        """
        if model is not None and model.knows_needs:
            return model.bandwidth_needs(self.jobs, self.job_rng(model))
        if not without_need:
            return None
        from queuesim.site.bandwidth import bandwidth_needs

        classes = self.section.bandwidth_need_Bps
        return bandwidth_needs(self.jobs, classes, self.draws.rng("bandwidth"))


def queues_of(config: Config, topology: Topology, jobs: Workload | None = None) -> Queues:
    """Build the queues of a config on its machine, with its own jobs or with others."""
    draws = Draws(config.resolved())
    source = config.workload.source()
    if jobs is None:
        jobs = source.jobs(topology.n_nodes, draws.rng("workload"))
        if source.log is not None:
            # a log's clock may begin long before its first job
            jobs = _in_repetition(config, from_zero(jobs), draws)
    order, rules = setup_of(config.queue, source.history)
    queues = Queues(
        config,
        topology,
        jobs,
        ESTIMATES[config.queue.estimates].after(source.history),
        order,
        rules,
        draws,
    )
    return queues.prepared(source.larger_jobs == "drop")


def _in_repetition(config: Config, jobs: Workload, draws: Draws) -> Workload:
    """Return the jobs of a log, redrawn from its blocks in repetitions above 0."""
    if not config.run.repetition or not config.run.redraw_log:
        return jobs
    replays = [name for name in config.queue.policies if POLICIES[name].replays]
    if replays or config.queue.backfill == "as-logged":
        what = f"policy {replays[0]}" if replays else "queue.backfill = as-logged"
        error = f"blocks of the log are redrawn, and {what} needs the log's own times"
        raise ConfigError(
            "run.repetition", config.run.repetition, f"{error}; set redraw_log = false"
        )
    from workloads.drawn import drawn_log, rotated

    rng = draws.rng("bootstrap", "repetition")
    return drawn_log(rotated(jobs, rng), rng)


def _with_notes_on_needs(section: QueueSection, jobs: Workload) -> Workload:
    """Add a note on policies that need a missing ``queue.bandwidth_need``."""
    if (
        section.bandwidth_need_Bps
        or RUNTIME_MODELS[section.run_time_model].knows_needs
        or jobs.details.bytes_per_node_s is not None
    ):
        return jobs
    readers = {name: POLICIES[name].without_need for name in section.policies}
    found = [
        f"{name} places jobs by the bandwidth they need, and queue.bandwidth_need is not "
        f"given: every job gets {gets}"
        for name, gets in readers.items()
        if gets
    ]
    return replace(jobs, notes=tuple(dict.fromkeys((*jobs.notes, *found))))
