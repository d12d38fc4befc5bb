"""Communication of a job: a pattern with its sizes, and computing between its iterations."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, need_name
from netsim.kinds import need_kinds
from netsim.topologies.checks import need_int
from netsim.traffic import PRIORITIES, Program
from patterns.build import repeated
from patterns.registry import PATTERNS, make_pattern
from queuesim.draws import JobStreams

MOST = 10**18
"""Bytes of a message, and of a rank in an iteration."""
BY_SHARE, ALWAYS = "by-share", "always"
TOGETHER = {
    BY_SHARE: "jobs compute between iterations, so that each communicates for its communication "
    "fraction of its isolated time, from random moments",
    ALWAYS: "all communicate all the time, from the same moment",
}
"""How jobs communicate while others do, by name."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Communication:
    """Communication of a job.

    Attributes
    ----------
    pattern : str
        A name of `patterns.registry.PATTERNS`.
    message_bytes : int
    iterations : int
    parameters : mapping
        The pattern's own parameters.
    rank_bytes : int, optional
        Bytes that a rank sends in an iteration, in the mean over ranks and about, on any number
        of them; ``message_bytes`` is not looked at then.
    priority : int
        Of its messages on links, 0 to 7; the highest is served first.

    Examples
    --------
    >>> import numpy as np
    >>> import netcosim as nc
    >>> all_to_all = nc.Communication("all-to-all", message_bytes=2000)
    >>> all_to_all.program(4, np.random.default_rng(1)).total_bytes
    24000
    """

    pattern: str
    message_bytes: int = 1000
    iterations: int = 1
    parameters: Mapping[str, object] = field(default_factory=dict)
    rank_bytes: int | None = None
    priority: int = 0

    def __post_init__(self) -> None:
        need_kinds(
            "Communication",
            {"pattern": (self.pattern, str), "parameters": (self.parameters, Mapping)},
        )
        need_name("pattern", self.pattern, PATTERNS)
        for what in ("message_bytes", "iterations", "rank_bytes"):
            value = getattr(self, what)
            if value is not None or what != "rank_bytes":
                need_int("Communication", what, value, 1, MOST)
        need_int("Communication", "priority", self.priority, 0, PRIORITIES - 1)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the programs that are kept."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    @property
    def draws(self) -> bool:
        """Whether partners are random; otherwise jobs of equal size send the same."""
        return self.pattern in PATTERNS and PATTERNS[self.pattern].uses_rng

    def for_ranks(self, n_ranks: int) -> Communication:
        """Return the communication of a number of ranks, with its message size."""
        if self.rank_bytes is None:
            return self
        if self._recorded:
            program = make_pattern(
                self.pattern, n_ranks, 1, 1, np.random.default_rng(0), self.parameters
            )
            scale = self.rank_bytes * n_ranks / program.total_bytes
            return replace(self, parameters={**self.parameters, "scale": scale}, rank_bytes=None)
        keys = json.dumps(dict(self.parameters), sort_keys=True)
        message_bytes, more = _sized(self.pattern, n_ranks, self.rank_bytes, keys)
        parameters = {**self.parameters, **more}
        return replace(self, message_bytes=message_bytes, parameters=parameters, rank_bytes=None)

    @property
    def _recorded(self) -> bool:
        return self.pattern in PATTERNS and PATTERNS[self.pattern].recorded_ranks is not None

    def shortened(self, factor: float) -> Communication:
        """Return one iteration with messages shortened to this part, to whole bytes >= 1."""
        if not self._recorded:
            shorter = max(1, ceil(self.message_bytes * factor))
            return replace(self, message_bytes=shorter, iterations=1)
        if self.rank_bytes is not None:
            return replace(self, rank_bytes=max(1, ceil(self.rank_bytes * factor)), iterations=1)
        scale = float(str(self.parameters.get("scale", 1.0))) * factor
        return replace(self, parameters={**self.parameters, "scale": scale}, iterations=1)

    def program(self, n_ranks: int, rng: np.random.Generator) -> Program:
        """Return the communication program of a job of ``n_ranks`` ranks."""
        s = self.for_ranks(n_ranks)
        return make_pattern(s.pattern, n_ranks, s.message_bytes, s.iterations, rng, s.parameters)

    def shared_program(self, n_ranks: int, iterations: int, streams: JobStreams) -> Program:
        """Return the program of a job whose random partners are those of ``streams``, with a number
        of iterations; small ones are kept for jobs that send the same.

        An iteration of a built-in pattern without random partners is as another: one is built, and
        repeated.
        """
        key = n_ranks, iterations, streams if self.draws else None
        if key in self._made:
            return self._made[key]
        if iterations > 1 and not self.draws and self.pattern not in PATTERNS.added:
            made = repeated(self.shared_program(n_ranks, 1, streams), iterations)
        else:
            made = replace(self, iterations=iterations).program(n_ranks, streams.partners)
        if made.n_messages > (_KEPT_DRAWN if self.draws else _KEPT):
            return made
        return remember(self._made, key, made, _MADE)

    @cached_property
    def _made(self) -> dict[tuple[int, int, JobStreams | None], Program]:
        """Small programs by ranks, iterations and, where partners are random, draws."""
        return {}


_UNIT_BYTES, _KEPT, _KEPT_DRAWN, _MADE = 1000, 5000, 2000, 1024


@lru_cache(maxsize=4096)
def _sized(
    pattern: str, n_ranks: int, rank_bytes: int, parameters: str
) -> tuple[int, dict[str, object]]:
    """Return the size of messages for bytes a rank sends, and parameters that follow from it and
    the given ones (JSON)."""
    if pattern == "fft3d":
        # Cells fix the sizes: four transposes of cells^3 / 2 values of 16 bytes.
        cells = max(2, round((rank_bytes * n_ranks / 32) ** (1 / 3)))
        square = {"rows": max(1, round(n_ranks**0.5)), "compute": False}
        return _UNIT_BYTES, {**square, **json.loads(parameters), "cells": cells}
    rng = np.random.default_rng(0)
    unit = make_pattern(pattern, n_ranks, _UNIT_BYTES, 1, rng, json.loads(parameters))
    scale = rank_bytes * n_ranks / max(unit.total_bytes, 1)
    return max(1, round(_UNIT_BYTES * scale)), {}


Seconds = TypeVar("Seconds", float, NDArray[np.float64])
TIME_STEP_S = 1e-7
"""Compute and start times are whole multiples: odd picoseconds would make a fine clock."""


def rounded_s(seconds: Seconds) -> Seconds:
    """Round to the nearest multiple of `TIME_STEP_S`."""
    rounded: Seconds = np.round(seconds / TIME_STEP_S) * TIME_STEP_S
    return rounded


def noisy(mean_s: float, noise: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw gamma-distributed times of this mean, whole multiples of `TIME_STEP_S`, (n,).

    Parameters
    ----------
    noise : float
        Standard deviation over the mean, above 0.
    rng : numpy.random.Generator
        The first of more times are the same.
    """
    drawn = rng.gamma(noise**-2, mean_s * noise**2, n)
    return np.maximum(1, np.round(drawn / TIME_STEP_S)) * TIME_STEP_S


def with_compute(
    program: Program, iterations: int, compute_s: float | NDArray[np.float64]
) -> Program:
    """Add computing on every rank before each of the program's equal iterations.

    Parameters
    ----------
    compute_s : float or (iterations,) float64
        The same before all of them, or one for each.
    """
    steps = np.diff(program.step_ptr)
    if iterations < 1 or np.any(steps % iterations):
        raise NetcosimError(f"{iterations} iterations do not divide the steps of every rank")
    some = steps > 0
    each = (steps[some] // iterations)[:, None]
    computing_s = program.compute_s.copy()
    computing_s[program.step_ptr[:-1][some, None] + np.arange(iterations) * each] += compute_s
    return replace(program, compute_s=computing_s)


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Insert a value into a dictionary of at most ``most`` entries, removing the oldest one."""
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
    return value
