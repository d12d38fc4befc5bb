"""Runs a function in a fork of this process, so that its memory is its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from netsim.errors import NetcosimError

T = TypeVar("T")


def in_fork(function: Callable[[], T]) -> T:
    """Call a function in a forked process and return its result."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(function, sender))
    child.start()
    sender.close()
    try:
        done, found = receiver.recv()
    except EOFError:
        done, found = False, "its process was killed (out of memory?)"
    except BaseException:
        child.terminate()
        raise
    finally:
        child.join()
        receiver.close()
    if not done:
        raise NetcosimError(f"bench: {found}")
    result: T = found
    return result


def _child(function: Callable[[], object], pipe: Connection) -> None:
    try:
        pipe.send((True, function()))
    except Exception as error:
        message = error if isinstance(error, NetcosimError) else f"{type(error).__name__}: {error}"
        pipe.send((False, str(message)))
