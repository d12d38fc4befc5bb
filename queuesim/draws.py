"""Random numbers that belong to a job, not to its place in a list.

One key is drawn from the generator; each job's number is a hash of the key, a stream
number and the job's id. The same job gets the same number under every policy, and also
when other jobs are dropped from the workload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


def draw_key(rng: np.random.Generator) -> int:
    """Return a 64-bit key from the generator."""
    return int(rng.integers(0, 2**64, dtype=np.uint64))


def _splitmix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the output function of SplitMix64 (Steele, Lea and Flood 2014), a bijection."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniform_per_job(key: int, stream: int, job_id: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one number in [0, 1) a job id, for a key from `draw_key`.

    ``stream`` separates the draws of one job.
    """
    with np.errstate(over="ignore"):
        seed = _splitmix64(np.array([key], dtype=np.uint64) + np.uint64(stream))
        mixed = _splitmix64(_splitmix64(job_id.astype(np.uint64)) ^ seed)
    # The top 53 bits fill a double's mantissa.
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class JobStreams:
    """A job's random generators, one per purpose, each created on first use."""

    seed: int
    job_id: int

    @cached_property
    def mapping(self) -> np.random.Generator:
        """Generator of its task mapping."""
        return self._child(0)

    @cached_property
    def partners(self) -> np.random.Generator:
        """Generator of its random partners."""
        return self._child(1)

    @cached_property
    def start(self) -> np.random.Generator:
        """Generator of its start time."""
        return np.random.default_rng([self.seed, self.job_id, 1])

    @cached_property
    def computing(self) -> np.random.Generator:
        """Generator of its computing times, where they vary between iterations."""
        return np.random.default_rng([self.seed, self.job_id, 2])

    def _child(self, number: int) -> np.random.Generator:
        # the bits of default_rng([seed, job_id]).spawn(2), one at a time
        entropy = np.random.SeedSequence([self.seed, self.job_id], spawn_key=(number,))
        return np.random.Generator(np.random.PCG64(entropy))


def job_streams(seed: int, job_id: int) -> JobStreams:
    """Return the streams of a job: of (seed, job id) and nothing else."""
    return JobStreams(seed, job_id)


def substitute_id(numbers: Iterable[int] | NDArray[np.integer]) -> int:
    """Return a number to use in place of a job id where draws do not belong to one job.

    Results that are cached by traffic and nodes (`cosim.run_times.packet_judge`), or measured once
    for all jobs of a kind (`cosim.measuring.stretching.IsolatedBaselines`), draw from such streams.
    ``numbers`` identify the situation; of their hash (BLAKE2b) 63 bits are returned.
    """
    data = np.fromiter(numbers, dtype="<i8").tobytes()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1
