"""Machines from the output of `ibnetdiscover` or `iblinkinfo` on an InfiniBand fabric."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.hostlist import expand
from netsim.parameters import NamesFile
from netsim.topologies.checks import LINK_LATENCY_S, SCALE_UP_BPS
from netsim.topologies.fabric_files import LINES, Fabric, host_and_device, read_fabric, switch_name
from netsim.topologies.family import Family, LinkLatencyS, Name, NodeLatencyS, SmallFile
from netsim.topologies.switches import (
    OF_SWITCHES,
    FabricName,
    Gpus,
    GpusPerNode,
    ScaleUpBandwidthBps,
    Wiring,
    span,
    switch_network,
)
from netsim.topology import Topology

_NO_HOST = ("localhost",)
"""The host's name in descriptions that were never set."""

_IN_SWITCH = "Aggregation Node"
"""In the description of an adapter inside of a switch, which computes reductions."""

Port = tuple[str, int, str, int]
"""Adapter, port of it, switch, bytes a second."""


def ibnetdiscover(
    file: Annotated[str, "what ibnetdiscover or iblinkinfo printed", NamesFile],
    *,
    rails: Annotated[
        int | None,
        "ports used of every host; hosts with fewer are left out",
        Ge(1),
    ] = None,
    adapters: Annotated[
        str | None, "adapters used of every host, a list such as mlx5_[1-4]; all if left out"
    ] = None,
    node_latency_s: NodeLatencyS = LINK_LATENCY_S,
    link_latency_s: LinkLatencyS = LINK_LATENCY_S,
    gpus_per_node: GpusPerNode = None,
    scale_up_bandwidth_Bps: ScaleUpBandwidthBps = SCALE_UP_BPS,
    fabric: FabricName = None,
    name: Name = None,
) -> Topology:
    """Build the machine of an InfiniBand fabric. Its bandwidths are those of the file.

    Without ``rails`` all hosts must have the same number of ports. The default name is the file's.
    """
    path = Path(file)
    name = name or path.name
    content = read_fabric(path)
    switches = _named(content)
    index = {guid: i for i, guid in enumerate(switches)}
    all_hosts, notes = _hosts(content)
    hosts, left_out = _chosen(name, all_hosts, rails, adapters)
    nodes = sorted(hosts, key=_natural)
    n_ports = len(hosts[nodes[0]])
    node_switch = [[index[switch] for _, _, switch, _ in hosts[host]] for host in nodes]
    speeds = [[speed for *_, speed in hosts[host]] for host in nodes]
    between = sorted(
        (index[a], index[b], speed)
        for ((a, _), (b, _)), speed in content.links.items()
        if a in index and b in index
    )
    wiring = Wiring(
        switches=list(switches.values()),
        nodes=nodes,
        node_switch=np.array(node_switch, dtype=np.int64),
        cables=np.array([(a, b) for a, b, _ in between], dtype=np.int64).reshape(-1, 2),
        bandwidth_Bps=np.array([speed for *_, speed in between], dtype=np.int64),
        latency_s=link_latency_s,
        node_bandwidth_Bps=np.array(speeds, dtype=np.int64),
        node_latency_s=node_latency_s,
        notes=(
            f"{len(nodes):,} nodes of {n_ports} ports, {len(switches):,} switches, "
            f"{len(between):,} cables between them",
            *notes,
            *left_out,
        ),
        gpus=Gpus.given(gpus_per_node, scale_up_bandwidth_Bps),
        fabric=fabric,
    )
    return switch_network("ibnetdiscover", name, wiring)


def _chosen(
    name: str, hosts: dict[str, list[Port]], rails: int | None, adapters: str | None
) -> tuple[dict[str, list[Port]], list[str]]:
    """Return the ports to use of each host, the same number of all, and notes on the others."""
    if adapters is not None:
        hosts = _of_adapters(name, hosts, adapters)
    if not hosts:
        raise NetcosimError(f"{name}: no adapter is connected with a switch")
    n = _rails(name, hosts, rails)
    chosen = {host: ports[:n] for host, ports in hosts.items() if len(ports) >= n}
    if not chosen:
        raise NetcosimError(f"{name}: rails = {n}; no host has so many ports")
    return chosen, _left_out(hosts, n)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names as numbers, however long they are."""
    parts = [(part, part.lstrip("0")) for part in re.split(r"([0-9]+)", name)]
    return [(len(bare), bare) if part[:1].isdigit() else (-1, part) for part, bare in parts]


def _named(fabric: Fabric) -> dict[str, str]:
    """Return the sorted names of the switches by GUID; equal names get the GUID appended."""
    plain = {guid: switch_name(guid, text) for guid, text in fabric.switches.items()}
    often = Counter(plain.values())
    named = {g: name if often[name] == 1 else f"{name} {g}" for g, name in plain.items()}
    return dict(sorted(named.items(), key=lambda item: _natural(item[1])))


def _hosts(fabric: Fabric) -> tuple[dict[str, list[Port]], list[str]]:
    """Return the switch ports of each host by adapter and port, and notes on other adapters.

    Adapters that name no host are nodes of their own, unless they have fewer or more ports than the
    hosts; those in switches are none.
    """
    hosts: dict[str, list[Port]] = defaultdict(list)
    unnamed: dict[str, list[Port]] = defaultdict(list)
    for (one, other), speed in fabric.links.items():
        for (guid, port), (far, _) in ((one, other), (other, one)):
            if guid not in fabric.adapters or far not in fabric.switches:
                continue
            host_device = host_and_device(fabric.adapters[guid])
            if host_device is None or host_device[0] in _NO_HOST:
                unnamed[guid].append((guid, port, far, speed))
            else:
                hosts[host_device[0]].append((f"{host_device[1]} {guid}", port, far, speed))
    counts = {len(ports) for ports in hosts.values()}
    called = {guid: " ".join(fabric.adapters[guid].split()) for guid in unnamed}
    for guid, text in called.items():
        first = text.partition(" ")[0]
        called[guid] = first if first in _NO_HOST else repr(text)
    alike = {
        guid: ports
        for guid, ports in unnamed.items()
        if _IN_SWITCH not in called[guid]
        and (len(ports) in counts or not hosts or called[guid] in _NO_HOST)
    }
    hosts |= alike
    for ports in hosts.values():
        ports.sort(key=lambda p: (_natural(p[0]), p[1]))
    kinds = Counter(text for guid, text in called.items() if guid not in alike)
    notes = [
        f"left out: {count:,} adapters that name no host ({text})"
        for text, count in sorted(kinds.items())
    ]
    kinds = Counter(called[guid] for guid in alike)
    notes += [
        f"{count:,} adapters are called {text}, which names no host: each is a node of its own, "
        "under its GUID"
        for text, count in sorted(kinds.items())
    ]
    if fabric.left_out:
        notes.append(f"left out: {fabric.left_out:,} lines of other programs")
    return dict(hosts), notes


def _of_adapters(name: str, hosts: dict[str, list[Port]], adapters: str) -> dict[str, list[Port]]:
    """Return the ports of these adapters of each host."""
    wanted = set(expand(adapters))
    kept = {
        host: [port for port in ports if port[0].split()[0] in wanted]
        for host, ports in hosts.items()
    }
    left = {host: ports for host, ports in kept.items() if ports}
    if not left:
        raise NetcosimError(f"{name}: adapters = {adapters!r}; no host has one of them")
    return left


def _rails(name: str, hosts: dict[str, list[Port]], rails: int | None) -> int:
    if rails is not None:
        return rails
    counts = Counter(map(len, hosts.values()))
    if len(counts) > 1:
        counted = ", ".join(f"{n:,} with {ports}" for ports, n in sorted(counts.items()))
        raise NetcosimError(
            f"{name}: hosts have different numbers of ports ({counted}); give rails, the ports of "
            "every host to use: hosts with fewer are then left out"
        )
    return next(iter(counts))


def _left_out(hosts: dict[str, list[Port]], rails: int) -> list[str]:
    fewer = [len(ports) for ports in hosts.values() if len(ports) < rails]
    more = [len(ports) for ports in hosts.values() if len(ports) > rails]
    notes = []
    if fewer:
        notes.append(f"left out: {len(fewer):,} hosts with {span(fewer)} ports (rails = {rails})")
    if more:
        notes.append(f"{len(more):,} hosts have {span(more)} ports: the first {rails} are taken")
    return notes


def looks_like(path: Path, text: str) -> bool:
    """Return whether a file has lines as ibnetdiscover or iblinkinfo prints them."""
    return any(pattern.match(line) for line in text.splitlines() for pattern in LINES)


FAMILY = Family(
    name="ibnetdiscover",
    description="an InfiniBand fabric as ibnetdiscover or iblinkinfo prints it (file)",
    builders=(ibnetdiscover,),
    **OF_SWITCHES,
    reads=looks_like,
    small_files=(SmallFile("fabric.txt"),),
)
