"""A run in parts: kept as they come, on several processes, taken up after a kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosim.measuring.parts import (
    Columns,
    Part,
    ReportProgress,
    SerialExecutor,
    cut,
    schedule_columns,
    schedule_from,
)
from netcosim import cli
from netcosim.config.config import Config
from netcosim.config.load import load_config_text
from netcosim.executors.workers import Workers
from netcosim.runs import journal, run_jobs
from netcosim.runs.cosim import point_result, run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.journal import Journal, drop, journal_name, journals_in
from netcosim.runs.outcome import encode_tables
from netcosim.runs.points import point_key
from netcosim.runs.run_jobs import worker_pool
from netcosim.runs.run_output import run_and_report
from netcosim.runs.run_plan import plan_run
from netcosim.runs.store import Store
from netcosim.study.results import RESULTS_FILE
from netsim.errors import NetcosimError
from netsim.file_lock import acquire_lock

PLUGIN = """
import numpy as np
from alloc.nodes import NodePolicy

class Last(NodePolicy):
    name = "last"
    description = "free nodes from the other end"
    counts_only = True

    def _select(self, n_nodes):
        return np.flatnonzero(self._free)[-n_nodes:]

PLUGIN = [Last]
"""

CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 9
[workload.synthetic]
n_jobs = 80
mean_nodes = 8
[communication]
mix = [{pattern = "all-to-all", node_bytes = 200000}, {pattern = "halo2d", node_bytes = 200000}]
[queue]
policies = ["rdn", "simple", "level-spread"]
run_time_model = "measured"
[run]
snapshots = 12
keep = "all"
measure = "MEASURE"
"""


def config_of(folder: Path, measure: str = "stretch", **changes: str) -> tuple[Config, str]:
    """The config with some of its text replaced; written there as c.toml."""
    text = CONFIG.replace("MEASURE", measure)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / "c.toml"
    path.write_text(text)
    return load_config_text(path)


def digest(out: Path) -> str:
    with Store(out / RESULTS_FILE, "read") as store:
        return store.digest()


def stored(result: CosimResult) -> dict[str, str | bytes]:
    """What a store takes of a run."""
    found = point_result(result)
    return {**encode_tables(found.tables), **found.kept}


def tables(config: Config, out: Path, jobs: int) -> dict[str, str | bytes]:
    """What a run stores, without its page."""
    kept = Journal(out / journal_name(point_key(config.resolved())))
    with config.plugged(), worker_pool(config, kept, Workers(jobs), lambda line: None):
        return stored(run_cosim(config, parts=kept))


@pytest.mark.full
def test_two_processes_and_one_give_the_same_bits(tmp_path: Path) -> None:
    config, text = config_of(tmp_path)
    for jobs in (1, 2):
        run_and_report(config, text, tmp_path / str(jobs), title="t", jobs=jobs)
    assert digest(tmp_path / "1") == digest(tmp_path / "2")
    assert sorted(p.name for p in (tmp_path / "2").iterdir()) == ["report.html", RESULTS_FILE]


@pytest.mark.full
def test_so_do_pairs_and_a_plug_in_s_policy(tmp_path: Path) -> None:
    """And with nobody behind it: `SerialExecutor`."""
    (tmp_path / "last.py").write_text(PLUGIN)
    changes = {'"level-spread"]': '"last"]', "[machine]": 'plugins = ["last.py"]\n[machine]'}
    config, _ = config_of(tmp_path, "paired", **changes)
    here = stored(run_cosim(config))
    assert {"paired", "pairs", "links", "speedups"} <= set(here)
    assert tables(config, tmp_path / "1", 1) == tables(config, tmp_path / "2", 2) == here


def wait_for(parts: int, out: Path, victim: subprocess.Popen[bytes]) -> None:
    """Until so many parts are kept and the run still goes."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and victim.poll() is None:
        # the command makes the folder, and removes it once where it only checks that it can
        with suppress(FileNotFoundError):
            if len(list(out.glob("unfinished-*/*.npz"))) >= parts:
                return
        time.sleep(0.005)
    raise AssertionError(f"{parts} parts did not come: the run has ended with {victim.poll()}")


@pytest.mark.full
def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_bits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 in the middle of the packets; what was done is not computed again."""
    config, text = config_of(tmp_path, "paired")
    whole, out = tmp_path / "whole", tmp_path / "out"
    run_and_report(config, text, whole, title="t")
    command = [sys.executable, "-m", "netcosim", "run", str(tmp_path / "c.toml"), "--out", str(out)]
    victim = subprocess.Popen([*command, "--jobs", "2"], stderr=subprocess.DEVNULL)
    wait_for(40, out, victim)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert not (out / RESULTS_FILE).exists()
    [folder] = journals_in(out)
    time.sleep(0.5)  # a helper of a killed run ends by itself
    acquire_lock(folder / "run").close()
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    capsys.readouterr()
    computed: list[str] = []
    read = Journal._read

    def noting(self: Journal, name: str) -> Columns | None:
        found = read(self, name)
        if found is not None:
            computed.append(name)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "_read", noting)
        patch.setattr("netcosim.runs.run_output.drop", lambda folder: None)
        run_and_report(config, text, out, title="t")
    assert f"{len(kept)} parts of this run are done" in capsys.readouterr().err
    assert len(kept) >= 40
    assert len(set(computed)) == len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert digest(out) == digest(whole)
    drop(folder)
    assert not folder.exists()


def test_the_command_takes_jobs_and_says_what_it_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config_of(tmp_path)
    path = str(tmp_path / "c.toml")
    assert cli.main(["run", path, "--out", str(tmp_path / "o"), "--dry-run", "--jobs", "2"]) == 0
    told = capsys.readouterr().out.splitlines()
    # three policies, logged and again; 12 snapshots of each
    assert told[0] == "6 queues, 36 snapshots"
    assert told[1].startswith("estimate: ")
    assert "on 2 processes" in told[1]
    assert not (tmp_path / "o").exists()
    assert cli.main(["run", path, "--jobs", "0"]) == 2
    assert "jobs = 0; allowed on this machine" in capsys.readouterr().err


def test_a_plan_counts_what_is_asked_for(tmp_path: Path) -> None:
    config, _ = config_of(tmp_path, **{'"measured"': '"as-logged"', "= 12": "= 5"})
    plan = plan_run(config, tmp_path, 2)
    assert (plan.schedules, plan.snapshots, plan.rounds, plan.parts_done) == (3, 15, 2, 0)
    alone = plan_run(config, tmp_path, 1)
    # hops are counted, not clocked: as many on one process, in twice the time
    assert alone.packets_s == plan.packets_s > 0
    assert alone.rounds == 3


def test_a_plan_counts_every_round(tmp_path: Path) -> None:
    """Each measures the snapshots and runs the queues once more."""
    measured = 'run_time_model = "measured"'
    once, thrice = (
        plan_run(
            config_of(tmp_path, **{measured: f"{measured}\nmeasured.rounds = {n}"})[0], tmp_path, 1
        )
        for n in (1, 3)
    )
    assert once.schedules == 2 * 3
    assert thrice.schedules == (1 + 3) * 3
    assert thrice.snapshots == 3 * once.snapshots
    assert thrice.packets_s == pytest.approx(3 * once.packets_s)


# The journal


def part_of(name: str, values: object, log: list[str] | None = None) -> Part:
    def compute(tell: ReportProgress) -> Columns:
        tell(0.5)
        if log is not None:
            log.append(name)
        return {"x": np.array(values)}

    return Part(name, compute)


def test_parts_come_in_order_and_are_computed_once(tmp_path: Path) -> None:
    log: list[str] = []
    parts = [part_of(name, i, log) for i, name in enumerate("abc")]
    told: list[tuple[str, float]] = []
    resumed: list[int] = []
    found = Journal(tmp_path / "j").each(parts[:2], lambda what, share: told.append((what, share)))
    assert [int(columns["x"]) for columns in found] == [0, 1]
    assert told == [("a", 0.25), ("a", 0.5), ("b", 0.75), ("b", 1.0)]
    again = Journal(tmp_path / "j", lambda: resumed.append(1))
    assert [int(columns["x"]) for columns in again.each(parts)] == [0, 1, 2]
    assert log == ["a", "b", "c"]
    assert resumed == [1]
    assert len(again) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "another", "objects", "empty"])
def test_a_damaged_part_is_computed_again(tmp_path: Path, damage: str) -> None:
    log: list[str] = []
    kept = Journal(tmp_path / "j")
    kept.each([part_of("a", np.arange(1000), log), part_of("b", [1.0], log)])
    path, other = kept._path("a"), kept._path("b")
    raw = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(raw[: len(raw) // 2])
    elif damage == "flipped":
        raw[len(raw) // 2] ^= 1
        path.write_bytes(raw)
    elif damage == "another":
        path.write_bytes(other.read_bytes())
    elif damage == "objects":
        np.savez(path, x=np.array([{}], dtype=object), allow_pickle=True)
    else:
        path.write_bytes(b"")
    [columns] = kept.each([part_of("a", np.arange(1000), log)])
    assert columns["x"].tolist() == list(range(1000))
    assert log == ["a", "b", "a"]


def test_another_config_or_other_sources_find_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def named(**changes: str) -> str:
        config, _ = config_of(tmp_path, **changes)
        return journal_name(point_key(config.resolved()))

    name = named()
    assert named(**{"= 12": "= 25"}) != name
    # threads change no result
    assert named(**{"= 12": "= 12\nthreads = 2"}) == name
    monkeypatch.setattr(journal, "computed_by", lambda: "other sources")
    assert named() != name


def test_a_run_drops_what_another_left_and_nothing_else(tmp_path: Path) -> None:
    config, _ = config_of(tmp_path, **{"= 12": "= 2"})
    out = tmp_path / "out"
    old = Journal(out / "unfinished-0123456789abcdef")
    old.each([part_of("a", 1)])
    mine = out / "unfinished-plans.txt"
    mine.write_text("by hand")
    (old.folder / "notes.txt").write_text("by hand")
    tables(config, out, 1)
    assert mine.read_text() == "by hand"
    assert [p.name for p in old.folder.iterdir()] == ["notes.txt"]
    assert [old.folder] == [p for p in journals_in(out) if p.name == old.folder.name]


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    config, text = config_of(tmp_path)
    out = tmp_path / "out"
    folder = out / journal_name(point_key(config.resolved()))
    folder.mkdir(parents=True)
    with (
        acquire_lock(folder / "run"),
        pytest.raises(NetcosimError, match="another process is writ"),
    ):
        run_and_report(config, text, out, title="t")


@pytest.mark.parametrize("late", [False, True])
def test_what_a_refused_run_has_done_is_kept_if_it_took_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise NetcosimError("no")

    config, _ = config_of(tmp_path)
    monkeypatch.setattr(run_jobs, "LEAST_RUN_S", 0.0 if late else 60.0)
    monkeypatch.setattr("cosim.measuring.stretching.IsolatedLoops", refuse)
    with pytest.raises(NetcosimError, match="no"):
        tables(config, tmp_path / "out", 1)
    assert [len(Journal(folder)) for folder in journals_in(tmp_path / "out")] == [3] * late
    assert (tmp_path / "out").exists() == late


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path, jobs: int) -> None:
    """A plug-in that fails as soon as it is asked, told by whatever process comes to it."""
    (tmp_path / "last.py").write_text(PLUGIN.replace("return np", "return 1 / 0 or np"))
    changes = {'["rdn", "simple", "level-spread"]': '["last"]'}
    changes |= {"[machine]": 'plugins = ["last.py"]\n[machine]'}
    config, text = config_of(tmp_path, **changes)
    with config.plugged(), pytest.raises(NetcosimError, match=r"last\.py, line 11: ZeroDivision"):
        run_and_report(config, text, tmp_path / "out", title="t", jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_kept_when_a_part_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, text = config_of(tmp_path)
    out = tmp_path / "out"

    def stop(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("cosim.measuring.stretching.IsolatedLoops", stop)
        with pytest.raises(KeyboardInterrupt):
            run_and_report(config, text, out, title="t")
    [folder] = journals_in(out)
    assert f"3 parts are kept in {folder}; start it again to go on" in capsys.readouterr().err


def test_a_helper_that_dies_costs_its_part_alone(tmp_path: Path) -> None:
    """Its lock is gone with it: this process computes the part that it was at."""
    folder = tmp_path / "j"
    folder.mkdir()
    path = Journal(folder)._path("a")
    script = (
        "import sys, time; from pathlib import Path; from netsim.file_lock import acquire_lock\n"
        f"lock = acquire_lock(Path({str(path)!r})); print('held', flush=True); time.sleep(60)"
    )
    helper = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert helper.stdout is not None
    assert helper.stdout.readline() == b"held\n"
    asked: list[str] = []

    def told(what: str, share: float) -> None:
        if what == "b" and share == 0.5:
            # b came first, since a was held
            asked.append(what)
            os.kill(helper.pid, signal.SIGKILL)
            helper.wait()

    found = Journal(folder).each([part_of("a", 1), part_of("b", 2)], told)
    assert [int(columns["x"]) for columns in found] == [1, 2]
    assert asked == ["b"]


# What parts give


def test_a_schedule_comes_back_as_it_was(tmp_path: Path) -> None:
    """Through the file, column by column, with what its run-time model and its needs told."""
    changes = {'"measured"': '"coupled-flow"', "= 12": "= 0", '"all"': '"tables"'}
    config, _ = config_of(tmp_path, **changes)
    for schedule in run_cosim(config).schedules.values():
        kept = Journal(tmp_path / "j")
        name = schedule.policy
        kept.each([Part(name, lambda tell, schedule=schedule: schedule_columns(schedule))])
        [columns] = kept.each([part_of(name, 0)])
        same = schedule_from(columns, schedule.workload, schedule.topology)
        for field in fields(schedule):
            equal(getattr(same, field.name), getattr(schedule, field.name), field.name)


def equal(mine: Any, theirs: Any, name: str) -> None:
    if isinstance(theirs, np.ndarray):
        assert mine.dtype == theirs.dtype, name
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    elif name == "placements":
        for field in fields(theirs):
            equal(getattr(mine, field.name), getattr(theirs, field.name), field.name)
    elif isinstance(theirs, Mapping):
        assert mine == {key: dict(row) for key, row in theirs.items()}
    elif isinstance(theirs, float) and np.isnan(theirs):
        assert np.isnan(mine)
    else:
        assert mine == theirs, name


def test_rows_are_cut_into_few_pieces() -> None:
    assert cut([]) == []
    assert cut([1, 2, 3]) == [[1], [2], [3]]
    pieces = cut(range(1000), most=64)
    assert len(pieces) == 63
    assert [i for piece in pieces for i in piece] == list(range(1000))


def test_parts_are_computed_here_one_after_the_other() -> None:
    told: list[tuple[str, float]] = []
    parts = [part_of("a", 1), part_of("b", 2)]
    found = SerialExecutor().each(parts, lambda what, share: told.append((what, share)))
    assert [int(columns["x"]) for columns in found] == [1, 2]
    assert told == [("a", 0.25), ("b", 0.75)]


def test_processes_must_fit_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, text = config_of(tmp_path)
    monkeypatch.setattr(run_jobs, "PROCESS_BYTES", 10**15)
    with pytest.raises(NetcosimError, match=r"--jobs 2: about .* of memory needed"):
        run_and_report(config, text, tmp_path / "out", title="t", jobs=2)
    assert not (tmp_path / "out").exists()


def test_a_part_without_a_column_that_it_had_is_computed_again(tmp_path: Path) -> None:
    """A sound file of another shape than was written: by name, by shape and by kind."""
    log: list[str] = []
    kept = Journal(tmp_path / "j")
    kept.each([part_of("a", [1.0, 2.0], log)])
    with np.load(kept._path("a")) as file:
        about = file["about"]
    others: list[dict[str, Any]] = [{}, {"x": np.zeros(3)}, {"x": np.zeros(2, np.int64)}]
    for number, columns in enumerate(others):
        np.savez(kept._path("a"), about=about, **columns)
        [found] = kept.each([part_of("a", [1.0, 2.0], log)])
        assert found["x"].tolist() == [1.0, 2.0]
        assert log == ["a"] * (number + 2)


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_part_is_read_if_it_is_a_regular_file(tmp_path: Path, kind: str) -> None:
    """A pipe is not waited at; the line comes before the part is computed."""
    log: list[str] = []
    kept = Journal(tmp_path / "j")
    kept.each([part_of("a", 1.0)])
    path = kept._path("a")
    path.rename(tmp_path / "moved")
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "moved")
    with pytest.raises(NetcosimError, match=kind):
        kept.each([part_of("a", 1.0, log)])
    assert log == []


@pytest.mark.full
def test_a_kill_while_the_page_is_drawn_costs_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, text = config_of(tmp_path)
    out = tmp_path / "out"

    def killed(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("netcosim.runs.run_output._page", killed)
        with pytest.raises(KeyboardInterrupt):
            run_and_report(config, text, out, title="t")
    [folder] = journals_in(out)
    parts = len(Journal(folder))
    assert parts > 3
    written: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_write", lambda self, path, name, columns: written.append(name))
        run_and_report(config, text, out, title="t")
    assert written == []
    assert (out / "report.html").exists()
    assert journals_in(out) == []


@pytest.mark.parametrize("error", [EOFError("unexpected EOF"), ConnectionRefusedError(111, "no")])
def test_a_fork_server_that_is_killed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def start(self: object) -> None:
        raise error

    monkeypatch.setattr("multiprocessing.context.ForkServerProcess.start", start)
    config, _ = config_of(tmp_path)
    kept = Journal(tmp_path / "out" / journal_name(point_key(config.resolved())))
    said: list[str] = []
    with worker_pool(config, kept, Workers(2), said.append):
        pass
    assert said == ["the process that starts others was killed; this run goes on without it"]


def test_a_sweeps_points_outlive_their_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point whose process could not be started is run again with the next server."""
    from netcosim.executors import executor
    from netcosim.runs.outcome import Outcome

    real, failed = executor.ProcessPoolExecutor, list[int]()

    class Dying(real):  # type: ignore[valid-type, misc]
        def submit(self, *given: Any, **named: Any) -> Any:
            if not failed:
                failed.append(1)
                raise EOFError("unexpected EOF")
            return super().submit(*given, **named)

    monkeypatch.setattr(executor, "ProcessPoolExecutor", Dying)
    found: dict[str, Outcome] = {}
    tasks = [(key, {"i": 2, "seed": 1}) for key in ("a", "b")]
    executor.run_tasks("sweep_points:draw", tasks, found.__setitem__, Workers(2))
    assert failed == [1]
    assert sorted(found) == ["a", "b"]
    assert all(outcome.error is None for outcome in found.values())
