"""Every observable by name, for ``[run] observables``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netsim.registry import Registry

if TYPE_CHECKING:
    from queuesim.result import QueueResult, Rows


@dataclass(frozen=True)
class Observable:
    """A statistic of a schedule."""

    registered_in: ClassVar[str] = "queuesim.observables.registry:OBSERVABLES"

    name: str
    description: str
    """One line."""
    rows: Callable[[QueueResult], Rows]
    """The rows of its table."""


OBSERVABLES: Registry[Observable] = Registry(
    "queuesim.observables.registry:OBSERVABLES",
    "observable",
    "queuesim.observables.registry:Observable",
    (
        "queuesim.observables.machine:OBSERVABLES",
        "queuesim.observables.jobs:OBSERVABLES",
        "queuesim.observables.hops:OBSERVABLES",
        "queuesim.observables.locality:OBSERVABLES",
    ),
)


def observed(schedules: Mapping[str, QueueResult], names: Sequence[str]) -> dict[str, Rows]:
    """Return tables of observables of schedules by policy.

    Raises
    ------
    NetcosimError
        An observable that the machine does not have.
    """
    return {
        name: [
            {"policy": policy, **row}
            for policy, result in schedules.items()
            for row in OBSERVABLES[name].rows(result.of_those_that_ran)
        ]
        for name in names
    }
