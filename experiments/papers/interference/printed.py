"""What Pollard et al. (SC 2018, section V-B) print of jobs side by side."""

from __future__ import annotations

PATTERNS = ("stencil4d", "unstructured-mesh", "pairs", "sub-a2a")
"""Stencil, Unstr-mesh, Pairs and Sub-a2a of the Chatterbug suite."""

ALL = "all"
_BY_PATTERN = {
    "10648": (1.58, 1.68, 1.06, 1.14, 1.36),
    "cab 4-512": (1.26, 1.14, 1.10, 1.55, 1.30),
    "cab 4-128": (1.32, 1.29, 1.08, 1.74, 1.35),
}
SPEEDUPS: dict[str, dict[str, float]] = {
    **{case: dict(zip((*PATTERNS, ALL), row, strict=True)) for case, row in _BY_PATTERN.items()},
    "cab 4-128, 30 %": {ALL: 1.08},
}
"""Mean speed-up of jobs, topology-oblivious time over topology-aware time. The first is
simulated, the others were measured on the machine."""
COMMUNICATION_FRACTION = 0.3
"""Of the last case, share of the time under TA."""
JOBS = {"10648": None, "cab 4-512": 20, "cab 4-128": 36, "cab 4-128, 30 %": 36}
"""Jobs of a typical workload; None: not told."""
