"""Context of a run for the run-time model that a config names.

`RunTimeModel.from_config` takes a `ModelContext`, which provides what the model needs. A model
that needs measurements, or a run of the reference policy beforehand, calls its methods: no other
model needs to know the requirements of another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.measuring.measured import SpeedupTable
from cosim.network.mix import CommunicationMix
from cosim.parameters import CONTENDED
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel

if TYPE_CHECKING:
    from cosim.network.job_network import JobNetwork


class Pilot(NamedTuple):
    """A run of the reference policy before the others."""

    result: QueueResult
    fraction: NDArray[np.float64]
    """(n,) float64. Communication share of every job's run time, as the mix draws it."""
    network: JobNetwork
    """The network of the reference policy's machine."""


class MeasuredSpeedups(Protocol):
    """Measures what policies do to run times; see `ModelContext`."""

    def __call__(
        self,
        rounds: int = 1,
        build: Callable[[SpeedupTable], RunTimeModel] | None = None,
        runtime_reference: str = CONTENDED,
    ) -> SpeedupTable: ...


@dataclass(frozen=True, eq=False)
class ModelContext:
    """Input of `RunTimeModel.from_config`."""

    mix: CommunicationMix
    """Pattern and communication share of every job."""
    network: Callable[[], JobNetwork]
    """``network()``: the jobs' network, created on first use."""
    measured_speedups: MeasuredSpeedups
    """``measured_speedups()``: runs the queue with logged run times, sends snapshots of its
    schedules through the packet engine and gives the speed-up table. Each of more ``rounds`` does
    the same with the schedules that the model gives which ``build`` makes of the table before.
    ``runtime_reference``, a key of `cosim.parameters.RUNTIME_REFERENCES`, defines what ratios
    are relative to."""
    pilot: Callable[[Callable[[JobNetwork], RunTimeModel]], Pilot] | None = None
    """``pilot(build)``: the reference policy's queue under the model that ``build`` makes of that
    policy's network. None: no such queue can be run."""
