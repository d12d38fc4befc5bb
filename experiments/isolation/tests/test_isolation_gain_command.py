"""`netcosim isolation-gain` on small made logs: what it tells, how it goes on, what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from console import ROOT, sitting
from study_configs import GAIN

from cosim.measuring.tasks import SerialExecutor
from experiments.isolation.gain.config import load_gain_config
from experiments.isolation.gain.queues import GAINS, metrics
from experiments.isolation.gain.tables import TabulatedGain
from experiments.isolation.gain.trial import GainTrial
from experiments.isolation.gain.verdict import METRICS
from experiments.kit.study_config import TimeBudget
from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.report.effect import signed
from netcosim.runs.store import Store

pytestmark = pytest.mark.usefixtures("undrawn")

LONG = ["--minutes", "1000"]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(GAIN, encoding="utf-8")
    return path


def stored(folder: str) -> dict[str, list[dict[str, object]]]:
    names = ("gains", "metrics", "node_hours", "shares", "rests_on", "curve", "drawn", "pairs")
    with Store(Path(folder) / "results.db", "read") as store:
        [point] = store.points()
        known = store.table_names()
        return {name: list(store.rows(point.key, name)) for name in names if name in known}


def n_tasks(folder: str) -> int:
    """Tasks that are kept for the same command again."""
    with Store(Path(folder) / "results.db", "read") as store:
        tables = store._db.execute("SELECT name FROM sqlite_master").fetchall()
        query = "SELECT count(*) FROM tasks"
        return int(store._db.execute(query).fetchone()[0]) if ("tasks",) in tables else 0


def test_the_answer_is_on_the_screen_and_the_same_on_two_processes(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["isolation-gain", str(config), *LONG, "--out", "one"]) == 0
    told = capsys.readouterr()
    first = told.out.splitlines()[0]
    assert re.match(r"Isolate jobs with jigsaw: |Keep baseline|Isolating jobs with jigsaw", first)
    verdicts = "would pay|would not pay|not significant"
    assert re.search(rf"^jigsaw, isolation ({verdicts}):$", told.out, re.M)
    page = (Path("one") / "report.html").read_text(encoding="utf-8")
    [sentence] = re.findall(r'<p class="sentence">(.*?)</p>', page)
    assert re.sub("<[^>]+>", "", sentence).replace("\u00a0", " ") == first
    assert len(told.out.splitlines()) <= 26
    assert "left out, as they do not isolate: random" in told.err
    tables = stored("one")
    [gain] = tables["gains"]
    assert gain["snapshots"] in (5, 8, 16, 32, 64)
    assert gain["level"] == pytest.approx(0.99)
    pairs = tables["pairs"]
    nodes = np.array([pair["n_nodes"] for pair in pairs], dtype=float)
    ratio = np.array([pair["run_ratio"] for pair in pairs], dtype=float)
    # what is told is the mean over node-hours of what was measured
    assert gain["gain_percent"] == pytest.approx(100 * np.average(1 - ratio, weights=nodes))
    assert gain["by_job_percent"] == pytest.approx(100 * np.mean(1 - ratio))
    for row in tables["metrics"]:
        value, low, high = (signed(100 * (row[f"ratio{end}"] - 1)) for end in ("", "_low", "_high"))
        name = METRICS[row["metric"]]
        assert f"{name} {value} % ({low} to {high}; {len(tables['drawn'])} bootstrap" in told.out
        # the ends of the gain are not nearer than the queue's chance alone
        half = min(row["ratio"] - row["ratio_low"], row["ratio_high"] - row["ratio"])
        assert half >= row["chance"] - 1e-12
    assert n_tasks("one") == 0
    assert re.findall(r'<section id="([-a-z]+)" class="folded">', page)[:3] == [
        "break-even", "drawn-logs", "pairs",
    ]  # fmt: skip
    assert "Setup" in page
    assert main(["isolation-gain", str(config), *LONG, "--jobs", "2", "--out", "two"]) == 0
    assert stored("two") == tables


@pytest.mark.full
def test_the_time_that_is_used_is_told_and_the_same_command_goes_on(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["isolation-gain", str(config), "--minutes", "1e-6", "--out", "out"]) == 0
    told = capsys.readouterr().out
    first, sentence, *_ = told.splitlines()
    assert first == "Scheduling noise not estimated (0 of 5 bootstrap logs drawn)."
    assert sentence.startswith("Keep baseline for now: jigsaw changes makespan by ")
    assert "Next: 4 more snapshots would give an interval, about " in told
    assert "The same command goes on with more snapshots." in told
    [gain] = stored("out")["gains"]
    assert (gain["snapshots"], gain["why"]) == (1, "time used")
    assert gain["more_snapshots"] == 4
    assert gain["more_s"] > 0
    assert n_tasks("out") > 4
    assert main(["isolation-gain", str(config), *LONG, "--out", "out"]) == 0
    told = capsys.readouterr()
    assert "tasks of this run are stored" in told.err
    assert n_tasks("out") == 0
    assert main(["isolation-gain", str(config), *LONG, "--out", "new"]) == 0
    assert stored("out") == stored("new")


def trial(config: Path) -> GainTrial:
    budget = TimeBudget(0.0, 1e12, 1)
    return TabulatedGain(load_gain_config(config).config, SerialExecutor(), budget=budget)


def test_node_hours_of_the_curve_have_the_closed_form(config: Path) -> None:
    case = trial(config)
    jobs = case.context.queues.jobs
    node_s = jobs.n_nodes * jobs.run_time_s
    share = node_s[jobs.n_nodes > 1].sum() / node_s.sum()
    assert 0 < share < 1
    for gain in GAINS:
        # jobs of one node gain nothing, all others alike; nobody gets more nodes than it wants
        assert case.curve["jigsaw"][gain]["node_hours"] == pytest.approx(1 - gain / 100 * share)


def test_the_chance_of_the_queue_is_the_scatter_of_drawn_logs(config: Path) -> None:
    case = trial(config)
    drawn = case.drawn["jigsaw"]
    assert len(drawn) == 12
    values = np.array([one["makespan"] for one in drawn])
    assert len(set(values.tolist())) > 3
    # Student's t of 11 degrees of freedom at 95 %
    assert case.noise("jigsaw", "makespan") == pytest.approx(2.201 * values.std(ddof=1), rel=1e-3)


def test_metrics_are_those_of_the_schedule(config: Path) -> None:
    case = trial(config)
    schedule = case.schedules["baseline"]
    found = metrics(schedule)
    assert found["makespan"] == schedule.end_s.max()
    assert found["mean_turnaround"] == pytest.approx(schedule.end_s.mean())
    slowdown = schedule.end_s / np.maximum(schedule.end_s - schedule.start_s, 10)
    assert found["mean_slowdown"] == pytest.approx(np.maximum(slowdown, 1).mean())
    busy = schedule.workload.n_nodes * schedule.workload.run_time_s
    assert found["node_hours"] == pytest.approx(busy.sum() / 3600)


def test_without_packets_none_is_sent(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a packet was sent")

    for method in ("packets", "loops"):
        monkeypatch.setattr(f"cosim.network.ensemble.Ensemble.{method}", refuse)
    given = config.read_text(encoding="utf-8").replace(
        "[machine]", '[machine]\nrouting = "adaptive"'
    )
    config.write_text(given, encoding="utf-8")
    assert main(["isolation-gain", str(config), *LONG, "--predict", "--out", "out"]) == 0
    told = capsys.readouterr().out
    assert "PREDICTED without packets (95 % interval)" in told
    assert "WARNING, outside of what the predictor was fitted on: routing adaptive" in told


def test_a_prediction_without_time_for_the_queues_chance_cannot_tell(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(config), "--minutes", "1e-6", "--predict", "--out", "out"]
    assert main(["isolation-gain", *given]) == 0
    told = capsys.readouterr().out
    assert "\nKeep baseline for now: jigsaw changes makespan by " in told
    assert "Scheduling noise not estimated (0 of 5 bootstrap logs drawn)." in told
    # what has no interval is not said to be even
    assert "even without shorter" not in told
    assert (Path("out") / "report.html").exists()


def test_a_config_without_policies_and_mix_gets_some_and_is_told(config: Path) -> None:
    content = GAIN.replace('policies = ["baseline", "jigsaw", "random"]', "window = 9")
    start, end = content.index("[[communication"), content.index("[run.steady]")
    config.write_text(content[:start] + content[end:], encoding="utf-8")
    asked = load_gain_config(config)
    assert asked.config.queue.policies == ("longest-idle", "jigsaw")
    assert asked.config.queue.window == 9
    assert len(asked.config.communication.mix) == 9
    assert any("queue.policies is not given: longest-idle, jigsaw" in note for note in asked.notes)
    assert any(note.startswith("ASSUMED") for note in asked.notes)
    # what was filled in is a config like any other
    assert config_from(asked.config.resolved()).resolved() == asked.config.resolved()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            '"jigsaw", ',
            "",
            '["baseline", "random"]; none isolates; add one of jigsaw, laas, laas-coded, lc',
        ),
        ('"baseline", "jigsaw"', '"jigsaw", "laas"', 'key queue.policies: "jigsaw"; it isolates'),
        (
            'family = "fattree"\nradix = 4\nbandwidth = "5 GB/s"',
            'preset = "dragonfly-272"',
            'key machine.family: "dragonfly"; isolation-gain needs a fattree',
        ),
        ("mean_nodes = 4", "sizes = [1]", "no job of several nodes communicates"),
        ("= 0.5", "= 0", "no job of several nodes communicates; isolation has nothing to gain"),
        ("[queue]", '[reference]\n"queue.window" = 3\n[queue]', "takes reference.policy alone"),
        ("[queue]", "[sweep]\na = 1\n[queue]", "key sweep: belongs to netcosim sweep"),
        ("[run.steady]", "[run.steady]\nnoises = 1", "key run.steady.noises"),
    ],
)
def test_a_mistake_is_one_line(
    config: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, told: str
) -> None:
    text = config.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new)
    if "dragonfly" in new:
        text = text.replace('"jigsaw", "random"', '"simple"')
    config.write_text(text, encoding="utf-8")
    assert main(["isolation-gain", str(config), *LONG]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("netcosim: error: ")
    assert told in error
    assert not list(Path().glob("netcosim-gain-*"))


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf"])
def test_a_time_budget_that_is_none_is_one_line(
    config: Path, minutes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["isolation-gain", str(config), "--minutes", minutes, "--out", "out"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "minutes" in line


@pytest.mark.full
def test_the_page_shows_what_comes_out(tmp_path: Path) -> None:
    done = dict(sitting(ROOT / "experiments" / "isolation" / "gain.md", tmp_path))
    assert list(done) == ["netcosim isolation-gain mine.toml --minutes 60"]
    assert not any(done.values()), done
