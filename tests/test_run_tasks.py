"""The tasks of a run: stored as they come, on several processes, taken up after a kill -9."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import fields
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from waiting import wait_until

from cosim.measuring.tasks import (
    Columns,
    ReportProgress,
    SerialExecutor,
    cut,
    schedule_columns,
    schedule_from,
)
from netcosim import cli
from netcosim.config.config import Config
from netcosim.config.load import load_config_text
from netcosim.executors import executor
from netcosim.executors import workers as processes
from netcosim.executors.executor import run_tasks
from netcosim.executors.workers import Workers, local_processes
from netcosim.package_check import sources_hash
from netcosim.runs import tasks
from netcosim.runs.cosim import point_result, run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.outcome import encode_tables
from netcosim.runs.points import RESULTS_FILE, point_key
from netcosim.runs.progress import Show
from netcosim.runs.run_output import run_and_report
from netcosim.runs.run_plan import plan_run
from netcosim.runs.store import Store
from netcosim.runs.tasks import (
    StoredTasks,
    columns_from,
    computed_by,
    count_tasks,
    run_key,
    stored_tasks,
    to_bytes,
)
from netsim.atomic_files import acquire_lock
from netsim.errors import NetcosimError

pytestmark = pytest.mark.usefixtures("undrawn")

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


SILENT = Show(lambda done, what: None, lambda line: None)


def tables(config: Config, out: Path, jobs: int) -> dict[str, str | bytes]:
    """What a run stores, without its page."""
    key = point_key(config.resolved())
    with (
        config.plugged(),
        local_processes("", jobs) as workers,
        stored_tasks(out / RESULTS_FILE, key, workers, config, SILENT) as runner,
    ):
        return stored(run_cosim(config, runner=runner))


def number_stored(out: Path, config: Config) -> int:
    """Tasks of a run in its results file."""
    return count_tasks(out / RESULTS_FILE, point_key(config.resolved()))


@pytest.mark.full
def test_so_do_pairs_and_a_plug_in_s_policy(tmp_path: Path) -> None:
    """And with nobody behind it: `SerialExecutor`."""
    (tmp_path / "last.py").write_text(PLUGIN)
    changes = {'"level-spread"]': '"last"]', "[machine]": 'plugins = ["last.py"]\n[machine]'}
    config, _ = config_of(tmp_path, "paired", **changes)
    here = stored(run_cosim(config))
    assert {"paired", "pairs", "links", "speedups"} <= set(here)
    assert tables(config, tmp_path / "1", 1) == tables(config, tmp_path / "2", 2) == here


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
    assert wait_until(lambda: number_stored(out, config) >= 40)
    assert victim.poll() is None
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    time.sleep(0.5)  # a worker of a killed run ends by itself
    acquire_lock(out / RESULTS_FILE).close()
    with Store(out / RESULTS_FILE, "read") as store:
        assert store.points() == []
        names = store.task_names(run_key(point_key(config.resolved())))
    capsys.readouterr()
    written: list[str] = []
    put = Store.put_task

    def noting(self: Store, run: str, name: str, content: bytes) -> None:
        written.append(name)
        put(self, run, name, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "put_task", noting)
        run_and_report(config, text, out, title="t")
    assert f"{len(names)} tasks of this run are stored: it goes on" in capsys.readouterr().err
    assert written
    assert names.isdisjoint(written)
    assert digest(out) == digest(whole)
    assert number_stored(out, config) == 0


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
    assert (plan.schedules, plan.snapshots, plan.rounds, plan.tasks_done) == (3, 15, 2, 0)
    alone = plan_run(config, tmp_path, 1)
    # hops are counted, not clocked: as many on one process, in twice the time
    assert alone.packets_s == plan.packets_s > 0
    assert alone.rounds == 3


def test_a_plan_counts_isolated_loops_up_to_their_budget(tmp_path: Path) -> None:
    """Six periods on two sets of nodes of each job, where the budget is larger than that."""
    model = '"coupled-flow"\ncoupled-flow.budget = '
    low, high = (
        plan_run(
            config_of(tmp_path, **{'"measured"': f'{model}"{s} s"', "= 12": "= 0"})[0], None, 1
        )
        for s in ("1e-3", "1e6")
    )
    policies = low.schedules
    assert low.live_s < high.live_s < policies * 1e4


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


# The store of tasks


def square_of(log: list[str] | None = None) -> Callable[..., Columns]:
    """Squares; notes which were computed."""

    def compute(number: int, report: ReportProgress) -> Columns:
        report(0.5)
        if log is not None:
            log.append(f"{number}")
        return {"x": np.array(number**2)}

    return compute


@contextmanager
def runner_in(path: Path, jobs: int = 1, run: str = "run", **named: Any) -> Iterator[StoredTasks]:
    with Store(path, "write") as store, local_processes("", jobs) as workers:
        yield StoredTasks(store, run, workers, **named)


def squares(runner: StoredTasks, numbers: Mapping[str, int], log: list[str], **named: Any) -> Any:
    given = {name: (number,) for name, number in numbers.items()}
    return [int(columns["x"]) for _, columns in runner.each(square_of(log), given, **named)]


def test_tasks_come_in_order_and_are_computed_once(tmp_path: Path) -> None:
    log: list[str] = []
    told: list[tuple[str, float]] = []
    resumed: list[int] = []
    with runner_in(tmp_path / "r.db", resumed=lambda: resumed.append(0)) as runner:
        found = squares(
            runner, {"a": 1, "b": 2}, log, progress=lambda what, share: told.append((what, share))
        )
        assert found == [1, 4]
        assert told == [("a", 0.25), ("a", 0.5), ("b", 0.75), ("b", 1.0)]
        # who reads tasks of its own has resumed nothing
        assert squares(runner, {"a": 1}, log, progress=None) == [1]
    with runner_in(tmp_path / "r.db", resumed=lambda: resumed.append(1)) as runner:
        assert squares(runner, {"c": 3}, log) == [9]
        assert resumed == []
        assert squares(runner, {"a": 1, "b": 2, "c": 3, "d": 4}, log) == [1, 4, 9, 16]
        assert len(runner) == 4
    assert log == ["1", "2", "3", "4"]
    assert resumed == [1]


@pytest.mark.parametrize(("written_s", "batch"), [(1 / 32, 18), (1.0, 32)])
def test_writing_takes_a_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch, written_s: float, batch: int
) -> None:
    """Tasks of 1/64 s: the first is written at once, then those of nine transactions.

    Those of 9/32 s are 18. Where one takes a second it is those of half a second, 32.
    """
    now_s, sizes = 0.0, list[int]()

    def compute(task: int) -> int:
        nonlocal now_s
        now_s += 1 / 64
        return task

    def finish(results: Sequence[tuple[str, int]]) -> None:
        nonlocal now_s
        now_s += written_s
        sizes.append(len(results))

    monkeypatch.setattr(executor, "time", SimpleNamespace(monotonic=lambda: now_s))
    executor.run_tasks(compute, {str(i): i for i in range(70)}, finish, Workers(1))
    assert sizes == [1, *[batch] * (69 // batch), 69 % batch]


def test_tasks_that_are_read_are_part_of_what_is_done(tmp_path: Path) -> None:
    """Of four tasks two are there: they count at once, the others half-way through them."""
    told: list[tuple[str, float]] = []
    with runner_in(tmp_path / "r.db") as runner:
        squares(runner, {"b": 2, "d": 4}, [])
        numbers = {"a": 1, "b": 2, "c": 3, "d": 4}
        found = squares(
            runner, numbers, [], progress=lambda what, share: told.append((what, share))
        )
    assert found == [1, 4, 9, 16]
    assert told == [("b", 0.25), ("d", 0.5), ("a", 0.625), ("a", 0.75), ("c", 0.875), ("c", 1.0)]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET content = substr(content, 1, 10) WHERE name = 'a'",
        "UPDATE tasks SET content = zeroblob(300) WHERE name = 'a'",
        "UPDATE tasks SET checksum = checksum + 1 WHERE name = 'a'",
        "UPDATE tasks SET content = (SELECT content FROM tasks WHERE name = 'b'),"
        " checksum = (SELECT checksum FROM tasks WHERE name = 'b') WHERE name = 'a'",
        "DELETE FROM tasks WHERE name = 'a'",
    ],
)
def test_a_damaged_task_is_computed_again(tmp_path: Path, damage: str) -> None:
    log: list[str] = []
    path = tmp_path / "r.db"
    with runner_in(path) as runner:
        squares(runner, {"a": 3, "b": 4}, log)
    db = sqlite3.connect(path)
    with db:
        assert db.execute(damage).rowcount == 1
    db.close()
    with runner_in(path) as runner:
        assert squares(runner, {"a": 3, "b": 4}, log) == [9, 16]
    assert log == ["3", "4", "3"]


def test_a_run_has_no_task_of_another_one(tmp_path: Path) -> None:
    log: list[str] = []
    for run in ("one", "two"):
        with runner_in(tmp_path / "r.db", run=run) as runner:
            squares(runner, {"a": 3}, log)
            assert len(runner) == 1
    assert log == ["3", "3"]
    with Store(tmp_path / "r.db", "write") as store:
        assert store.drop_tasks(but="two") == 1
        assert store.task_names("two") == {"a"}
        assert store.drop_tasks() == 1
        assert store.drop_tasks() == 0
        assert store.task("two", "a") is None
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    db = sqlite3.connect(tmp_path / "r.db")
    assert {name for (name,) in db.execute(tables)} == {
        "meta", "points", "results", "kept", "archives",
    }  # fmt: skip
    # the space of the tasks is gone
    assert db.execute("PRAGMA freelist_count").fetchone() == (0,)
    db.close()


def test_a_task_that_raises_leaves_those_before_it(tmp_path: Path) -> None:
    def fail(number: int, report: ReportProgress) -> Columns:
        if number == 2:
            raise ValueError("no")
        return {"x": np.array(number)}

    with runner_in(tmp_path / "r.db") as runner:
        with pytest.raises(ValueError, match="no"):
            runner.each(fail, {"a": (1,), "b": (2,), "c": (3,)})
        assert runner.store.task_names("run") == {"a"}


def test_columns_come_back_as_they_were() -> None:
    columns = {
        "1.time_ps": np.arange(5),
        "exposed_s all-to-all": np.array([0.1, np.nan]),
        "flag": np.array(True),
        "none": np.empty((0, 3), np.float32),
        "words": np.frombuffer(b"text", np.uint8),
    }
    again = columns_from(to_bytes(columns))
    assert list(again) == list(columns)
    for name, array in columns.items():
        assert (again[name].dtype, again[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(again[name], array)
    for kind in (object, [("a", np.int8), ("b", np.int16)]):
        with pytest.raises(ValueError, match="Object and structured arrays"):
            to_bytes({"x": np.zeros(2, dtype=kind)})


def test_the_key_of_a_run_stands_for_the_config_the_format_and_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(**changes: str) -> str:
        config, _ = config_of(tmp_path, **changes)
        return run_key(point_key(config.resolved()))

    one = key()
    assert key(**{"= 12": "= 25"}) != one
    # threads change no result
    assert key(**{"= 12": "= 12\nthreads = 2"}) == one
    assert sources_hash() in computed_by()
    for what, value in (("_FORMAT", 99), ("computed_by", lambda: "other sources")):
        with monkeypatch.context() as patch:
            patch.setattr(tasks, what, value)
            assert key() != one


def test_a_run_drops_the_tasks_of_another_and_no_point(tmp_path: Path) -> None:
    config, text = config_of(tmp_path, **{"= 12": "= 2"})
    out = tmp_path / "out"
    run_and_report(config, text, out, title="t")
    before = digest(out)
    with runner_in(out / RESULTS_FILE, run="other") as runner:
        squares(runner, {"a": 3}, [])
    lines: list[str] = []
    show = Show(lambda done, what: None, lines.append)
    with stored_tasks(out / RESULTS_FILE, "key", Workers(1), config, show) as runner:
        assert runner.store.task_names("other") == set()
    assert lines == [
        f"{out / RESULTS_FILE}: 1 tasks of a run of another config or version, dropped"
    ]
    assert digest(out) == before


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    config, text = config_of(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    with (
        acquire_lock(out / RESULTS_FILE),
        pytest.raises(NetcosimError, match="another process is writing this results file"),
    ):
        run_and_report(config, text, out, title="t")


@pytest.mark.parametrize("late", [False, True])
def test_what_a_refused_run_has_done_is_kept_if_it_took_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise NetcosimError("no")

    config, _ = config_of(tmp_path)
    out = tmp_path / "out"
    monkeypatch.setattr(tasks, "LEAST_RUN_S", 0.0 if late else 60.0)
    monkeypatch.setattr("cosim.measuring.stretching.isolated_loop", refuse)
    with pytest.raises(NetcosimError, match="no"):
        tables(config, out, 1)
    assert number_stored(out, config) == 3 * late
    assert out.exists() == late


def test_what_was_stored_before_is_kept_when_a_run_that_goes_on_is_refused_soon(
    tmp_path: Path,
) -> None:
    config, _ = config_of(tmp_path)
    results = tmp_path / "out" / RESULTS_FILE

    def go_on(name: str) -> None:
        with stored_tasks(results, "key", Workers(1), config, SILENT) as runner:
            squares(runner, {name: 1}, [])
            raise KeyboardInterrupt if name == "first" else NetcosimError("no")

    with pytest.raises(KeyboardInterrupt):
        go_on("first")
    with pytest.raises(NetcosimError, match="no"):
        go_on("second")
    assert count_tasks(results, "key") == 2


def test_a_results_file_that_was_there_stays_when_a_run_is_refused(tmp_path: Path) -> None:
    config, _ = config_of(tmp_path)
    results = tmp_path / RESULTS_FILE
    Store(results, "write").close()
    with (
        pytest.raises(NetcosimError, match="no"),
        stored_tasks(results, "key", Workers(1), config, SILENT),
    ):
        raise NetcosimError("no")
    assert results.exists()


def test_what_cannot_be_pickled_is_one_line(tmp_path: Path) -> None:
    lock = threading.Lock()

    def compute(number: int, report: ReportProgress) -> Columns:
        return {"x": np.array(lock.locked())}

    with (
        runner_in(tmp_path / "r.db", jobs=2) as runner,
        pytest.raises(NetcosimError, match=r"cannot be sent .*TypeError.*lock.* Use --jobs 1"),
    ):
        runner.each(compute, {"a": (1,), "b": (2,)})


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path, jobs: int) -> None:
    """A plug-in that fails as soon as it is asked, told by whatever process comes to it."""
    (tmp_path / "last.py").write_text(PLUGIN.replace("return np", "return 1 / 0 or np"))
    changes = {'["rdn", "simple", "level-spread"]': '["rdn", "last"]'}
    changes |= {"[machine]": 'plugins = ["last.py"]\n[machine]'}
    config, text = config_of(tmp_path, **changes)
    with config.plugged(), pytest.raises(NetcosimError, match=r"last\.py, line 11: ZeroDivision"):
        run_and_report(config, text, tmp_path / "out", title="t", jobs=jobs)
    assert not (tmp_path / "out").exists()


def test_what_is_done_is_kept_when_a_task_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, text = config_of(tmp_path)
    out = tmp_path / "out"

    def stop(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("cosim.measuring.stretching.isolated_loop", stop)
        with pytest.raises(KeyboardInterrupt):
            run_and_report(config, text, out, title="t")
    line = f"3 tasks are stored in {out / RESULTS_FILE}; start it again to go on"
    assert line in capsys.readouterr().err


# Other processes


@pytest.mark.parametrize("kills", [1, 99])
def test_a_process_that_dies_costs_its_task_alone(tmp_path: Path, kills: int) -> None:
    """Task 2 kills its process, the first time or each time; all others are stored."""
    counts = tmp_path / "counts"
    counts.mkdir()

    def compute(number: int, report: ReportProgress) -> Columns:
        before = len(list(counts.glob(f"{number}.*")))
        (counts / f"{number}.{before}").touch()
        if number == 2 and before < kills:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": np.array([number, os.getpid()])}

    given = {f"task {number}": (number,) for number in range(8)}
    with runner_in(tmp_path / "r.db", jobs=2) as runner:
        if kills == 1:
            found = runner.each(compute, given)
            assert [(number, int(c["x"][0])) for number, c in found] == [(n, n) for n in range(8)]
            assert os.getpid() not in {int(columns["x"][1]) for _, columns in found}
        else:
            with pytest.raises(NetcosimError, match="task 2: the worker process was killed each"):
                runner.each(compute, given)
        names = runner.store.task_names("run")
    assert names == set(given) - ({"task 2"} if kills > 1 else set())
    # three tries at most
    assert len(list(counts.glob("2.*"))) == min(kills + 1, 3)


def test_a_fault_in_another_process_is_raised_here_with_its_traceback(tmp_path: Path) -> None:
    def fault(number: int, report: ReportProgress) -> Columns:
        return {"x": np.array(1 // (number - 1))}

    with (
        runner_in(tmp_path / "r.db", jobs=2) as runner,
        pytest.raises(RuntimeError, match=r"(?s)Traceback.*in fault\n.*ZeroDivisionError"),
    ):
        runner.each(fault, {"a": (1,), "b": (2,), "c": (3,)})


def test_what_is_pickled_computes_by_itself(tmp_path: Path) -> None:
    """A task that refers to its runner has a serial one in another process."""
    with runner_in(tmp_path / "r.db", jobs=2) as runner:

        def compute(number: int, report: ReportProgress) -> Columns:
            [(_, columns)] = runner.each(square_of(), {"inner": (number,)})
            kind = type(runner).__name__
            return {**columns, "kind": np.frombuffer(kind.encode(), np.uint8)}

        found = runner.each(compute, {"a": (2,), "b": (3,)})
        assert runner.store.task_names("run") == {"a", "b"}
    assert [int(columns["x"]) for _, columns in found] == [4, 9]
    assert {columns["kind"].tobytes() for _, columns in found} == {b"SerialExecutor"}


def test_a_process_starts_again_when_the_one_that_forks_was_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once; a second failure is a lost call, and the next call starts another."""
    real, failed = ForkServerProcess.start, list[int]()

    def start(self: Any) -> None:
        if len(failed) < 2:
            failed.append(1)
            raise EOFError("unexpected EOF")
        real(self)

    monkeypatch.setattr(ForkServerProcess, "start", start)
    with processes.ProcessExecutor(1) as pool:
        with pytest.raises(processes.BrokenProcessPool, match="a process was killed"):
            pool.submit(int, "1").result()
        assert pool.submit(int, "1").result() == 1
        failed.pop()
        assert pool.submit(os.getpid).result() > 0
    assert len(failed) == 1


def test_a_process_that_is_killed_takes_its_own_call_alone() -> None:
    """Also in the middle of a result, of which its header alone was written."""
    with processes.ProcessExecutor(2) as pool:
        other = pool.submit(time.sleep, 1.0)
        lost = pool.submit(write_half_a_result)
        with pytest.raises(processes.BrokenProcessPool, match="a process was killed"):
            lost.result(timeout=60)
        assert other.result(timeout=60) is None
        with pytest.raises(ValueError, match="invalid literal"):
            pool.submit(int, "x").result(timeout=60)
        with pytest.raises(AttributeError, match="pickle"):
            pool.submit(lambda: 1).result(timeout=60)
        assert pool.submit(len, b"x" * 10**6).result(timeout=60) == 10**6


def write_half_a_result() -> None:
    """Kill this process after it has announced 17,000 bytes."""
    [pipe] = [thing for thing in gc.get_objects() if type(thing) is Connection and not thing.closed]
    os.write(pipe.fileno(), struct.pack("!i", 17_000))
    os.kill(os.getpid(), signal.SIGKILL)


# What tasks give


def test_a_schedule_comes_back_as_it_was(tmp_path: Path) -> None:
    """Column by column, with what its run-time model and its needs told."""
    changes = {'"measured"': '"coupled-flow"', "= 12": "= 0", '"all"': '"schedules"'}
    config, _ = config_of(tmp_path, **changes)
    for schedule in run_cosim(config).schedules.values():
        columns = columns_from(to_bytes(schedule_columns(schedule)))
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


def test_tasks_are_computed_here_one_after_the_other() -> None:
    told: list[tuple[str, float]] = []
    found = SerialExecutor().each(
        square_of(), {"a": (1,), "b": (2,)}, lambda what, share: told.append((what, share))
    )
    assert [int(columns["x"]) for _, columns in found] == [1, 4]
    assert told == [("a", 0.25), ("b", 0.75)]


def test_processes_must_fit_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, text = config_of(tmp_path)
    monkeypatch.setattr(processes, "PROCESS_BYTES", 10**15)
    with pytest.raises(NetcosimError, match=r"--jobs 2: about .* of memory needed"):
        run_and_report(config, text, tmp_path / "out", title="t", jobs=2)
    assert not (tmp_path / "out").exists()


def test_processes_that_all_end_before_they_compute_are_one_line() -> None:
    """Two pools of six calls each: a script that starts itself again in every process."""

    class Dying(Executor):
        calls = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.calls += 1
            future: Future[Any] = Future()
            future.set_exception(processes.BrokenProcessPool())
            return future

    dying = Dying()
    workers = Workers(2, dying, 6, lost=(processes.BrokenProcessPool,), local=True)
    with pytest.raises(NetcosimError, match="lacks `if __name__ == '__main__':`"):
        run_tasks(str, dict.fromkeys(map(str, range(1000)), 1), lambda results: None, workers)
    assert dying.calls < 30
    assert run_tasks(str, {"a": 1, "b": 2}, lambda results: None, workers) == ["a", "b"]
