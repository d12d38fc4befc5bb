"""LaaS as its authors' program has it, with the slip that keeps links too many."""

from __future__ import annotations

from alloc.fattree.laas import Laas


class LaasCoded(Laas):
    """`laas` with more links than a job needs, where the common free positions have gaps.

    A variant of `alloc.fattree.laas.Laas` that makes the allocations of the program of the
    LaaS paper's authors (Zahavi et al., version 1.0) to the last node and link. The program
    looks for the free L2 positions that a job's equal leaves have in common. Of these it
    means to keep as many as the job needs, and drops the others from the highest down; but it
    counts a position that is not free as one dropped. So a job may hold more up-links than
    nodes on its equal leaves, and likewise more spines than leaves: no other job can
    have them, and link conditions 4 and 6 of Smith and Lowenthal (HPDC 2021) do not hold. The
    remainder's links are as many as needed. A job still uses no link of another.
    """

    name = "laas-coded"
    description = "laas as its authors coded it: a job may hold more links than it needs"
    _count_gaps = True
