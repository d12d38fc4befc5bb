"""From the sections of a config to the objects of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from experiments.config import MachineSection, WorkloadSection
from experiments.inputs import checked_path, is_input
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.base import Routing
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.topology import Topology
from queuesim.communication import Communication
from queuesim.measured import CommunicationMix, PatternShare
from workloads import transform
from workloads.csv_jobs import is_csv, read_csv
from workloads.job import Workload
from workloads.months import ended_before, month_window
from workloads.registry import known_log
from workloads.swf import read_swf, read_swf_header
from workloads.synthetic import laas_workload

if TYPE_CHECKING:
    from experiments.config_run import CommunicationSection


DAY_S = 86_400.0


@dataclass(frozen=True, eq=False)
class BuiltMachine:
    """The network of a config.

    Attributes
    ----------
    section : MachineSection
    topology : Topology
    packets : PacketConfig
    """

    section: MachineSection
    topology: Topology
    packets: PacketConfig

    @cached_property
    def routing(self) -> Routing:
        """Made when it is asked for: a queue alone needs none."""
        return make_routing(
            self.topology, self.section.routing, ugal_bias_s=self.section.ugal_bias_s
        )


def build_machine(section: MachineSection) -> BuiltMachine:
    """The network of ``[machine]``.

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
    return BuiltMachine(section, topology, PacketConfig(**section.packet.model_dump()))


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
    window = _window_s(section)
    if window is not None:
        jobs = _inside(jobs, *window)
    if section.days is not None:
        jobs = _inside(jobs, jobs.submit_s[0], jobs.submit_s[0] + section.days * DAY_S)
    if section.first_jobs is not None:
        jobs = transform.head(jobs, section.first_jobs)
    jobs = _reshaped(jobs, section)
    if section.larger_jobs == "drop":
        return transform.refuse_empty(transform.drop_larger(jobs, machine_nodes), jobs)
    return transform.refuse_larger(jobs, machine_nodes)


def build_history(section: WorkloadSection) -> Workload | None:
    """Jobs of the log that were over when the window of ``[workload]`` begins; None without one.

    Jobs that are left out for their size or their run time have run all the same, and a scheduler
    has learnt from them.
    """
    window = _window_s(section)
    if window is None or section.log is None:
        return None
    section = section.model_copy(update={"max_nodes": None, "min_run_time_s": None})
    jobs = _source(section, 0, np.random.default_rng(0))
    return _reshaped(ended_before(jobs, window[0]), section)


def _inside(jobs: Workload, begin_s: float, end_s: float) -> Workload:
    """Jobs submitted in a window; there have to be some."""
    inside = transform.time_window(jobs, begin_s, end_s)
    return transform.from_zero(transform.refuse_empty(inside, jobs))


def _reshaped(jobs: Workload, section: WorkloadSection) -> Workload:
    """Arrivals, sizes and times as the section has them."""
    if section.arrival_factor != 1:
        jobs = transform.scale_arrivals(jobs, section.arrival_factor)
    if section.size_factor != 1:
        jobs = transform.scale_sizes(jobs, section.size_factor)
    if section.sizes:
        jobs = transform.round_sizes(jobs, section.sizes)
    if section.all_at_zero:
        jobs = transform.all_at_zero(jobs)
    if section.run_times == "to-walltime":
        jobs = replace(jobs, run_time_s=np.minimum(jobs.run_time_s, jobs.requested_s))
    if section.walltimes == "exact":
        jobs = replace(jobs, requested_s=jobs.run_time_s)
    return jobs


def _window_s(section: WorkloadSection) -> tuple[float, float] | None:
    """Begin and end of the submit times that count, on the log's clock; None for all."""
    if section.month is not None and section.log is not None:
        start = read_swf_header(section.log.file).unix_start_time
        if start is None:
            told = f"{section.month}; {section.log.file} has no UnixStartTime in its header"
            raise NetcosimError(f"key workload.month: {told}")
        return month_window(section.month, start)
    if section.start_s is None and section.end_s is None:
        return None
    return section.start_s or 0.0, np.inf if section.end_s is None else section.end_s


_SWF_KEYS = ("known_log", "processors_per_node", "node_field", "statuses", "month")
"""Keys that mean something for SWF alone."""
_READING = ("log", *_SWF_KEYS[:-1], "max_nodes", "min_run_time_s")
"""What reading an SWF log depends on."""


def _source(section: WorkloadSection, machine_nodes: int, rng: np.random.Generator) -> Workload:
    """The jobs of the log, or generated ones, without those that the section leaves out."""
    if section.log is not None:
        checked_path(section.log.model_dump())
        if not is_csv(section.log.file):
            return _read_swf(WorkloadSection(**{k: getattr(section, k) for k in _READING}))
    for key in _SWF_KEYS:
        if getattr(section, key) != WorkloadSection.model_fields[key].default:
            raise NetcosimError(f"key workload.{key}: for logs in SWF alone; other jobs have nodes")
    if section.log is not None:
        jobs = all_jobs = read_csv(section.log.file)
    else:
        jobs = all_jobs = _generated(section, machine_nodes, rng)
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
        sizes=given.sizes,
        run_time_range_s=given.run_time_range_s,
        median_run_time_s=given.median_run_time_s,
        load=given.load,
        machine_nodes=None if given.load is None else machine_nodes,
        requested_factor=given.requested_factor,
    )


@lru_cache(maxsize=2)
def _read_swf(section: WorkloadSection) -> Workload:
    """Kept for a process's next points, by what the file holds: a file that changed is read anew.

    The section has keys of `_READING` alone.
    """
    assert section.log is not None
    known = None if section.known_log is None else known_log(section.known_log)
    statuses = known.statuses if known is not None else None
    most = known.max_nodes if known is not None else None
    return read_swf(
        section.log.file,
        processors_per_node=section.processors_per_node,
        known_processors_per_node=None if known is None else known.processors_per_node,
        node_field=section.node_field,
        statuses=section.statuses if section.statuses is not None else statuses,
        max_nodes=section.max_nodes if section.max_nodes is not None else most,
        min_run_time_s=section.min_run_time_s,
    )


def communications(section: CommunicationSection) -> list[Communication]:
    """What the jobs of each entry of the mix send."""
    return [
        Communication(
            entry.pattern,
            entry.message_bytes,
            entry.iterations,
            entry.parameters,
            None
            if entry.node_bytes is None
            else max(1, entry.node_bytes // section.ranks_per_node),
        )
        for entry in section.mix
    ]


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
