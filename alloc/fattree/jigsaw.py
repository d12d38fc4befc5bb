"""Jigsaw: isolated full-bandwidth partitions at high utilisation."""

from __future__ import annotations

from typing import ClassVar

from alloc.fattree.kernels_search import place
from alloc.fattree.links import LinkPolicy

MAX_STEPS = 200_000
"""Leaves and pods that a search may add to a partial placement before it counts as failed."""


class Jigsaw(LinkPolicy):
    """Nodes and links by the six conditions, whole leaves where a job spans pods.

    Smith and Lowenthal: "Jigsaw: A High-Utilization, Interference-Free Job Scheduler for
    Fat-Tree Clusters", HPDC 2021, Algorithm 1. What it leaves open:

    - Fewest leaves first (n_L falls from min(N, m1)), then fewest pods first (L_T falls);
      two-level placements try the pods with the fewest free nodes first, as LaaS does, in
      whose code Jigsaw was built.
    - Of equally good nodes, leaves, up-links and spines the lowest are taken; the remainder
      leaf's links are chosen first.
    - Links are as many as are of use: none on a single leaf; when only one leaf (or pod)
      is full, it has as many up-links (or spines) as the remainder.
    """

    name = "jigsaw"
    description = "isolated nodes and links by Jigsaw's conditions, no node wasted"
    has_kernel_state = True
    _count_gaps: ClassVar[bool] = False

    def _steps(self) -> tuple[int, None]:
        return MAX_STEPS, None

    def _place(self, n_nodes: int) -> tuple[int, int]:
        a_pod = self.topology.shape.nodes_per_pod
        n_placed, n_links = place(
            n_nodes,
            n_nodes < a_pod if self._full_leaves else n_nodes <= a_pod,
            self._full_leaves,
            self._count_gaps,
            MAX_STEPS,
            self._unheld.words,
            self._scratch_plan,
            self._scratch_nodes,
            self._scratch_links,
        )
        return n_placed, n_links
