"""The judge as a study: the run, then each other communication fraction, and their report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from experiments.judge.config import JudgeConfig
from experiments.judge.page import COMMUNICATION, NODE_HOURS, judge_sections
from experiments.judge.trial import FRACTION, JudgeTrial
from experiments.judge.verdict import details, paired_effects, recommend
from experiments.judge.waits import rate_waits
from experiments.kit.results import Tables, write_tables
from experiments.kit.study import Frames, Report, Request, Study
from netcosim.report.figures.drawing import write_figures
from netcosim.report.page import Section, figures_of
from netsim.atomic_files import write_text_atomically

CONFIG_FILE, TABLES_FOLDER, FIGURES_FOLDER = "judge.toml", "tables", "figures"


@dataclass(frozen=True)
class Judge(Study):
    """Whether a topology setting pays."""

    name: ClassVar[str] = "judge"
    command: ClassVar[str] = "netcosim judge"
    requested: JudgeConfig

    @property
    def requests(self) -> Sequence[Request]:
        """The run, and everything measured again at each fraction."""
        return [{FRACTION: fraction} for fraction in (None, *self.requested.section.fractions)]

    def trial(self, *context: Any) -> JudgeTrial:
        """See `experiments.kit.study.Study`."""
        return JudgeTrial(*context, fractions=len(self.requested.section.fractions))

    def report(self, tables: Tables, frames: Frames, seconds: float) -> Report:
        """Return the answer, a line a policy, and all sections."""
        queue = self.requested.config.queue
        trusted = rate_waits(tables["reproduced"][0], queue.order, queue.backfill)
        notes = [f"{note[0].upper()}{note[1:]}." for note in self.requested.notes]
        lines = [*details(tables), *notes]
        log = tables["machine_and_jobs"][0]["log"]
        run = self.requested.config.run
        answer = recommend(
            tables, trusted, seconds, assumed=self.requested.assumed, level=run.confidence
        )
        sections = [
            Section("Policy by policy", "\n\n".join(lines)),
            *judge_sections(self.requested, frames, paired_effects(tables)),
        ]
        by_title = {section.title: section for section in sections}
        main = [replace(by_title[COMMUNICATION], table=None)]
        main += [by_title[NODE_HOURS]] if NODE_HOURS in by_title else []
        return Report(f"Does the topology setting pay? {log}", answer, lines, sections, main)

    def export(self, out: Path, frames: Frames, report: Report) -> dict[str, Path]:
        """Write the config, a CSV file a table and the figures."""
        tables, figures = out / TABLES_FOLDER, out / FIGURES_FOLDER
        write_text_atomically(out / CONFIG_FILE, self.requested.text)
        write_tables(tables, frames)
        write_figures(figures_of(report.sections), figures, "svg")
        return {"tables": tables, "figures": figures}

    def next_step(self, out: Path, tables: Tables) -> str:
        """Return the command that runs the judge again."""
        return f"again, or with other assumptions: netcosim judge --config {out / CONFIG_FILE}"
