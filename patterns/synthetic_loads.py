"""The standard synthetic loads as programs: some messages a rank, then wait for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.limits import shown
from netsim.traffic import Program
from patterns.build import build_program, join, make_messages, need_messages
from patterns.destinations import (
    Destinations,
    adversarial_destinations,
    permutation_destinations,
    shift_destinations,
    tornado_destinations,
    uniform_random_destinations,
)
from patterns.entry import Pattern
from patterns.grid import check_grid


def _one_step_each(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    messages: int,
    destinations: Destinations | None,
    rng: np.random.Generator,
) -> Program:
    """Build steps of ``messages`` sends each, then a wait for all that come in the step.

    Without destinations (a single rank) the steps are empty.
    """
    sent = n_ranks * iterations * messages
    given = f"iterations = {shown(iterations)} of messages = {shown(messages)} on {n_ranks} ranks"
    need_messages(sent, n_ranks * iterations, given)
    if destinations is None:
        return build_program(n_ranks, iterations, join([]))
    src = np.repeat(np.arange(n_ranks, dtype=np.int64), iterations * messages)
    step = np.tile(np.repeat(np.arange(iterations), messages), n_ranks)
    dst = destinations(src, rng)
    return build_program(n_ranks, iterations, make_messages(src, step, dst, step, message_bytes))


Messages = Annotated[int, "messages a rank and iteration", Ge(1)]


def uniform_random(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    messages: Messages = 1,
) -> Program:
    """Build messages to any other rank with equal probability, drawn anew for each.

    A single rank sends no messages.
    """
    there = uniform_random_destinations(n_ranks) if n_ranks != 1 else None
    return _one_step_each(n_ranks, message_bytes, iterations, messages, there, rng)


def permutation(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    messages: Messages = 1,
) -> Program:
    """Build messages along one random permutation without fixed points.

    A single rank sends no messages.
    """
    there = permutation_destinations(n_ranks, rng) if n_ranks != 1 else None
    return _one_step_each(n_ranks, message_bytes, iterations, messages, there, rng)


def shift(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    distance: Annotated[int, "how many ranks further"] = 1,
    messages: Messages = 1,
) -> Program:
    """Build messages from rank r to r + distance, around the end. Nothing is random."""
    there = shift_destinations(n_ranks, distance)
    return _one_step_each(n_ranks, message_bytes, iterations, messages, there, rng)


def tornado(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    grid: Annotated[Sequence[int] | None, "sides; one ring if left out", Ge(1)] = None,
    messages: Messages = 1,
) -> Program:
    """Build messages almost half around each dimension of ``grid`` (by default one ring)."""
    sides = (n_ranks,) if grid is None else check_grid(grid, n_ranks, len(grid))
    there = tornado_destinations(sides)
    return _one_step_each(n_ranks, message_bytes, iterations, messages, there, rng)


def adversarial(
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    group_size: Annotated[int, "ranks of a group", Ge(1)],
    offset: Annotated[int, "how many groups further"] = 1,
    messages: Messages = 1,
) -> Program:
    """Build messages to random ranks of the group ``offset`` after the sender's."""
    there = adversarial_destinations(n_ranks, group_size, offset)
    return _one_step_each(n_ranks, message_bytes, iterations, messages, there, rng)


PATTERNS = (
    Pattern("uniform-random", "M bytes to random other ranks", uniform_random),
    Pattern("permutation", "M bytes along one random permutation", permutation),
    Pattern("shift", "M bytes from rank r to r + distance", shift),
    Pattern("tornado", "M bytes almost half around each dimension", tornado),
    Pattern("adversarial", "M bytes to random ranks of the next group", adversarial),
)
