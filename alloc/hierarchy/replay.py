"""Replay: the placements that a log records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from alloc.hierarchy.slurm_tree import SlurmTree
from alloc.nodes import Nodes
from alloc.policy import Request
from netsim.errors import NetcosimError
from netsim.parameters import OneOf
from netsim.topology import Topology

FIRST_FREE, TREE, REFUSE = "first-free", "slurm-tree", "refuse"


@dataclass(frozen=True)
class Unlisted:
    """How jobs without a node list in the log are placed."""

    unlisted: Annotated[
        str, "placement of jobs without a usable node list in the log; refuse stops the run",
        OneOf((TREE, FIRST_FREE, REFUSE)),
    ] = TREE  # fmt: skip


class Replay(SlurmTree):
    """A job gets exactly the nodes that it had, in the log's order; it waits until they are free.

    Jobs without a node list in the log, or with one of a length other than the nodes they requested
    for, are placed by `slurm-tree`'s rule, or on the lowest-numbered free nodes, or refused
    (``unlisted`` in ``[policies.replay]``); a run reports how many there are. Names of the log are
    looked up among the machine's; one that it has not is an error.

    With the queue's backfill ``as-logged`` jobs also start when they did, so that the schedule is
    the log's own; under any other queue they start when the queue lets them, on the log's nodes.
    """

    name = "replay"
    description = "the nodes that each job had, as the log records them"
    counts_only = False
    replays = True
    parameters = Unlisted

    def __init__(
        self, topology: Topology, rng: np.random.Generator, parameters: Unlisted | None = None
    ) -> None:
        super().__init__(topology, rng)
        self._unlisted = (parameters or Unlisted()).unlisted

    def _choose(self, request: Request) -> Nodes | None:
        nodes = request.nodes
        if nodes is not None:
            if nodes.max() >= len(self._free):
                raise NetcosimError(
                    f"replay: job {request.job_id} is on node {nodes.max()}; the machine has "
                    f"{len(self._free):,}"
                )
            return nodes.astype(np.int64) if self._free[nodes].all() else None
        if self._unlisted == REFUSE:
            raise NetcosimError(
                f"replay: job {request.job_id} has no usable node list in the log "
                "(policies.replay.unlisted defines how such jobs are placed)"
            )
        if self._unlisted == FIRST_FREE:
            return np.flatnonzero(self._free)[: request.n_nodes]
        return self._select(request.n_nodes)
