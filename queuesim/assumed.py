"""Assumed run times: the speed-up scenarios of the topology-aware scheduling papers.

Pollard et al. (SC'18, section IV-B): none, 5 %, 10 %, 20 %, V1, V2; Smith and Lowenthal
(HPDC'21, section 5.4.1): the same and Random. They shorten the jobs of policies that
isolate; other policies run as logged. A speed-up of x % takes x % off the run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy
from alloc.registry import POLICIES
from netsim.errors import need_name
from netsim.parameters import Example, NamesIn, OneOf, ReadIf
from queuesim.draws import draw_key, uniform_per_job
from queuesim.runtime import FixedRunTimes, RunTimeModel, RunTimes
from workloads.job import Workload

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

V_FULL_NODES = 512
"""V1, V2: jobs of this size and more get the upper end of their bin."""


@dataclass(frozen=True)
class Scenario:
    """Which jobs run how much shorter in isolation."""

    name: str
    description: str
    reduction: Callable[[IntArray, FloatArray], FloatArray]
    """``reduction(n_nodes, u)``: (n,) sizes, (n,) uniform draws -> (n,) values in [0, 1)."""


def _fixed(share: float) -> Callable[[IntArray, FloatArray], FloatArray]:
    def reduction(n_nodes: IntArray, u: FloatArray) -> FloatArray:
        return np.where(n_nodes > 4, share, 0.0)

    return reduction


def _pick(values: list[float], u: FloatArray) -> FloatArray:
    """Return one of equally likely values for each draw."""
    return np.asarray(values)[(u * len(values)).astype(np.int64)]


def _linear(low: FloatArray | float, high: FloatArray, n_nodes: IntArray) -> FloatArray:
    """Return a value linear in the node count: ``low`` at 0 nodes, ``high`` at 512 and more.

    The paper states "linearly based on its node count" and that jobs of more than 512
    nodes get the upper end; that the line starts at 0 nodes is an assumption.
    """
    return low + (high - low) * np.minimum(n_nodes, V_FULL_NODES) / V_FULL_NODES


def _v1(n_nodes: IntArray, u: FloatArray) -> FloatArray:
    return _linear(0.0, _pick([0.1, 0.2, 0.3], u), n_nodes)


def _v2(n_nodes: IntArray, u: FloatArray) -> FloatArray:
    medium = _linear(0.0, _pick([0.1, 0.2], u), n_nodes)
    large = _linear(_pick([0.0, 0.1, 0.1], u), _pick([0.1, 0.2, 0.3], u), n_nodes)
    return np.where(n_nodes > 128, large, np.where(n_nodes > 4, medium, 0.0))


def _random(n_nodes: IntArray, u: FloatArray) -> FloatArray:
    return np.where(n_nodes > 64, _pick([0.0, 0.05, 0.15, 0.30], u), 0.0)


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("none", "no job runs faster in isolation", _fixed(0.0)),
        Scenario("5%", "jobs of more than 4 nodes take 5 % less time", _fixed(0.05)),
        Scenario("10%", "jobs of more than 4 nodes take 10 % less time", _fixed(0.10)),
        Scenario("20%", "jobs of more than 4 nodes take 20 % less time", _fixed(0.20)),
        Scenario(
            "V1",
            "every job in one of the bins 0-10, 0-20, 0-30 %; within it linear in the nodes",
            _v1,
        ),
        Scenario(
            "V2",
            "5-128 nodes: bins 0-10, 0-20 %; more: 0-10, 10-20, 10-30 %; linear in the nodes",
            _v2,
        ),
        Scenario("Random", "jobs of more than 64 nodes take 0, 5, 15 or 30 % less time", _random),
    )
}


@dataclass(frozen=True)
class Assumed(RunTimeModel):
    """Run times shortened by a scenario under some policies."""

    name = "assumed"
    description = "a scenario of the papers: isolated jobs run some percent faster"
    reads = ()
    fixed = True
    scenario: Annotated[str, "speed-up of isolated jobs", OneOf(SCENARIOS), Example("20%")] = "none"
    """A name in `SCENARIOS`."""
    speeds_up: Annotated[
        Sequence[str] | None,
        "policies whose jobs it speeds up; those that isolate if left out",
        NamesIn(POLICIES),
        ReadIf(("scenario",), lambda name: name != "none", 'queue.assumed.scenario is not "none"'),
        Example(["jigsaw"]),
    ] = None
    """Policies whose jobs speed up; None: those that isolate. The Jigsaw paper also speeds up LC+S,
    which shares links."""

    def __post_init__(self) -> None:
        need_name("speed-up scenario", self.scenario, SCENARIOS)

    @property
    def label(self) -> str:
        return f"{self.name} {self.scenario}"

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        reduction = scenario_reduction(self.scenario, workload, rng)
        faster = policy.isolates if self.speeds_up is None else policy.name in self.speeds_up
        if not faster:
            reduction = np.zeros_like(reduction)
        return FixedRunTimes(workload.run_time_s * (1.0 - reduction))


def scenario_reduction(scenario: str, workload: Workload, rng: np.random.Generator) -> FloatArray:
    """Return the (n,) relative reduction of each job's run time by a scenario; see `Scenario`."""
    need_name("speed-up scenario", scenario, SCENARIOS)
    u = uniform_per_job(draw_key(rng), 0, workload.job_id)
    return SCENARIOS[scenario].reduction(workload.n_nodes, u)
