"""The default communication mix: eight patterns, equally likely."""

from __future__ import annotations

from typing import Any

PATTERNS = (
    "all-to-all",
    "sub-a2a",
    "fft3d",
    "halo3d",
    "stencil4d",
    "unstructured-mesh",
    "pairs",
    "bisection-pairing",
)
"""Equally likely; each job has one, drawn by its id."""

LARGE_RANKS = 512
"""Above this an all-to-all of all ranks is no longer what applications do: sub-a2a instead."""

NODE_BYTES = 256 * 1024
"""What a node sends in an iteration, in the mean."""

SHARE = 0.3
"""Communication share of the jobs of Pollard et al. on Cab."""
_MOST_NODES = 10**6


def study_mix(
    share: tuple[float, float] | None = (SHARE, SHARE), node_bytes: int = NODE_BYTES
) -> list[dict[str, Any]]:
    """Return the entries of ``[[communication.mix]]``: all patterns, equally likely at every size.

    ``share`` is what a job's communication fraction is drawn from; None where
    ``[communication.fraction]`` sets it for all.
    """
    one_round = {"rounds": 1, "warmup_rounds": 0}
    fraction = {} if share is None else {"communication_fraction": list(share)}
    mix: list[dict[str, Any]] = [
        {
            "pattern": pattern,
            "node_bytes": node_bytes,
            **fraction,
            "parameters": one_round if pattern == "bisection-pairing" else {},
        }
        for pattern in PATTERNS
    ]
    mix[0]["nodes"] = [1, LARGE_RANKS]
    return [*mix, {**mix[1], "nodes": [LARGE_RANKS + 1, _MOST_NODES]}]
