"""Input files count with what they hold: a changed file is another point, a moved one is not."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from netcosim.cli import main
from netcosim.config.load import config_from, load_config, load_sweep
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import flatten, point_key, point_rng
from netcosim.runs.store import Store
from netcosim.runs.sweep import keyed
from netsim import inputs
from netsim.errors import NetcosimError
from netsim.inputs import checked_path, digests, file_digest, identity, input_file

pytestmark = pytest.mark.usefixtures("undrawn")

LOG = "".join(
    f"{i} {60 * i} -1 {run} {size} -1 -1 {size} 900 -1 1 1 1 -1 -1 -1 -1 -1\n"
    for i, (run, size) in enumerate([(300, 2), (400, 4), (500, 3), (200, 2)] * 3, start=1)
)
EDGES = "a b\nb c\nc d\nd a\na c\n"
SPEEDUPS = (
    "reference_policy,pattern,min_nodes,max_nodes,policy,ratio,ratio_low,ratio_high\n"
    "baseline,pairs,2,8,random,0.9,0.8,1.0\n"
)
CONFIG = """
[machine]
family = "graph"
file = "net.edges"
[workload]
log = "jobs.swf"
larger_jobs = "drop"
[queue]
policies = ["baseline", "random"]
run_time_model = "measured"
measured.table = "speedups.csv"
[[communication.mix]]
pattern = "pairs"
message_bytes = "1 KB"
[run]
seed = [1, 2]
snapshots = 1
"""
FILES = {"jobs.swf": LOG, "net.edges": EDGES, "speedups.csv": SPEEDUPS, "c.toml": CONFIG}
CHANGES = {
    "jobs.swf": LOG.replace(" 300 ", " 301 "),
    "net.edges": EDGES + "b d\n",
    "speedups.csv": SPEEDUPS.replace("0.9", "0.91"),
}


def folder_with(path: Path) -> Path:
    path.mkdir()
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


def keys(folder: Path) -> list[str]:
    return [point_key(point.resolved()) for point in load_sweep(folder / "c.toml").points]


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_another_point(tmp_path: Path, name: str) -> None:
    folder = folder_with(tmp_path / "a")
    before = keys(folder)
    (folder / name).write_text(CHANGES[name])
    assert not set(before) & set(keys(folder))
    (folder / name).write_text(FILES[name])
    assert keys(folder) == before


def test_the_same_files_elsewhere_are_the_same_points(tmp_path: Path) -> None:
    """The same relative names in another folder: the same points if, and only if, they are."""
    one, other = folder_with(tmp_path / "a"), folder_with(tmp_path / "b")
    assert keys(one) == keys(other)
    draws = [
        point_rng(load_sweep(folder / "c.toml").points[0].resolved(), "jobs").random(4)
        for folder in (one, other)
    ]
    np.testing.assert_array_equal(*draws)
    (other / "jobs.swf").write_text(CHANGES["jobs.swf"])
    assert not set(keys(one)) & set(keys(other))


@pytest.mark.parametrize("name", CHANGES)
def test_a_sweep_computes_again_what_a_changed_file_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = folder_with(tmp_path / "a")
    command = ["sweep", str(folder / "c.toml"), "--out", str(folder / "r.db"), "--quiet"]

    def computed() -> str:
        assert main(command) == 0
        return capsys.readouterr().out

    assert "0 were stored, 2 computed" in computed()
    assert "2 were stored, 0 computed" in computed()
    (folder / name).write_text(CHANGES[name])
    assert "0 were stored, 2 computed" in computed()
    with Store(folder / "r.db", "read") as store:
        told = digests(point.config for point in store.points())
    assert len(told[str(folder / name)].split(", ")) == 2
    assert main(["report", str(folder / "r.db"), "--out", str(folder / "r.html")]) == 0
    page = (folder / "r.html").read_text()
    for digest in (file_digest(folder / "jobs.swf"), *told[str(folder / name)].split(", ")):
        assert digest in page


def test_a_log_that_changes_under_a_run_stops_it(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "a")
    config = load_sweep(folder / "c.toml").points[0]
    again = config_from(config.resolved())
    assert again == config
    (folder / "jobs.swf").write_text(CHANGES["jobs.swf"])
    with pytest.raises(NetcosimError, match=r"jobs\.swf: the file has changed"):
        run_cosim(again)
    (folder / "jobs.swf").unlink()
    with pytest.raises(NetcosimError, match=r"jobs\.swf: cannot be read: No such file"):
        run_cosim(again)


def test_a_config_may_pin_a_file(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "a")
    text = CONFIG.replace("seed = [1, 2]", "seed = 1")
    (folder / "c.toml").write_text(text)
    plain = load_config(folder / "c.toml")
    digest = file_digest(folder / "jobs.swf")
    pinned = f'log = {{file = "jobs.swf", sha256 = "{digest}"}}'
    (folder / "c.toml").write_text(text.replace('log = "jobs.swf"', pinned))
    assert load_config(folder / "c.toml") == plain
    (folder / "jobs.swf").write_text(CHANGES["jobs.swf"])
    with pytest.raises(NetcosimError, match="the file has changed"):
        run_cosim(load_config(folder / "c.toml"))
    (folder / "c.toml").write_text(text.replace('log = "jobs.swf"', pinned.replace(digest, "00")))
    with pytest.raises(NetcosimError, match=r"workload\.log\.sha256"):
        load_config(folder / "c.toml")


def test_missing_files_and_folders_are_one_line(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "a")
    (folder / "speedups.csv").unlink()
    with pytest.raises(NetcosimError, match=r"c\.toml: key queue\.measured\.table: .*No such file"):
        load_sweep(folder / "c.toml")
    (folder / "speedups.csv").mkdir()
    with pytest.raises(NetcosimError, match="cannot be read: a"):
        load_sweep(folder / "c.toml")
    with pytest.raises(NetcosimError, match="cannot be read: a"):
        input_file("/dev/zero")


def test_tables_name_the_file_and_its_digest(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "a")
    content = load_sweep(folder / "c.toml").points[0].resolved()
    shown = flatten(content)["workload.log"]
    assert shown == f"jobs.swf ({file_digest(folder / 'jobs.swf')[:12]})"


def test_identity_keeps_all_but_the_path() -> None:
    content = {"a": [{"file": "/x", "sha256": "1"}, 2], "b": {"file": "/x", "kind": "csv"}}
    assert identity(content) == {"a": [{"sha256": "1"}, 2], "b": {"file": "/x", "kind": "csv"}}


def test_a_point_with_a_bare_path_is_refused(tmp_path: Path) -> None:
    """So that no new kind of point brings stale results back."""
    path = tmp_path / "log.swf"
    path.touch()
    message = r"a point, logs: the file .*log\.swf must be given as an input file"
    with pytest.raises(NetcosimError, match=message):
        keyed([{"logs": [{"name": "x"}, str(path)]}])
    assert len(keyed([{"logs": [input_file(path)], "folder": str(tmp_path)}])) == 1


def test_checked_path_reads_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("one")
    value = input_file(path)
    assert checked_path(value) == str(path)
    path.write_text("two")
    with pytest.raises(NetcosimError, match="has changed"):
        checked_path(value)
    path.write_text("one")
    assert checked_path(value) == str(path)


def aged(path: Path, text: str, mtime_ns: int) -> None:
    """A file of that text and date."""
    path.write_text(text)
    os.utime(path, ns=(mtime_ns, mtime_ns))


def test_a_file_is_hashed_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A settled file is read once; a new date, length or inode is another file."""
    path, reads = tmp_path / "jobs.swf", []
    plain = inputs._digest

    def counted(known: tuple[str, int, int, int, int]) -> str:
        reads.append(known)
        return plain(known)

    monkeypatch.setattr(inputs, "_digest", counted)
    monkeypatch.setattr(inputs, "_kept_digest", lru_cache(counted))
    aged(path, LOG, 10**18)
    # just written: the next change may come with the same date
    assert [file_digest(path) for _ in range(2)] == [hashlib.sha256(LOG.encode()).hexdigest()] * 2
    assert len(reads) == 2
    monkeypatch.setattr(inputs, "_SETTLED_NS", -(10**18))
    assert len({file_digest(path) for _ in range(5)}) == 1
    assert len(reads) == 3
    changed = LOG.replace(" 300 ", " 301 ")
    assert len(changed) == len(LOG)
    for text, date in ((changed, 10**18 + 1), (LOG, 10**18 + 2), (LOG + LOG, 10**18 + 2)):
        aged(path, text, date)
        assert file_digest(path) == hashlib.sha256(text.encode()).hexdigest()


def test_a_file_changed_at_once_is_read_again(tmp_path: Path) -> None:
    """The same length and the same date, a moment after it was hashed."""
    path = tmp_path / "jobs.swf"
    for text in (LOG, LOG.replace(" 300 ", " 301 "), LOG.replace(" 300 ", " 302 ")):
        aged(path, text, 10**18)
        assert file_digest(path) == hashlib.sha256(text.encode()).hexdigest()
