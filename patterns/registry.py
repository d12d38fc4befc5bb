"""All patterns by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from netsim.errors import NetcosimError, need_name
from netsim.kinds import NONE, RNG, need_kinds
from netsim.limits import MAX_INDEX, shown
from netsim.plugin_entries import given_by
from netsim.registry import Registry
from netsim.topologies.checks import need_int
from netsim.traffic import Program

if TYPE_CHECKING:
    from patterns.entry import Pattern


PATTERNS: Registry[Pattern] = Registry(
    "patterns.registry:PATTERNS",
    "pattern",
    "patterns.entry:Pattern",
    (
        "patterns.all_to_all:PATTERN",
        "patterns.broadcast:PATTERN",
        "patterns.collective:PATTERNS",
        "patterns.fft3d:PATTERN",
        "patterns.gateways:PATTERN",
        "patterns.goal:PATTERN",
        "patterns.gpcnet:PATTERN",
        "patterns.halo:PATTERNS",
        "patterns.matrix:PATTERN",
        "patterns.bisection_pairing:PATTERN",
        "patterns.sub_a2a:PATTERN",
        "patterns.stencil4d:PATTERN",
        "patterns.unstructured_mesh:PATTERN",
        "patterns.pairs:PATTERN",
        "patterns.strassen_winograd:PATTERN",
        "patterns.synthetic_loads:PATTERNS",
        "patterns.training.pattern:PATTERN",
        "patterns.recorded.pattern:PATTERN",
        "patterns.training.inference:PATTERN",
    ),
)


def make_pattern(
    name: str,
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    params: Mapping[str, object] | None = None,
) -> Program:
    """Return the program of a pattern by name.

    Parameters
    ----------
    name : str
        A key of `PATTERNS`.
    n_ranks, message_bytes, iterations : int
    rng : numpy.random.Generator
        Used by the random patterns only.
    params : mapping, optional
        Extra parameters of the pattern; defaults for those left out.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> program = nc.make_pattern("halo2d", 6, 1000, 1, rng, {"grid": [2, 3]})
    >>> program.n_messages, program.total_bytes
    (14, 14000)
    """
    need_kinds(
        "make_pattern",
        {"name": (name, str), "rng": (rng, RNG), "params": (params, (Mapping, NONE))},
    )
    need_int("make_pattern", "n_ranks", n_ranks, 1, MAX_INDEX)
    need_int("make_pattern", "message_bytes", message_bytes, 1)
    need_int("make_pattern", "iterations", iterations, 1)
    need_name("pattern", name, PATTERNS)
    pattern = PATTERNS[name]
    extra = pattern.arguments(params or {})
    pattern.check_ranks(n_ranks, params or {})
    try:
        draws = (rng,) if pattern.uses_rng else ()
        program = pattern.function(n_ranks, message_bytes, iterations, *draws, **extra)
        given_by(pattern, program, Program)
        if np.sum(program.send_bytes, dtype=np.float64) > np.iinfo(np.int64).max:
            raise OverflowError("bytes that cannot be counted with 64 bits")
    except (OverflowError, MemoryError) as error:
        given = {"iterations": iterations, **(params or {})}
        if pattern.recorded_ranks is None:
            given["message_bytes"] = message_bytes
        where = f"pattern {name} on {n_ranks} ranks"
        raise NetcosimError(f"{where}: {_listed(given)}: too large ({error})") from None
    return program


def _listed(given: Mapping[str, object]) -> str:
    values = (f"{k} = {shown(v) if type(v) is int else v}" for k, v in given.items())
    return ", ".join(values)[:200]
