"""Jobs of an instant placed anew: what a policy does on an empty machine, not in a queue.

Papers on placement fill an empty machine with jobs; a queue leaves fragmentation by other jobs.
Both are states of the same policies, and the same jobs can be put into both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alloc.policy import Placement, Policy, Request
from netsim.errors import NetcosimError
from queuesim.result import PlacementArrays, QueueResult


def placed_anew(schedule: QueueResult, policy: Policy, jobs: Sequence[int]) -> QueueResult:
    """Return a schedule in which some jobs sit where a policy puts them, and the others nowhere.

    The policy has all nodes free. ``jobs`` are indices in the order in which they are placed.
    """
    workload, needs_Bps = schedule.workload, schedule.needs_Bps
    places: dict[int, Placement] = {}
    for index in jobs:
        job_id, n_nodes = int(workload.job_id[index]), int(workload.n_nodes[index])
        request = Request(
            job_id,
            n_nodes,
            end_s=float(schedule.start_s[index] + workload.requested_s[index]),
            bandwidth_Bps=None if needs_Bps is None else float(needs_Bps[index]),
        )
        place = policy.allocate(request)
        if place is None:
            raise NetcosimError(
                f"{policy.name} has no place for job {job_id} ({n_nodes} nodes) on an empty "
                f"machine after {len(places)} other jobs of the instant; "
                'run.placed = "queue" takes the places that its queue has'
            )
        places[index] = place
    kept = PlacementArrays.from_placements([places.get(index) for index in range(len(schedule))])
    return replace(schedule, placements=kept)
