"""Nodes that write through gateways, as to a file system behind them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.traffic import Program
from patterns.build import build_program, join, make_messages
from patterns.entry import Pattern


def gateways(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    gateways: Annotated[int, "ranks that are gateways: the last ones", Ge(1)] = 1,
    answer_bytes: Annotated[int, "bytes that a gateway sends back to each", Ge(1)] = 8,
) -> Program:
    """Build writes of ``message_bytes`` from each rank to a gateway, which answers.

    The last ``gateways`` ranks are the gateways, but for one rank at least. A gateway answers when
    all that write to it have reported, so no rank runs ahead of a full gateway.
    """
    writing = max(1, n_ranks - gateways)
    source = np.arange(writing if n_ranks > 1 else 0)
    target = writing + source % max(1, n_ranks - writing)
    requests = make_messages(source, 0, target, 0, message_bytes)
    replies = make_messages(target, 1, source, 0, answer_bytes)
    return build_program(n_ranks, 2, join([requests, replies]), iterations)


PATTERN = Pattern(
    "gateways", "M bytes from every rank to one of the last ranks, the gateways", gateways
)
