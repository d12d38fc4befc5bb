"""Jobs on a machine that others used before: its free nodes lie scattered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError


def allocate_after(
    policy: Policy, before: Sequence[int], sizes: Sequence[int], rng: np.random.Generator
) -> list[Placement]:
    """Place jobs one by one; while there is no room, earlier jobs leave in random order.

    Parameters
    ----------
    policy : Policy
        Of an empty machine.
    before : sequence of int
        Nodes of the earlier jobs, in the order in which they came; they leave room for each other
        in the same way. Those that need not leave stay.
    sizes : sequence of int
        Nodes of the requested jobs; each fits with all the others of them on the empty machine.
    rng : numpy.random.Generator
        Which of the earlier jobs leaves.

    Returns
    -------
    list of Placement
        Of the requested jobs.

    Raises
    ------
    NetcosimError
        A job finds no place when all earlier ones have left.
    """
    running: list[Placement] = []
    found: list[Placement] = []
    for i, n_nodes in enumerate([*before, *sizes]):
        while (placement := policy.allocate(Request(i, n_nodes))) is None:
            if not running:
                raise NetcosimError(f"{n_nodes} nodes: {policy.name} finds no place for this job")
            policy.release(running.pop(int(rng.integers(len(running)))))
        (running if i < len(before) else found).append(placement)
    return found
