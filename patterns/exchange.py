"""All-to-all inside groups of ranks: the building block of several patterns."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netsim.parameters import OneOf
from patterns.build import Messages, make_messages, need_messages, select

ORDERS = ("ring", "pairwise", "at-once")
Order = Annotated[str, "order of partners; pairwise: XOR partners", OneOf(ORDERS)]


def n_exchange_steps(group_size: int, order: str = "ring") -> int:
    """Return the number of steps of `group_all_to_all`."""
    return min(1, group_size - 1) if order == "at-once" else group_size - 1


def group_all_to_all(
    members: NDArray[np.int64], n_bytes: ArrayLike, first_step: int = 0, order: str = "ring"
) -> Messages:
    """Return messages from every rank of a group, (n_groups, p), to every other rank of its group.

    The bytes from member i to member j broadcast to (n_groups, p, p); 0 sends nothing.

    Orders: ring: in step s (from 1) member i sends to i + s and waits for the message of i - s.
    pairwise: the partner in step s is i XOR s where p is a power of two, else as ring. at-once: all
    sends in one step, in ring order, then one wait for all.
    """
    n_groups, p = members.shape
    need_messages(n_groups * p * (p - 1), n_groups * p, f"an all-to-all of {p} ranks")
    i = np.arange(p)[:, None]
    s = np.arange(1, p)[None, :]
    xor = order == "pairwise" and p & (p - 1) == 0
    j = i ^ s if xor else (i + s) % p
    sizes = np.broadcast_to(np.asarray(n_bytes, dtype=np.int64), (n_groups, p, p))
    step = first_step + (0 * s if order == "at-once" else s - 1)
    messages = make_messages(
        members[:, :, None], step[None], members[:, j], step[None], sizes[:, i, j]
    )
    if len(messages) and messages.n_bytes.min() < 1:
        messages = select(messages, messages.n_bytes > 0)
    return messages
