"""What both packet engines ask of their input before they run."""

from __future__ import annotations

import math

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
    for start_s in traffic.start_s:
        if not (math.isfinite(start_s) and start_s >= 0):
            raise NetcosimError(f"traffic: start_s has {start_s}; it must be >= 0")
    if until_s is not None and not (math.isfinite(until_s) and until_s >= 0):
        raise NetcosimError(f"until_s = {until_s}; it must be >= 0")
