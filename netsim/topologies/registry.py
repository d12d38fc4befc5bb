"""Topology families and named machines, each with one line of description."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netsim.errors import NetcosimError, unknown_name
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.fattree import fat_tree, xgft
from netsim.topologies.graph import graph, graph_file
from netsim.topologies.hyperx import hypercube, hyperx
from netsim.topologies.slimfly import slimfly
from netsim.topologies.torus import torus
from netsim.topology import Topology

Builder = Callable[..., Topology]


@dataclass(frozen=True)
class Family:
    """A family's description and its builder.

    Attributes
    ----------
    description : str
    builder : callable
        Its keyword parameters are the family's parameters.
    alternative : (str, callable) or None
        Another builder, used when this parameter is given.
    """

    description: str
    builder: Builder
    alternative: tuple[str, Builder] | None = None


FAMILIES: dict[str, Family] = {
    "fattree": Family(
        "two- or three-level fat-tree, by radix or by level sizes (m1, m2, m3, w2, w3)",
        xgft,
        ("radix", fat_tree),
    ),
    "dragonfly": Family("groups of routers joined by global links (p, a, g, h)", dragonfly),
    "torus": Family("torus or mesh of any number of dimensions (dims, wrap)", torus),
    "hypercube": Family("2^dimension routers, neighbours differ in one bit", hypercube),
    "hyperx": Family("all-to-all in every dimension (dims)", hyperx),
    "slimfly": Family("MMS graph of diameter two (q, an odd prime)", slimfly),
    "graph": Family(
        "any undirected networkx graph, or a GraphML, GML or edge-list file",
        graph,
        ("file", graph_file),
    ),
}


@dataclass(frozen=True)
class Preset:
    """A named machine: a family and its parameters."""

    description: str
    family: str
    params: Mapping[str, object]


def _midplanes(dims: tuple[int, ...], link_Bps: int) -> dict[str, object]:
    return {"dims": dims, "link_bandwidth_Bps": link_Bps, "double_links_for_two": True}


# InfiniBand QDR carries 32 Gbit/s of data. Blue Gene/P links carry 425 MB/s each way,
# Blue Gene/Q links 2 GB/s; between midplanes run 8x8 and 4x4x4x2 of them.
_QDR = {"bandwidth_Bps": 4 * 10**9}
_BGP, _BGQ = 425 * 10**6, 2 * 10**9

# Cab's 36 real top-level switches are cut here into 18 x 18 spines of one link a pod; the
# number of links is the same.
PRESETS: dict[str, Preset] = {
    "cab": Preset(
        "Cab (LLNL): 4 pods of 18 leaves of 18 nodes, 36-port switches",
        "fattree",
        {"radix": 36, "pods": 4, **_QDR},
    ),
    "pinot": Preset(
        "Pinot (hypothetical): Cab with 8 pods", "fattree", {"radix": 36, "pods": 8, **_QDR}
    ),
    **{
        f"fattree-{radix**3 // 4}": Preset(
            f"full three-level fat-tree of {radix}-port switches", "fattree", {"radix": radix}
        )
        for radix in (16, 18, 22, 28)
    },
    "fattree-10648": Preset(
        "three-level fat-tree of 44-port switches, 22 of 44 pods",
        "fattree",
        {"radix": 44, "pods": 22},
    ),
    **{
        f"dragonfly-{p * a * g}": Preset(
            f"dragonfly of {g} groups of {a} routers of {p} nodes, 8 Gbit/s links",
            "dragonfly",
            {"p": p, "a": a, "g": g},
        )
        for p, a, g in ((4, 4, 17), (4, 4, 33), (4, 8, 17), (4, 8, 33))
    },
    "theta": Preset(
        # All 4608 places hold a node (the machine used 4392). 5 of a router's 10 global
        # ports are taken: 43 links a pair of groups.
        "Theta (ANL): 12 Aries groups of 96 routers of 4 nodes, 43 links a pair of groups",
        "dragonfly",
        {
            "p": 4,
            "a": 96,
            "g": 12,
            "h": 5,
            "group": "aries",
            "node_bandwidth_Bps": 10**10,
            "local_bandwidth_Bps": 5_250_000_000,
            "global_bandwidth_Bps": 4_700_000_000,
        },
    ),
    "intrepid-midplanes": Preset(
        "Intrepid (ANL, Blue Gene/P), a node a midplane", "torus", _midplanes((5, 4, 4), 64 * _BGP)
    ),
    "mira-midplanes": Preset(
        "Mira (ANL, Blue Gene/Q), a node a midplane",
        "torus",
        _midplanes((4, 4, 3, 2), 128 * _BGQ),
    ),
    "juqueen-midplanes": Preset(
        "JUQUEEN (Juelich, Blue Gene/Q), a node a midplane",
        "torus",
        _midplanes((7, 2, 2, 2), 128 * _BGQ),
    ),
    "sequoia-midplanes": Preset(
        "Sequoia (LLNL, Blue Gene/Q), a node a midplane",
        "torus",
        _midplanes((4, 4, 4, 3), 128 * _BGQ),
    ),
    "intrepid": Preset(
        "Intrepid (ANL, Blue Gene/P): 40,960 nodes, 3D torus",
        "torus",
        {"dims": (40, 32, 32), "node_bandwidth_Bps": 6 * _BGP, "link_bandwidth_Bps": _BGP},
    ),
    **{
        name: Preset(
            f"{title}, Blue Gene/Q: {nodes} nodes, 5D torus",
            "torus",
            {**_midplanes(dims, _BGQ), "node_bandwidth_Bps": 10 * _BGQ},
        )
        for name, title, nodes, dims in (
            ("mira", "Mira (ANL)", "49,152", (16, 16, 12, 8, 2)),
            ("juqueen", "JUQUEEN (Juelich)", "28,672", (28, 8, 8, 8, 2)),
            ("sequoia", "Sequoia (LLNL)", "98,304", (16, 16, 16, 12, 2)),
        )
    },
}


def _builder(family: str, params: Mapping[str, object]) -> Builder:
    if family not in FAMILIES:
        raise unknown_name("topology", family, FAMILIES)
    entry = FAMILIES[family]
    if entry.alternative is not None and entry.alternative[0] in params:
        return entry.alternative[1]
    return entry.builder


def make_topology(family: str, params: Mapping[str, object]) -> Topology:
    """Build a topology from a family's name and parameters, as a config gives them.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    params : mapping
        Parameters of the family's builder, by name.

    Raises
    ------
    NetcosimError
        An unknown family or parameter, a missing one, a value out of range.

    Examples
    --------
    >>> import netcosim as nc
    >>> topology = nc.make_topology("dragonfly", {"p": 2, "a": 4, "g": 9})
    >>> topology.n_nodes, topology.n_routers, int(topology.kind_mask("global").sum())
    (72, 36, 72)
    """
    builder = _builder(family, params)
    known = inspect.signature(builder).parameters
    for key in params:
        if key not in known:
            raise unknown_name(f"parameter of topology {family}", key, known)
    needed = [k for k, p in known.items() if p.default is inspect.Parameter.empty]
    missing = [k for k in needed if k not in params]
    if missing:
        raise NetcosimError(
            f"topology {family}: parameter {missing[0]} is missing; needed: {', '.join(needed)}"
        )
    values: dict[str, Any] = dict(params)
    try:
        return builder(**values)
    except NetcosimError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise NetcosimError(f"topology {family}: a parameter does not fit ({error})") from None


def preset(name: str) -> Topology:
    """Build a named machine.

    Raises
    ------
    NetcosimError
        A name that `PRESETS` does not know.

    Examples
    --------
    >>> import netcosim as nc
    >>> cab = nc.preset("cab")
    >>> cab.family, cab.n_nodes
    ('fattree', 1296)
    """
    if name not in PRESETS:
        raise unknown_name("machine", name, PRESETS)
    entry = PRESETS[name]
    return make_topology(entry.family, {**entry.params, "name": name})
