"""A step of a pattern on a machine: its bus bandwidth, and its time by packets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from netcosim.config.machine import BuiltMachine
from netsim.errors import NetcosimError
from netsim.topology import Topology
from netsim.traffic import Program
from netsim.units import format_quantity

MOST_HOPS = 2e8
"""Packet hops of a step that is simulated; some 20 s of a core."""


def built_machine(given: str) -> BuiltMachine:
    """Return the machine of a preset's name, TOML with ``[machine]``, or a machine's file."""
    from pydantic import create_model

    from netcosim.config.content import file_keys, validated_sections
    from netcosim.config.fields import Section
    from netcosim.config.machine import MachineSection, build_machine
    from netcosim.machine_file import machine_of

    only = create_model("OnlyMachine", __base__=Section, machine=(MachineSection, ...))
    path = Path(given)
    folder = path.parent if path.suffix == ".toml" else None
    found = validated_sections({"machine": machine_of(given)}, only, file_keys(), folder)
    return build_machine(found.machine)  # type: ignore[attr-defined]


def nic_bandwidth(topology: Topology) -> float:
    """Return bytes/s of a node's ports together, without that inside a scale-up domain."""
    first = int(topology.scale_up is not None)
    ports = np.arange(topology.n_nodes * topology.rails).reshape(topology.n_nodes, -1)[:, first:]
    speed = np.zeros(topology.n_ports)
    out = topology.link_src < topology.n_ports
    speed[topology.link_src[out]] = topology.link_bandwidth_Bps[out]
    return float(speed[ports].sum(axis=1).min())


def packet_lines(
    name: str, n_ranks: int, machine: BuiltMachine, parameters: Mapping[str, object]
) -> list[str]:
    """Return the time of a step by packets on a machine's first nodes, a rank each."""
    from cosim.measuring.cost import mean_hops
    from cosim.network.communication import Communication
    from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
    from netsim.packet.checks import packets_of
    from netsim.packet.credit import buffer_warning

    topology = machine.topology
    if n_ranks > topology.n_nodes:
        raise NetcosimError(
            f"--ranks {n_ranks}: {topology.name} has {topology.n_nodes:,} nodes, a rank each"
        )
    work = Communication(name, parameters=dict(parameters))
    program: Program = work.program(n_ranks, np.random.default_rng(0))
    hops = packets_of(program, machine.packets.packet_bytes) * mean_hops(machine.routing)
    where = f"on the first {n_ranks:,} nodes of {topology.name}"
    if hops > MOST_HOPS:
        return [
            f"  by packets {where}: not simulated, {hops:.2g} packet hops; at most "
            f"{MOST_HOPS:.0e} (--set scale={MOST_HOPS / hops:.1g} shortens bytes and computing)"
        ]
    network = SharedNetwork(machine.routing, machine.packets, task_mapping="in-order")
    times = Ensemble(network, [PlacedJob(1, work, np.arange(n_ranks))]).packets()
    waits = ", ".join(f"{kind} {seconds:.3g} s" for kind, seconds in times.exposed_s[0].items())
    seconds = format_quantity(float(times.time_s[0]), "time", 4)
    warning = buffer_warning(topology, machine.packets)
    return [
        f"  by packets {where}: {seconds}{waits and f', exposed: {waits}'}",
        *([] if warning is None else [f"  {warning}"]),
    ]
