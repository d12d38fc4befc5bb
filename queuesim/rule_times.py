"""Run times by the placement rule that a job got, where each job may get another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alloc.any_rule import AnyRule
from alloc.policy import Placement, Policy
from netsim.errors import NetcosimError
from queuesim.runtime import NO_CHANGE, RunTimeModel, RunTimes
from workloads.job import Workload


@dataclass(frozen=True)
class RuleModel(RunTimeModel):
    """A model whose run times depend on the policy, on a machine with several placement rules."""

    name = "by-rule"
    description = "another model's run times under the rule that placed the job"
    model: RunTimeModel
    """Fixed run times under each of the rules."""

    @property
    def label(self) -> str:
        """The model's."""
        return self.model.label

    def prepare(self, workload: Workload, policy: Policy, rng: np.random.Generator) -> RunTimes:
        if not isinstance(policy, AnyRule):
            raise NetcosimError(f"policy {policy.name!r} is not one of several placement rules")
        state = rng.bit_generator.state
        times = {}
        for name, rule in policy.rules.items():
            # the same draws under all of them
            rng.bit_generator.state = state
            times[name] = self.model.prepare(workload, rule, rng)
        return _RuleTimes(workload, policy, times)


class _RuleTimes(RunTimes):
    def __init__(self, workload: Workload, policy: AnyRule, times: Mapping[str, RunTimes]) -> None:
        self._job_id: list[int] = workload.job_id.tolist()
        self._policy, self._times = policy, times
        self._rule: dict[int, str] = {}

    def on_start(self, job: int, placement: Placement, now_s: float) -> Mapping[int, float]:
        self._rule[job] = self._policy.placed_by[self._job_id[job]]
        return NO_CHANGE

    def work_s(self, job: int) -> float:
        return self._times[self._rule[job]].work_s(job)
