"""Laws by which sizes of jobs are drawn between two ends."""

from __future__ import annotations

import numpy as np

from netsim.errors import unknown_name

SIZE_LAWS: dict[str, str] = {
    "powers": "powers of two, all alike",
    "even": "every size alike",
    "log": "even in the logarithm",
}


def draw_size(law: str, smallest: int, largest: int, rng: np.random.Generator) -> int:
    """Draw the nodes of a job, both ends too; of "powers" powers of two between them."""
    if law == "powers":
        return int(2 ** rng.integers(np.ceil(np.log2(smallest)), np.floor(np.log2(largest)) + 1))
    if law == "even":
        return int(rng.integers(smallest, largest + 1))
    if law == "log":
        return int(np.exp(rng.uniform(np.log(smallest), np.log(largest + 1))))
    raise unknown_name("law of job sizes", law, SIZE_LAWS)


def draw_counts(
    machine_nodes: int, small: int, large: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw numbers of small and large jobs, uniform over all pairs that fit, at least one each."""
    n_large = np.arange(1, machine_nodes // large + 1)
    most_small = (machine_nodes - n_large * large) // small
    place = int(rng.integers(0, most_small.sum()))
    k = int(np.searchsorted(np.cumsum(most_small), place, side="right"))
    return place - int(most_small[:k].sum()) + 1, k + 1
