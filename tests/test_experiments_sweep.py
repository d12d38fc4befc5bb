"""Sweeps: the same store however computed, nothing computed twice, and no point stops another."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import sweep_points
from selection import first_only
from waiting import wait_until

from netcosim.executors import mpi
from netcosim.executors.executor import describe_error
from netcosim.executors.mpi import launched_by_mpi, launched_rank, world
from netcosim.runs.outcome import Outcome
from netcosim.runs.points import point_key
from netcosim.runs.store import Store
from netcosim.runs.sweep import keyed, plan_points, run_points
from netsim.errors import NetcosimError

TESTS = Path(__file__).resolve().parent
SCRIPT = TESTS / "sweep_points.py"
N = 24
FAILING = {i for i in range(N) if i % 7 in (3, 5)}


@pytest.fixture
def mpiexec() -> str:
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside.resolve()) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec here")
    return found


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    return {**os.environ, "PYTHONPATH": path}


def launch(*command: str | Path) -> None:
    subprocess.run([str(c) for c in command], env=environment(), check=True, timeout=120)


def digest(path: Path) -> str:
    with Store(path, "read") as store:
        return store.digest()


@pytest.fixture(scope="module")
def local_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The points computed one after the other in this process."""
    path = tmp_path_factory.mktemp("sweep") / "one.db"
    summary = run_points(sweep_points.draw, [{"i": i} for i in range(N)], path, progress=False)
    assert summary is not None
    assert (summary.total, summary.already, summary.computed) == (N, 0, N - len(FAILING))
    return path


def test_failing_points_are_recorded_and_the_rest_is_complete(local_store: Path) -> None:
    with Store(local_store, "read") as store:
        points = {p.config["i"]: p for p in store.points()}
        frame = store.frame("jobs")
    assert set(points) == set(range(N))
    assert {i for i, p in points.items() if p.status == "failed"} == FAILING
    assert points[3].error == "i = 3; it must not be 3 modulo 7"
    poison = points[5].error
    assert poison is not None
    assert poison.startswith("ZeroDivisionError: poison (sweep_points.py:")
    assert set(frame["i"]) == set(range(N)) - FAILING
    assert len(frame) == 3 * (N - len(FAILING))


def test_two_processes_give_the_same_store(local_store: Path, tmp_path: Path) -> None:
    points = [{"i": i} for i in reversed(range(N))]
    run_points("sweep_points:draw", points, tmp_path / "two.db", jobs=2, progress=False)
    assert digest(tmp_path / "two.db") == digest(local_store)


def test_mpi_gives_the_same_store(local_store: Path, tmp_path: Path, mpiexec: str) -> None:
    path = tmp_path / "mpi.db"
    launch(mpiexec, "-n", "3", sys.executable, SCRIPT, "draw", path, "1", str(N))
    assert digest(path) == digest(local_store)


def test_mpi_ends_when_the_store_cannot_be_used(tmp_path: Path, mpiexec: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a store")
    command = [mpiexec, "-n", "3", sys.executable, str(SCRIPT), "draw", str(path), "1", "4"]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "not a netcosim results file" in done.stderr
    assert path.read_text() == "not a store"


def test_stored_points_are_not_computed_again(tmp_path: Path) -> None:
    points: list[dict[str, object]] = [{"i": i, "folder": str(tmp_path)} for i in range(6)]
    path = tmp_path / "r.db"
    run_points(sweep_points.slow, points[:4], path, progress=False)
    summary = run_points(sweep_points.slow, [*points, *points], path, progress=False)
    assert summary is not None
    assert (summary.total, summary.already, summary.computed) == (6, 4, 2)
    marks = [int(p.name.split(".")[0]) for p in tmp_path.iterdir() if p.name[0].isdigit()]
    assert sorted(marks) == list(range(6))


def test_failed_points_are_tried_again_on_request(tmp_path: Path) -> None:
    points = [{"i": 1}, {"i": 3}]
    path = tmp_path / "r.db"
    run_points(sweep_points.draw, points, path, progress=False)
    again = run_points(sweep_points.draw, points, path, progress=False)
    assert again is not None
    assert (again.already, again.failed) == (2, ())
    retried = run_points(sweep_points.draw, points, path, retry_failed=True, progress=False)
    assert retried is not None
    assert (retried.already, len(retried.failed)) == (1, 1)


@pytest.mark.parametrize("jobs", first_only([2, 1]))
def test_sigkill_in_the_middle_then_on_from_there(tmp_path: Path, jobs: int) -> None:
    count = 30
    marks, whole = tmp_path / "marks", tmp_path / "whole"
    marks.mkdir()
    whole.mkdir()
    path = tmp_path / "r.db"
    command = [sys.executable, SCRIPT, "slow", path, str(jobs), str(count), marks]
    victim = subprocess.Popen([str(c) for c in command], env=environment())
    wait_until(lambda: len(list(marks.iterdir())) >= 8)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    with Store(path, "read") as store:
        stored = {p.config["i"] for p in store.points()}
    assert 0 < len(stored) < count
    # Workers of a killed parent end by themselves; their marks are all made by then.
    time.sleep(0.3)
    before = {p.name for p in marks.iterdir()}
    launch(*command)
    again = {int(p.name.split(".")[0]) for p in marks.iterdir() if p.name not in before}
    assert again == set(range(count)) - stored
    with Store(path, "read") as store:
        values = {p.config["i"]: store.rows(p.key, "jobs")[0]["x"] for p in store.points()}
    assert values == {i: i * i for i in range(count)}


def test_a_killed_worker_costs_one_point(tmp_path: Path) -> None:
    points = [{"i": i, "folder": str(tmp_path)} for i in range(12)]
    path = tmp_path / "r.db"
    summary = run_points(sweep_points.deadly, points, path, jobs=2, progress=False)
    assert summary is not None
    assert summary.computed == 11
    [(_, error)] = summary.failed
    assert "killed" in error
    with Store(path, "read") as store:
        status = {p.config["i"]: p.status for p in store.points()}
    assert status == {i: "failed" if i == 4 else "done" for i in range(12)}


def test_interrupt_keeps_what_is_stored(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    path = tmp_path / "r.db"
    command = [sys.executable, SCRIPT, "slow", path, "2", "400", marks]
    victim = subprocess.Popen(
        [str(c) for c in command],
        env=environment(),
        stderr=subprocess.DEVNULL,
        # a script in the background ignores Ctrl-C, and what it starts inherits that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(lambda: len(list(marks.iterdir())) >= 10)
    victim.send_signal(signal.SIGINT)
    assert victim.wait(timeout=20) != 0
    with Store(path, "write") as store:
        assert 0 < len(store.points()) < 400


def test_plan_counts_and_writes_nothing(tmp_path: Path) -> None:
    points = [{"i": i, "folder": str(tmp_path)} for i in range(5)]
    path = tmp_path / "r.db"
    plan = plan_points(sweep_points.slow, points, path, workers=2)
    assert (plan.total, plan.already, plan.to_do, plan.workers) == (5, 0, 5, 2)
    assert plan.estimated_s == pytest.approx(3 * plan.seconds_per_point)
    assert plan.seconds_per_point >= 0.03
    assert not path.exists()
    # points that are estimated to take long are not computed: 100 and 300 s in turn, so 180 of five
    before = sorted(tmp_path.iterdir())
    long = plan_points(
        sweep_points.slow,
        points,
        path,
        estimate=lambda one: 100.0 + 200.0 * (int(str(one["i"])) % 2),
    )
    assert (long.seconds_per_point, sorted(tmp_path.iterdir())) == (180.0, before)
    tried = plan_points(sweep_points.slow, points, path, estimate=lambda one: 5.0)
    assert 0.03 <= tried.seconds_per_point < 5
    run_points(sweep_points.slow, points, path, progress=False)
    done = plan_points(sweep_points.slow, points, path)
    assert (done.already, done.to_do, done.estimated_s) == (5, 0, 0.0)


def test_functions_must_be_importable(tmp_path: Path) -> None:
    for function in (lambda config: {}, "sweep_points:none", "no_such_module:f", "sweep_points"):
        with pytest.raises(NetcosimError, match=r"import"):
            run_points(function, [{"i": 1}], tmp_path / "r.db", progress=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NetcosimError, match="jobs = 0"):
        run_points(sweep_points.draw, [{"i": 1}], tmp_path / "r.db", jobs=0)


def test_equal_points_are_one() -> None:
    assert len(keyed([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}])) == 2


def test_mpi_is_told_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PMI", "OMPI_", "MV2_", "SLURM_")):
            monkeypatch.delenv(name)
    assert not launched_by_mpi()
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "1")
    assert not launched_by_mpi()
    monkeypatch.setenv("SLURM_NTASKS", "8")
    monkeypatch.setenv("SLURM_PROCID", "5")
    assert launched_by_mpi()
    assert launched_rank() == 5
    # without the extra: one line in a step of srun, a single process in the batch script
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert world() is None
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    with pytest.raises(NetcosimError, match=r"--executor mpi: pip install 'netcosim\[mpi\]'"):
        world()


def test_the_first_of_four_ranks_has_three_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Futures:
        @staticmethod
        def MPICommExecutor(comm: object, root: int) -> nullcontext[str]:  # noqa: N802
            return nullcontext("executor")

    class Comm:
        @staticmethod
        def Get_size() -> int:  # noqa: N802
            return 4

    monkeypatch.setitem(sys.modules, "mpi4py.futures", Futures)
    monkeypatch.setattr(mpi, "world", Comm)
    with mpi.ranks("", 1) as workers:
        assert workers is not None
        assert (workers.count, workers.executor, workers.ahead) == (3, "executor", 9)


def test_only_points_asked_for_count_as_other_code_and_only_done_ones_as_time(
    tmp_path: Path,
) -> None:
    """Of six stored by other code one was done in 2 s, one failed in 40 s, four are not asked."""
    path = tmp_path / "r.db"
    points: list[dict[str, object]] = [{"i": i} for i in range(7)]
    with Store(path, "write") as store:
        for i in range(6):
            key = point_key(points[i])
            if i == 1:
                store.put(key, points[i], Outcome(None, "boom", 40.0), "other")
            else:
                store.put(key, points[i], Outcome({}, None, 2.0 if i == 0 else 9.0), "other")
    asked = [points[0], points[1], points[6]]
    plan = plan_points(sweep_points.draw, asked, path, trial=False)
    assert (plan.total, plan.already, plan.to_do, plan.seconds_per_point) == (3, 2, 1, 2.0)
    summary = run_points(sweep_points.draw, asked, path, progress=False)
    assert summary is not None
    assert (summary.already, summary.computed, summary.other_code) == (2, 1, 2)


def test_a_long_error_is_one_short_line() -> None:
    for error in (ValueError("many\nwords " * 500), NetcosimError(f"x = {[0] * 5000}; at most 9")):
        assert len(describe_error(error)) < 450
        assert "\n" not in describe_error(error)
    assert describe_error(NetcosimError("x" * 5000 + "; at most 9")).endswith("xxx; at most 9")
