"""Names of queue orders, backfilling methods, deciders and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netsim.errors import need_name
from netsim.registry import Registry
from queuesim.assumed import SCENARIOS

if TYPE_CHECKING:
    from queuesim.backfilling.backfill import Backfill
    from queuesim.decide import Decider
    from queuesim.estimates import EstimateModel
    from queuesim.ordering.orders import Order


ORDERS: Registry[Order] = Registry(
    "queuesim.registry:ORDERS",
    "queue order",
    "queuesim.ordering.orders:Order",
    (
        "queuesim.ordering.orders:FCFS",
        "queuesim.ordering.orders:WFP",
        "queuesim.ordering.orders:SHORTEST",
        "queuesim.ordering.orders:SMALLEST",
        "queuesim.ordering.orders:LARGEST",
        "queuesim.ordering.orders:PRIORITY",
        "queuesim.ordering.fair_share:FAIR_SHARE",
        "queuesim.ordering.multifactor:MULTIFACTOR",
        "queuesim.ordering.attained:LAS",
    ),
)
BACKFILLS: Registry[type[Backfill]] = Registry(
    "queuesim.registry:BACKFILLS",
    "backfilling",
    "queuesim.backfilling.backfill:Backfill",
    (
        "queuesim.backfilling.backfill:NoBackfill",
        "queuesim.backfilling.easy:EasyBackfill",
        "queuesim.backfilling.easy_retest:EasyRetest",
        "queuesim.backfilling.conservative:ConservativeBackfill",
        "queuesim.backfilling.logged_starts:LoggedStarts",
    ),
    classes=True,
    optional=("queuesim.bluegene.backfill",),
)
DECIDERS: Registry[type[Decider]] = Registry(
    "queuesim.registry:DECIDERS",
    "decider",
    "queuesim.decide:Decider",
    (
        "queuesim.decide:Easy",
        "queuesim.decide:Strict",
        "queuesim.deciders:FirstThatFits",
        "queuesim.deciders:ShortestThatFits",
        "queuesim.deciders:SmallestAreaThatFits",
        "queuesim.deciders:LargestThatFits",
    ),
    classes=True,
)
ESTIMATES: Registry[type[EstimateModel]] = Registry(
    "queuesim.registry:ESTIMATES",
    "estimate model",
    "queuesim.estimates:EstimateModel",
    (
        "queuesim.estimates:Requested",
        "queuesim.estimates:Actual",
        "queuesim.estimates:Adjusted",
    ),
    classes=True,
)

__all__ = [
    "BACKFILLS",
    "DECIDERS",
    "ESTIMATES",
    "ORDERS",
    "SCENARIOS",
    "Order",
    "find_backfill",
    "find_order",
]


def find_backfill(name: str) -> type[Backfill]:
    """Return the method of this name; `NetcosimError` listing the valid ones if there is none."""
    need_name("backfill", name, BACKFILLS)
    return BACKFILLS[name]


def find_order(name: str) -> Order:
    """Return the order of this name; `NetcosimError` listing the valid ones if there is none."""
    need_name("queue order", name, ORDERS)
    return ORDERS[name]
