"""Checks that the topology families share."""

from __future__ import annotations

from netsim.errors import NetcosimError

LINK_BANDWIDTH_BPS = 10**9
"""Default of every link: 8 Gbit/s."""

LINK_LATENCY_S = 40e-9
"""Default wire latency."""


def need_int(where: str, what: str, value: object, low: int) -> int:
    """The value, if it is a whole number of at least ``low``.

    Raises
    ------
    NetcosimError
        Not a whole number, or too small.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise NetcosimError(f"{where}: {what} = {value!r}; it must be a whole number")
    number = int(value.__index__())
    if number < low:
        raise NetcosimError(f"{where}: {what} = {number}; it must be at least {low}")
    return number


def need_one_of(where: str, what: str, value: str, valid: tuple[str, ...]) -> None:
    """Raise NetcosimError unless ``value`` is among ``valid``."""
    if value not in valid:
        raise NetcosimError(f"{where}: {what} = {value!r}; valid: {', '.join(valid)}")
