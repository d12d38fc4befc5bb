"""All-to-all: every rank sends to every other rank."""

from __future__ import annotations

import numpy as np

from netsim.traffic import Program
from patterns.build import build_program
from patterns.entry import Pattern
from patterns.exchange import Order, group_all_to_all, n_exchange_steps


def all_to_all(
    n_ranks: int, message_bytes: int, iterations: int = 1, order: Order = "ring"
) -> Program:
    """Build an all-to-all: every rank sends ``message_bytes`` to each other rank.

    For the orders see `patterns.exchange.group_all_to_all`. "ring" is what SST's ember and firefly
    run in the Level-Spread paper: rank r sends to r+1, r+2, ... and waits in each step only for the
    matching receive.
    """
    everyone = np.arange(n_ranks, dtype=np.int64)[None, :]
    messages = group_all_to_all(everyone, message_bytes, order=order)
    return build_program(n_ranks, n_exchange_steps(n_ranks, order), messages, iterations)


PATTERN = Pattern(
    "all-to-all",
    "every rank sends M bytes to every other rank",
    all_to_all,
)
