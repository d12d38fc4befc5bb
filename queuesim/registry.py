"""Names of queue orders, backfilling methods, deciders and estimates."""

from __future__ import annotations

from netsim.errors import need_name
from netsim.registry import Registry
from queuesim.assumed import SCENARIOS
from queuesim.backfilling.backfill import Backfill, NoBackfill
from queuesim.backfilling.conservative import ConservativeBackfill
from queuesim.backfilling.easy import EasyBackfill
from queuesim.backfilling.easy_retest import EasyRetest
from queuesim.backfilling.logged_starts import LoggedStarts
from queuesim.decide import Decider, Easy, Strict
from queuesim.deciders import (
    FirstThatFits,
    LargestThatFits,
    ShortestThatFits,
    SmallestAreaThatFits,
)
from queuesim.estimates import Actual, Adjusted, EstimateModel, Requested
from queuesim.ordering.attained import LAS
from queuesim.ordering.fair_share import FAIR_SHARE
from queuesim.ordering.multifactor import MULTIFACTOR
from queuesim.ordering.orders import FCFS, LARGEST, PRIORITY, SHORTEST, SMALLEST, WFP, Order

ORDERS: Registry[Order] = Registry(
    "queuesim.registry:ORDERS",
    "queue order",
    Order,
    (
        FCFS,
        WFP,
        SHORTEST,
        SMALLEST,
        LARGEST,
        PRIORITY,
        FAIR_SHARE,
        MULTIFACTOR,
        LAS,
    ),
)
BACKFILLS: Registry[type[Backfill]] = Registry(
    "queuesim.registry:BACKFILLS",
    "backfilling",
    Backfill,
    (NoBackfill, EasyBackfill, EasyRetest, ConservativeBackfill, LoggedStarts),
    classes=True,
    optional=("queuesim.bluegene.backfill",),
)
DECIDERS: Registry[type[Decider]] = Registry(
    "queuesim.registry:DECIDERS",
    "decider",
    Decider,
    (Easy, Strict, FirstThatFits, ShortestThatFits, SmallestAreaThatFits, LargestThatFits),
    classes=True,
)
ESTIMATES: Registry[type[EstimateModel]] = Registry(
    "queuesim.registry:ESTIMATES",
    "estimate model",
    EstimateModel,
    (Requested, Actual, Adjusted),
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
