"""Routers that distinguish papers' points; all else is unchanged."""

from __future__ import annotations

from typing import Any

OUTPUT_QUEUED = "output-queued"
SPEEDUPS = (1.0, 1.5, 2.0, "unlimited")

ROUTERS: dict[str, dict[str, Any]] = {
    OUTPUT_QUEUED: {},
    **{
        f"crossbar-{speed if isinstance(speed, str) else f'{speed:g}'}": {
            "router": "input-queued",
            "crossbar_speedup": speed,
        }
        for speed in SPEEDUPS
    },
}
"""Keys of ``[machine.packet]`` by name: the ideal router, and input-queued ones by the speed-up of
their crossbar."""
