"""The exception for invalid input and impossible requests."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LONG_WORD = re.compile(r"\S{200,}")


class NetcosimError(ValueError):
    """Invalid input, reported in one line: what, the value, what is allowed, where.

    The command line prints it without a traceback and exits with status 2.

    Examples
    --------
    >>> import netcosim as nc
    >>> try:
    ...     nc.preset("dragonfly-271")
    ... except nc.NetcosimError as error:
    ...     print(str(error)[:31])
    unknown machine 'dragonfly-271'
    """


class ModelWarning(UserWarning):
    """What is simulated is not what the call may look like.

    A call raises each once, by `warnings.warn`; the command line prints it as one line.

    Examples
    --------
    >>> import warnings
    >>> import netcosim as nc
    >>> import networkx as nx
    >>> pair = nx.Graph()
    >>> pair.add_edge("a", "b", capacity=400)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", nc.ModelWarning)  # stop where a model does not fit
    ...     try:
    ...         nc.Topology.from_networkx(pair)
    ...     except nc.ModelWarning as warning:
    ...         print(str(warning)[:48])
    graph: attribute 'capacity' of edges is not read
    """


_PACKAGES = ("netsim", "alloc", "workloads", "patterns", "queuesim", "cosim", "netcosim")


_RAISED: ContextVar[set[str] | None] = ContextVar("_RAISED", default=None)
"""Messages of `warn_of_model` within `warning_once`."""


@contextmanager
def warning_once() -> Iterator[None]:
    """Raise each `ModelWarning` of the block once, however many of its parts know of it."""
    token = _RAISED.set(set()) if _RAISED.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _RAISED.reset(token)


def warn_of_model(message: str) -> None:
    """Raise a `ModelWarning` at the line outside of the packages that led to it."""
    raised = _RAISED.get()
    if raised is not None:
        if message in raised:
            return
        raised.add(message)
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ModelWarning, stacklevel=level)


def one_line(message: str, most: int) -> str:
    """Return a message as one line of at most so many printable characters, long words cut."""
    shown = "".join(c if c.isprintable() else " " for c in message)
    line = _LONG_WORD.sub(lambda m: f"{m[0][:60]}...{m[0][-20:]}", " ".join(shown.split()))
    return line if len(line) <= most else f"{line[:most]}..."


def near(name: object, valid: Iterable[object]) -> str:
    """Return ' did you mean X? valid: ...' for a name that is not valid."""
    names = sorted(map(str, valid))
    return f"{meant(str(name), names, 2).removeprefix(';')} valid: {', '.join(names)}"


def meant(name: str, valid: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return '; did you mean X or Y?' if valid names are near a name, else an empty text."""
    import difflib  # an error is rare

    close = difflib.get_close_matches(name, sorted(valid), n=most, cutoff=cutoff)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def unknown_name(what: str, name: str, valid: Iterable[object]) -> NetcosimError:
    """Return the error for an unknown name, with the nearest and all valid ones."""
    return NetcosimError(f"unknown {what} {name!r};{near(name, valid)}")


def need_name(what: str, name: str, valid: Collection[str]) -> None:
    """Raise the error for an unknown name unless it is among the valid ones."""
    if not isinstance(name, str) or name not in valid:
        raise unknown_name(what, name, valid)
