"""What Pollard et al. (SC 2018, section V-B) print of jobs side by side."""

from __future__ import annotations

PATTERNS = ("stencil4d", "unstructured-mesh", "pairs", "sub-a2a")
"""Stencil, Unstr-mesh, Pairs and Sub-a2a of the Chatterbug suite."""

ALL = "all"
SPEEDUPS: dict[str, dict[str, float]] = {
    "10648": {
        "stencil4d": 1.58,
        "unstructured-mesh": 1.68,
        "pairs": 1.06,
        "sub-a2a": 1.14,
        ALL: 1.36,
    },
    "cab 4-512": {
        "stencil4d": 1.26,
        "unstructured-mesh": 1.14,
        "pairs": 1.10,
        "sub-a2a": 1.55,
        ALL: 1.30,
    },
    "cab 4-128": {
        "stencil4d": 1.32,
        "unstructured-mesh": 1.29,
        "pairs": 1.08,
        "sub-a2a": 1.74,
        ALL: 1.35,
    },
    "cab 4-128, 30 %": {ALL: 1.08},
}
"""Mean speed-up of jobs, topology-oblivious time over topology-aware time. The first is
simulated, the others were measured on the machine."""
COMMUNICATION_FRACTION = 0.3
"""Of the last case, share of the time under TA."""
MAXIMA = {
    ("cab 4-512", "stencil4d"): 1.5,
    ("cab 4-512", "unstructured-mesh"): 1.4,
    ("cab 4-128, 30 %", ALL): 1.31,
}
"""Largest speed-ups of single jobs, where the text tells them."""
JOBS = {"10648": None, "cab 4-512": 20, "cab 4-128": 36, "cab 4-128, 30 %": 36}
"""Jobs of a typical workload; None: not told."""
