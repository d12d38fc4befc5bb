"""Nothing is lost: kill -9 at random moments, of the whole and of single MPI ranks (slow)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_experiments_sweep import SCRIPT, environment, launch, mpiexec

from netcosim.executors.executor import BATCH_S
from netcosim.runs.store import Store

__all__ = ["mpiexec"]

KILLS = 200
POINT_S = 0.03
"""Least time of a point of `sweep_points.slow`."""


def stored(path: Path) -> set[int]:
    """Points in the results file; the file may not be there yet."""
    if not path.exists() or not path.stat().st_size:
        return set()
    with Store(path, "read") as store:
        return {int(str(p.config["i"])) for p in store.points()}


def wait_for_more(path: Path, than: int, victim: subprocess.Popen[bytes]) -> set[int]:
    """What is stored once more than so many points are, or the victim has ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = stored(path)
        if len(found) > than or victim.poll() is not None:
            return found
        time.sleep(0.005)
    raise AssertionError(f"no point came within a minute; {than} are stored")


def values(path: Path) -> dict[int, int]:
    with Store(path, "read") as store:
        return {
            int(str(p.config["i"])): int(str(store.rows(p.key, "jobs")[0]["x"]))
            for p in store.points()
        }


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_kills_after_points_have_been_stored(tmp_path: Path, jobs: int) -> None:
    """One sweep killed half of `KILLS` times, each time at a random moment after new points."""
    rng = np.random.default_rng(jobs)
    count, marks, path = 100_000, tmp_path / "marks", tmp_path / "r.db"
    marks.mkdir()
    command = [sys.executable, str(SCRIPT), "slow", str(path), str(jobs), str(count), str(marks)]
    seen: set[int] = set()
    for _ in range(KILLS // 2):
        victim = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
        seen |= wait_for_more(path, len(seen), victim)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        seen |= stored(path)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        assert seen <= stored(path)
    time.sleep(0.3)  # workers of a killed parent end by themselves
    found = values(path)
    assert seen <= set(found)
    assert all(x == i * i for i, x in found.items())
    computed = sorted(int(mark.name.split(".")[0]) for mark in marks.iterdir())
    again = len(computed) - len(set(computed))
    # What a kill may cost: the points under way and those handed out ahead, three a worker, and
    # those of the last batch; twice that for a disk that takes its time.
    assert again <= KILLS // 2 * (3 + 2 * BATCH_S / POINT_S) * jobs
    print(f"{KILLS // 2} kills, {len(found)} points kept, {again} computed again")


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


def ranks_of(launcher: int) -> list[int]:
    """Process numbers of the ranks below an MPI launcher."""
    found = []
    for pid in children(launcher):
        try:
            command = (Path("/proc") / str(pid) / "cmdline").read_bytes()
        except OSError:
            continue
        if str(SCRIPT).encode() in command and b"mpiexec" not in command:
            found.append(pid)
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the ranks")
@pytest.mark.parametrize("victim", ["worker", "manager"])
def test_a_killed_mpi_rank_loses_nothing_stored(
    tmp_path: Path,
    mpiexec: str,
    victim: str,
) -> None:
    """A lost rank ends the MPI job; started again it goes on, and nothing stored is gone."""
    rng = np.random.default_rng(len(victim))
    marks, path = tmp_path / "marks", tmp_path / "r.db"
    marks.mkdir()

    def sweep(count: int) -> list[str]:
        start = [mpiexec, "-n", "3", sys.executable, str(SCRIPT), "slow"]
        return [*start, str(path), "1", str(count), str(marks)]

    seen: set[int] = set()
    for _ in range(3):
        launcher = subprocess.Popen(
            sweep(100_000),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        seen |= wait_for_more(path, len(seen), launcher)
        ranks = {rank_of(pid): pid for pid in ranks_of(launcher.pid)}
        assert sorted(ranks) == [0, 1, 2]
        chosen = 0 if victim == "manager" else int(rng.integers(1, 3))
        seen |= stored(path)
        os.kill(ranks[chosen], signal.SIGKILL)
        try:
            assert launcher.wait(timeout=60) != 0
        finally:
            if launcher.poll() is None:
                os.killpg(launcher.pid, signal.SIGKILL)
        assert seen <= stored(path)
    count = max(stored(path)) + 20
    launch(*sweep(count))
    assert values(path) == {i: i * i for i in range(count)}


def rank_of(pid: int) -> int:
    """The rank that a process has, by the launcher's variables."""
    told = (Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0")
    for entry in told:
        name, _, value = entry.partition(b"=")
        if name in (b"PMI_RANK", b"OMPI_COMM_WORLD_RANK"):
            return int(value)
    return -1
