"""What the judge computes: one run of the full loop, then packets again at other fractions.

The run is `netcosim.runs.cosim.run_cosim`. Its run-time model is "measured" unless a config sets
another one: the log's run times are those of the first policy, and what packets measure of each
other policy's communication, the others' interference and its own placement together, changes them.
(The coupled models compare a job with itself alone on the same nodes: they know of interference,
not of where a job lies.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from cosim.measuring.tasks import PrefixedRunner
from cosim.run_times.measured_times import Measured
from experiments.judge.changes import (
    blocks,
    changes_of,
    communication_rows,
    gain_rows,
    most_rows,
    queue_rows,
)
from experiments.judge.score import placement_rows, score_rows
from experiments.judge.waits import reproduced, waits_by_size
from experiments.kit.results import Tables
from experiments.kit.study import Request, Trial
from netcosim.config.config import Config
from netcosim.report.effect import change_of
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.run_context import RunContext, run_context
from netcosim.runs.schedules import Queues
from netcosim.runs.store import Rows
from netsim.errors import NetcosimError
from netsim.hierarchy import hierarchy_of
from queuesim.metrics import wait_s
from queuesim.observables.locality import locality
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel
from queuesim.statistics import interval_columns

ONE_NODE = "one node"
"""The pattern of jobs that send nothing over the network."""
FRACTION = "communication_fraction"
"""Of a request; None: the run itself."""
_FRACTION_PART = 0.8
"""What measuring again at another fraction takes, in terms of the run."""


@dataclass
class JudgeTrial(Trial):
    """A run and what it leaves for measuring again."""

    fractions: int = field(default=0, kw_only=True)
    """Of communication, at which everything is measured again."""
    logged: dict[str, QueueResult] = field(default_factory=dict)
    """Schedules with the run times of the log; computed on first use."""

    @property
    def reference(self) -> str:
        """The policy that the others are compared with."""
        return self.config.relative_to.policy

    @property
    def names(self) -> tuple[str, ...]:
        """All policies, the reference first."""
        return tuple(dict.fromkeys((self.reference, *self.config.queue.policies)))

    @cached_property
    def context(self) -> RunContext:
        """The config's machine and jobs."""
        context = run_context(self.config)
        if not (context.queues.jobs.n_nodes > 1).any():
            raise NetcosimError(
                f"{context.queues.jobs.name}: every job has one node; placement changes nothing"
            )
        return context

    def schedules(self) -> dict[str, QueueResult]:
        """Return schedules with the run times of the log, by policy, the reference first."""
        missing = [name for name in self.names if name not in self.logged]
        found = self.logged | self._each("judge, queue, as-logged", missing, None, 0.05)
        self.logged = {name: found[name] for name in self.names}
        return self.logged

    def _each(
        self, what: str, names: Sequence[str], model: RunTimeModel | None, share: float
    ) -> dict[str, QueueResult]:
        """Return the schedules of some policies under a run-time model."""
        queues = {name: self._queues(name) for name in names}
        with self.reporter.step("", share) as report:
            found, _ = self.run_queues(what, queues, model, report)
        return found

    def _queues(self, name: str) -> Queues:
        """Return the queues of a policy: the reference may have another config."""
        elsewhere = self.config.relative_to.elsewhere
        if elsewhere is None or name != self.reference:
            return self.context.queues
        return run_context(elsewhere, self.context.queues.jobs).queues

    def run(self) -> Tables:
        """Return the tables of the run, but for other fractions."""
        context, config = self.context, self.config
        share = 1 / (1 + _FRACTION_PART * self.fractions)
        with self.reporter.step("", share) as report:
            result = run_cosim(config, report, self.reporter.notify, self.runner)
        self.logged = dict(result.logged)
        all_tables = result_tables(result)
        schedules = self.schedules()
        by_policy = {**result.schedules, self.reference: result.reference_schedule}
        by_policy = {name: by_policy[name] for name in self.names}
        if self.config.relative_to.elsewhere is not None:
            by_policy[self.reference] = nearest(schedules, self.reference)
        measured = result.measurement
        assert measured is not None  # a judge's config has snapshots
        jobs = _jobs(context, schedules, by_policy)
        where = (
            schedules if result.logged else {**by_policy, self.reference: result.reference_schedule}
        )
        pairs = _pairs(context, all_tables.get("pairs", []), where)
        tables = derived_tables(jobs, pairs, self.reference, config, context)
        kept = ("policies", "paired", "proof", "speedups")
        return {
            **{name: all_tables[name] for name in kept if name in all_tables},
            **{n: rows for n, rows in all_tables.items() if n in config.run.observables},
            **tables,
            "fraction": fraction_rows(
                float(context.drawn[1][context.queues.jobs.n_nodes > 1].mean()),
                True,
                measured.tables["paired"],
                measured.ratios,
                by_policy,
                self.reference,
            ),
            "machine_and_jobs": [_about(context)],
        }

    def compute(self, request: Request) -> Tables:
        """Return the tables of the run, or of everything measured again at a fraction."""
        fraction: float | None = request[FRACTION]
        return self.run() if fraction is None else self.at(fraction)

    def at(self, fraction: float) -> Tables:
        """Measure everything again with another share of communication in every job."""
        context, names = self.context, self.config.queue.policies
        percent = f"{100 * fraction:g} %"
        schedules = self.schedules()
        study = context.study(context.sides(schedules), self.reference)
        study = replace(study, fraction=np.full(len(study.fraction), fraction))
        with self.reporter.step("packets, ", 0.9) as report:
            found = context.measure.measure(
                study,
                lambda: context.queues.draws.rng("bootstrap"),
                PrefixedRunner(self.runner, f"at {percent}, "),
                report,
            )
        model = Measured(found.table, context.mix)
        known = names if found.table.rows else ()
        by_policy = self._each(f"judge, queue at {percent}", known, model, 0.2)
        if self.config.relative_to.elsewhere is not None:
            by_policy[self.reference] = nearest(schedules, self.reference)
        rows = fraction_rows(
            fraction, False, found.tables["paired"], found.ratios, by_policy, self.reference
        )
        return {"fraction": rows}


def nearest(schedules: Mapping[str, QueueResult], reference: str) -> QueueResult:
    """Return the simulated queue whose waits, with logged run times, are nearest to the log's.

    What others' run times change in the queue is compared with it where the log's own schedule is
    replayed: like with like.
    """
    others = [schedule for name, schedule in schedules.items() if name != reference]
    logged = others[0].workload.wait_s
    known = ~np.isnan(logged)
    off = [float(np.abs(wait_s(one) - logged)[known].sum()) for one in others]
    return others[int(np.argmin(off))]


def fraction_rows(
    fraction: float,
    assumed: bool,
    paired: Rows,
    ratios: Mapping[str, Any],
    schedules: Mapping[str, QueueResult],
    reference: str,
) -> list[dict[str, object]]:
    """Return one row a policy but the reference: what is measured at a communication fraction."""
    rows = []
    for row in paired:
        name = str(row["policy"])
        ratio = ratios[name]
        waits = {n: float(wait_s(schedules[n]).mean()) for n in (name, reference) if n in schedules}
        rows.append(
            {
                "policy": name,
                "communication_fraction": fraction,
                "assumed": assumed,
                "communication_ratio": ratio.ratio,
                "communication_ratio_low": ratio.low,
                "communication_ratio_high": ratio.high,
                **interval_columns("node_hours_change", change_of(row), "_percent"),
                "mean_wait_s": waits.get(name),
                "reference_mean_wait_s": waits.get(reference),
            }
        )
    return rows


def derived_tables(
    jobs: pd.DataFrame, pairs: pd.DataFrame, reference: str, config: Config, context: RunContext
) -> Tables:
    """Return all that follows from a row a job and a row a measured pair."""

    def rng() -> np.random.Generator:
        return context.queues.draws.rng("bootstrap")

    level = config.run.confidence
    changes = changes_of(jobs, reference)
    simulated = jobs
    if config.reference:
        # the log's own schedule has its waits; the queue that comes nearest to them is first
        simulated = jobs[jobs["policy"] != reference]
        off = (simulated["wait_s"] - simulated["logged_wait_s"]).abs()
        order = off.groupby(simulated["policy"], sort=False).sum().sort_values(kind="stable").index
        simulated = pd.concat([simulated[simulated["policy"] == name] for name in order])
    tables: Tables = {
        "jobs": _records(jobs),
        "reproduced": reproduced(simulated),
        "waits_by_size": waits_by_size(simulated),
        "queue": queue_rows(jobs, reference, rng, level),
        "gains": gain_rows(changes, rng, level),
        "most": most_rows(changes),
    }
    if len(pairs):
        placements = placement_rows(pairs, reference)
        tables |= {
            "pairs": _records(pairs),
            "communication": communication_rows(pairs, rng, level),
            "placements": _records(placements),
            "score": score_rows(placements, reference, rng(), level),
        }
    return tables


def _records(frame: pd.DataFrame) -> Rows:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(column): value for column, value in row.items()} for row in rows]


def _jobs(
    context: RunContext, logged: Mapping[str, QueueResult], by_policy: Mapping[str, QueueResult]
) -> pd.DataFrame:
    """Return a row a job and policy: the log's values, and both queues'."""
    jobs = context.queues.jobs
    share, fraction = context.drawn
    patterns = np.array([traffic.pattern for traffic in context.communications], dtype=object)[
        share
    ]
    several = jobs.n_nodes > 1
    frames = [
        pd.DataFrame(
            {
                "policy": name,
                "job_id": jobs.job_id,
                "n_nodes": jobs.n_nodes,
                "pattern": np.where(several, patterns, ONE_NODE),
                "communication_fraction": np.where(several, fraction, 0.0),
                "submit_s": jobs.submit_s,
                "run_s": jobs.run_time_s,
                "logged_wait_s": jobs.wait_s,
                "wait_s": wait_s(logged[name]),
                "fed_wait_s": wait_s(schedule),
                "fed_run_s": schedule.end_s - schedule.start_s,
            }
        )
        for name, schedule in by_policy.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _pairs(context: RunContext, rows: Rows, schedules: Mapping[str, QueueResult]) -> pd.DataFrame:
    """Return what was measured, with the switches of every placement."""
    if not rows:
        return pd.DataFrame()
    jobs = context.queues.jobs
    found = {name: locality(schedule) for name, schedule in schedules.items()}
    # the lowest level's domains are the switches
    switches = {name: spans.spanned[-1] for name, spans in found.items()}
    pairs = pd.DataFrame(rows)
    index = dict(zip(jobs.job_id.tolist(), range(len(jobs)), strict=True))
    at = pairs["job_id"].map(index).to_numpy()
    reference = next(iter(schedules))
    own_switches = [switches[name][i] for name, i in zip(pairs["policy"], at, strict=True)]
    return pairs.assign(
        switches=own_switches,
        reference_switches=switches[reference][at],
        least_switches=found[reference].least[-1][at],
    )


def _about(context: RunContext) -> dict[str, object]:
    topology, jobs = context.machine.topology, context.queues.jobs
    hierarchy = hierarchy_of(topology)
    several = jobs.n_nodes > 1
    node_s = jobs.n_nodes * jobs.run_time_s
    return {
        "machine": topology.name,
        "nodes": topology.n_nodes,
        "routers": topology.n_routers,
        "switch": hierarchy.levels[-1],
        "switches_with_nodes": hierarchy.counts[-1],
        "routing": context.machine.routing.name,
        "log": jobs.name,
        "jobs": len(jobs),
        "counts": "node" if topology.scale_up is None else "GPU",
        "snapshots": context.config.run.snapshots,
        "blocks": len(np.unique(blocks(jobs.submit_s))),
        "jobs_of_several_nodes": int(several.sum()),
        "their_node_hours_percent": float(100 * node_s[several].sum() / node_s.sum()),
        "largest_job_nodes": int(jobs.n_nodes.max()),
        "left_out": "; ".join(f"{n:,} {why}" for why, n in jobs.dropped.items() if n),
        "notes": "\n\n".join(jobs.notes),
    }
