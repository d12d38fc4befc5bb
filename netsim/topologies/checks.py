"""Checks that the topology families share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from operator import index

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX, need_memory, shown

LINK_BANDWIDTH_BPS = 10**9
"""Default of every link: 8 Gbit/s."""

SCALE_UP_BPS = 450 * 10**9
"""NVLink of an H100 in each direction."""

LINK_LATENCY_S = 40e-9
"""Default wire latency."""


MAX_DIMENSIONS = 32
"""More sides than NumPy's arrays can have."""

_LINK_BYTES = 250
"""An upper estimate with room for routing tables; building a torus, a dragonfly and a fat-tree of
33,000 to 110,000 links took 102, 80 and 74 at the peak."""


def need_size(where: str, given: str, n_nodes: int, n_links: int) -> None:
    """Refuse a network that cannot be numbered or held, before anything of it is made.

    ``given`` are the parameters that make it so large. The links, which are directed, include those
    of the nodes; whole numbers do not overflow.
    """
    size = f"{where}: {given} makes {shown(n_nodes)} nodes and {shown(n_links)} links"
    if n_links > MAX_INDEX:
        raise NetcosimError(f"{size}; at most {MAX_INDEX:,} links can be numbered")
    need_memory(size, n_links * _LINK_BYTES)


def need_dims(where: str, dims: Sequence[int], concentration: int) -> str:
    """Refuse dimensions that are none, too many or too short; return them as text."""
    if not dims:
        raise NetcosimError(f"{where}: dims is empty; at least one dimension is needed")
    if len(dims) > MAX_DIMENSIONS:
        raise NetcosimError(
            f"{where}: dims has {len(dims)} dimensions; at most {MAX_DIMENSIONS} are allowed"
        )
    for length in dims:
        need_int(where, "a dimension's length", length, 1)
    need_int(where, "concentration", concentration, 1)
    return f"dims = {' x '.join(map(shown, dims))} of {shown(concentration)}"


def need_int(where: str, what: str, value: object, low: int, high: int | None = None) -> int:
    """Return the value, if it is a whole number of at least ``low``, and at most ``high``."""
    number = None
    if not isinstance(value, bool):
        with suppress(TypeError):  # no number, or an array of several
            number = index(value)  # type: ignore[arg-type]
    if number is None:
        raise NetcosimError(f"{where}: {what} = {value!r}; it must be a whole number")
    if number < low:
        raise NetcosimError(f"{where}: {what} = {shown(number)}; it must be at least {low}")
    if high is not None and number > high:
        raise NetcosimError(f"{where}: {what} = {shown(number)}; it must be at most {high:,}")
    return number


def need_one_of(where: str, what: str, value: str, valid: tuple[str, ...]) -> None:
    """Raise NetcosimError unless ``value`` is among ``valid``."""
    if value not in valid:
        raise NetcosimError(f"{where}: {what} = {value!r}; valid: {', '.join(valid)}")
