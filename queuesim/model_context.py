"""What a run offers to the run-time model that a config names.

`RunTimeModel.from_config` takes a `ModelContext` and asks it for what the model needs. A model
that needs measurements, or a run of the reference policy beforehand, calls for them: nobody else
has to know which model needs what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from queuesim.coupled_packets import PacketBudget
    from queuesim.job_network import JobNetwork
    from queuesim.measured import CommunicationMix, SpeedupTable
    from queuesim.result import QueueResult
    from queuesim.runtime import RunTimeModel


@dataclass(frozen=True)
class ModelSettings:
    """Values of a config that run-time models read; each model takes what is its own.

    Attributes
    ----------
    scenario : str
        A name in `queuesim.assumed.SCENARIOS`.
    speeds_up : tuple of str or None
        See `queuesim.assumed.Assumed`.
    speedup_file : str or None
        See `queuesim.speedup_file`.
    bound : {"mean", "low", "high"}
        Which end of measured intervals counts.
    runtime_reference : str
        A key of `queuesim.coupled.RUNTIME_REFERENCES`.
    budget : PacketBudget
    snapshots : int
        Instants that a measuring campaign may send; 0: no packets are sent.
    partition_bisection : mapping
        Parameters of `queuesim.partition_bisection.PartitionBisection`.
    """

    scenario: str
    speeds_up: tuple[str, ...] | None
    speedup_file: str | None
    bound: str
    runtime_reference: str
    budget: PacketBudget
    snapshots: int
    partition_bisection: Mapping[str, Any]


class Pilot(NamedTuple):
    """A run of the reference policy before the others.

    Attributes
    ----------
    result : QueueResult
    fraction : (n,) float64
        Communication share of every job's run time, as the mix draws it.
    """

    result: QueueResult
    fraction: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelContext:
    """What `RunTimeModel.from_config` builds from.

    Attributes
    ----------
    settings : ModelSettings
    mix : CommunicationMix
        Pattern and communication share of every job.
    network : callable
        ``network()``: the jobs' network, made when it is asked for.
    measured_speedups : callable
        ``measured_speedups()``: runs the queue with logged run times, sends snapshots of its
        schedules through the packet engine and gives the speed-up table.
    pilot : callable
        ``pilot(build)``: the reference policy's queue under the model that ``build`` makes of
        that policy's network.
    """

    settings: ModelSettings
    mix: CommunicationMix
    network: Callable[[], JobNetwork]
    measured_speedups: Callable[[], SpeedupTable]
    pilot: Callable[[Callable[[JobNetwork], RunTimeModel]], Pilot]
