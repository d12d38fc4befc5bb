"""Strassen-Winograd matrix multiplication: the communication of CAPS."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge

from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.traffic import Program
from patterns.build import build_program, join, make_messages
from patterns.entry import Pattern

BYTES_PER_VALUE = 8
N_PRODUCTS = 7
FIRST_GROUPS = ("far", "near")


def factors_of_seven(n_ranks: int) -> int:
    """Return the largest k with 7^k dividing ``n_ranks``."""
    k = 0
    while n_ranks % N_PRODUCTS ** (k + 1) == 0:
        k += 1
    return k


def strassen_winograd(
    n_ranks: int,
    message_bytes: int,
    iterations: int = 1,
    bfs_steps: Annotated[int, "breadth-first steps; 0: all factors of 7", Ge(0)] = 0,
    dfs_steps: Annotated[int, "depth-first steps before them", Ge(0)] = 0,
    matrix_dim: Annotated[int, "side of the matrices; 0: M is the first message", Ge(0)] = 0,
    first_groups: Annotated[str, "which ranks meet first", OneOf(FIRST_GROUPS)] = "far",
) -> Program:
    """Build a multiplication by communication-avoiding parallel Strassen, breadth-first steps.

    On f * 7^k ranks a breadth-first step cuts the ranks of a (sub)problem into 7 parts; each part
    gets one of the 7 products. Matrices are spread evenly, so a rank exchanges with the 6 ranks
    that have its place in the other parts: down, its share of the two factors of a product in one
    message; up, after the recursion, its share of the product. With N the side of the (sub)matrix
    and P its ranks, a share of one matrix has ``8 (N/2)^2 / P`` bytes, so shares grow by 7/4 from
    one level to the next (Ballard et al., SPAA 2012; Lipshitz et al., SC 2012; run by Oltchik et
    al., section 4.2, with k = 4 and 5). A depth-first step is local, but everything after it
    happens 7 times on matrices of half the side. The multiplication inside the last groups of f
    ranks and all computing are left out.

    The first level's downward messages have ``message_bytes``, unless the side of the entire
    matrices is given (Oltchik et al.: 32928, 21952, 9408; values of 8 bytes). The first step brings
    together ranks n/7 apart ("far": its parts are blocks of consecutive ranks) or consecutive ones.
    """
    most = factors_of_seven(n_ranks)
    k = bfs_steps or most
    if not 1 <= k <= most:
        raise NetcosimError(
            f"strassen-winograd: {n_ranks} ranks have {most} factors of 7, {max(k, 1)} are needed; "
            "use f * 7^k ranks"
        )
    if matrix_dim:
        first_share = BYTES_PER_VALUE * (matrix_dim / 2 ** (dfs_steps + 1)) ** 2 / n_ranks
    else:
        first_share = message_bytes / 2
    rank = np.arange(n_ranks, dtype=np.int64)[:, None]
    hop = np.arange(1, N_PRODUCTS, dtype=np.int64)[None, :]
    parts = []
    for level in range(k):
        stride = n_ranks // 7 ** (level + 1) if first_groups == "far" else 7**level
        digit = rank // stride % N_PRODUCTS
        other = rank + ((digit + hop) % N_PRODUCTS - digit) * stride
        share = first_share * 1.75**level
        down, up = max(1, round(2 * share)), max(1, round(share))
        parts.append(make_messages(rank, level, other, level, down))
        last = 2 * k - 1 - level
        parts.append(make_messages(rank, last, other, last, up))
    return build_program(n_ranks, 2 * k, join(parts), iterations * N_PRODUCTS**dfs_steps)


PATTERN = Pattern(
    "strassen-winograd",
    "communication-avoiding matrix multiplication on f * 7^k ranks",
    strassen_winograd,
)
