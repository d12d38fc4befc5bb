"""The exception for invalid input and impossible requests."""

from __future__ import annotations

import re
from collections.abc import Collection

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


class UnreadKeyWarning(UserWarning):
    """A key of a config that is set and that nothing reads; see `experiments.unread`."""


def one_line(message: str, most: int) -> str:
    """Return a message as one line of at most so many printable characters, long words cut."""
    shown = "".join(c if c.isprintable() else " " for c in message)
    line = _LONG_WORD.sub(lambda m: f"{m[0][:60]}...{m[0][-20:]}", " ".join(shown.split()))
    return line if len(line) <= most else f"{line[:most]}..."


def unknown_name(what: str, name: str, valid: object) -> NetcosimError:
    """Return the error for an unknown name; it lists the valid ones."""
    listed = ", ".join(sorted(str(v) for v in valid))  # type: ignore[attr-defined]
    return NetcosimError(f"unknown {what} {name!r}; valid: {listed}")


def need_name(what: str, name: str, valid: Collection[str]) -> None:
    """Raise the error for an unknown name unless it is among the valid ones."""
    if not isinstance(name, str) or name not in valid:
        raise unknown_name(what, name, valid)
