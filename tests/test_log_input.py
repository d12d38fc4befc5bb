"""`netcosim trace` reads logs fast, from a pipe too, and says what is none."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from netcosim import log_input
from netcosim.cli import main
from netcosim.log_input import log_file
from netsim.errors import NetcosimError
from workloads.csv_jobs import write_csv
from workloads.swf import write_swf
from workloads.synthetic import laas_workload

HEAVY = ("pandas", "numba", "pydantic", "scipy", "matplotlib", "networkx")
"""What a look at a log does not need; each takes a tenth of a second or more to import."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.swf"
    write_swf(laas_workload(40, 8, np.random.default_rng(1)), path)
    return path


def through(raw: bytes, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "netcosim", "trace", *command],
        input=raw,
        capture_output=True,
        check=False,
    )


def test_a_look_at_a_log_imports_little(log: Path) -> None:
    script = (
        "import sys; from netcosim.cli import main; status = main(['trace', 'info', sys.argv[1]])\n"
        f"print([name for name in {HEAVY} if name in sys.modules]); sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(log)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[0].startswith("jobs.swf: 40 jobs over ")
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("table", [False, True])
def test_a_pipe_tells_what_the_file_does(
    tmp_path: Path,
    log: Path,
    zipped: bool,
    table: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if table:
        log = tmp_path / "jobs.csv"
        write_csv(laas_workload(40, 8, np.random.default_rng(1)), log)
    assert main(["trace", "info", str(log)]) == 0
    by_name = capsys.readouterr().out
    raw = gzip.compress(log.read_bytes()) if zipped else log.read_bytes()
    piped = through(raw, "info", "-").stdout.decode()
    name = "standard input.csv" if table else "standard input"
    assert piped == by_name.replace(log.name, name)


def test_the_shell_s_ways_to_a_pipe(log: Path, tmp_path: Path) -> None:
    raw = gzip.compress(log.read_bytes())
    for name in ("-", "/dev/stdin"):
        done = through(raw, "info", name)
        assert b": 40 jobs over " in done.stdout, done.stderr
    out = tmp_path / "few.swf"
    done = through(raw, "convert", "-", "--out", str(out), "--first-jobs", "3")
    assert done.stdout.startswith(f"{out}: 3 jobs written".encode())


def test_an_open_pipe_and_a_file_as_it_is(log: Path, tmp_path: Path) -> None:
    for name in (str(log), str(tmp_path / "missing")):
        with log_file(name) as same:
            assert same == name
    ends = os.pipe()
    os.write(ends[1], log.read_bytes())
    os.close(ends[1])
    with os.fdopen(ends[0]), log_file(f"/dev/fd/{ends[0]}") as copy:
        assert Path(copy).name == str(ends[0])
        assert Path(copy).read_bytes() == log.read_bytes()
    assert not Path(copy).exists()


def test_a_pipe_that_nobody_has_opened_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["trace", "info", str(tmp_path / "pipe")]) == 2
    assert "a pipe or a device; a regular file is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "standard input: no job can be used"),
        (b"hello\n", "standard input:1: 1 fields; a job line has 18 (a job log is SWF, a table"),
        (b"\x1f\x8b cut", "standard input: the gzip file is"),
        (bytes(range(256)), "standard input:1: "),
    ],
)
def test_what_is_no_log_is_told_in_a_line(raw: bytes, told: str) -> None:
    done = through(raw, "info", "-")
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"netcosim: error: {told}")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


def test_a_pipe_without_an_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_input, "MAX_TEXT_BYTES", 2**21)
    with Path("/dev/zero").open("rb") as endless:
        name = f"/dev/fd/{endless.fileno()}"
        with pytest.raises(NetcosimError, match="more than 2 MiB"), log_file(name):
            pass


def test_a_scheduler_s_log_through_a_pipe_needs_a_name_for_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "import", "sacct", "-"]) == 2
    assert "--out JOBS.csv is needed" in capsys.readouterr().err
    day = b"2024-01-01T00:0"
    raw = b"JobID|Submit|Start|End|NNodes|State\n"
    raw += b"7|" + day + b"0:00|" + day + b"1:00|" + day + b"5:00|4|COMPLETED\n"
    out = tmp_path / "t.csv"
    done = through(raw, "import", "sacct", "-", "--out", str(out))
    assert done.stdout.startswith(f"{out}: 1 jobs written".encode()), done.stderr
