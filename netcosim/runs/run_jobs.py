"""One run on several processes, here or elsewhere, which share its parts by a journal.

All do the same run from its start; the first that reaches a part computes it. So none needs
anything but the config, the numbers are those of one process, and one that is killed costs
the part that it was at.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cosim.measuring.parts import TaskRunner
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.executors.signals import defer_signals
from netcosim.runs.cosim import run_cosim
from netcosim.runs.journal import Journal, drop, journals_in
from netsim.atomic_files import make_folder
from netsim.errors import NetcosimError
from netsim.file_lock import acquire_lock, let_go
from netsim.limits import need_memory

if TYPE_CHECKING:
    from netcosim.executors.workers import Workers

PROCESS_BYTES = 300 * 10**6
"""What a process takes before it knows the config: Python, its libraries and compiled kernels."""

LEAST_RUN_S = 60.0
"""A run that is refused within so long leaves nothing; its parts are soon computed again."""


Helping = Callable[[Mapping[str, object], TaskRunner], None]
"""What another process does with a resolved config: all parts that no other process does."""

_Given = tuple[Mapping[str, object], str, Helping]


def run_parts(content: Mapping[str, object], parts: TaskRunner) -> None:
    """Run a config with these parts."""
    config = checked_config(dict(content))
    with config.plugged():
        run_cosim(config, parts=parts)


@contextmanager
def worker_pool(
    config: Config,
    journal: Journal,
    workers: Workers,
    print_line: Callable[[str], None],
    helping: Helping = run_parts,
) -> Iterator[None]:
    """Lock a journal while the block runs, and let other processes compute its parts.

    What is done stays if the block is left by an exception, but for a run that is refused before
    it has done much; journals of other runs in the folder of the results are dropped, because what
    they belong to will be overwritten.

    Parameters
    ----------
    journal : Journal
        Of that config.
    workers : Workers
        Local processes, this one among them; or others, which need the journal's folder.
    helping : callable (content, parts)
        What the other processes do; at a module's top level, or a `functools.partial` of such.
    """
    if workers.executor is None and workers.count > 1:
        need_memory(f"--jobs {workers.count}", workers.count * PROCESS_BYTES)
    out = journal.folder.parent
    fresh = not out.exists()
    began = time.monotonic()
    lock: IO[str] | None = None
    try:
        make_folder(journal.folder)
        lock = acquire_lock(journal.folder / "run", "run")
        for other in journals_in(out):
            if other.name != journal.folder.name:
                print_line(f"{other}: left by a run of another config or version, dropped")
                drop(other)
        if len(journal):
            print_line(
                f"{len(journal):,} parts of this run are done: it goes on in {journal.folder}"
            )
        given = (config.resolved(), str(journal.folder.resolve()), helping)
        helpers = _local_helpers if workers.executor is None else _helpers_elsewhere
        with helpers(given, workers, print_line):
            yield
    except BaseException as error:
        refused = isinstance(error, Exception) and time.monotonic() - began < LEAST_RUN_S
        if lock is None and refused:
            raise  # another process's, or there is no folder
        if len(journal) and not refused:
            print_line(
                f"{len(journal):,} parts are kept in {journal.folder}; start it again to go on"
            )
        else:
            if lock is not None:
                let_go(lock)
            drop(journal.folder)
            if fresh and out.is_dir() and not any(out.iterdir()):
                out.rmdir()
        raise
    finally:
        if lock is not None:
            let_go(lock)


@contextmanager
def _helpers_elsewhere(
    given: _Given, workers: Workers, print_line: Callable[[str], None]
) -> Iterator[None]:
    assert workers.executor is not None
    calls = [workers.executor.submit(help_elsewhere, *given) for _ in range(workers.count)]
    try:
        yield
        ended = [call for call in calls if call.done()]
        lost = sum(call.cancelled() or call.exception() is not None for call in ended)
        if lost:
            print_line(f"{lost} of {workers.count} workers were lost; others did their parts")
    finally:
        for call in calls:
            call.cancel()


def help_elsewhere(content: Mapping[str, object], folder: str, helping: Helping) -> None:
    """Compute parts until nothing is left, or the run has ended."""
    with suppress(NetcosimError):
        helping(content, Journal(Path(folder), helps=True))


@contextmanager
def _local_helpers(
    given: _Given, workers: Workers, print_line: Callable[[str], None]
) -> Iterator[None]:
    jobs = workers.count
    if jobs == 1:
        yield
        return
    from netcosim.executors.executor import FORK_SERVER_GONE, start_forkserver

    processes: list[BaseProcess] = []
    try:
        context = multiprocessing.get_context("forkserver")
        # nothing: this process would wait for its imports, and has work to do
        context.set_forkserver_preload([])
        start_forkserver()
        for _ in range(jobs - 1):
            helper = context.Process(target=_help, args=given)
            # one that has been started must be known, or it would outlive us
            try:
                with defer_signals():
                    helper.start()
                    processes.append(helper)
            except FORK_SERVER_GONE:
                print_line("the process that starts others was killed; this run goes on without it")
                break
        yield
        lost = sum(process.exitcode not in (None, 0) for process in processes)
        if lost:
            print_line(
                f"{lost} of {jobs} processes ended early (out of memory?); others did their parts"
            )
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _help(content: Mapping[str, object], folder: str, helping: Helping) -> None:
    """Compute parts until nothing is left; the process that started the run reports errors."""
    from netcosim.executors.worker import start_worker

    start_worker()
    try:
        helping(content, Journal(Path(folder)))
    except BaseException:
        os._exit(1)
    os._exit(0)
