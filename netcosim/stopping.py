"""Ctrl-C, a polite kill and closed pipes: how a command is stopped, in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class Stopped(KeyboardInterrupt):
    """A signal requests the command to end: Ctrl-C, or with `Terminated` SIGTERM.

    Takes whatever arguments: compiled code passes an exception on as its class, called with the
    text. What matters belongs to the class: the message, and the exit status, 128 and the signal.
    """

    word = "interrupted"
    status = 128 + signal.SIGINT


class Terminated(Stopped):
    """See `Stopped`."""

    word = "terminated"
    status = 128 + signal.SIGTERM


def _stop_of(number: int) -> Stopped:
    return Stopped() if number == signal.SIGINT else Terminated()


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` on SIGINT and SIGTERM within the block.

    Some libraries turn what is raised in them into other errors, or drop it, where
    compiled code calls back or behind a bare ``except``. So a signal is recorded: whatever
    leaves the block after it counts as `Stopped`, and if no exception is being raised any
    more, it is raised again. While it is being raised, a second signal has no effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    ended = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if not caught:
            caught.append(number)
            threading.Thread(target=_resend_signal, args=(number, ended), daemon=True).start()
        elif _stop_is_raised():
            return
        raise _stop_of(caught[0])

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        if not isinstance(problem.exc_value, Stopped):
            hook(problem)

    def printed(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        # compiled code prints what its import raised, and goes on
        if not isinstance(error, Stopped):
            shown(kind, error, trace)

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    shown, sys.excepthook = sys.excepthook, printed
    try:
        yield
    except BaseException as error:
        if caught and not isinstance(error, Stopped):
            raise _stop_of(caught[0]) from None
        if isinstance(error, KeyboardInterrupt) and not isinstance(error, Stopped):
            raise Stopped from None
        raise
    finally:
        ended.set()
        sys.unraisablehook, sys.excepthook = hook, shown
        for number, handler in before.items():
            # after the first signal a second must not break the orderly end
            signal.signal(number, signal.SIG_IGN if caught else handler)


_RESEND_S = 0.05


def _resend_signal(number: int, ended: threading.Event) -> None:
    """Send a signal again whenever what it raised has been dropped, until the block ends."""
    while not ended.wait(_RESEND_S):
        # twice: an exception is nowhere for a moment while compiled code lets go of things
        if not _stop_is_raised() and not ended.wait(_RESEND_S) and not _stop_is_raised():
            os.kill(os.getpid(), number)


def _stop_is_raised() -> bool:
    """Return whether the main thread is handling a raised `Stopped`."""
    found: object = sys._current_exceptions().get(threading.main_thread().ident or 0)
    # a triple up to Python 3.11, the exception itself from 3.12
    error = found[1] if isinstance(found, tuple) else found
    while isinstance(error, BaseException):
        if isinstance(error, Stopped):
            return True
        error = error.__context__
    return False


def open_streams() -> None:
    """Make sure that standard input, output and error are open.

    Where one was closed (``2>&-``), the next file that is opened would take its number, and
    messages would be written into results.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # the lowest free number is this one
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    # a name that the terminal's encoding lacks is no reason to fail
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def close_pipes() -> None:
    """Redirect all output to nowhere, because the reader (head, less) has gone.

    This also covers the interpreter's last flush, which would fail otherwise.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue  # a stream that is no file
    os.close(nowhere)
