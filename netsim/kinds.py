"""Checks of the kinds of arguments, for mistakes of users of the Python interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.short_repr import text_of

WHOLE = (int, np.integer)
RNG = np.random.Generator
NONE = type(None)
FUNCTION: Any = Callable
_NAMES = {NONE: "None", FUNCTION: "a function"}

_SOURCES = {
    "Config": "config_from(dict) or load_config(path) returns one",
    "CosimResult": "run(config) returns one",
    "Generator": "numpy.random.default_rng(seed) returns one",
    "Mapping": "a dict is one",
    "Policy": "make_policy(topology, name, rng) returns one",
    "Program": "make_pattern returns one",
    "QueueResult": "simulate_queue returns one",
    "Routing": "make_routing(topology) returns one",
    "Sequence": "a list is one",
    "Topology": "make_topology or preset returns one",
    "Traffic": "combine(programs, rank_nodes) returns one",
    "Workload": "read_swf or laas_workload returns one",
}


def need_kinds(where: str, given: Mapping[str, tuple[object, Any]]) -> None:
    """Raise NetcosimError for the first argument that is not of its kind.

    Parameters
    ----------
    where : str
        The function.
    given : mapping of str to (value, kind or kinds)
        By the argument's name.

    Examples
    --------
    >>> need_kinds("run", {"n_ranks": ("8", int)})
    Traceback (most recent call last):
    netsim.errors.NetcosimError: run: n_ranks = '8'; it must be int
    """
    for name, (value, kind) in given.items():
        if not isinstance(value, kind):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            names = ["int"] if kind is WHOLE else [_NAMES.get(k, k.__name__) for k in kinds]
            source = _SOURCES.get(names[0], "")
            raise NetcosimError(
                f"{where}: {name} = {text_of(value)}; it must be {' or '.join(names)}"
                f"{source and f' ({source})'}"
            )


def need_real(
    where: str, what: str, value: object, low: float = -inf, high: float = 1e300
) -> float:
    """Return a finite number from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise NetcosimError(f"{where}: {what} = {text_of(value)}; it must be a number")
    number: Any = value
    if isinstance(number, np.generic):  # a float32 has no 1e300
        number = number.item()
    if not low <= number <= high:
        limits = f"{low:g} to {high:g}" if high < 1e300 else f"at least {low:g} and finite"
        raise NetcosimError(f"{where}: {what} = {text_of(number)}; it must be {limits}")
    return float(number)


def need_array(
    where: str,
    what: str,
    values: object,
    n: int | None = None,
    *,
    low: float = 0,
    high: float = 2**31 - 1,
    real: bool = False,
    nan: bool = False,
) -> NDArray[Any]:
    """Return numbers as a flat array of length ``n``; each is within limits, and whole or real."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    empty = array.shape == (0,)
    if array.ndim != 1 or not (empty or array.dtype.kind in ("iuf" if real else "iu")):
        kind = "numbers" if real else "whole numbers"
        raise NetcosimError(f"{where}: {what} = {text_of(values)}; it must be a list of {kind}")
    if n is not None and len(array) != n:
        raise NetcosimError(f"{where}: {what} has {len(array)} values; it must have {n}")
    wrong = ~((array >= low) & (array <= high))
    if nan:
        wrong &= ~np.isnan(array)
    if wrong.any():
        raise NetcosimError(
            f"{where}: {what} has {array[wrong][0]}; each must be from {low:g} to {high:g}"
        )
    return array.astype(np.int64) if empty and not real else array


def need_nodes(where: str, nodes: object, n: int | None = None) -> NDArray[np.int32]:
    """Return a job's nodes: one or more, each once; ``n`` of them where that is given."""
    found = need_array(where, "nodes", nodes, n)
    if not len(found):
        raise NetcosimError(f"{where}: nodes is empty; give at least one")
    numbers, times = np.unique(found, return_counts=True)
    if len(numbers) < len(found):
        raise NetcosimError(
            f"{where}: nodes has {numbers[times > 1][0]} more than once; list each node once"
        )
    return np.ascontiguousarray(found, dtype=np.int32)
