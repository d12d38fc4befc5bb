"""Workers elsewhere, slices and merge: one digest, every point once, conflicts named."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from selection import first_only
from test_cluster_kills import RUN_WAYS, WAYS
from test_experiments_sweep import digest, environment

from netcosim.cli import build_parser, command_names, main
from netcosim.commands.sweep import slice_of
from netcosim.executors import dask_client
from netcosim.executors.executor import KILLED, compute, run_tasks
from netcosim.executors.merge import merge
from netcosim.executors.registry import EXECUTORS, executor_entry, open_workers
from netcosim.executors.slurm_jobs import SlurmOptions
from netcosim.executors.workers import Workers
from netcosim.runs.outcome import Outcome
from netcosim.runs.points import point_key
from netcosim.runs.store import Store
from netcosim.runs.sweep import keyed, run_points, sliced
from netsim.errors import NetcosimError

pytestmark = pytest.mark.usefixtures("undrawn")

N = 24
POINTS: list[dict[str, object]] = [{"i": i} for i in range(N)]
DRAW = "sweep_points:draw"
SWEEP = """
[machine]
family = "torus"
dims = [4, 4]
[workload]
larger_jobs = "drop"
[workload.synthetic]
n_jobs = 3
mean_nodes = 2
[queue]
policies = ["baseline"]
run_time_model = "as-logged"
[run]
snapshots = 0
seed = {{from = 1, to = {}, step = 1}}
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All points, computed by one process."""
    path = tmp_path_factory.mktemp("one") / "one.db"
    run_points(DRAW, POINTS, path, progress=False)
    return path


# Executors


@pytest.mark.parametrize("executor", ["dask", "slurm:cluster=local,array=1,points=15"])
@pytest.mark.parametrize("jobs", first_only([1, 2]))
def test_workers_elsewhere_give_the_same_store(
    executor: str, jobs: int, one: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real ones: a Dask cluster of processes, and processes that submitit starts."""
    pytest.importorskip("distributed")
    pytest.importorskip("submitit")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    text = executor.replace("array=1", f"array={jobs}")
    summary = run_points(DRAW, POINTS, "r.db", jobs=jobs, executor=text, progress=False)
    assert summary is not None
    assert summary.total == N
    assert digest(Path("r.db")) == digest(one)
    assert sorted(os.listdir()) == ["r.db"]  # no scripts or output of jobs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "slrum",
            "unknown executor 'slrum'; did you mean slurm? valid: dask, mpi, processes, slurm",
        ),
        ("mpi:8", "--executor mpi:8: mpi has no argument"),
        ("dask:host", "dask:host; must be an address"),
        ("slurm:part=a", "'part=a'; allowed: KEY=VALUE of partition, account"),
        ("slurm:time", "'time'; allowed: KEY=VALUE"),
        ("slurm:array=0", "array=0; must be a whole number of at least 1"),
        ("slurm:time=1h", "time=1h; must be a whole number"),
        ("slurm:cluster=pbs", "cluster=pbs; allowed: slurm, local"),
    ],
)
def test_executors_that_do_not_exist_are_refused(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NetcosimError) as caught:
        executor_entry(text)
    assert message in str(caught.value)
    assert main(["sweep", "c.toml", "--executor", text]) == 2
    assert message in capsys.readouterr().err


def test_workers_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    cases = {"mpi": "start it with mpiexec"}
    if shutil.which("srun") is None:
        cases["slurm"] = "srun"
    cases["dask:none.json"] = "dask:none.json: no scheduler with a worker answers .no such file"
    monkeypatch.setattr(dask_client, "CONNECT_S", 0.2)
    for text, message in cases.items():
        with pytest.raises(NetcosimError, match=message), open_workers(text, 1):
            raise AssertionError
    assert os.listdir() == []


@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("slurm", "submitit")])
def test_a_package_that_is_missing(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with (
        pytest.raises(NetcosimError, match=rf"pip install 'netcosim\[{name}\]'"),
        open_workers(name, 1),
    ):
        raise AssertionError


class LostError(Exception):
    """A worker was lost."""


class Losing(ThreadPoolExecutor):
    """Loses calls that hold one of some points, so many times each."""

    def __init__(self, times: Mapping[int, int]) -> None:
        super().__init__(1)
        self.left = dict(times)
        self.calls: list[list[int]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        held = [int(config["i"]) for config in args[1]]
        self.calls.append(held)
        killers = [i for i in held if self.left.get(i, 0)]
        for i in killers:
            self.left[i] -= 1
        if not killers:
            return super().submit(fn, *args, **kwargs)
        future: Future[Any] = Future()
        future.set_exception(LostError())
        return future


def run_with(executor: Executor, **changes: Any) -> dict[int, Outcome]:
    workers = Workers(1, executor, ahead=2, tasks=4, lost=(LostError,))
    found: dict[str, Outcome] = {}
    given = keyed([{"i": 7 * i} for i in range(12)])
    how = replace(workers, **changes)
    for key in run_tasks(partial(compute, DRAW), given, found.update, how):
        found[key] = Outcome(None, KILLED, 0.0)
    assert set(found) == set(given)
    return {int(str(given[key]["i"])): outcome for key, outcome in found.items()}


def test_a_lost_call_is_made_again_and_a_killer_is_found() -> None:
    """Point 14 loses its call twice, point 35 whenever it runs."""
    with Losing({14: 2, 35: 99}) as executor:
        found = run_with(executor)
    assert {i for i, outcome in found.items() if outcome.error} == {35}
    assert "killed" in str(found[35].error)
    # its neighbours have been computed in calls of their own
    assert executor.calls.count([0, 7, 14, 21]) == 2
    assert [c for c in executor.calls if len(c) == 1][:6] == [[0], [7], [14], [21], [28], [35]]


def test_after_a_loss_local_calls_are_alone() -> None:
    """Two calls of two are side by side; the first is lost: each of its tasks is, one at a time."""
    with Losing({0: 1}) as executor:
        workers = Workers(1, executor, ahead=2, tasks=2, local=True, lost=(LostError,))
        order: list[Any] = executor.calls
        given = keyed([{"i": 7 * i} for i in range(4)])
        found = partial(compute, DRAW)
        assert not run_tasks(found, given, lambda done: order.append(len(done)), workers)
    assert order[:2] == [[0, 7], [14, 21]]
    assert order[-4:] == [[0], 1, [7], 1]


def test_points_that_a_call_has_no_time_for_come_again() -> None:
    with Losing({}) as executor:
        found = run_with(executor, seconds=0.0)
    assert not any(outcome.error for outcome in found.values())
    assert [len(call) for call in executor.calls[:2]] == [4, 4]
    assert sum(map(len, executor.calls)) > 12


def test_what_is_computed_here_is_written_for_a_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tasks of 1/8 s: after 27.5 ms of writing the next comes 9 x 27.5 ms later, after two tasks.

    After a second of writing it comes half a second later, after four.
    """
    now_s, wrote_s, sizes = [0.0], iter([0.0275, 1.0, 1.0, 1.0]), list[int]()
    clock = SimpleNamespace(monotonic=lambda: now_s[0])
    monkeypatch.setattr("netcosim.executors.executor.time", clock)

    def task(number: int) -> None:
        now_s[0] += 0.125

    def finish(results: list[tuple[str, Any]]) -> None:
        sizes.append(len(results))
        now_s[0] += next(wrote_s)

    assert not run_tasks(task, {str(i): i for i in range(8)}, finish, Workers(1))
    assert sizes == [1, 2, 4, 1]


def test_workers_that_are_gone_end_the_sweep(tmp_path: Path) -> None:
    with Losing({14: 1}) as executor, pytest.raises(NetcosimError, match="workers are lost: LostE"):
        run_with(executor, lost=())


# The page


PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweeps.md"
SCRIPTS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_scripts_of_the_page_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the shell, and each command with its options for netcosim."""
    monkeypatch.chdir(tmp_path)
    for name, text in enumerate(SCRIPTS):
        Path(f"{name}.sh").write_text(text)
    done = subprocess.run(["bash", "-c", "for f in *.sh; do bash -n $f || exit 1; done"])
    assert done.returncode == 0
    found = re.findall(r"netcosim(?:\.sif)? ((?:sweep|merge|report).*)", "\n".join(SCRIPTS))
    commands = [line.split() for line in found]
    assert [words[0] for words in commands].count("sweep") == 5
    for words in commands:
        args = build_parser(command_names()).parse_args(words)
        if words[0] == "sweep":
            text = args.slice.replace("$SLURM_ARRAY_TASK_ID", "7")
            assert slice_of(text) in ((7, 100), (1, 100), (1, 1))


def test_the_page_names_every_executor_and_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z]+)", page, re.M)
    assert sorted({row for row in rows if row in EXECUTORS}) == sorted(EXECUTORS)
    assert all(f"`{f.name}`" in page or f"{f.name}=" in page for f in fields(SlurmOptions))
    words = " ".join(page.split())
    for ways, effect in ((WAYS, "40 times under sweeps"), (RUN_WAYS, "36 times under a run")):
        assert effect in words
        assert sum(most for _, most, _ in ways.values()) == int(effect.split()[0])


# Slices


@pytest.mark.parametrize("count", [1, 3, 7, N, N + 5])
def test_slices_are_disjoint_balanced_and_complete(count: int) -> None:
    slices = [sliced([*POINTS, *POINTS], which, count) for which in range(1, count + 1)]
    assert sorted(int(str(p["i"])) for points in slices for p in points) == list(range(N))
    assert max(map(len, slices)) - min(map(len, slices)) <= 1
    assert sliced(POINTS[::-1], 1, count) == slices[0][::-1]
    assert all(points == sorted(points, key=lambda p: int(str(p["i"]))) for points in slices)


def test_a_slice_is_not_one_value_of_a_key() -> None:
    """Every third point is slow; of three slices none has all of them."""
    points = [{"i": i, "routing": i % 3} for i in range(300)]
    for which in (1, 2, 3):
        shares = np.bincount([int(p["routing"]) for p in sliced(points, which, 3)], minlength=3)
        assert shares.min() > 15  # 33 expected, standard deviation 4


def test_slices_and_merge_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(SWEEP.format(7))
    assert main(["sweep", "c.toml", "--quiet"]) == 0
    for which in "123":
        assert main(["sweep", "c.toml", "--slice", f"{which}/3", "--quiet"]) == 0
    parts = [f"c-{which}-of-3.db" for which in "123"]
    assert main(["merge", *parts, "--out", "all.db"]) == 0
    assert main(["merge", *parts, "--out", "all.db"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[-2:] == [
        "all.db: 7 points, 0 failed; 0 were in more than one file",
        "all.db: 7 points, 0 failed; 7 were in more than one file",
    ]
    assert digest(Path("all.db")) == digest(Path("c.db"))
    with Store("all.db", "read") as merged, Store("c.db", "read") as whole:
        assert merged.meta() == whole.meta()
        assert all(merged.kept(p.key) is not None for p in whole.points())
    # what is merged is not computed again
    assert main(["sweep", "c.toml", "--out", "all.db", "--quiet"]) == 0
    assert "7 were stored, 0 computed" in capsys.readouterr().out
    for text in ("0/3", "4/3", "1", "a/b", "1/0"):
        assert main(["sweep", "c.toml", "--slice", text]) == 2
        assert f"--slice {text}; must be I/N" in capsys.readouterr().err


# Merge


def slices(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"{which}.db" for which in range(1, count + 1)]
    for which, path in enumerate(paths, 1):
        run_points(DRAW, sliced(POINTS, which, count), path, progress=False)
    return paths


def put(path: Path, config: dict[str, object], outcome: Outcome, key: str = "") -> Path:
    with Store(path, "write") as store:
        store.put(key or point_key(config), config, outcome, "sources")
    return path


def test_merged_slices_are_the_whole(one: Path, tmp_path: Path) -> None:
    paths = slices(tmp_path, 3)
    out = tmp_path / "all.db"
    first = merge(out, paths[:2])
    assert first.repeated == 0
    both = merge(out, [paths[2], paths[0], paths[2]])
    assert (both.points, both.codes) == (N, 1)
    assert both.repeated == len(sliced(POINTS, 1, 3))
    assert digest(out) == digest(one)
    assert merge(out, [out, *paths]).points == N
    assert digest(out) == digest(one)
    assert all(p.suffix == ".db" for p in tmp_path.iterdir())


def test_a_conflict_is_named_and_nothing_is_merged(tmp_path: Path) -> None:
    done = {"a": '{"x":[1]}', "b": '{"x":[2]}'}
    first = put(tmp_path / "1.db", {"i": 1}, Outcome(done, None, 1.0))
    out = tmp_path / "all.db"
    merge(out, [first])
    before = out.read_bytes()
    for other in ({**done, "b": '{"x":[3]}'}, {"a": done["a"]}, {**done, "c": "{}"}):
        path = put(tmp_path / "2.db", {"i": 1}, Outcome(other, None, 1.0))
        put(path, {"i": 2}, Outcome(done, None, 1.0))
        [table] = {"a", "b", "c"} - {k for k in "abc" if other.get(k) == done.get(k)}
        for target in (out, tmp_path / "new.db"):
            with pytest.raises(NetcosimError) as caught:
                merge(target, [first, path])
            assert f"2.db: table '{table}' of point {point_key({'i': 1})[:12]} differs" in str(
                caught.value
            )
    assert out.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.db", "2.db", "all.db"]


@pytest.mark.parametrize("order", [1, -1])
def test_failed_points_of_a_merge_by_hand(tmp_path: Path, order: int) -> None:
    """Of four points 1 is done in one file and failed in the other, 2 failed in both, 3 failed in
    one and 4 in the other: two of four were in both, and three are failed."""
    paths = [tmp_path / "1.db", tmp_path / "2.db"]
    done = Outcome({"a": '{"x":[1]}'}, None, 1.0)
    for number, in_first, in_second in (
        (1, done, "killed"), (2, "killed", "too long"), (3, "killed", None), (4, None, "killed"),
    ):  # fmt: skip
        for path, outcome in zip(paths, (in_first, in_second), strict=True):
            if outcome is not None:
                given = Outcome(None, outcome, 1.0) if isinstance(outcome, str) else outcome
                put(path, {"i": number}, given)
    out = tmp_path / "all.db"
    merged = merge(out, paths[::order])
    assert merged == (4, 3, 1, 2)
    with Store(out, "read") as store:
        found = {point.config["i"]: (point.status, point.error) for point in store.points()}
    # the first file's word counts
    assert found == {
        1: ("done", None),
        2: ("failed", ["killed", "too long"][::order][0]),
        3: ("failed", "killed"),
        4: ("failed", "killed"),
    }
    # once more, with what another program computed: 4, 3, 3 and 2 points; point 1 is as it was
    other = tmp_path / "3.db"
    with Store(other, "write") as store:
        for number in (1, 3):
            store.put(point_key({"i": number}), {"i": number}, done, "other sources")
    assert merge(out, [*paths, other]) == (4, 2, 2, 12 - 4)
    with Store(out, "read") as store:
        codes = {point.config["i"]: point.code for point in store.points()}
    assert codes == {1: "sources", 2: "sources", 3: "other sources", 4: "sources"}
    # what is in the file goes before what is added to it
    assert merge(out, [other]) == (4, 2, 2, 2)
    with Store(out, "read") as store:
        assert {point.config["i"]: point.code for point in store.points()} == codes
    # nothing at all
    assert merge(tmp_path / "none.db", []) == (0, 0, 0, 0)


def test_an_archive_is_merged_with_its_point(tmp_path: Path) -> None:
    """Where two files have a point, that of the first which has computed it."""
    failed = put(tmp_path / "1.db", {"i": 1}, Outcome(None, "killed", 1.0))
    tables = {"a": '{"x":[1]}'}
    files = [failed]
    for number, content in enumerate((b"an archive", b"another"), 2):
        outcome = Outcome(tables, None, 1.0, {"run": content})
        files.append(put(tmp_path / f"{number}.db", {"i": 1}, outcome))
    out = tmp_path / "all.db"
    merge(out, files)
    with closing(sqlite3.connect(out)) as db:
        found = db.execute("SELECT name, content FROM kept JOIN archives USING (digest)").fetchall()
        assert found == [("run", b"an archive")]
        assert db.execute("SELECT count(*) FROM archives").fetchone() == (1,)


def test_what_is_known_of_a_sweep_is_that_of_the_first_file(tmp_path: Path) -> None:
    files = [tmp_path / "1.db", tmp_path / "2.db"]
    for path, values in zip(files, ({"a": 1}, {"a": 2, "b": 3}), strict=True):
        with Store(path, "write") as store:
            store.put_meta(values)
    merge(tmp_path / "all.db", files)
    with Store(tmp_path / "all.db", "read") as store:
        assert store.meta() == {"a": 1, "b": 3}


def test_files_that_cannot_be_merged(tmp_path: Path) -> None:
    good = put(tmp_path / "1.db", {"i": 1}, Outcome({}, None, 1.0))
    old = put(tmp_path / "2.db", {"i": 2}, Outcome({}, None, 1.0), point_key({"i": 2}, "3"))
    text = tmp_path / "notes.txt"
    text.write_text("not a store")
    out = tmp_path / "all.db"
    for bad, message in {
        old: "2.db: point .* was computed by another model version",
        text: "notes.txt: not a netcosim results file",
        tmp_path / "none.db": "none.db: no such results file",
    }.items():
        with pytest.raises(NetcosimError, match=message):
            merge(out, [good, bad])
    with pytest.raises(NetcosimError, match="not a netcosim results file"):
        merge(text, [good])
    assert text.read_text() == "not a store"
    with Store(good, "write"), pytest.raises(NetcosimError, match="another process is writing"):
        merge(good, [good])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.db", "2.db", "notes.txt"]
