"""From the sections of a config to the objects of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from alloc.policy import Policy
from alloc.registry import POLICIES, make_policy
from experiments.config import MachineSection, WorkloadSection
from experiments.inputs import checked_path, is_input
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from queuesim.measured import CommunicationMix, PatternShare
from queuesim.queue import fitting
from workloads import transform
from workloads.csv_jobs import is_csv, read_csv
from workloads.job import Workload
from workloads.registry import known_log
from workloads.swf import read_swf
from workloads.synthetic import laas_workload

if TYPE_CHECKING:
    from experiments.config import CommunicationSection, QueueSection


@dataclass(frozen=True, eq=False)
class BuiltMachine:
    """The network of a config.

    Attributes
    ----------
    topology : Topology
    routing : Routing
    packets : PacketConfig
    """

    topology: Topology
    routing: Routing
    packets: PacketConfig


def build_machine(section: MachineSection) -> BuiltMachine:
    """Topology, routing and packet parameters of ``[machine]``.

    Raises
    ------
    NetcosimError
        What the builders refuse, such as more groups than global links can join.
    """
    parameters = {
        name: checked_path(value) if is_input(value) else value
        for name, value in section.parameters.items()
    }
    topology = make_topology(section.family, parameters)
    routing = make_routing(topology, section.routing, ugal_bias_s=section.ugal_bias_s)
    return BuiltMachine(topology, routing, PacketConfig(**section.packet.model_dump()))


def build_workload(
    section: WorkloadSection, machine_nodes: int, rng: np.random.Generator
) -> Workload:
    """Jobs of ``[workload]``: read or generated, then cut, scaled and filtered.

    Jobs larger than the machine are an error or dropped and counted, as the section says.

    Parameters
    ----------
    section : WorkloadSection
    machine_nodes : int
    rng : numpy.random.Generator
        For the generator of synthetic jobs.

    Raises
    ------
    NetcosimError
        A log that cannot be read, no job left, a job larger than the machine.
    """
    jobs = _source(section, machine_nodes, rng)
    if section.start_s is not None or section.end_s is not None:
        end_s = np.inf if section.end_s is None else section.end_s
        inside = transform.time_window(jobs, section.start_s or 0.0, end_s)
        jobs = transform.from_zero(transform.refuse_empty(inside, jobs))
    if section.first_jobs is not None:
        jobs = transform.head(jobs, section.first_jobs)
    if section.arrival_factor != 1:
        jobs = transform.scale_arrivals(jobs, section.arrival_factor)
    if section.size_factor != 1:
        jobs = transform.scale_sizes(jobs, section.size_factor)
    if section.all_at_zero:
        jobs = transform.all_at_zero(jobs)
    if section.larger_jobs == "drop":
        return transform.refuse_empty(transform.drop_larger(jobs, machine_nodes), jobs)
    return transform.refuse_larger(jobs, machine_nodes)


_SWF_KEYS = ("known_log", "processors_per_node", "node_field", "statuses")
"""Keys that mean something for SWF alone."""


def _source(section: WorkloadSection, machine_nodes: int, rng: np.random.Generator) -> Workload:
    """The jobs of the log, or generated ones, without those that the section leaves out."""
    log = None if section.log is None else checked_path(section.log.model_dump())
    if log is not None and not is_csv(log):
        return _swf(log, section)
    for key in _SWF_KEYS:
        if getattr(section, key) != WorkloadSection.model_fields[key].default:
            raise NetcosimError(f"key workload.{key}: for logs in SWF alone; other jobs have nodes")
    jobs = all_jobs = _generated(section, machine_nodes, rng) if log is None else read_csv(log)
    if section.max_nodes is not None:
        jobs = transform.drop_larger(jobs, section.max_nodes)
    if section.min_run_time_s is not None:
        jobs = transform.drop_shorter(jobs, section.min_run_time_s)
    return transform.refuse_empty(jobs, all_jobs)


def _generated(section: WorkloadSection, machine_nodes: int, rng: np.random.Generator) -> Workload:
    given = section.synthetic
    assert given is not None
    return laas_workload(
        given.n_jobs,
        given.mean_nodes,
        rng,
        run_time_range_s=given.run_time_range_s,
        load=given.load,
        machine_nodes=None if given.load is None else machine_nodes,
        requested_factor=given.requested_factor,
    )


def _swf(log: str, section: WorkloadSection) -> Workload:
    known = None if section.known_log is None else known_log(section.known_log)
    statuses = known.statuses if known is not None else None
    most = known.max_nodes if known is not None else None
    return read_swf(
        log,
        processors_per_node=section.processors_per_node,
        known_processors_per_node=None if known is None else known.processors_per_node,
        node_field=section.node_field,
        statuses=section.statuses if section.statuses is not None else statuses,
        max_nodes=section.max_nodes if section.max_nodes is not None else most,
        min_run_time_s=section.min_run_time_s,
    )


def build_policy(
    topology: Topology, name: str, rng: np.random.Generator, jobs: Workload, *, drop: bool
) -> tuple[Policy, Workload]:
    """A policy on the empty machine, and the jobs that it can place at all.

    Raises
    ------
    NetcosimError
        An unknown policy; no job that it can place. Without ``drop`` a job that never fits is
        left for the queue, which refuses it.
    """
    policy = make_policy(topology, name, rng)
    return policy, transform.refuse_empty(fitting(jobs, policy), jobs) if drop else jobs


def communication_mix(section: CommunicationSection) -> CommunicationMix:
    """Patterns, weights and communication fractions of ``[communication]``.

    Raises
    ------
    NetcosimError
        What `queuesim.measured.CommunicationMix` refuses.
    """
    return CommunicationMix(
        PatternShare(entry.pattern, entry.weight, *entry.communication_fraction)
        for entry in section.mix
    )


def with_notes_on_needs(section: QueueSection, jobs: Workload) -> Workload:
    """The jobs with a note if policies and ``queue.bandwidth_need`` do not go together."""
    readers = {name: POLICIES[name].without_need for name in section.policies}
    readers = {name: gets for name, gets in readers.items() if gets}
    if section.bandwidth_need_Bps:
        found = [] if readers else ["queue.bandwidth_need is given, but no policy here reads it"]
    else:
        found = [
            f"{name} places jobs by the bandwidth they need, and queue.bandwidth_need is not "
            f"given: every job gets {gets}"
            for name, gets in readers.items()
        ]
    return replace(jobs, notes=tuple(dict.fromkeys((*jobs.notes, *found))))
