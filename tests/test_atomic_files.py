"""Files are written whole or not at all, in UTF-8, over nothing but regular files."""

from __future__ import annotations

import gzip
import os
import resource
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from netcosim import cli
from netcosim.report.page import write_page
from netsim.atomic_files import acquire_lock, let_go, write_text_atomically
from netsim.errors import NetcosimError
from netsim.files import encoding_of, first_lines, read_lines, write_text
from workloads.csv_jobs import read_csv, write_csv
from workloads.details import JobDetails, Labels, NodeLists
from workloads.swf import write_swf
from workloads.synthetic import laas_workload

PARTITIONS = ["быстрый", "срочный", "быстрый"]
NODES = [["шлюз1", "шлюз2"], ["щит1"], ["шлюз2"]]


def device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))


KINDS: dict[str, Callable[[Path], object]] = {
    "symbolic link": lambda path: path.symlink_to(path.with_name("target")),
    "pipe": os.mkfifo,
    "device": device,
    "folder": Path.mkdir,
}
WRITERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: write_text_atomically(path, "x"),
    "log": lambda path: write_text(path, "x"),
    "page": lambda path: write_page(path, "x"),
    "swf": lambda path: write_swf(laas_workload(5, 4, np.random.default_rng(1)), path),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_a_regular_file_is_replaced(tmp_path: Path, kind: str, writer: str) -> None:
    target, path = tmp_path / "target", tmp_path / "x.swf"
    target.write_text("kept")
    try:
        KINDS[kind](path)
    except PermissionError:
        pytest.skip("only root makes devices")
    before = path.lstat()
    with pytest.raises(NetcosimError, match=f"x.swf: .*{kind}"):
        WRITERS[writer](path)
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert target.read_text() == "kept"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["target", "x.swf"]


@contextmanager
def full_disk(n_bytes: int) -> Iterator[None]:
    """No file grows beyond so many bytes.

    Python itself keeps byte code that was cut off there (3.11 does not look how much it wrote), and
    every later process fails with it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with patch.object(sys, "dont_write_bytecode", True):
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["j.swf", "j.swf.gz"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("; the log of before\n")
    with full_disk(4096):
        status = cli.main(["trace", "generate", "--out", name, "--n-jobs", "3000"])
    assert status == 2
    assert f"{name}: cannot be written" in capsys.readouterr().err
    assert (tmp_path / name).read_text() == "; the log of before\n"
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_names_that_latin_1_lacks_stay_apart(tmp_path: Path) -> None:
    jobs = laas_workload(3, 4, np.random.default_rng(1))
    jobs = replace(
        jobs,
        details=JobDetails(partition=Labels.of(PARTITIONS), node_list=NodeLists.of(NODES)),
    )
    for name in ("jobs.csv", "jobs.csv.gz"):
        write_csv(jobs, tmp_path / name)
        found = read_csv(tmp_path / name).details
        assert found.partition is not None
        assert found.node_list is not None
        assert [found.partition[k] for k in range(3)] == PARTITIONS
        names = found.node_list.names
        assert [[names[i] for i in found.node_list[k]] for k in range(3)] == NODES
        first = first_lines(tmp_path / name, 4096)
        assert any("быстрый" in line for line in first)


@pytest.mark.parametrize("end", [b"", b"\nna\xefve"])
def test_one_encoding_for_a_whole_file(tmp_path: Path, end: bytes) -> None:
    """UTF-8 if every byte is; else Latin-1, which keeps different bytes different."""
    raw = "шлюз1\nщит1".encode() + end
    (tmp_path / "x").write_bytes(raw)
    expected = raw.decode("latin-1" if end else "utf-8")
    assert "\n".join(read_lines(tmp_path / "x")) == expected


def test_a_character_across_two_chunks_is_utf_8() -> None:
    raw = b"a" * (2**20 - 1) + "я".encode()
    assert encoding_of(raw) == "utf-8"
    assert encoding_of(raw[:-1]) == "latin-1"
    assert encoding_of(raw[:-1], cut=True) == "utf-8"


def test_half_a_pair_is_written_as_its_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "x.gz", "a\ud800")
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b"a\\ud800"


def test_a_lock_is_not_taken_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "r.db.lock").symlink_to(target)
    with pytest.raises(NetcosimError, match="symbolic link"):
        acquire_lock(tmp_path / "r.db")
    assert target.read_text() == "kept"


def test_a_file_with_content_is_no_lock(tmp_path: Path) -> None:
    mine = tmp_path / "r.db.lock"
    mine.write_text("mine")
    with pytest.raises(NetcosimError, match=r"r\.db\.lock: a file with content"):
        acquire_lock(tmp_path / "r.db")
    assert mine.read_text() == "mine"
    mine.write_text("")
    let_go(acquire_lock(tmp_path / "r.db"))
    assert not mine.exists()


@pytest.mark.parametrize("there", [False, True])
def test_a_demo_that_fails_keeps_what_it_computed(
    tmp_path: Path,
    there: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error is the cause, whatever the clean-up meets; an empty folder goes."""
    import netcosim.announce
    import netcosim.runs.run_output

    def fail(config: object, text: str, out: Path, **given: object) -> Path:
        if there:
            (out / "results.db").write_text("computed")
        raise NetcosimError("the cause")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(netcosim.announce, "compile_kernels", lambda parts=None: None)
    monkeypatch.setattr(netcosim.runs.run_output, "run_and_report", fail)
    assert cli.main(["demo"]) == 2
    assert capsys.readouterr().err == "netcosim: error: the cause\n"
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))
    computed = ["netcosim-demo", "netcosim-demo/demo.toml", "netcosim-demo/results.db"]
    assert left == (computed if there else [])


@pytest.mark.parametrize("given", ["-3", "0", "x", ""])
def test_a_number_of_threads_that_numba_cannot_use_is_one_line(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", given)
    assert cli.main(["list", "orders"]) == 2
    found = capsys.readouterr().err
    assert found.startswith(f"netcosim: error: environment variable NUMBA_NUM_THREADS = '{given}'")
    assert found.count("\n") == 1
