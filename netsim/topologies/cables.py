"""Machines from a table of cables: one line for each pair of ends that are joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from netsim.errors import NetcosimError
from netsim.files import read_text
from netsim.hostlist import expand
from netsim.limits import MAX_INDEX
from netsim.parameters import NamesFile
from netsim.text_numbers import csv_cells, need_whole
from netsim.topologies.checks import SCALE_UP_BPS, need_size
from netsim.topologies.family import EqualLinks, Family, Name, SmallFile
from netsim.topologies.switches import (
    OF_SWITCHES,
    FabricName,
    Gpus,
    GpusPerNode,
    Wiring,
    switch_network,
)
from netsim.topology import Topology
from netsim.units import Dimension, parse_quantity

MAX_FILE_BYTES = 1 << 27
COLUMNS = ("a", "b", "bandwidth", "latency", "count")
_ALSO = {"source": "a", "src": "a", "from": "a", "target": "b", "dst": "b", "to": "b"}
"""Other names of columns."""


@dataclass(frozen=True)
class CableRow:
    """One line of the table; None where it leaves a value open."""

    where: str
    ends: tuple[str, str]
    bandwidth_Bps: int | None
    latency_s: float | None
    count: int

    def with_defaults(self, bandwidth_Bps: int, latency_s: float) -> CableRow:
        """Return the row with these values where it leaves them open."""
        latency = latency_s if self.latency_s is None else self.latency_s
        return replace(self, bandwidth_Bps=self.bandwidth_Bps or bandwidth_Bps, latency_s=latency)


def cables(
    file: Annotated[
        str, "CSV with columns a, b and, if known, bandwidth, latency, count", NamesFile
    ],
    *,
    nodes: Annotated[
        str | None, "which ends are nodes, a list such as n[1-64]; if left out, those of one cable"
    ] = None,
    links: Annotated[EqualLinks, "bandwidths and latencies"] = EqualLinks(),
    gpus_per_node: GpusPerNode = None,
    fabric: FabricName = None,
    name: Name = None,
) -> Topology:
    """Build the machine of a table of cables; what is no node is a switch.

    The table has a line for each pair of ends: their names, then bandwidth ("100 Gbit/s") and
    latency ("100 ns") of each cable and how many cables there are, empty or left out for the
    defaults and 1. All nodes have the same number of cables; planes of switches may meet in the
    nodes alone. A node with a cable to another node gets a router, which passes messages on.
    """
    path = Path(file)
    name = name or path.name
    rows = read_cables(path)
    is_node = _nodes(name, rows, nodes)
    rows, direct = _with_routers(rows, is_node, name, nodes, links.link_bandwidth_Bps)
    ends = dict.fromkeys(end for row in rows for end in row.ends)
    switches = [end for end in ends if end not in is_node]
    index = {end: i for i, end in enumerate(switches)}
    ports: dict[str, list[CableRow]] = {end: [] for end in ends if end in is_node}
    between: list[CableRow] = []
    for row in rows:
        node = next((end for end in row.ends if end in is_node), None)
        if node is None:
            cable = row.with_defaults(links.link_bandwidth_Bps, links.link_latency_s)
            between += [cable] * row.count
        else:
            cable = row.with_defaults(links.node_bandwidth_Bps, links.node_latency_s)
            ports[node] += [cable] * row.count
    node_latency_s = _node_latency(name, ports)
    node_switch = [
        [index[end] for row in own for end in row.ends if end in index] for own in ports.values()
    ]
    wiring = Wiring(
        switches=switches,
        nodes=list(ports),
        node_switch=np.array(node_switch),
        cables=np.array([[index[end] for end in row.ends] for row in between], dtype=np.int64),
        bandwidth_Bps=np.array([row.bandwidth_Bps for row in between], dtype=np.int64),
        latency_s=np.array([row.latency_s for row in between], dtype=np.float64),
        node_bandwidth_Bps=np.array([[row.bandwidth_Bps for row in own] for own in ports.values()]),
        node_latency_s=node_latency_s,
        notes=(
            f"{len(ports):,} nodes on {len(switches):,} switches, {len(between):,} cables "
            f"between them",
            *direct,
        ),
        fabric=fabric,
        gpus=Gpus.given(gpus_per_node, SCALE_UP_BPS),
    )
    return switch_network("cables", name, wiring)


def _with_routers(
    rows: list[CableRow],
    is_node: set[str],
    name: str,
    nodes: str | None,
    link_bandwidth_Bps: int,
) -> tuple[list[CableRow], list[str]]:
    """Return the rows with a router before each node that has a cable to another node.

    The node's own link has the bandwidth of its cables together and no latency.
    """
    both = {end for row in rows if is_node.issuperset(row.ends) for end in row.ends}
    if not both:
        return rows, []
    if nodes is None:
        row = next(row for row in rows if is_node.issuperset(row.ends))
        raise NetcosimError(
            f"{row.where}: {row.ends[0]!r} and {row.ends[1]!r} have no other cable, so that both "
            "would be nodes; name the nodes (nodes) where some are joined directly"
        )
    routed, together = [], Counter[str]()
    for row in rows:
        for end in both.intersection(row.ends):
            together[end] += row.count * (row.bandwidth_Bps or link_bandwidth_Bps)
        a, b = (f"{end} router" if end in both else end for end in row.ends)
        routed.append(replace(row, ends=(a, b)))
    own = [CableRow(name, (end, f"{end} router"), together[end], 0.0, 1) for end in sorted(both)]
    note = (
        f"{len(both):,} nodes are joined directly: each has a router that passes on the messages "
        "of others"
    )
    return routed + own, [note]


def _nodes(name: str, rows: list[CableRow], nodes: str | None) -> set[str]:
    often = Counter[str]()
    for row in rows:
        for end in row.ends:
            often[end] += row.count
    if nodes is None:
        return {end for end, count in often.items() if count == 1}
    try:
        listed = expand(nodes)
    except NetcosimError as error:
        raise NetcosimError(f"{name}: nodes: {error}") from None
    missing = [node for node in listed if node not in often]
    if missing:
        raise NetcosimError(
            f"{name}: nodes = {nodes!r}; {missing[0]!r} is the end of no cable"
            + (f" ({len(missing):,} such)" if missing[1:] else "")
        )
    return set(listed)


def _node_latency(name: str, ports: dict[str, list[CableRow]]) -> float:
    """Return the latency of the cables of nodes, which all have the same number of them."""
    if not ports:
        raise NetcosimError(
            f"{name}: no end has exactly one cable; name the ends that are nodes (nodes)"
        )
    counts = Counter(map(len, ports.values()))
    if len(counts) > 1:
        counted = ", ".join(f"{n:,} with {count}" for count, n in sorted(counts.items()))
        raise NetcosimError(f"{name}: nodes have different numbers of cables ({counted})")
    latencies = {row.latency_s or 0.0 for own in ports.values() for row in own}
    if len(latencies) > 1:
        raise NetcosimError(
            f"{name}: cables of nodes have {len(latencies)} latencies; one is allowed"
        )
    return latencies.pop()


def read_cables(path: Path) -> list[CableRow]:
    """Return the lines of the table."""
    lines = csv_cells(path, read_text(path, limit_bytes=MAX_FILE_BYTES).splitlines())
    header = _header(next(lines, (1, []))[1])
    unknown = [column for column in header if column not in COLUMNS]
    if unknown or header[:2] != ["a", "b"] or len(set(header)) < len(header):
        raise NetcosimError(
            f"{path}:1: columns {', '.join(header)[:80]!r}; they must be a, b and, if known, "
            "bandwidth, latency, count"
        )
    rows = [_row(f"{path}:{line}", header, cells) for line, cells in lines if any(cells)]
    if not rows:
        raise NetcosimError(f"{path}: no cable")
    need_size(str(path), "count", 0, 2 * sum(row.count for row in rows))
    return rows


def _header(columns: Sequence[str]) -> list[str]:
    lowered = [column.strip().lower() for column in columns]
    return [_ALSO.get(column, column) for column in lowered]


def _row(where: str, header: list[str], cells: list[str]) -> CableRow:
    if len(cells) > len(header):
        raise NetcosimError(f"{where}: {len(cells)} values for {len(header)} columns")
    given = dict(zip(header, (cell.strip() for cell in cells), strict=False))
    a, b = given["a"], given.get("b", "")
    if not a or not b or a == b:
        raise NetcosimError(f"{where}: ends {a!r} and {b!r}; two different names are needed")
    count = given.get("count") or "1"
    n_cables = need_whole(where, "count", count, 1, MAX_INDEX)
    speed = _quantity(where, given.get("bandwidth"), "bandwidth")
    if speed is not None and not 1 <= speed < 2**63:
        raise NetcosimError(f"{where}: bandwidth {given['bandwidth']!r}; at least 1 B/s is needed")
    wire = _quantity(where, given.get("latency"), "time")
    if wire is not None and wire < 0:
        raise NetcosimError(f"{where}: latency {given['latency']!r}; it must be at least 0")
    return CableRow(where, (a, b), None if speed is None else round(speed), wire, n_cables)


def _quantity(where: str, text: str | None, dimension: Dimension) -> float | None:
    if not text:
        return None
    try:
        return float(parse_quantity(text, dimension))
    except NetcosimError as error:
        raise NetcosimError(f"{where}: {error}") from None


def looks_like(path: Path, text: str) -> bool:
    """Return whether a file's columns begin with a and b."""
    header = _header(text.split("\n", 1)[0].split(","))
    return header[:2] == ["a", "b"] and set(header) <= set(COLUMNS)


FAMILY = Family(
    name="cables",
    description="any network from a CSV of cables between named nodes and switches (file)",
    builders=(cables,),
    **OF_SWITCHES,
    reads=looks_like,
    small_files=(SmallFile("cables.csv"),),
)
