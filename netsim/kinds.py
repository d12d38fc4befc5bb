"""Checks of the kinds of arguments, for mistakes of users of the Python interface."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from netsim.errors import NetcosimError
from netsim.short_repr import text_of

WHOLE = (int, np.integer)
RNG = np.random.Generator

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


def need_kinds(where: str, given: Mapping[str, tuple[object, type | tuple[type, ...]]]) -> None:
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
            names = ["int"] if kind is WHOLE else [k.__name__ for k in kinds]
            source = _SOURCES.get(names[0], "")
            raise NetcosimError(
                f"{where}: {name} = {text_of(value)}; it must be {' or '.join(names)}"
                f"{source and f' ({source})'}"
            )
