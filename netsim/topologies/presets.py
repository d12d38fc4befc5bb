"""Named machines: a family, its parameters, and their sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Preset:
    """A named machine: a family and its parameters, and power where it is published."""

    description: str
    family: str
    params: Mapping[str, object]
    power: Mapping[str, float] = field(default_factory=dict)


def _midplanes(dims: tuple[int, ...], link_Bps: int) -> dict[str, object]:
    return {"dims": dims, "link_bandwidth_Bps": link_Bps, "double_links_for_two": True}


# InfiniBand QDR carries 32 Gbit/s of data. Blue Gene/P links carry 425 MB/s each way,
# Blue Gene/Q links 2 GB/s; between midplanes run 8x8 and 4x4x4x2 of them.
_QDR = {"bandwidth_Bps": 4 * 10**9}
_BGP, _BGQ = 425 * 10**6, 2 * 10**9

# A port of a Slingshot switch (Rosetta: 64 ports of 200 Gbit/s; De Sensi et al., SC 2020) and one
# of a Quantum-2 InfiniBand switch (64 ports of NDR, 400 Gbit/s), each way.
_SLINGSHOT, _NDR = 25 * 10**9, 50 * 10**9

# Cable lengths are not published. Assumed: 2 m from node to switch and within a group, 20 m
# between groups, at 5 ns a metre. (A Rosetta switch takes 350 ns: [machine.packet] router_latency.)
_COPPER_S = 10e-9
_WIRES = {"node_latency_s": _COPPER_S, "local_latency_s": _COPPER_S, "global_latency_s": 100e-9}


def _slingshot(node_Bps: int = _SLINGSHOT, **params: int) -> dict[str, object]:
    """Return a Slingshot dragonfly. An HPE Cray EX group has up to 32 switches, all joined: 16
    ports down to nodes, 31 to the others, up to 16 to other groups
    (glennklockwood.com/garden/dragonfly).
    """
    return {
        **params,
        "node_bandwidth_Bps": node_Bps,
        "local_bandwidth_Bps": _SLINGSHOT,
        "global_bandwidth_Bps": _SLINGSHOT,
        **_WIRES,
    }


# GPU clusters: NVLink of one direction a GPU (300 GB/s on an A100, 450 on an H100, 200 on an H800,
# 900 on a B200) and wires as in SimAI, 25 ns to NVSwitches and 500 ns in the fabric.
_A100, _H100, _H800, _B200 = (
    {"scale_up_bandwidth_Bps": speed * 10**9} for speed in (300, 450, 200, 900)
)
_EFA = {"nic_bandwidth_Bps": 12_500_000_000}

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
    # Jouppi et al. (ISCA 2023): 64 cubes of 4 x 4 x 4 chips, six links of 50 GB/s a chip and
    # direction. The optical switches between cubes are wired as one static torus.
    "tpu-v4": Preset(
        "TPU v4 pod: 4,096 chips, 64 cubes of 4 x 4 x 4 as one 3D torus",
        "torus",
        {"dims": (16, 16, 16), "node_bandwidth_Bps": 6 * _NDR, "link_bandwidth_Bps": _NDR},
    ),
    # glennklockwood.com/garden/systems/frontier: a group is a cabinet of 128 nodes and 32
    # switches, 4 links to each other group (58.4 of the 102.4 Tbit/s that its nodes inject). The
    # machine uses 9,408 of the 9,472 places; the I/O and service groups are left out. Assumed: a
    # node's ports are on four neighbouring switches, those of its chassis (8 blades and 4 switches
    # a chassis: portal.nersc.gov on Perlmutter).
    "frontier": Preset(
        "Frontier (ORNL): 74 Slingshot groups of 128 nodes, 4 ports of 200 Gbit/s a node, 4 links "
        "a pair of groups",
        "dragonfly",
        _slingshot(p=16, a=32, g=74, h=10, rails=4),
        # RAPS, config/frontier/power.json: a CPU of 90 to 280 W, four MI250X of 88 to 560 W,
        # 74.26 W of memory, four NICs of 20 W, 30 W of SSDs
        {"node_idle_W": 626.26, "node_busy_W": 2704.26, "switch_W": 250.0},
    ),
    # docs.alcf.anl.gov/aurora, arXiv:2512.04291: 10,624 nodes of 8 NICs (85,000 in all), 5,600
    # switches (5,312 of them here), a group a rack of 8 chassis of 8 nodes. Assumed: 2 links a pair
    # of groups (0.69 PB/s across the middle); a node's ports are on eight neighbouring switches.
    # The storage and service groups are left out.
    "aurora": Preset(
        "Aurora (ANL): 166 Slingshot groups of 64 nodes, 8 ports of 200 Gbit/s a node; 2 links a "
        "pair of groups are an assumption",
        "dragonfly",
        _slingshot(p=16, a=32, g=166, h=11, rails=8),
    ),
    # docs.alcf.anl.gov/polaris: 560 nodes of 2 Slingshot 11 adapters in 40 racks of 14, four racks
    # a dragonfly group. Assumed: 8 switches a group, one port of 14 nodes on each, 8 links a pair.
    "polaris": Preset(
        "Polaris (ANL): 10 Slingshot groups of 56 nodes, 2 ports of 200 Gbit/s a node; 8 switches "
        "a group and 8 links a pair of groups are assumptions",
        "dragonfly",
        _slingshot(p=14, a=8, g=10, h=9, rails=2),
    ),
    # docs.archer2.ac.uk/user-guide/hardware: 5,860 nodes of 2 ports of 100 Gbit/s, 128 nodes a
    # group, 768 switches; two groups of 16 switches in each of 23 cabinets. 46 groups have 5,888
    # places; the 32 other switches are left out. Assumed: 2 links a pair of groups; a node's ports
    # are on two neighbouring switches.
    "archer2": Preset(
        "ARCHER2 (EPCC): 46 Slingshot groups of 128 nodes, 2 ports of 100 Gbit/s a node; 2 links "
        "a pair of groups are an assumption",
        "dragonfly",
        _slingshot(_SLINGSHOT // 2, p=16, a=16, g=46, h=6, rails=2),
    ),
    # apps.fz-juelich.de/jsc/hps/jupiter/configuration.html: 27 dragonfly+ groups (25 of the
    # Booster; that of the Cluster and that of the administration are modelled as Booster groups),
    # 240 nodes, 15 lower and 16 upper switches a group, 4 x NDR200 a node. Assumed: all four ports
    # of a node on one switch; two cables (one link here) from each lower to each upper switch,
    # which is what 64 NDR200 ports bring; one cable from each upper switch to each other group.
    "jupiter": Preset(
        "JUPITER (Juelich): 27 dragonfly+ groups of 240 nodes, 4 ports of NDR200 a node; 16 links "
        "a pair of groups are an assumption",
        "dragonfly-plus",
        {
            "p": 16,
            "leaves": 15,
            "spines": 16,
            "g": 27,
            "h": 26,
            "rails": 4,
            "rail_routers": "same",
            "node_bandwidth_Bps": _NDR // 2,
            "local_bandwidth_Bps": 2 * _NDR,
            "global_bandwidth_Bps": _NDR,
            **_WIRES,
        },
    ),
    # NVIDIA's DGX SuperPOD of H100s with four scalable units: 32 servers and 8 leaves each, GPU i
    # of every server on leaf i of its unit; 16 spines, two cables (one link here) from each leaf to
    # each. NVLink is left out.
    "rail-clos-128": Preset(
        "rail-optimised Clos of two levels: 4 pods of 32 servers, 8 ports of 400 Gbit/s a server, "
        "port i on leaf i of the pod",
        "fattree",
        {
            "m1": 32,
            "m2": 32,
            "w2": 16,
            "levels": 2,
            "rails": 8,
            "node_bandwidth_Bps": _NDR,
            "level1_bandwidth_Bps": 2 * _NDR,
            "node_latency_s": _COPPER_S,
            "level1_latency_s": _COPPER_S,
        },
    ),
    # NVIDIA's reference architectures: DGX A100 SuperPOD, seven units of 20 servers, 8 NICs of 200
    # Gbit/s; DGX H100 SuperPOD, four units of 32 servers, 8 NICs of 400 Gbit/s, 16 spines with two
    # cables (one link here) to each leaf. Assumed: one level of spines above the A100's leaves.
    "dgx-a100": Preset(
        "DGX A100 SuperPOD: 140 servers of 8 GPUs, rail-optimised in units of 20; one level of "
        "spines is an assumption",
        "gpu-cluster",
        {"nodes": 140, "nodes_per_leaf": 20, **_A100, "nic_bandwidth_Bps": _SLINGSHOT},
    ),
    "dgx-h100": Preset(
        "DGX H100 SuperPOD: 128 servers of 8 GPUs, rail-optimised in units of 32",
        "gpu-cluster",
        {
            "nodes": 128,
            "nodes_per_leaf": 32,
            "spines": 16,
            "fabric_bandwidth_Bps": 2 * _NDR,
            **_H100,
        },
    ),
    # NVIDIA, DGX B200 SuperPOD reference architecture: as that of H100s, NVLink of 900 GB/s.
    "dgx-b200": Preset(
        "DGX B200 SuperPOD: 128 servers of 8 GPUs, rail-optimised in units of 32",
        "gpu-cluster",
        {
            "nodes": 128,
            "nodes_per_leaf": 32,
            "spines": 16,
            "fabric_bandwidth_Bps": 2 * _NDR,
            **_B200,
        },
    ),
    # docs.cscs.ch/alps/hardware: 2,688 nodes of four GH200, a Slingshot NIC of 200 Gbit/s each.
    # NVLink: 150 GB/s in each direction between each two of a node (apps.fz-juelich.de/jsc/hps/
    # jupiter/configuration.html), 450 in all. The groups of its dragonfly are not published.
    # Assumed: two levels of switches without oversubscription, 16 ports down, rail-optimised.
    "alps-gh200": Preset(
        "Alps (CSCS): 2,688 nodes of 4 GH200, 4 ports of 200 Gbit/s a node; a Clos in place of the "
        "dragonfly is an assumption",
        "gpu-cluster",
        {
            "nodes": 2688,
            "gpus_per_node": 4,
            "nodes_per_leaf": 16,
            "nic_bandwidth_Bps": _SLINGSHOT,
            **_H100,
        },
    ),
    # A rack of 18 trays of 4 GPUs is one NVLink domain; a NIC of 400 Gbit/s a GPU. Assumed: eight
    # racks, each with four leaves of its own.
    "gb200-nvl72": Preset(
        "GB200 NVL72: 8 racks of 72 GPUs in one NVLink domain each; leaves of one rack are an "
        "assumption",
        "gpu-cluster",
        {
            "nodes": 144,
            "gpus_per_node": 4,
            "scale_up_domain": 72,
            "nodes_per_leaf": 18,
            **_B200,
        },
    ),
    # aws.amazon.com/ec2/instance-types/p4, p5: EFA of 4 and of 32 NICs of 100 Gbit/s. The fabric is
    # not published; assumed: 64 servers, rail-optimised in units of 32, without oversubscription.
    "aws-p4de": Preset(
        "AWS p4de: 64 servers of 8 A100s and 4 EFA NICs; the fabric is an assumption",
        "gpu-cluster",
        {"nodes": 64, "nodes_per_leaf": 32, "nics_per_node": 4, **_A100, **_EFA},
    ),
    "aws-p5": Preset(
        "AWS p5: 64 servers of 8 H100s and 32 EFA NICs; the fabric is an assumption",
        "gpu-cluster",
        {"nodes": 64, "nodes_per_leaf": 32, "nics_per_node": 32, **_H100, **_EFA},
    ),
    # DeepSeek-AI (ISCA 2025): 2,048 H800s, eight planes of two levels, one for each of a server's
    # NICs. Assumed: 32 servers a leaf, 32 spines a plane.
    "deepseek-h800": Preset(
        "DeepSeek's 256 servers of 8 H800s, a separate two-level network for each rail; 32 servers "
        "a leaf are an assumption",
        "gpu-cluster",
        {"nodes": 256, "nodes_per_leaf": 32, "fabric": "rail-only", **_H800},
    ),
    # Qian et al. (SIGCOMM 2024): segments of 128 servers with 16 ToR switches, both ports of 200
    # Gbit/s of a NIC on different ones, two planes of 60 aggregation switches, 15 segments a pod.
    "hpn-pod": Preset(
        "a pod of Alibaba's HPN: 1,920 servers of 8 GPUs, 15 segments, two planes",
        "gpu-cluster",
        {
            "nodes": 1920,
            "nodes_per_leaf": 128,
            "spines": 60,
            "planes": 2,
            "fabric_bandwidth_Bps": _NDR,
            **_H100,
        },
    ),
}
