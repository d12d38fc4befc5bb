"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], most_s: float = 60.0) -> bool:
    """Wait until something holds, for so long at most; return whether it came to hold."""
    last_s = time.monotonic() + most_s
    while not (held := holds()) and time.monotonic() < last_s:
        time.sleep(0.01)
    return held
