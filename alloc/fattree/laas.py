"""LaaS: links as a service, jobs over pods rounded up to whole leaves."""

from __future__ import annotations

from typing import ClassVar

from alloc.fattree.kernels_bits import CUT
from alloc.fattree.kernels_search import search
from alloc.fattree.links import LinkPolicy

MAX_STEPS = 200_000
"""Leaves and pods that a search may add to a partial placement before it counts as failed."""


class Laas(LinkPolicy):
    """A job and its links within a pod, or in whole leaves over pods.

    Zahavi, Shpiner, Rottenstreich, Kolodny, Keslassy: "Links as a Service (LaaS)", ANCS
    2016, as their program does it: the search for the last of the equal leaves (or pods)
    fails at once when no remainder fits, so it is not exhaustive. A job that spans pods is
    rounded up to whole leaves; all their nodes are in the placement. Jobs of a whole pod
    and more never try the two-level search. One slip of the program is left out: it keeps
    more links than a job needs where the common free positions have gaps
    (`alloc.fattree.laas_coded.LaasCoded` has it).
    """

    name = "laas"
    description = "isolated nodes and links, jobs over pods rounded up to whole leaves"
    _count_gaps: ClassVar[bool] = False

    def _search(self, n_nodes: int) -> tuple[int, int]:
        m1, m2, m3, w2, w3 = self._sizes
        found, n_l2 = search(
            n_nodes,
            n_nodes < m1 * m2,
            True,
            True,
            self._count_gaps,
            MAX_STEPS,
            m1,
            m2,
            m3,
            w2,
            w3,
            *self._free,
            self._scratch_plan,
        )
        self.n_cut += found == CUT
        return found, n_l2
