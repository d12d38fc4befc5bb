"""Random generators of a run: one for each purpose, seeded by what that purpose depends on.

Points of a sweep that differ only in what a purpose does not depend on share its draws (common
random numbers): every machine and policy gets the same jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from netcosim.config.communication import CommunicationSection
from netcosim.runs.points import drawn_by, seed_from

NEVER = (
    "analysis",
    "reference",
    "plugins",
    "policies",
    "communication.io",
    "workload.month",
    "workload.days",
    "workload.sizes",
    "workload.synthetic.sizes",
    "workload.synthetic.median_run_time_s",
    "workload.run_times",
    "workload.walltimes",
    "workload.bad_lines",
    "workload.default_limit_s",
    "workload.missing_limits",
    "queue.estimates",
    "communication.fraction",
    "communication.from",
    "communication.together",
    "run.keep",
    "run.redraw_log",
    "run.observables",
    "run.only_snapshot",
    "run.measure",
    "run.paired",
    "run.steady",
    "run.placed",
)
"""Which of the log's jobs are simulated, what is known of them, what is compared and printed."""
_RUN = ("run.name", "run.snapshots", "run.confidence")
_JOBS = ("machine", "queue", "communication", *_RUN)
_RANKS = ("machine", "queue", *_RUN)

PURPOSES: dict[str, tuple[str, ...]] = {
    "workload": _JOBS,  # synthetic jobs
    "bandwidth": _JOBS,  # what a job needs of its links
    "policy": _JOBS,  # faster links get the same placements
    "jobs": _RANKS,  # patterns, communication shares, scenarios
    "packets": _RANKS,  # the same ranks talk on every machine
    "failures": (*_JOBS, "workload"),  # the seed alone: nothing that jobs do moves them
    "bootstrap": (*_JOBS, "workload"),
}
"""Purposes, and the keys of a config on which their draws do not depend."""


@dataclass(frozen=True)
class Draws:
    """Generators of a config."""

    content: Mapping[str, object]
    """From `netcosim.config.config.Config.resolved`; its seed and repetition are part of it."""
    _seeds: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What is known of the content by name: learning environments use it at each episode."""
    _drawn_by: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Contents that draws depend on, by purpose."""

    @cached_property
    def without_traffic(self) -> Draws:
        """The draws of the same config with the default ``[communication]``."""
        usual = CommunicationSection().model_dump(mode="json")
        return Draws({**self.content, "communication": usual})

    def rng(self, purpose: str, which: str = "") -> np.random.Generator:
        """Return the generator of a purpose, a key of `PURPOSES`, separate for each ``which``."""
        name = f"{purpose} {which}" if which else purpose
        if name not in self._seeds:
            if purpose not in self._drawn_by:
                leave_out = (*NEVER, *PURPOSES[purpose])
                self._drawn_by[purpose] = drawn_by(self.content, leave_out)
            self._seeds[name] = seed_from(self._drawn_by[purpose], name)
        return np.random.Generator(np.random.PCG64(self._seeds[name]))
