"""Isolation gain as a study: one point, predicted or measured within a time budget, its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from matplotlib.figure import Figure

from netcosim.gain.sentences import lines_of, recommend, rests_on
from netcosim.gain.tables import TabulatedGain
from netcosim.gain.trial import PREDICT, TIME_USED
from netcosim.gain.verdict import METRICS, PAPERS_PERCENT
from netcosim.report.figures.style import SOFT, grid, new_figure, policy_colours
from netcosim.report.page import Section, long_table
from netcosim.study.budget import TimeBudget
from netcosim.study.results import Tables
from netcosim.study.study import Frames, NewTrial, Report, Request, Study

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
        """See `netcosim.study.study.Study`."""
        return [{PREDICT: self.predict}]

    @property
    def new_trial(self) -> NewTrial:
        """See `netcosim.study.study.Study`."""
        return partial(TabulatedGain, budget=self.budget)

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
        about = Section("What it rests on", text, frames["rests_on"])
        sections = [
            *(one for one in _sections(frames) if one.table is None or len(one.table)),
            about,
        ]
        title = f"Would isolation pay? {tables['rests_on'][0]['log']}"
        return Report(title, recommend(tables), lines_of(tables), sections)


def _sections(frames: Frames) -> list[Section]:
    return [
        Section(
            "Gain and break-even",
            "Ratios to the reference, whose jobs run as logged, if jobs that communicate "
            "run so many percent shorter under the isolating policy: the queue at 0, 5, 10 and "
            "20 % and the line through these. Below 1 isolation pays. Upright band: the gain that "
            "was measured; band around a line: scheduling noise (logs drawn "
            "again).",
            frames["metrics"],
            break_even_figure(frames["curve"], frames["metrics"], frames["gains"]),
            "Makespan and mean turnaround by gain; marks at what papers assumed.",
        ),
        Section(
            "How much isolation reduces run times",
            "Packets of the jobs at instants of the reference's schedule, all in loops until "
            "their means hold still; mean over node-hours, Student's interval over snapshots. "
            "Intervals are corrected for repeated looks.",
            frames["gains"],
        ),
        Section("Node-hours", "Over the reference's.", frames["node_hours"]),
        Section(
            "If jobs communicated less or more",
            "The measured gain, changed by the predictor (docs/isolation-gain.md), with "
            "its error on logs that it had not seen.",
            frames["shares"],
        ),
        long_table("drawn logs", frames["drawn"]),
        long_table("pairs", frames["pairs"]),
    ]


def break_even_figure(curve: pd.DataFrame, metrics: pd.DataFrame, gains: pd.DataFrame) -> Figure:
    """Draw a panel a metric.

    Parameters
    ----------
    curve : DataFrame
        Columns ``policy``, ``gain_percent`` and the metrics: ratios.
    metrics : DataFrame
        Columns ``policy``, ``metric``, ``ratio`` with its ends, ``chance``.
    gains : DataFrame
        Columns ``policy``, ``gain_percent`` with its ends.
    """
    policies = list(dict.fromkeys(curve["policy"]))
    # an end that is not known is None in a table
    metrics = metrics.astype({"ratio_low": float, "ratio_high": float, "chance": float})
    gains = gains.astype({"gain_percent_low": float, "gain_percent_high": float})
    colours = policy_colours(policies)
    figure, axes = new_figure(8.0, 3.6, 1, len(METRICS))
    for axis, (metric, word) in zip(axes, METRICS.items(), strict=True):
        axis.axhline(1.0, color=SOFT, linewidth=1.0)
        for percent in PAPERS_PERCENT:
            axis.axvline(percent, color=SOFT, linewidth=0.6, linestyle=":")
        for name in policies:
            mine = curve[curve["policy"] == name]
            paint, x = colours[name], mine["gain_percent"].to_numpy(float)
            slope, at_none = np.polyfit(x, mine[metric].to_numpy(float), 1)
            reach = np.array([0.0, max(x)])
            line = at_none + slope * reach
            row = metrics[(metrics["policy"] == name) & (metrics["metric"] == metric)].iloc[0]
            axis.plot(x, mine[metric], "o", color=paint, markersize=4, label=name)
            axis.plot(reach, line, "-", color=paint, linewidth=1.0)
            if np.isfinite(row["chance"]):
                axis.fill_between(
                    reach, line - row["chance"], line + row["chance"], color=paint, alpha=0.12
                )
            gain = gains[gains["policy"] == name].iloc[0]
            ends = [gain[f"gain_percent{end}"] for end in ("_low", "_high")]
            if all(np.isfinite(ends)):
                axis.axvspan(*ends, color=paint, alpha=0.15, linewidth=0)
                low, high = float(row["ratio_low"]), float(row["ratio_high"])
                if np.isfinite(low) and np.isfinite(high):
                    axis.vlines(gain["gain_percent"], low, high, color=paint, linewidth=2.0)
            axis.plot([gain["gain_percent"]], [row["ratio"]], "D", color=paint, markersize=6)
        axis.set_xlabel("less run time (%)")
        axis.set_title(f"{word} over the reference's")
        grid(axis)
    axes[0].legend(frameon=False, fontsize=8)
    return figure
