"""Logs and machines of the Jigsaw paper."""

from __future__ import annotations

from typing import Any

from experiments.kit.logs import read_logs

LOGS = read_logs("jigsaw")
"""By name; those of the paper, then substitutes for Cab's."""
THUNDER, ATLAS, THETA, KTH = (LOGS[name] for name in ("thunder", "atlas", "theta", "kth-sp2"))
LINK_BPS = int(THUNDER.machine["bandwidth_Bps"])
ISOLATING = ("laas", "jigsaw", "ta")


def fat_tree(radix: int, **more: int) -> dict[str, Any]:
    """Return a machine of the fat-tree papers."""
    return {"family": "fattree", "radix": radix, "bandwidth_Bps": LINK_BPS, **more}


def paper_name(log: str) -> str:
    """Map a log to the paper's: a stream from a file is the same as a generated one."""
    return log.removesuffix("-file")
