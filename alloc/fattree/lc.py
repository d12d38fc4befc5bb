"""LC: every placement that the six conditions allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from alloc.fattree.kernels_least import place_least
from alloc.fattree.links import LinkPolicy, Masks

if TYPE_CHECKING:
    from alloc.fattree.kernels_places import Places, Shares

MAX_STEPS = 200_000
"""Bound of the Jigsaw part of the search, as in `alloc.fattree.jigsaw`."""
MAX_STEPS_A_SHAPE = 2_000
"""Leaves that the search may add for one shape (nodes a leaf, leaves a pod, pods)."""


class LeastConstrained(LinkPolicy):
    """Places nodes and links only by the six conditions.

    Smith and Lowenthal, HPDC 2021, 3.2 and 4: Jigsaw without its restriction to whole leaves for
    jobs that span pods. Jigsaw's placements are tried first, then fewer and fewer nodes a leaf,
    leaves a pod falling. The number of placements is exponential; where the paper's program stops
    after 5 s, this one stops after `MAX_STEPS_A_SHAPE` steps for each shape, so that results do not
    depend on the clock (`n_cut` counts the failed searches that met the bound). A shape for which
    leaves or pods are too few by count, or have too few spines in common, is not searched
    (`has_room`, `has_common_spines` in `alloc.fattree.kernels_bits`).
    """

    name = "lc"
    description = "least constrained: isolated nodes and links only by Jigsaw's conditions"
    kernels = "least-constrained search"
    has_kernel_state = True
    _whole_leaves = False

    def _steps(self) -> tuple[int, int]:
        return MAX_STEPS, MAX_STEPS_A_SHAPE

    def kernel_state(self, needs_Bps: Sequence[float | None]) -> Places:
        return super().kernel_state(needs_Bps)._replace(shares=self._shares())

    def _shares(self) -> Shares:
        """Return what is used of each link, where jobs share them."""
        from alloc.fattree.kernels_places import Shares

        none = np.zeros(0, dtype=np.int64)
        return Shares(none, none, none, none, none)

    def _open(self) -> Masks:
        """Return the nodes and links that a job may get."""
        return self._unheld

    def _place(self, n_nodes: int) -> tuple[int, int]:
        n_placed, n_links = place_least(
            n_nodes,
            MAX_STEPS,
            MAX_STEPS_A_SHAPE,
            self._open().words,
            self._scratch_plan,
            self._scratch_nodes,
            self._scratch_links,
        )
        return n_placed, n_links
