"""The exception for invalid input and impossible requests."""

from __future__ import annotations

from collections.abc import Collection


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


def unknown_name(what: str, name: str, valid: object) -> NetcosimError:
    """Return the error for an unknown name; it lists the valid ones."""
    listed = ", ".join(sorted(str(v) for v in valid))  # type: ignore[attr-defined]
    return NetcosimError(f"unknown {what} {name!r}; valid: {listed}")


def need_name(what: str, name: str, valid: Collection[str]) -> None:
    """Raise the error for an unknown name unless it is among the valid ones."""
    if name not in valid:
        raise unknown_name(what, name, valid)
