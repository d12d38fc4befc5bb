"""What a job sends: a pattern with its sizes, and computing between its iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns.registry import PATTERNS, make_pattern


@dataclass(frozen=True)
class Communication:
    """What a job sends.

    Attributes
    ----------
    pattern : str
        A name of `patterns.registry.PATTERNS`.
    message_bytes : int
    iterations : int
    parameters : mapping
        The pattern's own parameters.
    """

    pattern: str
    message_bytes: int = 1000
    iterations: int = 1
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def draws(self) -> bool:
        """Whether chance says who sends to whom; without, jobs as large send the same."""
        return self.pattern in PATTERNS and PATTERNS[self.pattern].takes_rng

    def program(self, n_ranks: int, rng: np.random.Generator) -> Program:
        """The communication program of a job of ``n_ranks`` ranks."""
        return make_pattern(
            self.pattern, n_ranks, self.message_bytes, self.iterations, rng, self.parameters
        )


def with_compute(program: Program, iterations: int, compute_s: float) -> Program:
    """Every rank computes so long before each of the program's equal iterations.

    Raises
    ------
    NetcosimError
        Ranks whose steps do not divide into that many iterations.
    """
    steps = np.diff(program.step_ptr)
    if iterations < 1 or np.any(steps % iterations):
        raise NetcosimError(f"{iterations} iterations do not divide the steps of every rank")
    place = np.arange(program.n_steps) - np.repeat(program.step_ptr[:-1], steps)
    first = place % np.repeat(np.maximum(steps // iterations, 1), steps) == 0
    return replace(program, compute_s=program.compute_s + np.where(first, compute_s, 0.0))
