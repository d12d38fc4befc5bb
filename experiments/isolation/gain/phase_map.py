"""``isolation-gain --map``: would isolation pay, over the load of the queue and the share?

Each point is a load and a share: the log with its arrivals scaled to that load, its jobs
communicating for that share of their isolated run time. Queues and packets are those of the
verdict without ``--map``; the time is divided evenly over the points that are left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from experiments.isolation.gain.tables import TabulatedGain
from experiments.isolation.gain.trial import TIME_USED, GainTrial
from experiments.isolation.gain.verdict import METRICS, QUANTITIES
from experiments.isolation.phase_figure import draw_phases, verdict_legend
from experiments.isolation.phases import NOT, PAYS, UNKNOWN, word
from experiments.kit.log_study import offered_load_of
from experiments.kit.results import Tables
from experiments.kit.study import Frames, Report, Request, Study, Trial
from experiments.kit.study_config import TimeBudget
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.report.effect import Effect
from netcosim.report.figures.style import new_figure
from netcosim.report.page import Section
from netcosim.report.recommendation import Recommendation
from netcosim.runs.points import replaced
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from netsim.units import format_quantity
from queuesim.statistics import Interval, interval_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

AT_ONCE = "all at once"
LOADS = (AT_ONCE, "0.9", "0.7", "0.5")
SHARES = (0.3, 0.1, 0.5)
POINTS = tuple(itertools.product(LOADS, SHARES))


def config_at(config: Config, load: str, share: float) -> Config:
    """Return the config with arrivals that offer so much work, and jobs that communicate so long.

    A log's arrivals are scaled; synthetic jobs are generated for that load.
    """
    content = replaced(config.resolved(), {"communication.fraction": None})
    changes: dict[str, object] = {"workload.all_at_zero": load == AT_ONCE}
    for number in range(len(config.communication.mix)):
        changes[f"communication.mix.{number}.communication_fraction"] = share
    if load != AT_ONCE and config.workload.synthetic is not None:
        changes["workload.synthetic.load"] = float(load)
    elif load != AT_ONCE:
        logged = checked_config(replaced(content, {"workload.all_at_zero": False}))
        queues = run_context(logged).queues
        offered = offered_load_of(queues.jobs, queues.topology.n_nodes)
        if math.isinf(offered):
            raise NetcosimError(
                f"{queues.jobs.name}: all jobs arrive at once, so there is no load to vary; "
                "isolation-gain without --map answers for such jobs"
            )
        factor = logged.workload.arrival_factor * offered / float(load)
        changes["workload.arrival_factor"] = factor
    return checked_config(replaced(content, changes))


@dataclass
class MapTrial(Trial):
    """One point of the map."""

    budget: TimeBudget = field(kw_only=True)
    """Of all points."""

    def compute(self, request: Request) -> Tables:
        """Return the gain and the queue's ratio at it, a row a policy and metric."""
        trial = self._trial(request)
        gains, _, why = trial.measured
        rows = []
        for (name, gain), metric in itertools.product(gains.items(), METRICS):
            line = trial.lines[name][metric]
            ratio, needed = line.at(gain.of(metric)), line.break_even()
            row = {**request, "policy": name, "metric": metric}
            row |= interval_columns("ratio", ratio) | {"verdict": word(ratio)}
            row |= interval_columns("gain_percent", gain.of(metric))
            row |= interval_columns("needed_percent", needed or Interval(*[math.nan] * 3))
            rows.append(row | {"snapshots": gain.snapshots, "jobs": gain.jobs, "why": why})
        return {"map": rows}

    def _trial(self, request: Request) -> GainTrial:
        load, share = str(request["load"]), float(request["share"])
        done = (POINTS.index((load, share)) + 1) / len(POINTS)
        return TabulatedGain(
            config_at(self.config, load, share),
            self.runner,
            self.reporter,
            budget=self.budget.part(done),
            # the queues of a load are the same for all shares
            queue_names=f"load {load}: ",
            packet_names=f"load {load}, share {share:g}: ",
        )


@dataclass(frozen=True)
class IsolationMap(Study):
    """Where isolation would pay."""

    name: ClassVar[str] = "isolation_map"
    command: ClassVar[str] = "netcosim isolation-gain --map"
    budget: TimeBudget

    @property
    def requests(self) -> Sequence[Request]:
        """See `experiments.kit.study.Study`."""
        return [{"load": load, "share": share} for load, share in POINTS]

    def trial(self, *context: Any) -> MapTrial:
        """See `experiments.kit.study.Study`."""
        return MapTrial(*context, budget=self.budget)

    def is_finished(self, tables: Tables) -> bool:
        """Return whether the time sufficed."""
        return all(row["why"] != TIME_USED for row in tables["map"])

    def next_step(self, out: Path, tables: Tables) -> str:
        """Return what would decide more points."""
        if self.is_finished(tables):
            return ""
        return (
            "Some points used up their part of the time; more --minutes, in another folder, help."
        )

    def report(self, tables: Tables, frames: Frames, seconds: float) -> Report:
        """Return the answer by policy, the map, and all numbers."""
        rows = tables["map"]
        lines = [line for name in _names(rows) for line in map_lines(name, rows)]
        sections = [
            Section(
                "Where isolation would pay",
                "\n\n".join([*lines, *self.requested.notes])
                + "\n\nEach square is a load of the queue and a share of the isolated run time in "
                "which jobs communicate; in it the simulated reduction of run time in percent.",
                None,
                map_figure(frames["map"]),
                "Verdicts by load and share, a panel a policy and metric.",
            ),
            Section("Numbers", "", frames["map"]),
        ]
        title = f"Where isolation would pay: {_name(self.requested.config)}"
        return Report(title, self._recommendation(rows, seconds), ["", *lines], sections)

    def _recommendation(self, rows: Sequence[Mapping[str, Any]], seconds: float) -> Recommendation:
        reference = self.requested.config.queue.policies[0]
        effects = map_effects(rows, reference)
        pays = {
            name: sum(row["verdict"] == PAYS for row in rows if row["policy"] == name)
            for name in _names(rows)
        }
        best = max(pays, key=lambda name: pays[name])
        open_points = sum(row["verdict"] == UNKNOWN for row in rows)
        sentence = f"Keep {reference}: isolation pays nowhere on the map, as far as it is decided."
        if open_points == len(rows):
            sentence = "Not significant: no verdict on the map is decided."
        elif pays[best]:
            of_best = [effect for effect in effects if effect.subject == best]
            sentence = f"Isolate jobs with {best} only where it pays: {points_by_metric(of_best)}."
        need = f"about {format_quantity(seconds, 'time', 1)} and more"
        return Recommendation(
            sentence,
            (),
            f"By metric, {len(rows) - open_points} of {len(rows)} verdicts are significant. Every "
            "job of several nodes communicates, for the share of its time on the map's axis.",
            f"{open_points} verdicts are open; a larger --minutes, {need}, decides some of them."
            if open_points
            else "Find your load and share on the map.",
            others=tuple(effects),
        )


def map_effects(rows: Sequence[Mapping[str, Any]], reference: str) -> list[Effect]:
    """Return the queue's effects at all points."""
    found = [
        Effect.of_row(
            row,
            "ratio",
            subject=str(row["policy"]),
            quantity=QUANTITIES[row["metric"]],
            against=reference,
            sample="snapshot",
            samples=int(row["snapshots"]),
            method="queue at the measured gain, with scheduling noise",
            part=f"at load {row['load']}, share {row['share']:g}",
        )
        for row in rows
    ]
    return [effect for effect in found if effect is not None]


def points_by_metric(effects: Sequence[Effect]) -> str:
    """Return at how many points each metric falls and rises, all metrics side by side."""
    parts = []
    for quantity in dict.fromkeys(effect.quantity for effect in effects):
        of_quantity = [effect for effect in effects if effect.quantity == quantity]
        better = sum(effect.better for effect in of_quantity)
        worse = sum(effect.significant for effect in of_quantity) - better
        parts.append(
            f"{quantity.name} falls at {better} of {len(of_quantity)} points, rises at {worse}"
        )
    return "; ".join(parts)


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(row["policy"]) for row in rows))


def _name(config: Config) -> str:
    return run_context(config).queues.jobs.name


def map_lines(policy: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line a metric: at how many points isolation would pay, and at which."""
    lines = []
    for metric, name in METRICS.items():
        of_metric = [row for row in rows if (row["policy"], row["metric"]) == (policy, metric)]
        clear = [_points(of_metric, verdict) for verdict in (PAYS, NOT)]
        unclear = sum(row["verdict"] == UNKNOWN for row in of_metric)
        words = "; ".join(
            [*filter(None, clear), f"{UNKNOWN} at {unclear} of {len(of_metric)} points"]
        )
        lines.append(f"{policy}, {name}: {words}")
    return lines


def _points(rows: Sequence[Mapping[str, Any]], verdict: str) -> str:
    """Return the points of a verdict, share by share; empty if there are none."""
    loads: dict[float, list[str]] = {}
    for row in rows:
        if row["verdict"] == verdict:
            loads.setdefault(float(row["share"]), []).append(str(row["load"]))
    where = [f"share {share:g} at load {', '.join(loads[share])}" for share in sorted(loads)]
    count = sum(map(len, loads.values()))
    return f"{verdict} at {count} of {len(rows)} points ({'; '.join(where)})" if count else ""


def map_figure(rows: pd.DataFrame) -> Figure:
    """Draw a panel a policy and metric."""
    parts = list(rows.groupby(["policy", "metric"], sort=False))
    figure, axes = new_figure(3.0 * len(parts), 3.0, 1, len(parts))
    for axis, ((policy, metric), squares) in zip(axes, parts, strict=True):
        draw_phases(axis, squares, sorted(SHARES), sorted(LOADS))
        axis.set_title(f"{policy}, {METRICS[str(metric)]}", fontsize=9)
    verdict_legend(figure)
    return figure
