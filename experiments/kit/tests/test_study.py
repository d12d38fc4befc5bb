"""What studies share: points computed once, tasks kept until they are done, cells of intervals."""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from experiments.kit.options import numbers_in
from experiments.kit.results import read_tables, stored_keys
from experiments.kit.study import Frames, Report, Request, Study, Trial, run_study
from experiments.kit.study_config import StudyConfig
from netcosim.config.load import config_from
from netcosim.executors.workers import Workers
from netcosim.report.page import Section
from netcosim.report.recommendation import Recommendation
from netcosim.runs.points import RESULTS_FILE, point_key
from netcosim.runs.progress import ProgressReporter
from netcosim.runs.store import Store
from netcosim.runs.tasks import StoredTasks, count_tasks
from netsim.errors import NetcosimError
from queuesim.statistics import Interval, interval_cells, interval_columns

COMPUTED: list[object] = []
CONFIG = {
    "machine": {"family": "torus", "dims": [4, 4]},
    "workload": {"synthetic": {"n_jobs": 5, "mean_nodes": 2}},
    "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
    "run": {"snapshots": 0},
}


@dataclass
class SquareTrial(Trial):
    """Squares, each a task, and how many are asked for in all."""

    offset: int = 0

    def compute(self, request: Request) -> dict[str, list[dict[str, object]]]:
        number, offset = request["number"], self.offset

        def square(number: int, report: object) -> dict[str, np.ndarray]:
            COMPUTED.append(number)
            return {"square": np.array(number**2 + offset)}

        [(_, columns)] = self.runner.each(square, {f"square of {number}": (number,)})
        return {"squares": [{"number": number, "square": int(columns["square"])}]}


@dataclass(frozen=True)
class Squares(Study):
    """A study of so many squares."""

    name: ClassVar[str] = "squares"
    command: ClassVar[str] = "squares"
    numbers: tuple[int, ...]
    finished: bool = True

    @property
    def requests(self) -> Sequence[Request]:
        return [{"number": number} for number in self.numbers]

    def trial(self, *context: Any) -> SquareTrial:
        return SquareTrial(*context, offset=1)

    def report(self, tables: object, frames: Frames, seconds: float) -> Report:
        total = int(frames["squares"]["square"].sum())
        assert seconds > 0
        answer = Recommendation(f"sum {total}", (), "a page", "stop")
        return Report("Squares", answer, [], [Section("s", "", frames["squares"])])

    def is_finished(self, tables: object) -> bool:
        return self.finished


def squares(*numbers: int, finished: bool = True) -> Squares:
    return Squares(StudyConfig(config_from(CONFIG), "text", ()), numbers, finished)


def n_tasks(out: Path) -> int:
    """Stored tasks of the study."""
    key = point_key({**config_from(CONFIG).resolved(), "squares": {}})
    return count_tasks(out / RESULTS_FILE, key)


@pytest.fixture(autouse=True)
def _nothing_computed() -> None:
    COMPUTED.clear()


def test_a_stored_point_is_not_computed_again_and_a_new_one_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    run_study(squares(2, 3), out, 1)
    assert capsys.readouterr().out.splitlines()[0] == "sum 15"
    assert COMPUTED == [2, 3]
    assert len(stored_keys(out / RESULTS_FILE)) == 2
    run_study(squares(4, 3), out, 1)
    assert capsys.readouterr().out.splitlines()[0] == "sum 27"
    assert COMPUTED == [2, 3, 4]
    assert "a page" in (out / "report.html").read_text(encoding="utf-8")
    assert n_tasks(out) == 0
    # in the order of the points that are read, whenever they were stored
    points = [{**config_from(CONFIG).resolved(), "squares": {"number": k}} for k in (4, 2)]
    assert [row["square"] for row in read_tables(out / RESULTS_FILE, points)["squares"]] == [17, 5]


def test_json_is_all_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_study(squares(2), tmp_path / "out", 1, as_json=True, shown=False)
    found = json.loads(capsys.readouterr().out)
    assert found["recommendation"] == "sum 5"
    assert found["effects"] == []
    assert {*found["files"]} == {"page", "results"}


def test_tasks_of_a_study_that_is_not_finished_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_study(squares(2, finished=False), out, 1)
    assert n_tasks(out) == 1
    # another number of points is the same study: its tasks are found
    with closing(sqlite3.connect(out / RESULTS_FILE)) as db, db:
        db.execute("DELETE FROM results")
        db.execute("DELETE FROM points")
    run_study(squares(2, 5), out, 1)
    assert COMPUTED == [2, 5]
    assert n_tasks(out) == 0


def test_cells_of_an_interval_are_read_as_they_were_written() -> None:
    cells = interval_columns("wait", Interval(2.0, 1.0, 4.0), "_s")
    assert cells == {"wait_s": 2.0, "wait_low_s": 1.0, "wait_high_s": 4.0}
    assert interval_cells(interval_columns("wait", Interval(2.0, 1.0, 4.0)), "wait") == (2, 1, 4)
    unknown = interval_columns("wait", Interval(2.0, np.nan, np.nan))
    assert interval_cells(unknown, "wait") == (2.0, None, None)


# Tasks of a study by workers elsewhere


def test_tasks_of_a_study_are_computed_elsewhere(tmp_path: Path) -> None:
    """Workers get all that a task needs, and no file."""

    class Pickling(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            sent.append(pickle.dumps((fn, args)))
            called, given = pickle.loads(sent[-1])
            return super().submit(called, *given)

    sent: list[bytes] = []
    with Pickling(2) as executor, Store(tmp_path / "r.db", "write") as store:
        tasks = StoredTasks(store, "run", Workers(2, executor))
        trial = squares(2).trial(config_from(CONFIG), tasks, ProgressReporter())
        assert trial.compute({"number": 2}) == {"squares": [{"number": 2, "square": 5}]}
        assert store.task_names("run") == {"square of 2"}
    [call] = sent
    assert str(tmp_path).encode() not in call


def test_an_option_of_several_numbers() -> None:
    assert numbers_in("--loads", None) == ()
    assert numbers_in("--loads", "0.1,0.5") == (0.1, 0.5)
    for text in ("0.1,x", "0.1,2²", ""):
        with pytest.raises(NetcosimError, match=r"--loads .*must be numbers"):
            numbers_in("--loads", text)
