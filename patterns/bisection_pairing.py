"""Bisection pairing: ping-pong between far partners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import shown
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import (
    Messages,
    build_one_sided,
    build_program,
    join,
    make_messages,
    need_messages,
    select,
)
from patterns.entry import Pattern

MODES = ("both", "ping-pong", "one-way", "put", "get")
ANSWER_BYTES = 4


def _partners(
    n_ranks: int, partner: Sequence[int] | NDArray[np.integer] | None
) -> NDArray[np.int64]:
    """Return the checked partner of each rank; a rank that is its own partner stays idle."""
    ranks = np.arange(n_ranks, dtype=np.int64)
    if partner is None:
        # the last of an odd number is its own
        half = n_ranks // 2
        partners = ranks.copy()
        partners[: 2 * half] = (ranks[: 2 * half] + half) % (2 * half)
        return partners
    given = np.asarray(partner, dtype=np.int64)
    if given.shape != (n_ranks,) or given.min() < 0 or given.max() >= n_ranks:
        raise NetcosimError(f"bisection-pairing: partner needs {n_ranks} ranks below {n_ranks}")
    wrong = np.flatnonzero(given[given] != ranks)
    if len(wrong):
        r = int(wrong[0])
        raise NetcosimError(
            f"bisection-pairing: the partner of rank {r} is {given[r]}, "
            f"but the partner of {given[r]} is {given[given[r]]}"
        )
    return given


def bisection_pairing(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    partner: Annotated[
        Sequence[int] | NDArray[np.integer] | None,
        "partner of each rank; i + n/2 if left out",
        Ge(0),
    ] = None,
    rounds: Annotated[int, "counted rounds an iteration", Ge(1)] = 26,
    warmup_rounds: Annotated[int, "rounds before them", Ge(0)] = 4,
    chunks: Annotated[int, "messages a round and direction", Ge(1)] = 1,
    mode: Annotated[
        str,
        "both directions at the same time, in turn, or the lower rank alone and an answer of "
        "4 bytes, or its puts or gets",
        OneOf(MODES),
    ] = "both",
) -> Program:
    """Build rounds of exchange with a fixed partner, without synchronisation across pairs.

    This is the bisection pairing experiment (furthest-node scheme) of Oltchik et al., section 4.1:
    4 warm-up rounds and 26 counted ones, in each of which both sides send 16 chunks of 0.1342 GB at
    the same time. Warm-up rounds are ordinary rounds; measurements leave them out.

    ``partner`` is the partner of each rank, its own inverse; a rank that is its own partner idles.
    The furthest node depends on the topology, so the caller gives it. If left out: rank i and i +
    n/2 (the last rank idles if n is odd).

    Modes: both: the two sides send at the same time. ping-pong: the upper rank answers. one-way: it
    answers all chunks of a round with one message of 4 bytes, as osu_bw and osu_mbw_mr do. put,
    get: the lower rank puts or gets the chunks, as osu_put_bw and osu_get_bw do.
    """
    given = f"rounds = {shown(rounds)} of chunks = {shown(chunks)} on {n_ranks} ranks"
    in_all = iterations * (rounds + warmup_rounds)
    need_messages(n_ranks * in_all * chunks, 2 * n_ranks * in_all, given)
    messages = _round(_partners(n_ranks, partner), message_bytes, chunks, mode)
    if mode in ("put", "get"):
        return build_one_sided(n_ranks, 1, messages, mode == "get", in_all)
    return build_program(n_ranks, 1 if mode == "both" else 2, messages, in_all)


def _round(other: NDArray[np.int64], message_bytes: int, chunks: int, mode: str) -> Messages:
    """Return the messages of a round between the ranks and their partners."""
    src = np.arange(len(other))
    if mode == "both":
        one = make_messages(src, 0, other, 0, message_bytes)
    else:
        # The lower rank sends in step 0 and waits there for the answer; the upper waits in
        # step 0 and answers in step 1.
        one = make_messages(src, (src > other).astype(np.int64), other, 0, message_bytes)
    if mode in ("both", "ping-pong"):
        return join([select(one, src != other)] * chunks)
    answers = make_messages(src, 1, other, 0, ANSWER_BYTES)
    answered = [select(answers, src > other)] if mode == "one-way" else []
    return join([*[select(one, src < other)] * chunks, *answered])


PATTERN = Pattern(
    "bisection-pairing",
    "rounds of M bytes between fixed partners: ping-pong, windows one way or both ways",
    bisection_pairing,
)
