"""The order and the rules of a queue, from a config."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netsim.parameters import Parameter, parameters_of
from queuesim.ordering.orders import Order, OrderContext
from queuesim.parameters import Failures, OutageFile, Partition, PreemptionKeys, QuotaKeys, RuleKeys
from queuesim.registry import ORDERS
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.rules import Rules
from workloads.job import Workload

_TABLES: dict[str, type] = {
    "checkpoint": Checkpoints,
    "preemption": PreemptionKeys,
    "quotas": QuotaKeys,
    "failures": Failures,
}


def setup_tables() -> dict[str, dict[str, Parameter]]:
    """Return the parameters of rules by table of ``[queue]``; "" is the table itself."""
    tables: dict[str, type] = {"": RuleKeys, "outages": OutageFile, **_TABLES}
    return {name: dict(parameters_of(factory)) for name, factory in tables.items()}


def partition_table() -> Mapping[str, Parameter]:
    """Return the parameters of an entry of ``[[queue.partitions]]``."""
    return parameters_of(Partition)


def partitions_of(tables: Sequence[Any]) -> tuple[Partition, ...]:
    """Return the partitions of ``[[queue.partitions]]``; see `Partition` for what is refused."""
    partitions = tuple(Partition(**_values(table, partition_table())) for table in tables)
    Rules(partitions=partitions)  # refuses those that do not go together
    return partitions


def checked_partitions(tables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tables themselves, if partitions can be made of them."""
    partitions_of(tables)
    return tables


def setup_of(section: Any, history: Callable[[], Workload | None]) -> tuple[Order, Rules]:
    """Return the order and the rules that a config requests.

    ``section`` (``[queue]``) has the keys of `setup_tables` as attributes, a file with its
    ``checked()`` path; ``order``, the order's table, ``overrun``, and ``partitions`` with the keys
    of `partition_table`. ``history`` returns the jobs before, for orders that go by them.
    """
    partitions = partitions_of(section.partitions)
    outages = OutageFile(**_values(section.outages, parameters_of(OutageFile)))
    keys = RuleKeys(**_values(section, parameters_of(RuleKeys)))
    given_tables: dict[str, Any] = {
        name: kind(**_values(getattr(section, name), parameters_of(kind)))
        for name, kind in _TABLES.items()
    }
    order = ORDERS[section.order]
    if order.made is not None and order.parameters is not None:
        table = getattr(section, order.name)
        given = order.parameters(**_values(table, parameters_of(order.parameters)))
        order = order.made(given, OrderContext(history, partitions))
    return order, Rules(
        # no job is cut otherwise, and a grace period would make this a queue with rules
        grace_s=keys.grace_s if section.overrun == "cut" else 0.0,
        has_dependencies=keys.dependencies == "keep",
        partitions=partitions,
        outages=outages.read(),
        requeues=outages.after_failure == "requeue",
        checkpoints=given_tables["checkpoint"],
        preemption=given_tables["preemption"],
        quotas=given_tables["quotas"],
        failures=given_tables["failures"],
    )


def _values(table: Any, declared: Mapping[str, Parameter]) -> dict[str, Any]:
    values = {name: getattr(table, name) for name in declared}
    return {
        name: value.checked() if declared[name].names_file and value is not None else value
        for name, value in values.items()
    }
