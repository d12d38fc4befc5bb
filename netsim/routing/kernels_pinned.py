"""Choice of the paths of pinned flows, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import KERNEL


@njit(**KERNEL)
def least_loaded(size, number, candidates, links, bandwidth_Bps, load_s):  # type: ignore[no-untyped-def]
    """Return the path of each flow, one flow after the other, and add its load to ``load_s``.

    Flow k has the paths from row ``candidates[k, 0]`` of ``links`` on, ``candidates[k, 1]`` of
    them: it takes the one of its ``number``, or if that is below 0 the one whose most loaded link
    is least loaded then, of equals that of the least sum, then the first. -1 ends a path.
    """
    chosen = candidates[:, 0] + number
    for k in range(len(size)):
        first, count = candidates[k]
        least, sum_of_least = np.inf, np.inf
        for row in range(first, first + count if number[k] < 0 else first):
            most, total = 0.0, 0.0
            for link in links[row]:
                if link < 0:
                    break
                after_s = load_s[link] + size[k] / bandwidth_Bps[link]
                most, total = max(most, after_s), total + after_s
            if most < least or (most == least and total < sum_of_least):
                least, sum_of_least, chosen[k] = most, total, row
        for link in links[chosen[k]]:
            if link < 0:
                break
            load_s[link] += size[k] / bandwidth_Bps[link]
    return chosen
