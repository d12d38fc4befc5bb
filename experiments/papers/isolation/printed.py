"""Numbers that the papers print."""

from __future__ import annotations

LEVEL_SPREAD_PERCENT = 16.0
"""Level-Spread's abstract: less communication time, mean over the policies it is compared with."""

CAB_ALL, CAB_30 = "the four patterns", "30 % communication when isolated"
CAB = {
    "stencil4d": 1.26,
    "unstructured-mesh": 1.14,
    "pairs": 1.10,
    "sub-a2a": 1.55,
    CAB_ALL: 1.30,
    CAB_30: 1.08,
}
"""Pollard et al., V-B: mean speed-ups on Cab by pattern, over all four, and where jobs
communicate 30 % of the time."""
