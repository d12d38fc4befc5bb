"""The one rule on which queues are compiled, and which run event by event."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alloc.policy import Policy
    from queuesim.decide import Decider
    from queuesim.ordering.orders import Order
    from queuesim.runtime import RunTimeModel
    from queuesim.site.rules import Rules

LEAST_JOBS = 4000
"""Queues of fewer jobs are over by events before the kernel is loaded."""
_PLACED = 5
"""So many times as many are needed where a policy's searches are in the kernel: it takes longer to
load, and the first time half a minute to compile."""
queued_jobs: Counter[tuple[bool, bool, str]] = Counter()
"""Jobs of this process's queues that can be compiled, by kernel.

A kernel is by score or not, conservative or not, and has a policy's searches (`Policy.kernels`) or
none.
"""
COMPILED_BACKFILLS = ("none", "easy", "easy-retest", "conservative")


def least_jobs(policy: Policy | type[Policy]) -> int:
    """Return how many jobs a queue has at least that is compiled."""
    return LEAST_JOBS if policy.counts_only else _PLACED * LEAST_JOBS


def why_by_events(
    n_jobs: int,
    policy: Policy | type[Policy],
    order: Order,
    backfill: str | Decider,
    rules: Rules,
    model: RunTimeModel | type[RunTimeModel],
    repeats: int = 1,
) -> str:
    """Return why a queue runs event by event; empty if it is compiled.

    Of many queues only those are that a count decides: the others take ten times as long a job.
    """
    if not rules.plain:
        return (
            "the queue has partitions, dependencies, outages, failures, preemption, quotas, "
            "checkpoints or a grace period"
        )
    if not isinstance(backfill, str):
        return f"decider {backfill.name!r} chooses the jobs"
    if not model.fixed:
        return f"run-time model {model.name!r} may change run times while jobs run"
    if order.static_key is None and order.score is None:
        return f"order {order.name!r} depends on what has run"
    if backfill not in COMPILED_BACKFILLS:
        return f"backfill {backfill!r} has no compiled pass"
    kind = policy if isinstance(policy, type) else type(policy)
    known = policy.counts_only or (repeats == 1 and vars(kind).get("has_kernel_state", False))
    if not known or policy.pairs or policy.relents_after_s is not None:
        return f"policy {policy.name!r} places by more than the number of free nodes"
    if not policy.counts_only and (backfill not in ("none", "easy") or order.static_key is None):
        return f"order {order.name!r} with backfill {backfill!r} has no compiled pass for links"
    if n_jobs * repeats < (least := least_jobs(policy)):
        return f"it has fewer than {least:,} jobs"
    return ""
