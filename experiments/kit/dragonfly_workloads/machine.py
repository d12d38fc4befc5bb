"""The Level-Spread paper's simulated machines (Table I, and what its scripts gave SST)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from experiments.kit.papers import Options
from experiments.kit.routers import OUTPUT_QUEUED, ROUTERS
from netcosim.config.errors import validated
from netcosim.config.machine import BuiltMachine, MachineSection, PacketSection, build_machine
from netcosim.runs.points import canonical_json
from netsim.errors import NetcosimError, need_name, unknown_name
from netsim.routing.dragonfly_reference import COMPARES
from netsim.routing.registry import routings_for
from patterns.broadcast import ALGORITHMS

LOCAL_BPS = 10**9
LINK_LATENCY_S = 40e-9
# 50 ns input and 50 ns output latency and one and a half cycles of the crossbar: with the
# link's 40 ns, SST takes 152 ns from router to router.
ROUTER_LATENCY_S = 112e-9

MACHINES: dict[int, tuple[int, int]] = {272: (4, 17), 528: (4, 33), 544: (8, 17), 1056: (8, 33)}
"""Routers a group and groups, by number of nodes; always 4 nodes a router."""

ENDPOINTS: dict[str, dict[str, float]] = {
    "free": {},
    # Send: enter 30, set up 130, transmit delay 50, return 30 ns. Receive: set up 100, match
    # 150 + 100, enter and return 60 ns. Copy 344 ps a byte.
    "firefly": {"send_overhead_s": 240e-9, "recv_overhead_s": 410e-9, "copy_s_per_byte": 344e-12},
}
"""End-point costs by name: none, or about those of SST's firefly NIC and MPI."""

SETTINGS: dict[str, str | int] = {
    "arrangement": "absolute",
    "packet_bytes": 2048,
    "header_bytes": 45,
    "buffer_bytes": 14000,
    "endpoint": "free",
    "broadcast": "binary",
    "router": OUTPUT_QUEUED,
    "ugal_compares": COMPARES[-1],
}
"""What one may vary from the command line. SST put 45 bytes of header on a message; here they
are on every packet. ``broadcast`` is an algorithm of `patterns.broadcast`; SST's MPI uses a
binary tree."""
CHOICES = {
    "endpoint": tuple(ENDPOINTS),
    "broadcast": tuple(ALGORITHMS),
    "router": tuple(ROUTERS),
    "ugal_compares": COMPARES,
}


def settings_of(options: Options) -> dict[str, Any]:
    """Return `SETTINGS` with the options' changes."""
    found = dict(SETTINGS)
    for key, value in options.settings.items():
        need_name("setting of level-spread", key, SETTINGS)
        if key in CHOICES and value not in CHOICES[key]:
            raise unknown_name(f"{key} of level-spread", value, CHOICES[key])
        try:
            found[key] = type(SETTINGS[key])(value)
        except ValueError:
            raise NetcosimError(f"setting {key} = {value!r}; a whole number is needed") from None
    return found


def dragonfly(
    shape: Mapping[str, object],
    routing: str,
    packet: Mapping[str, object],
    latency_s: float,
    bandwidth_Bps: int,
    global_bandwidth_Bps: int,
) -> dict[str, Any]:
    """Return ``[machine]`` of a dragonfly in which only the global links' bandwidth differs.

    In plain types, complete; NetcosimError for an unknown routing.
    """
    need_name("routing for dragonfly", routing, routings_for("dragonfly"))
    speeds = {"node": bandwidth_Bps, "local": bandwidth_Bps, "global": global_bandwidth_Bps}
    links = {f"{kind}_bandwidth_Bps": speed for kind, speed in speeds.items()}
    latencies = {f"{kind}_latency_s": latency_s for kind in speeds}
    parameters = {**shape, **links, **latencies}
    section = MachineSection(
        family="dragonfly",
        parameters=parameters,
        routing=routing,
        packet=validated(PacketSection, packet),
    )
    return section.model_dump(mode="json")


def machine_section(
    n_nodes: int, alpha: float, routing: str, settings: Mapping[str, Any] = SETTINGS
) -> dict[str, Any]:
    """Return ``[machine]`` of a machine of Table I."""
    a, g = MACHINES[n_nodes]
    shape = {"p": 4, "a": a, "g": g, "arrangement": settings["arrangement"]}
    sizes = {key: settings[key] for key in ("packet_bytes", "header_bytes", "buffer_bytes")}
    own = {**ENDPOINTS[settings["endpoint"]], **ROUTERS[settings["router"]]}
    packet = {**sizes, "router_latency_s": ROUTER_LATENCY_S, **own}
    global_Bps = round(alpha * LOCAL_BPS)
    section = dragonfly(shape, routing, packet, LINK_LATENCY_S, LOCAL_BPS, global_Bps)
    return {**section, "routing_parameters": compared(routing, settings)}


def compared(routing: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters of a routing that are not its own: what UGAL-L compares."""
    ugal = {"ugal_compares": settings["ugal_compares"]}
    return ugal if routing == "ugal-l" and ugal["ugal_compares"] != COMPARES[-1] else {}


def built(section: Mapping[str, object]) -> BuiltMachine:
    """Build the machine of a section in plain types, once a process."""
    return _built(canonical_json(section))


@lru_cache(maxsize=32)
def _built(text: str) -> BuiltMachine:
    return build_machine(MachineSection.model_validate_json(text))
