"""A config made into what runs, once: its machine, its jobs before the queue, what they send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alloc.registry import POLICIES
from cosim.measuring.base import Measure
from cosim.measuring.cost import campaign_hops, estimate_line, flow_level_line, flow_level_s
from cosim.measuring.snapshots import Side, Study
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.registry import MEASURES
from netcosim.config.communication import CommunicationSection
from netcosim.config.config import Config
from netcosim.config.errors import ConfigError
from netcosim.config.fields import InputFile
from netcosim.config.machine import BuiltMachine, build_machine
from netcosim.runs.schedules import Queues, queues_of
from netsim.limits import need_memory, shown
from patterns.registry import PATTERNS
from queuesim.result import QueueResult
from workloads.job import Workload

if TYPE_CHECKING:
    from cosim.network.gateways import GatewayIo
    from cosim.network.job_network import JobNetwork

MAX_SNAPSHOTS = 100_000

_RESULT_BYTES_A_LINK = 40


@dataclass(frozen=True, eq=False)
class RunContext:
    """What a config runs on and with."""

    config: Config
    machine: BuiltMachine
    queues: Queues
    mix: CommunicationMix
    """Patterns, weights and communication fractions."""

    def with_jobs(self, jobs: Workload) -> RunContext:
        """Return the same context with other jobs."""
        return replace(self, queues=replace(self.queues, jobs=jobs))

    @cached_property
    def drawn(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Communication and its fraction of each job: the same for packets and run-time models."""
        return self.mix.draw(self.queues.jobs, self.queues.draws.rng("jobs"))

    @cached_property
    def communications(self) -> list[Communication]:
        """What the jobs of each entry of the mix send."""
        section = self.config.communication
        return [
            Communication(
                entry.pattern,
                entry.message_bytes,
                entry.iterations,
                entry.all_parameters(InputFile.checked),
                None
                if entry.node_bytes is None
                else max(1, entry.node_bytes // section.ranks_per_node),
                entry.priority,
            )
            for entry in section.mix
        ]

    @cached_property
    def shared(self) -> SharedNetwork:
        """What jobs on the machine share, for packets and run-time models."""
        section = self.config.communication
        return SharedNetwork(
            self.machine.routing,
            self.machine.packets,
            section.ranks_per_node,
            section.task_mapping,
            int(self.queues.draws.rng("packets").integers(0, 2**32)),
            self.config.run.threads,
        )

    @cached_property
    def io(self) -> GatewayIo | None:
        """What jobs write through gateways; None where none are named."""
        section = self.config.communication.io
        if section is None:
            return None
        from cosim.network.gateways import GatewayIo

        return GatewayIo(self.queues.gateways, section.drive, section.message_bytes)

    @cached_property
    def network(self) -> JobNetwork:
        """Return the network on which coupled run times compute contention."""
        from cosim.network.job_network import JobNetwork

        together = self.config.communication.together
        return JobNetwork(self.shared, self.mix, self.communications, together=together)

    def flow_cost(self) -> str | None:
        """Return a note on the cost of simulating the jobs on the network, or None."""
        share, fraction = self.drawn
        routing = self.machine.routing
        # jobs that send nothing are as jobs of one node
        sizes = np.where(fraction > 0, self.queues.jobs.n_nodes, 1)
        seconds, longest = flow_level_s(routing, self.communications, share, sizes)
        return flow_level_line(seconds * len(self.config.queue.policies), longest)

    def sides(self, schedules: Mapping[str, QueueResult]) -> dict[str, Side]:
        """Return schedules on this network."""
        silent = self.mix.silent(self.queues.jobs)
        routing_at = self.machine.routing_at if self.config.machine.faults else None
        return {
            name: Side(
                result,
                self.shared,
                isolates=POLICIES[name].isolates,
                empty=partial(self.queues.empty, name),
                silent=silent if silent.any() else None,
                routing_at=routing_at,
            )
            for name, result in schedules.items()
        }

    def faults_seen(self, study: Study) -> str | None:
        """Return a note on how many snapshots have faults of links; None without faults."""
        if not self.config.machine.faults:
            return None
        seen = {
            name: sum(bool(self.machine.faults_at(t)) for t in study.instants_s(name).tolist())
            for name in study.sides
        }
        counts = ", ".join(f"{count} under {name}" for name, count in seen.items())
        return f"faults of links: of {study.n_snapshots} snapshots {counts} have some"

    def study(self, sides: Mapping[str, Side], reference: str) -> Study:
        """Return what is to be measured of schedules."""
        section = self.config.run
        check_snapshots(section.snapshots, len(sides), self.machine.topology.n_links)
        share, fraction = self.drawn
        return Study(
            sides,
            reference,
            self.communications,
            share,
            fraction,
            section.snapshots,
            only=section.only_snapshot,
            confidence=section.confidence,
            placed=section.placed,
            io=self.io,
            together=self.config.communication.together,
        )

    @property
    def measure(self) -> Measure:
        """How it is measured."""
        section = self.config.run
        sections = {"paired": section.paired, "steady": section.steady}
        keys = sections.get(section.measure)
        given = {} if keys is None else keys.model_dump()
        return MEASURES[section.measure](**given)

    def packet_cost(self, study: Study, rounds: int = 1) -> str | None:
        """Return a line on a study's packets before they are sent, ``rounds`` times over."""
        hops = campaign_hops(study, self.measure)
        hops *= 2 if self.config.run.keep == "all" else 1  # each job once more, alone
        return estimate_line(rounds * hops, rounds * len(study.numbers) * len(study.sides))


def run_context(config: Config, jobs: Workload | None = None) -> RunContext:
    """Build the context of a config, with its own jobs or with others."""
    machine = build_machine(config.machine)
    for one in config.machine.faults:
        machine.routing_at(one.fault().from_s)  # refuses what cuts nodes off before anything runs
    queues = queues_of(config, machine.topology, jobs)
    mix = _mix(config.communication)
    queues = replace(queues, jobs=mix.noted(queues.jobs), with_traffic=mix.with_traffic)
    return RunContext(config, machine, queues, mix)


def _mix(section: CommunicationSection) -> CommunicationMix:
    """Return the patterns, weights and communication fractions of ``[communication]``."""
    shares = []
    for entry in section.mix:
        parameters = entry.all_parameters(InputFile.checked)
        ranks = None
        if PATTERNS[entry.pattern].recorded_ranks is not None:
            ranks = partial(_ranks_of, entry.pattern, parameters, section.ranks_per_node)
        least, most = entry.nodes or (1, None)
        named = (entry.pattern, entry.weight, *entry.communication_fraction)
        shares.append(PatternShare(*named, least, most, ranks))
    return CommunicationMix(shares, section.law())


def _ranks_of(
    pattern: str, parameters: Mapping[str, object], ranks_per_node: int, n_nodes: int
) -> tuple[int, int]:
    """Return how many ranks of a job take part in a pattern, and all."""
    n_ranks = n_nodes * ranks_per_node
    return PATTERNS[pattern].ranks_used(n_ranks, parameters), n_ranks


def check_snapshots(n_snapshots: int, n_policies: int, n_links: int) -> None:
    """Refuse more snapshots than can be kept."""
    if n_snapshots > MAX_SNAPSHOTS:
        message = f"{shown(n_snapshots)}; at most {MAX_SNAPSHOTS:,}"
        raise ConfigError("run.snapshots", None, message)
    need_memory(
        f"key run.snapshots: {n_snapshots:,} under {n_policies} policies on {n_links:,} links",
        n_snapshots * n_policies * n_links * _RESULT_BYTES_A_LINK,
    )
