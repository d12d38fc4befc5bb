"""Topology families and named machines, each with one line of description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netsim.errors import NetcosimError, unknown_name
from netsim.parameters import checked
from netsim.topologies import dragonfly, dragonfly_plus, fattree, graph, hyperx, slimfly, torus
from netsim.topologies.family import Family
from netsim.topology import Topology

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        fattree.FAMILY,
        dragonfly.FAMILY,
        dragonfly_plus.FAMILY,
        torus.FAMILY,
        hyperx.HYPERCUBE,
        hyperx.HYPERX,
        slimfly.FAMILY,
        graph.FAMILY,
    )
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


def family_of(topology: Topology) -> Family:
    """The entry of a topology's family; that of "graph" for a family that is not registered."""
    return FAMILIES.get(topology.family, graph.FAMILY)


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
    if family not in FAMILIES:
        raise unknown_name("topology", family, FAMILIES)
    builder = FAMILIES[family].builder_for(params)
    values = checked(f"topology {family}", builder, params)
    try:
        return builder(**values)
    except OverflowError as error:
        raise NetcosimError(f"topology {family}: a parameter is too large ({error})") from None


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
