"""Checks of `cosim.run_times.live.Live`: one line for each wrong value, before anything changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from netsim.kinds import need_real
from netsim.limits import MAX_INDEX, need_memory, shown
from netsim.topologies.checks import need_int
from patterns.registry import PATTERNS

_RANK_BYTES = 200
"""Least that a rank takes while a job is placed: its node, steps and messages."""

T = TypeVar("T")


def need_items(what: str, values: Iterable[T]) -> list[T]:
    """Return the values as a list.

    Raises
    ------
    NetcosimError
        Not a sequence of values.
    """
    if isinstance(values, (str, Mapping, Set)) or not isinstance(values, Iterable):
        raise NetcosimError(f"{what} = {values!r}; it must be a sequence, such as a list")
    return list(values)


def need_job_id(what: str, value: object) -> Hashable:
    """Return a job id.

    Raises
    ------
    NetcosimError
        Not a number or a text.
    """
    if not isinstance(value, Hashable) or value is None:
        raise NetcosimError(f"{what} = {value!r}; it must be a number or a text")
    return value


def need_nodes(where: str, nodes: Iterable[int]) -> NDArray[np.int32]:
    """Return a job's nodes.

    Raises
    ------
    NetcosimError
        Not a sequence of different whole numbers of at least 0.
    """
    found = [
        need_int(where, "a node", node, 0, MAX_INDEX)
        for node in need_items(f"{where}: nodes", nodes)
    ]
    if not found:
        raise NetcosimError(f"{where}: it has no nodes; at least one is needed")
    if len(set(found)) < len(found):
        raise NetcosimError(f"{where}: a node is listed twice")
    return np.array(found, dtype=np.int32)


def need_traffic(
    where: str,
    pattern: str,
    parameters: Mapping[str, object],
    communication_fraction: float,
    node_bytes: int | None,
    bytes_per_node_s: float | None,
) -> None:
    """Raise NetcosimError unless a job's pattern and numbers are valid."""
    if not isinstance(pattern, str) or pattern not in PATTERNS:
        raise unknown_name(f"pattern of {where}", pattern, PATTERNS)
    if not isinstance(parameters, Mapping):
        raise NetcosimError(f"{where}: parameters = {parameters!r}; it must be a dict")
    need_real(where, "communication_fraction", communication_fraction, 0, 1)
    if node_bytes is not None:
        need_int(where, "node_bytes", node_bytes, 1, 10**18)
    if bytes_per_node_s is not None:
        need_real(where, "bytes_per_node_s", bytes_per_node_s, 1e-300, 1e18)


def need_ranks(where: str, n_nodes: int, ranks_per_node: int) -> int:
    """Return a job's number of ranks.

    Raises
    ------
    NetcosimError
        More than can be numbered, or than memory holds.
    """
    ranks = n_nodes * ranks_per_node
    count = f"{where}: ranks_per_node = {shown(ranks_per_node)} makes {shown(ranks)} ranks"
    if ranks > MAX_INDEX:
        raise NetcosimError(f"{count}; at most {MAX_INDEX:,} can be numbered")
    need_memory(count, ranks * _RANK_BYTES)
    return ranks
