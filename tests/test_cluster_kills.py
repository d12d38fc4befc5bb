"""Kills over all ways to compute sweeps and runs lose nothing stored, and change no digest."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_experiments_sweep import SCRIPT, digest, environment, mpiexec
from waiting import wait_until

from netcosim.executors.merge import merge
from netcosim.runs.store import Store

__all__ = ["mpiexec"]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to find processes"
)


def stored(path: Path) -> set[int]:
    """Points in the results file; the file may not be there yet."""
    if not path.exists() or not path.stat().st_size:
        return set()
    with Store(path, "read") as store:
        return {int(str(p.config["i"])) for p in store.points()}


def children(pid: int) -> list[int]:
    """Processes below a process, all generations."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if parent == pid:
                found += [int(entry.name), *children(int(entry.name))]
    return found


def commands_below(pid: int, words: str) -> list[int]:
    """Processes below a process whose command line holds some words."""
    found = []
    for child in children(pid):
        try:
            line = (Path("/proc") / str(child) / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if words.encode() in line:
            found.append(child)
    return found


class Sweep:
    """One sweep of `sweep_points.slow` that is started, killed and started again."""

    of_a_job = 20
    """Tasks of a Slurm job; what it has done when it is killed is lost."""

    def __init__(self, folder: Path, name: str, count: int, launcher: tuple[str, ...] = ()) -> None:
        self.folder, self.store, self.count = folder, folder / f"{name}.db", count
        self.marks = folder / "marks"
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()
        self.launcher, self.kills, self.seen = launcher, 0, set[int]()

    def start(self, executor: str = "", jobs: int = 2, which: str = "") -> subprocess.Popen[bytes]:
        given = ["slow", self.store, jobs, self.count, self.marks, executor, *filter(None, [which])]
        command = [*self.launcher, sys.executable, SCRIPT, *given]
        return subprocess.Popen(
            [str(word) for word in command],
            env=environment(),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def stored(self) -> set[Any]:
        """What is in the file."""
        return stored(self.store)

    @property
    def script(self) -> str:
        """What the command line of a process holds."""
        return str(SCRIPT)

    def wait_for_more(self, victim: subprocess.Popen[bytes]) -> None:
        wait_until(lambda: len(self.stored()) > len(self.seen) or victim.poll() is not None)
        self.seen |= self.stored()

    def kill(self, pid: int) -> None:
        """Kill a process; what was stored before must be stored after."""
        self.seen |= self.stored()
        os.kill(pid, signal.SIGKILL)
        self.kills += 1
        assert self.seen <= self.stored()

    def finish(self, victim: subprocess.Popen[bytes]) -> None:
        assert victim.wait(timeout=300) == 0

    def is_complete(self) -> bool:
        """Whether all is stored."""
        return stored(self.store) == set(range(self.count))

    def rerun_computes_what_is_missing(self, **how: str) -> None:
        time.sleep(0.5)  # workers of a killed parent end by themselves
        held, before = stored(self.store), set(os.listdir(self.marks))
        assert self.seen <= held
        self.finish(self.start(**how))  # type: ignore[arg-type]
        again = {int(name.split(".")[0]) for name in set(os.listdir(self.marks)) - before}
        assert not again & held
        assert stored(self.store) >= held | again


class Run(Sweep):
    """A run that is started, killed and started again; what it stores are tasks."""

    of_a_job = 10

    def __init__(self, folder: Path, name: str, count: int, launcher: tuple[str, ...] = ()) -> None:
        super().__init__(folder, name, count, launcher)
        self.store = folder / name / "results.db"
        (folder / "run.toml").write_text(RUN.format(count))

    def start(self, executor: str = "", jobs: int = 2, which: str = "") -> subprocess.Popen[bytes]:
        given = ["run", "run.toml", "--out", self.store.parent, "--jobs", jobs, "--quiet"]
        given += ["--executor", executor] if executor else []
        command = [*self.launcher, sys.executable, "-m", "netcosim", *given]
        return subprocess.Popen(
            [str(word) for word in command],
            env=environment(),
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def stored(self) -> set[Any]:
        """Names of tasks; once the result is there these are gone, and nothing can be lost."""
        if not self.store.exists() or not self.store.stat().st_size:
            return set()
        with closing(sqlite3.connect(self.store, timeout=30)) as db:
            try:
                done = db.execute("SELECT count(*) FROM points").fetchone()[0]
                names = {name for (name,) in db.execute("SELECT name FROM tasks")}
            except sqlite3.OperationalError:
                return self.seen if self.is_complete() else set()
        return names | self.seen if done else names

    @property
    def script(self) -> str:
        """What the command line of a process holds."""
        return "netcosim run"

    def is_complete(self) -> bool:
        """Whether the result is stored."""
        with Store(self.store, "read") as store:
            return [point.status for point in store.points()] == ["done"]

    def rerun_computes_what_is_missing(self, **how: str) -> None:
        time.sleep(0.5)  # workers of a killed parent end by themselves
        assert self.seen <= self.stored()
        self.finish(self.start(**how))  # type: ignore[arg-type]


def kill_a_process(run: Sweep, kills: int, rng: np.random.Generator) -> None:
    """The run goes on: others compute the tasks of a lost process."""
    victim = run.start()
    for _ in range(kills):
        run.wait_for_more(victim)
        workers = commands_below(victim.pid, "multiprocessing.forkserver")
        # the first is the process that forks the others
        if victim.poll() is None and len(workers) > 1:
            run.kill(int(rng.choice(workers)))
    run.finish(victim)
    assert run.is_complete()


def kill_the_launched(sweep: Sweep, kills: int, rng: np.random.Generator, **how: str) -> None:
    """Kill the sweep's own process at random moments, then let it finish."""
    for _ in range(kills):
        victim = sweep.start(**how)  # type: ignore[arg-type]
        sweep.wait_for_more(victim)
        time.sleep(float(rng.uniform(0, 0.3)))
        if victim.poll() is None:
            sweep.kill(victim.pid)
        victim.wait()
    sweep.rerun_computes_what_is_missing(**how)


def kill_ranks(sweep: Sweep, kills: int, rng: np.random.Generator) -> None:
    """A lost rank ends the MPI job."""
    for _ in range(kills):
        launcher = sweep.start()
        sweep.wait_for_more(launcher)
        ranks = [
            pid
            for pid in commands_below(launcher.pid, sweep.script)
            if b"mpiexec" not in (Path("/proc") / str(pid) / "cmdline").read_bytes()
        ]
        if not ranks:
            break  # all is done
        sweep.kill(int(rng.choice(ranks)))
        try:
            assert launcher.wait(timeout=60) != 0
        finally:
            if launcher.poll() is None:
                os.killpg(launcher.pid, signal.SIGKILL)
    sweep.rerun_computes_what_is_missing()


@contextmanager
def dask_cluster(file: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A scheduler, whose address is in a file, and two workers, each with a nanny."""
    file.unlink(missing_ok=True)
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    worker = ["dask_worker", "--nthreads", "1", *common]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:]],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for command in (
            ["dask_scheduler", "--host", "127.0.0.1", "--port", "0", *common],
            worker,
            worker,
        )
    ]
    try:
        yield started
    finally:
        for process in started:
            for pid in (*children(process.pid), process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()


def kill_dask_workers(sweep: Sweep, kills: int, rng: np.random.Generator) -> None:
    """The sweep goes on: the scheduler gives the points of a lost worker to another."""
    file = sweep.folder / "scheduler.json"
    with dask_cluster(file) as (_, *nannies):
        victim = sweep.start(f"dask:{file}")
        for _ in range(kills):
            sweep.wait_for_more(victim)
            workers = [pid for n in nannies for pid in commands_below(n.pid, "spawn_main")]
            if victim.poll() is None and workers:
                sweep.kill(int(rng.choice(workers)))
            time.sleep(float(rng.uniform(0.5, 1.5)))
        sweep.finish(victim)
        assert sweep.is_complete()


def kill_dask_schedulers(sweep: Sweep, kills: int, rng: np.random.Generator) -> None:
    """The sweep ends in one line, with its points stored."""
    for _ in range(kills):
        file = sweep.folder / "scheduler.json"
        with dask_cluster(file) as (scheduler, *_):
            victim = sweep.start(f"dask:{file}")
            sweep.wait_for_more(victim)
            time.sleep(float(rng.uniform(0, 0.3)))
            running = victim.poll() is None
            sweep.kill(scheduler.pid)
            assert (victim.wait(timeout=60) != 0) == running
    sweep.rerun_computes_what_is_missing()


def kill_jobs(sweep: Sweep, kills: int, rng: np.random.Generator) -> None:
    """The sweep goes on: the points of a lost job are in another."""
    victim = sweep.start(f"slurm:cluster=local,array=2,points={sweep.of_a_job}")
    for _ in range(kills):
        assert wait_until(
            lambda: (
                bool(commands_below(victim.pid, "submitit.core._submit"))
                or victim.poll() is not None
            )
        )
        time.sleep(float(rng.uniform(0.5, 3.0)))
        jobs = commands_below(victim.pid, "submitit.core._submit")
        if jobs:
            sweep.kill(int(rng.choice(jobs)))
    sweep.finish(victim)
    assert sweep.is_complete()


def kill_array_tasks(sweep: Sweep, kills: int, rng: np.random.Generator) -> None:
    """Four slices side by side, as of a job array, and one merge of them."""
    out, slices = sweep.store, 4
    for which in range(1, slices + 1):
        sweep.store = sweep.folder / f"slice-{which}.db"
        sweep.seen = set()
        share = kills // slices + (which <= kills % slices)
        kill_the_launched(sweep, share, rng, which=f"{which}/{slices}")
    paths = [sweep.folder / f"slice-{which}.db" for which in range(1, slices + 1)]
    sweep.store = out
    assert merge(out, paths).points == sweep.count
    assert merge(out, paths).repeated == sweep.count


WAYS: dict[str, tuple[Callable[[Sweep, int, np.random.Generator], None], int, int]] = {
    "processes": (kill_the_launched, 6, 400),
    "mpi": (kill_ranks, 6, 400),
    "dask workers": (kill_dask_workers, 8, 900),
    "dask scheduler": (kill_dask_schedulers, 6, 400),
    "submitit": (kill_jobs, 8, 400),
    "slices": (kill_array_tasks, 6, 400),
}
"""What kills, how many times in all, and points."""

RUN = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 9
[workload.synthetic]
n_jobs = 120
mean_nodes = 8
[communication]
mix = [{{pattern = "all-to-all", node_bytes = 200000}}, {{pattern = "halo2d", node_bytes = 200000}}]
[queue]
policies = ["rdn", "simple", "level-spread"]
run_time_model = "measured"
[run]
snapshots = {}
keep = "all"
"""
RUN_WAYS: dict[str, tuple[Callable[[Sweep, int, np.random.Generator], None], int, int]] = {
    "run": (kill_the_launched, 10, 60),
    "run, a process": (kill_a_process, 10, 60),
    "run, mpi": (kill_ranks, 8, 60),
    "run, dask workers": (kill_dask_workers, 8, 60),
}
"""The same for a run, and its snapshots."""


@pytest.mark.slow
def test_kills_over_all_ways_lose_nothing_stored(tmp_path: Path, mpiexec: str) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("submitit")
    kills = 0
    for number, (way, (kill, most, count)) in enumerate((WAYS | RUN_WAYS).items()):
        launcher = (mpiexec, "-n", "3") if "mpi" in way else ()
        kind = Run if way.startswith("run") else Sweep
        sweep = kind(tmp_path, f"way-{number}", count, launcher)
        kill(sweep, most, np.random.default_rng(number))
        whole = kind(tmp_path, f"whole-{count}", count)
        if not whole.store.exists():
            whole.finish(whole.start(jobs=1))
        assert digest(sweep.store) == digest(whole.store)
        kills += sweep.kills
    assert kills >= 40
