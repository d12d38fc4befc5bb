"""Isolation gain as a study: one point, predicted or measured within a time budget, its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from experiments.isolation.gain.sentences import (
    gain_effects,
    lines_of,
    queue_effects,
    recommend,
    rests_on,
)
from experiments.isolation.gain.tables import TabulatedGain
from experiments.isolation.gain.trial import PREDICT, TIME_USED
from experiments.isolation.gain.verdict import METRICS, PAPERS_PERCENT, QUANTITIES
from experiments.kit.results import Tables
from experiments.kit.study import Frames, Report, Request, Study
from experiments.kit.study_config import TimeBudget
from netcosim.report.effect import Effect, effect_rows
from netcosim.report.figures.style import SOFT, grid, new_figure, policy_colours
from netcosim.report.page import Section, long_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class IsolationGain(Study):
    """Whether isolation would pay."""

    name: ClassVar[str] = "isolation_gain"
    command: ClassVar[str] = "netcosim isolation-gain"
    # more time may add snapshots
    reuses_points: ClassVar[bool] = False
    budget: TimeBudget
    predict: bool
    """Predict the gain without packets."""

    @property
    def requests(self) -> Sequence[Request]:
        """See `experiments.kit.study.Study`."""
        return [{PREDICT: self.predict}]

    def trial(self, *context: Any) -> TabulatedGain:
        """See `experiments.kit.study.Study`."""
        return TabulatedGain(*context, budget=self.budget)

    def is_finished(self, tables: Tables) -> bool:
        """Return whether the time sufficed."""
        return all(row["why"] != TIME_USED for row in tables["gains"])

    def next_step(self, out: Path, tables: Tables) -> str:
        """Return what the same command would add."""
        more = "The same command goes on with more snapshots."
        return "" if self.is_finished(tables) else more

    def report(self, tables: Tables, frames: Frames, seconds: float) -> Report:
        """Return the answer, all sections, and the basis of the answer."""
        text = "\n\n".join([rests_on(tables), *self.requested.notes])
        about = Section("Setup", text, frames["rests_on"])
        sections = [
            *(one for one in _sections(tables, frames) if one.table is None or len(one.table)),
            about,
        ]
        title = f"Would isolation pay? {tables['rests_on'][0]['log']}"
        return Report(title, recommend(tables), lines_of(tables), sections)


def _sections(tables: Tables, frames: Frames) -> list[Section]:
    of_queue, of_runs = (_all(f(tables)) for f in (queue_effects, gain_effects))
    reference = str(tables["rests_on"][0]["reference"])
    return [
        Section(
            "Gain and break-even",
            "Changes from the reference, whose jobs run as logged, if jobs that communicate "
            "run so much shorter under the isolating policy: the queue at 0, -5, -10 and "
            "-20 % and the line through these. Below 0 isolation pays. Upright band: the run time "
            "that was measured; band around a line: scheduling noise (logs drawn again).",
            effect_rows(of_queue),
            break_even_figure(frames["curve"], frames["metrics"], frames["gains"], reference),
            "Makespan, turnaround and slowdown by run time; marks at what papers assumed.",
        ),
        Section(
            "How much isolation reduces run times",
            "Packets of the jobs at instants of the reference's schedule, all in loops until "
            "their means hold still; mean over node-hours, Student's interval over snapshots. "
            "Intervals are corrected for repeated looks.",
            effect_rows(of_runs),
        ),
        long_table("Break-even", frames["metrics"], folded=True),
        Section(
            "If jobs communicated less or more",
            "The measured gain, changed by the predictor (experiments/isolation/gain.md), with "
            "its error on logs that it had not seen.",
            frames["shares"],
        ),
        long_table("Drawn logs", frames["drawn"], folded=True),
        long_table("Pairs", frames["pairs"], folded=True),
    ]


def _all(effects: Mapping[str, Sequence[Effect]]) -> list[Effect]:
    return [effect for found in effects.values() for effect in found]


def break_even_figure(
    curve: pd.DataFrame, metrics: pd.DataFrame, gains: pd.DataFrame, reference: str
) -> Figure:
    """Draw a panel a metric, from the tables of the same names."""
    policies = list(dict.fromkeys(curve["policy"]))
    # an end that is not known is None in a table
    metrics = metrics.astype({"ratio_low": float, "ratio_high": float, "chance": float})
    gains = gains.astype({"gain_percent_low": float, "gain_percent_high": float})
    colours = policy_colours(policies)
    figure, axes = new_figure(3.6 * len(METRICS), 3.6, 1, len(METRICS))
    for axis, metric in zip(axes, METRICS, strict=True):
        axis.axhline(0.0, color=SOFT, linewidth=1.0)
        for percent in PAPERS_PERCENT:
            axis.axvline(-percent, color=SOFT, linewidth=0.6, linestyle=":")
        for name in policies:
            points = curve[curve["policy"] == name]
            paint, x = colours[name], -points["gain_percent"].to_numpy(float)
            y = 100 * (points[metric].to_numpy(float) - 1)
            slope, at_none = np.polyfit(x, y, 1)
            reach = np.array([min(x), 0.0])
            line = at_none + slope * reach
            row = metrics[(metrics["policy"] == name) & (metrics["metric"] == metric)].iloc[0]
            axis.plot(x, y, "o", color=paint, markersize=4, label=name)
            axis.plot(reach, line, "-", color=paint, linewidth=1.0)
            noise = 100 * row["chance"]
            if np.isfinite(noise):
                axis.fill_between(reach, line - noise, line + noise, color=paint, alpha=0.12)
            gain = gains[gains["policy"] == name].iloc[0]
            measured, ratio = -gain["gain_percent"], 100 * (row["ratio"] - 1)
            ends = [-gain[f"gain_percent{end}"] for end in ("_low", "_high")]
            if all(np.isfinite(ends)):
                axis.axvspan(*ends, color=paint, alpha=0.15, linewidth=0)
                low, high = (100 * (float(row[f"ratio_{end}"]) - 1) for end in ("low", "high"))
                if np.isfinite(low) and np.isfinite(high):
                    axis.vlines(measured, low, high, color=paint, linewidth=2.0)
            axis.plot([measured], [ratio], "D", color=paint, markersize=6)
        axis.set_xlabel(QUANTITIES["gain_percent"].label(reference), fontsize=8)
        axis.set_ylabel(QUANTITIES[metric].label(reference), fontsize=8)
        grid(axis)
    axes[0].legend(frameon=False, fontsize=8)
    return figure
