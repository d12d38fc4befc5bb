"""What both packet engines ask of their input before they run."""

from __future__ import annotations

import math

import numpy as np

from netsim.errors import NetcosimError
from netsim.topology import Topology
from netsim.traffic import Traffic


def check_run(topology: Topology, traffic: Traffic, until_s: float | None) -> None:
    """Raise NetcosimError where traffic and topology do not fit together.

    Parameters
    ----------
    topology : Topology
    traffic : Traffic
    until_s : float or None
        End of the run.
    """
    program = traffic.program
    program.validate()
    for what in ("rank_node", "rank_group"):
        values = getattr(traffic, what)
        top = topology.n_nodes if what == "rank_node" else traffic.n_groups
        if len(values) != program.n_ranks:
            raise NetcosimError(f"traffic: {len(values)} {what} for {program.n_ranks} ranks")
        if len(values) and (values.min() < 0 or values.max() >= top):
            raise NetcosimError(f"traffic: {what} has a value outside 0..{top - 1}")
    group_of_step = np.repeat(traffic.rank_group, np.diff(program.step_ptr))
    group_of_send = np.repeat(group_of_step, np.diff(program.send_ptr))
    crossing = np.flatnonzero(group_of_send != np.asarray(traffic.rank_group)[program.send_dst])
    if len(crossing):
        raise NetcosimError(f"traffic: message {crossing[0]} goes from one group to another")
    for start_s in traffic.start_s:
        if not (math.isfinite(start_s) and start_s >= 0):
            raise NetcosimError(f"traffic: start_s has {start_s}; it must be >= 0")
    if until_s is not None and not (math.isfinite(until_s) and until_s >= 0):
        raise NetcosimError(f"until_s = {until_s}; it must be >= 0")
