"""Numbers that the papers print."""

from __future__ import annotations

LEVEL_SPREAD_PERCENT = 16.0
"""Level-Spread's abstract: less communication time, mean over the policies it is compared with."""
