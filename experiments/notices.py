"""How much a run will cost, told in a line before it begins, or refused."""

from __future__ import annotations

from experiments.config_errors import ConfigError
from netsim.errors import NetcosimError
from netsim.limits import need_memory, shown
from netsim.packet.checks import MAX_PACKET_HOPS
from netsim.units import format_quantity

HOPS_PER_S = 10e6
"""What the packet engine does on one idle core; a shared one does half."""
MAX_SNAPSHOTS = 100_000
LONG_S = 60.0
"""A run of more than this is announced."""

_RESULT_BYTES_A_LINK = 40


def check_snapshots(n_snapshots: int, n_policies: int, n_links: int) -> None:
    """Refuse more snapshots than can be kept.

    Raises
    ------
    ConfigError, NetcosimError
    """
    if n_snapshots > MAX_SNAPSHOTS:
        raise ConfigError("run.snapshots", shown(n_snapshots), f"at most {MAX_SNAPSHOTS:,}")
    need_memory(
        f"key run.snapshots: {n_snapshots:,} under {n_policies} policies on {n_links:,} links",
        n_snapshots * n_policies * n_links * _RESULT_BYTES_A_LINK,
    )


def estimate_line(hops: float, n_snapshots: int) -> str | None:
    """What the user should know before packets are sent; None if it is soon done.

    Raises
    ------
    NetcosimError
        More than anybody will wait for; names the keys that make it so.
    """
    if hops > MAX_PACKET_HOPS:
        raise NetcosimError(
            f"{n_snapshots:,} snapshots take {hops:.2g} packet hops, "
            f"{hops / HOPS_PER_S / 86400:.2g} days; at most {MAX_PACKET_HOPS:.0e} hops "
            "are simulated: lower communication.mix.message_bytes or iterations, "
            "communication.ranks_per_node or run.snapshots, or raise machine.packet.packet_bytes"
        )
    seconds = hops / HOPS_PER_S
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} of packet simulation ahead: "
        f"{n_snapshots:,} snapshots, {hops:.2g} packet hops"
    )


def flow_level_line(seconds: float, longest_s: float) -> str | None:
    """What the user should know before jobs are put on the network; None if it is soon done.

    Parameters
    ----------
    seconds, longest_s : float
        For all jobs under all policies, and for the one that takes longest.
    """
    if seconds < LONG_S:
        return None
    return (
        f"about {format_quantity(seconds, 'time', 2)} at flow level ahead to put jobs on the "
        f"network, {format_quantity(longest_s, 'time', 2)} for the largest"
    )
