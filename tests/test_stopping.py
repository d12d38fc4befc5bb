"""How a command ends when it is stopped: Ctrl-C, a polite kill, a pipe that nobody reads."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hostile.row import config_text
from selection import first_only

from netcosim.cli import main
from netcosim.executors.executor import compute
from netcosim.runs.store import Store
from netcosim.stopping import Stopped, Terminated, stoppable
from netsim.atomic_files import defer_signals

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "netcosim"]
GOES_ON = "; what was computed is stored, the same command goes on from there\n"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def sweep_file(folder: Path, points: int) -> None:
    """A sweep of so many points of about a tenth of a second."""
    seeds = str(list(range(1, points + 1)))
    text = config_text({"run.seed": seeds, "workload.synthetic.n_jobs": "60"})
    (folder / "c.toml").write_text(text)


@contextmanager
def handlers_as_before() -> Iterator[None]:
    """A command that was stopped ignores what comes after; the tests that follow must not."""
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    with handlers_as_before():
        yield


def wait_until_it_listens(process_id: int) -> None:
    """Before that a signal ends Python itself, or is lost where the parent ignores it."""
    status = Path(f"/proc/{process_id}/status")
    bit = 1 << (signal.SIGTERM - 1)
    for _ in range(3000):
        if not status.exists():
            time.sleep(1)
            return
        caught = re.search(r"SigCgt:\s*(\w+)", status.read_text())
        if caught and int(caught[1], 16) & bit:
            return
        time.sleep(0.01)
    raise AssertionError(f"process {process_id} does not listen")


def stopped(
    folder: Path, number: signal.Signals, after_s: float, *arguments: str
) -> tuple[int, str]:
    """Status and all output of a command that is told to stop."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env=environment(),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_until_it_listens(process.pid)
    time.sleep(after_s)
    # a terminal tells the whole group, a batch system this one process
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


# The moments fall into the parent's imports, the start of the workers and the computing; where
# exactly differs from machine to machine, and none of them may be seen.
@pytest.mark.parametrize("after_s", first_only([1.4, 0.5, 2.2]))
@pytest.mark.parametrize("number", first_only([signal.SIGINT, signal.SIGTERM]))
def test_a_sweep_over_two_processes_stops_in_one_line(
    tmp_path: Path, number: signal.Signals, after_s: float
) -> None:
    sweep_file(tmp_path, 400)
    status, out = stopped(tmp_path, number, after_s, "sweep", "c.toml", "--jobs", "2", "--quiet")
    word = "interrupted" if number == signal.SIGINT else "terminated"
    assert (status, out) == (128 + number, f"netcosim: {word}{GOES_ON}")


@pytest.mark.full
def test_a_stopped_sweep_goes_on(tmp_path: Path) -> None:
    sweep_file(tmp_path, 60)
    command = ("sweep", "c.toml", "--quiet")
    process = subprocess.Popen([*PROGRAM, *command], env=environment(), cwd=tmp_path)
    deadline = time.monotonic() + 60
    stored = 0
    while not stored and time.monotonic() < deadline:
        time.sleep(0.05)
        if (tmp_path / "c.db").exists() and (tmp_path / "c.db").stat().st_size:
            with Store(tmp_path / "c.db", "read") as store:
                stored = len(store.statuses())
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    with Store(tmp_path / "c.db", "read") as store:
        stored = len(store.statuses())
    assert 0 < stored < 60
    done = subprocess.run(
        [*PROGRAM, *command], env=environment(), cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert f"60 points; {stored} were stored, {60 - stored} computed" in done.stdout


@pytest.mark.parametrize("after_s", first_only([1.5, 0.6, 2.5]))
def test_a_run_stops_in_one_line_and_leaves_what_is_done(tmp_path: Path, after_s: float) -> None:
    """Nothing, or whole tasks and a line that tells of them."""
    (tmp_path / "c.toml").write_text(config_text({"mix.message_bytes": '"100 MB"'}))
    status, out = stopped(tmp_path, signal.SIGINT, after_s, "run", "c.toml", "--out", "out")
    lines = [line for line in out.splitlines() if "packet simulation ahead" not in line]
    kept = [line for line in lines if "tasks are stored in out/results.db" in line]
    assert (status, lines) == (130, [*kept, "netcosim: interrupted"])
    assert (tmp_path / "out").exists() == bool(kept)
    if not kept:
        return
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["results.db"]
    with Store(tmp_path / "out" / "results.db", "read") as store:
        assert all(point.status == "done" for point in store.points())
        [(count,)] = store._db.execute("SELECT count(*) FROM tasks").fetchall()
    assert kept[0].startswith(f"netcosim: {count} tasks are stored")


@pytest.mark.slow
@pytest.mark.parametrize("after_s", first_only([4.0, 2.0, 6.0, 8.0]))
def test_compiling_stops_in_one_line(
    tmp_path: Path, after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "c.toml").write_text(config_text({}))
    status, out = stopped(tmp_path, signal.SIGINT, after_s, "run", "c.toml", "--out", "out")
    lines = [line for line in out.splitlines() if "compiling kernels" not in line]
    assert (status, lines) == (130, ["netcosim: interrupted"])


def test_a_signal_that_a_library_drops_or_renames_still_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Compiled code that calls back drops what is raised there; others raise their own error."""

    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        signal.raise_signal(signal.SIGINT)

    def dropped() -> None:
        with stoppable():
            callback()
            time.sleep(20)

    def swallowed() -> None:
        with stoppable():
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:
                time.sleep(0)
            time.sleep(20)

    def printed() -> None:
        with stoppable():
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:
                sys.excepthook(*sys.exc_info())  # as PyErr_Print does
            time.sleep(20)

    def renamed() -> None:
        with stoppable():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ImportError("half imported") from None

    for stopped_by in (dropped, swallowed, printed, renamed):
        with handlers_as_before(), pytest.raises(Stopped):
            stopped_by()
    assert capsys.readouterr().err == ""


def test_a_second_signal_does_not_break_an_orderly_end() -> None:
    """Not even a long one, nor one that waits for others; and the first one's word counts."""
    done = []

    def command() -> None:
        with stoppable():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                for number in (signal.SIGINT, signal.SIGTERM):
                    signal.raise_signal(number)
                    time.sleep(0.2)
                done.append("tidied up")

    with pytest.raises(Terminated):
        command()
    assert done == ["tidied up"]
    # nor does one in what comes after the block
    assert {signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)} == {signal.SIG_IGN}


def test_the_first_signal_counts_where_it_was_dropped() -> None:
    def command() -> None:
        with stoppable():
            with suppress(BaseException):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Terminated):
        command()


def test_a_second_signal_has_no_effect_on_errors_behind_the_first() -> None:
    done = []

    def command() -> None:
        with stoppable():
            try:
                signal.raise_signal(signal.SIGTERM)
            except Stopped:
                try:
                    raise ValueError
                except ValueError:
                    signal.raise_signal(signal.SIGINT)
                done.append("tidied up")
                raise

    with pytest.raises(Terminated):
        command()
    assert done == ["tidied up"]


def test_a_thread_may_be_in_a_block() -> None:
    """Signals reach the main thread alone."""
    done = []

    def command() -> None:
        with stoppable():
            done.append(True)

    thread = threading.Thread(target=command)
    thread.start()
    thread.join()
    assert done == [True]


def test_a_block_leaves_signals_as_they_were() -> None:
    """And an interrupt that Python raises itself is a stop."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    hooks = sys.unraisablehook, sys.excepthook
    with stoppable():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert (sys.unraisablehook, sys.excepthook) == hooks
    with pytest.raises(Stopped), stoppable():
        raise KeyboardInterrupt


def test_a_stop_survives_being_made_again() -> None:
    """Compiled code passes an exception on as its class, called with the text."""
    for kind, status, word in ((Stopped, 130, "interrupted"), (Terminated, 143, "terminated")):
        again = kind(str(kind()))
        assert (again.status, again.word) == (status, word)


def half_imported(config: object) -> dict[str, list[dict[str, object]]]:
    """A point in which a library turns Ctrl-C into an error of its own."""
    try:
        raise Stopped
    except KeyboardInterrupt:
        raise ImportError("half imported") from None


def test_a_stop_is_no_failed_point() -> None:
    """It would be stored as failed, and not be computed when the sweep goes on."""
    with pytest.raises(Stopped):
        compute("test_stopping:half_imported", {})


# Closed streams: 0, 2 or 141, and never a word from the interpreter
@pytest.mark.parametrize(
    ("command", "status", "out", "err"),
    [
        ("list | head -1", 141, "netcosim list topologies", ""),
        ("list 2>&- | head -1", 141, "netcosim list topologies", ""),
        ("describe dragonfly-1056 | true", 141, "", ""),
        ("list policies >&-", 0, "", ""),
        ("list policies <&- >&- 2>&-", 0, "", ""),
        ("list nothing 2>&-", 2, "", ""),
        ("list nothing >&-", 2, "", "netcosim: error: unknown kind 'nothing'"),
        ("list nothing 2>&1 >/dev/null | true", 2, "", ""),
    ],
)
def test_closed_streams(command: str, status: int, out: str, err: str) -> None:
    # a reader that ends before we write must be surely gone: hence the wait on our side
    script = f"(sleep 0.5; exec {sys.executable} -m netcosim {command.split('|')[0]})"
    pipe = f"| {command.split('|')[1]}" if "|" in command else ""
    done = subprocess.run(
        ["bash", "-c", f"{script} {pipe}; exit ${{PIPESTATUS[0]}}"],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if "head" in command:
        # head reads before it goes, so the writer may be done by then
        assert done.returncode in (status, 0)
    else:
        assert done.returncode == status
    assert done.stdout.startswith(out)
    assert done.stderr.startswith(err)
    assert done.stderr.count("\n") == (1 if err else 0)


def test_closed_streams_do_not_end_up_in_results(tmp_path: Path) -> None:
    """With standard error closed the results file must not get its number, and our messages."""
    (tmp_path / "c.toml").write_text(config_text({"run.seed": "[1, 2]"}))
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m netcosim sweep c.toml <&- >&- 2>&-"],
        env=environment(),
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0
    with Store(tmp_path / "c.db", "read") as store:
        assert list(store.statuses().values()) == ["done", "done"]


def test_out_of_memory_and_deep_nesting_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from netcosim import catalogue

    for error, told in (
        (MemoryError("Unable to allocate 7 TiB"), "out of memory (Unable to allocate 7 TiB)"),
        (RecursionError("too deep"), "the input is nested too deeply"),
    ):

        def failing(kind: str, error: Exception = error) -> dict[str, str]:
            raise error

        monkeypatch.setattr(catalogue, "entries", failing)
        assert main(["list", "policies"]) == 2
        err = capsys.readouterr().err
        assert err.startswith(f"netcosim: error: {told}")
        assert err.count("\n") == 1


def test_a_signal_is_held_back_until_the_block_is_done() -> None:
    """What is begun is finished, and then the signal counts."""
    done = []

    def ask_and_note() -> None:
        with defer_signals():
            signal.raise_signal(signal.SIGTERM)
            done.append("after the signal")
        done.append("never")

    def command() -> None:
        with stoppable():
            ask_and_note()

    with pytest.raises(Terminated):
        command()
    assert done == ["after the signal"]
