"""The Level-Spread paper's simulated machines (Table I, and what its scripts gave SST)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from experiments.build import BuiltMachine, build_machine
from experiments.config import MachineSection, PacketSection
from experiments.papers.paper import Options
from experiments.points import canonical_json
from netsim.errors import NetcosimError, unknown_name
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
    "free": {"send_overhead_s": 0.0, "recv_overhead_s": 0.0, "copy_s_per_byte": 0.0},
    # Send: enter 30, set up 130, transmit delay 50, return 30 ns. Receive: set up 100, match
    # 150 + 100, enter and return 60 ns. Copy 344 ps a byte.
    "firefly": {
        "send_overhead_s": 240e-9,
        "recv_overhead_s": 410e-9,
        "copy_s_per_byte": 344e-12,
    },
}
"""End-point costs by name: none, or about those of SST's firefly NIC and MPI."""

SETTINGS: dict[str, str | int] = {
    "arrangement": "absolute",
    "packet_bytes": 2048,
    "header_bytes": 45,
    "buffer_bytes": 14000,
    "endpoint": "free",
    "broadcast": "binary",
}
"""What one may vary from the command line. SST put 45 bytes of header on a message; here they
are on every packet. ``broadcast`` is an algorithm of `patterns.broadcast`; SST's MPI uses a
binary tree."""


def settings_of(options: Options) -> dict[str, Any]:
    """`SETTINGS` with what the options change.

    Raises
    ------
    NetcosimError
        An unknown setting, or a value that does not fit.
    """
    found = dict(SETTINGS)
    for key, value in options.settings.items():
        if key not in SETTINGS:
            raise unknown_name("setting of level-spread", key, SETTINGS)
        try:
            found[key] = type(SETTINGS[key])(value)
        except ValueError:
            raise NetcosimError(f"setting {key} = {value!r}; a whole number is needed") from None
    for key, what, known in (
        ("endpoint", "endpoint", list(ENDPOINTS)),
        ("broadcast", "broadcast algorithm", list(ALGORITHMS)),
    ):
        if found[key] not in known:
            raise unknown_name(what, str(found[key]), known)
    return found


def links_alike(bandwidth_Bps: int, latency_s: float) -> dict[str, float]:
    """Parameters of a dragonfly whose links are all alike."""
    kinds = ("node", "local", "global")
    speeds = {f"{kind}_bandwidth_Bps": bandwidth_Bps for kind in kinds}
    return {**speeds, **{f"{kind}_latency_s": latency_s for kind in kinds}}


def machine_section(
    n_nodes: int, alpha: float, routing: str, settings: Mapping[str, Any] = SETTINGS
) -> MachineSection:
    """``[machine]`` of a machine of Table I.

    Parameters
    ----------
    n_nodes : int
        A key of `MACHINES`.
    alpha : float
        Bandwidth of a global link over that of a local link.
    routing : str
    settings : mapping
        See `SETTINGS`.

    Raises
    ------
    NetcosimError
        An unknown routing.
    """
    if routing not in routings_for("dragonfly"):
        raise unknown_name("routing for dragonfly", routing, routings_for("dragonfly"))
    a, g = MACHINES[n_nodes]
    links = links_alike(LOCAL_BPS, LINK_LATENCY_S)
    links["global_bandwidth_Bps"] = round(alpha * LOCAL_BPS)
    sizes = {key: settings[key] for key in ("packet_bytes", "header_bytes", "buffer_bytes")}
    packet = {**sizes, "router_latency_s": ROUTER_LATENCY_S, **ENDPOINTS[settings["endpoint"]]}
    return MachineSection(
        family="dragonfly",
        parameters={"p": 4, "a": a, "g": g, "arrangement": settings["arrangement"], **links},
        routing=routing,
        packet=PacketSection.model_validate(packet),
    )


def check_machines(options: Options) -> None:
    """Raise NetcosimError for a routing or a setting with which no machine can be built."""
    settings = settings_of(options)
    for routing in options.routings or ("ugal-l",):
        build_machine(machine_section(272, 1.0, routing, settings))


def built(section: Mapping[str, object]) -> BuiltMachine:
    """The machine of a section in plain types; built once a process."""
    return _built(canonical_json(section))


@lru_cache(maxsize=32)
def _built(text: str) -> BuiltMachine:
    return build_machine(MachineSection.model_validate_json(text))
