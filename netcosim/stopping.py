"""Ctrl-C, a polite kill and closed pipes: how a command is stopped, in one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stopped(KeyboardInterrupt):
    """A signal asks the command to end: Ctrl-C, or with `Terminated` a polite kill.

    Takes whatever arguments: compiled code passes an exception on as its class, called with the
    text. What matters belongs to the class.

    Attributes
    ----------
    word : str
        What the user is told.
    status : int
        The exit status: 128 and the signal's number.
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
    """Within the block SIGINT and SIGTERM raise `Stopped`, and only once.

    Some libraries turn what is raised in them into errors of their own, or drop it where
    compiled code calls back; so a signal is remembered, and whatever comes out of the block
    after it counts as `Stopped`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        raise _stop_of(number)

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        if isinstance(problem.exc_value, Stopped):
            # dropped by a callback; once more when it has returned
            threading.Timer(_AGAIN_S, os.kill, (os.getpid(), caught[0])).start()
        else:
            hook(problem)

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    except BaseException as error:
        if caught and not isinstance(error, Stopped):
            raise _stop_of(caught[0]) from None
        if isinstance(error, KeyboardInterrupt) and not isinstance(error, Stopped):
            raise Stopped from None
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            # after the first signal a second must not break the orderly end
            signal.signal(number, signal.SIG_IGN if caught else handler)


_AGAIN_S = 0.02


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
    """Let nothing be written any more: the reader (head, less) has gone.

    Not even by the interpreter's last flush, which would complain.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (OSError, ValueError):
            continue  # a stream that is no file
    os.close(nowhere)
