"""A study: points computed task by task, stored, and reported on a page and on the screen.

Each point is stored when it is done, and its tasks until all are (`netcosim.runs.tasks`): the same
command continues a study that was stopped.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cosim.measuring.tasks import (
    Columns,
    Progress,
    ReportProgress,
    SerialExecutor,
    TaskRunner,
    schedule_columns,
    schedule_from,
)
from experiments.kit.results import Tables, computing_s, read_tables, stored_keys
from experiments.kit.study_config import StudyConfig
from netcosim.config.config import Config
from netcosim.executors.registry import open_workers
from netcosim.executors.workers import Workers
from netcosim.report.page import Section, render_page, write_page
from netcosim.report.recommendation import Recommendation, listed, print_answer
from netcosim.report.summary import write_summary
from netcosim.runs.frames import frames_of
from netcosim.runs.outcome import Outcome, encode_tables
from netcosim.runs.points import PAGE_FILE, point_key, put_point, results_in
from netcosim.runs.progress import ProgressReporter, progress
from netcosim.runs.schedules import Queues
from netcosim.runs.tasks import stored_tasks
from netsim.inputs import digests
from queuesim.result import QueueResult
from queuesim.runtime import RunTimeModel

if TYPE_CHECKING:
    import pandas as pd

Request = Mapping[str, Any]
"""What a point adds to the config, under the study's name."""
Frames = Mapping[str, "pd.DataFrame"]


@dataclass
class Trial(ABC):
    """What computes a study's points."""

    config: Config
    runner: TaskRunner = field(default_factory=SerialExecutor)
    """Gets schedules and packet simulations computed."""
    reporter: ProgressReporter = field(default_factory=ProgressReporter)

    @abstractmethod
    def compute(self, request: Request) -> Tables:
        """Return the tables of a point."""

    def run_queues(
        self,
        what: str,
        queues: Mapping[str, Queues],
        model: RunTimeModel | None = None,
        progress: Progress | None = None,
    ) -> tuple[dict[str, QueueResult], float]:
        """Return the schedules of policies, each a task, and seconds; as logged by default."""

        def compute(name: str, report_done: ReportProgress) -> Columns:
            began = time.perf_counter()
            columns = schedule_columns(queues[name].under(name, model))
            return {**columns, "seconds": np.array(time.perf_counter() - began)}

        found = self.runner.each(compute, {f"{what}, {n}": (n,) for n in queues}, progress)
        schedules = {
            name: schedule_from(columns, queues[name].jobs, queues[name].topology)
            for name, columns in found
        }
        return schedules, float(sum(float(columns["seconds"]) for _, columns in found))


@dataclass(frozen=True)
class Report:
    """What a study reports."""

    title: str
    recommendation: Recommendation
    """At the head of the page and of the screen."""
    lines: Sequence[str]
    """On the screen, below it."""
    sections: Sequence[Section]
    main: Sequence[Section] = ()
    """The first figure and the first table of these are on a summary; of ``sections`` if empty."""


@dataclass(frozen=True)
class Study(ABC):
    """Points, what computes them, and what is reported of their tables."""

    name: ClassVar[str]
    """The key of each point that holds its request."""
    command: ClassVar[str]
    reuses_points: ClassVar[bool] = True
    """Whether a stored point is not computed again."""
    requested: StudyConfig

    @property
    @abstractmethod
    def requests(self) -> Sequence[Request]:
        """What each point adds to the config."""

    @abstractmethod
    def trial(self, config: Config, runner: TaskRunner, reporter: ProgressReporter) -> Trial:
        """Return what computes the points of a config, which may be completed."""

    @abstractmethod
    def report(self, tables: Tables, frames: Frames, seconds: float) -> Report:
        """Return what the tables of all points show, which took so long to compute."""

    def is_finished(self, tables: Tables) -> bool:
        """Return whether the same command would add nothing, so that no task need be kept."""
        return True

    def export(self, out: Path, frames: Frames, report: Report) -> dict[str, Path]:
        """Write files beside the page; return which."""
        return {"results": results_in(out)}

    def next_step(self, out: Path, tables: Tables) -> str:
        """Return the last line on the screen; empty for none."""
        return ""


def run_study(
    study: Study,
    out: Path,
    jobs: int,
    executor: str = "",
    *,
    summary: Path | None = None,
    shown: bool = True,
    as_json: bool = False,
) -> None:
    """Compute what is not stored, write page, files and perhaps a summary, and print the answer.

    ``jobs`` and ``executor`` are those of `netcosim.runs.sweep.run_points`. With ``as_json`` the
    effects are printed as JSON.
    """
    started = time.perf_counter()
    with open_workers(executor, jobs) as workers:
        if workers is None:
            return
        tables, seconds = _computed(study, results_in(out), workers, shown)
    frames, config = frames_of(tables), study.requested.config
    report = study.report(tables, frames, seconds)
    page = render_page(
        report.title,
        "",
        [report.recommendation.section(), *report.sections],
        config=study.requested.text,
        seeds={"run.seed": config.run.seed, "run.repetition": config.run.repetition},
        inputs=digests([config.resolved()]),
    )
    files = {"page": out / PAGE_FILE, **study.export(out, frames, report)}
    write_page(files["page"], page)
    if summary is not None:
        main = report.main or report.sections
        files["summary"] = write_summary(summary, report.title, report.recommendation, main)
    # last, because a reader that has gone away must not cost the results
    lines = [*report.lines, f"{time.perf_counter() - started:.0f} s; {listed(files)}"]
    lines += filter(None, [study.next_step(out, tables)])
    print_answer(report.recommendation, lines, files, as_json)


def _computed(study: Study, results: Path, workers: Workers, shown: bool) -> tuple[Tables, float]:
    """Return the tables of all points, as they are stored, and the seconds that these took."""
    config = study.requested.config
    content = config.resolved()
    points = [{**content, study.name: request} for request in study.requests]
    known = stored_keys(results) if study.reuses_points else set()
    missing = [point for point in points if point_key(point) not in known]
    if not missing:
        return read_tables(results, points), computing_s(results, points)
    with (
        progress(100, "%", shown=shown) as show,
        stored_tasks(
            results, point_key({**content, study.name: {}}), workers, config, show
        ) as tasks,
    ):
        reporter = ProgressReporter(lambda what, share: show.at(100 * share, what), show.print_line)
        trial = study.trial(config, tasks, reporter)
        for point in missing:
            began = time.perf_counter()
            encoded = encode_tables(trial.compute(point[study.name]))
            outcome = Outcome(encoded, None, time.perf_counter() - began)
            text = study.requested.text
            put_point(tasks.store, point, outcome, config_text=text, title=study.command)
        tables = read_tables(results, points)
        if study.is_finished(tables):
            tasks.store.drop_tasks()
    return tables, computing_s(results, points)
