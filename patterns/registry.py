"""All patterns by name, with a line of description and their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from netsim.errors import NetcosimError, unknown_name
from netsim.limits import shown
from netsim.traffic import Program
from patterns.all_to_all import all_to_all
from patterns.allreduce_recursive_doubling import allreduce_recursive_doubling
from patterns.allreduce_ring import allreduce_ring
from patterns.bisection_pairing import bisection_pairing
from patterns.broadcast import broadcast
from patterns.fft3d import fft3d
from patterns.halo2d import halo2d
from patterns.halo3d import halo3d
from patterns.halo3d26 import halo3d26
from patterns.pairs import pairs
from patterns.stencil4d import stencil4d
from patterns.strassen_winograd import strassen_winograd
from patterns.sub_a2a import sub_a2a
from patterns.synthetic_loads import adversarial, permutation, shift, tornado, uniform_random
from patterns.unstructured_mesh import unstructured_mesh

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "ints": "a list of whole numbers",
}


@dataclass(frozen=True)
class Parameter:
    """An extra parameter of a pattern.

    Attributes
    ----------
    name : str
    kind : str
        A key of `KINDS`.
    default : object
        None: the pattern chooses (see the description), or ``required`` is set.
    unit : str
        Empty for plain numbers and texts.
    description : str
    required : bool
    """

    name: str
    kind: str
    default: object
    unit: str
    description: str
    required: bool = False


@dataclass(frozen=True)
class Pattern:
    """An entry of `PATTERNS`.

    Attributes
    ----------
    description : str
    parameters : tuple of Parameter
        Those beside ranks, message bytes, iterations and the generator.
    function : callable
        ``(n_ranks, message_bytes, iterations, [rng], extra parameters by name) -> Program``.
    takes_rng : bool
        Whether the function takes the generator.
    """

    description: str
    parameters: tuple[Parameter, ...]
    function: Callable[..., Program]
    takes_rng: bool = False


_ORDER = Parameter("order", "str", "ring", "", "ring, pairwise (XOR partners) or at-once")
_GRID_2D = Parameter("grid", "ints", None, "ranks", "x, y; as square as possible if left out")
_GRID_3D = Parameter("grid", "ints", None, "ranks", "x, y, z; from the rank count if left out")
_EXCHANGE = Parameter("exchange", "str", "at-once", "", "at-once or by-dimension")
_MESSAGES = Parameter("messages", "int", 1, "", "messages a rank and iteration")

PATTERNS: dict[str, Pattern] = {
    "all-to-all": Pattern("every rank sends M bytes to every other rank", (_ORDER,), all_to_all),
    "broadcast": Pattern(
        "rank 0 sends M bytes to every other rank",
        (Parameter("algorithm", "str", "flat", "", "flat, binomial or binary (trees)"),),
        broadcast,
    ),
    "fft3d": Pattern(
        "3D FFT on pencils: forward and backward transposes; the cells fix the sizes, not M",
        (
            Parameter("rows", "int", 4, "ranks", "rows of ranks; the nearest divisor is taken"),
            Parameter("cells", "int", 100, "", "cells along a side of the cube"),
            Parameter("compute", "bool", True, "", "whether the ranks compute"),
            Parameter(
                "compute_ns_per_cell", "float", 7.0, "ns", "compute time of all ranks a cell"
            ),
        ),
        fft3d,
    ),
    "halo2d": Pattern(
        "exchange of M bytes with 4 neighbours in 2D, not periodic", (_GRID_2D, _EXCHANGE), halo2d
    ),
    "halo3d": Pattern(
        "exchange of faces of 2.048 M bytes with 6 neighbours in 3D, not periodic",
        (_GRID_3D, _EXCHANGE),
        halo3d,
    ),
    "halo3d26": Pattern(
        "exchange with 26 neighbours in 3D: faces 2.048 M, edges 0.128 M, corners 0.008 M bytes",
        (_GRID_3D,),
        halo3d26,
    ),
    "bisection-pairing": Pattern(
        "rounds of M bytes both ways between fixed partners",
        (
            Parameter("partner", "ints", None, "rank", "partner of each rank; i + n/2 if left out"),
            Parameter("rounds", "int", 26, "", "counted rounds an iteration"),
            Parameter("warmup_rounds", "int", 4, "", "rounds before them"),
            Parameter("chunks", "int", 1, "", "messages a round and direction"),
            Parameter("mode", "str", "both", "", "both (at the same time) or ping-pong"),
        ),
        bisection_pairing,
    ),
    "allreduce-ring": Pattern(
        "allreduce of M bytes: reduce-scatter and allgather around a ring", (), allreduce_ring
    ),
    "allreduce-recursive-doubling": Pattern(
        "allreduce of M bytes: log2(n) exchanges of the whole vector",
        (),
        allreduce_recursive_doubling,
    ),
    "sub-a2a": Pattern(
        "all-to-all in the rows of a 3D grid: along x, then y, then z; M bytes a pair",
        (
            _GRID_3D,
            Parameter("dimension_bytes", "ints", None, "B", "bytes along x, y, z; 0 skips one"),
            Parameter("order", "str", "pairwise", "", "ring, pairwise (XOR partners) or at-once"),
        ),
        sub_a2a,
    ),
    "stencil4d": Pattern(
        "exchange of faces of M bytes with 8 neighbours in 4D, periodic",
        (
            Parameter("grid", "ints", None, "ranks", "x, y, z, t; from the rank count if left out"),
            Parameter("points", "ints", None, "", "points a rank along x, y, z, t, instead of M"),
            Parameter("variables", "int", 1, "", "8-byte values a point"),
        ),
        stencil4d,
    ),
    "unstructured-mesh": Pattern(
        "M bytes to each of a few random ranks nearby in a periodic 3D grid",
        (
            _GRID_3D,
            Parameter("min_degree", "int", 6, "", "least number of neighbours"),
            Parameter("max_degree", "int", 12, "", "upper end of the degrees, not reached"),
            Parameter("neighborhood", "int", 3, "ranks", "upper end of the distance, not reached"),
        ),
        unstructured_mesh,
        takes_rng=True,
    ),
    "pairs": Pattern(
        "exchange of M bytes between random pairs of ranks",
        (Parameter("randomize", "bool", True, "", "false: rank r with r + n/2"),),
        pairs,
        takes_rng=True,
    ),
    "strassen-winograd": Pattern(
        "communication-avoiding matrix multiplication on f * 7^k ranks",
        (
            Parameter("bfs_steps", "int", 0, "", "breadth-first steps; 0: all factors of 7"),
            Parameter("dfs_steps", "int", 0, "", "depth-first steps before them"),
            Parameter(
                "matrix_dim", "int", 0, "", "side of the matrices; 0: M is the first message"
            ),
            Parameter("first_groups", "str", "far", "", "far or near ranks meet first"),
        ),
        strassen_winograd,
    ),
    "uniform-random": Pattern(
        "M bytes to random other ranks", (_MESSAGES,), uniform_random, takes_rng=True
    ),
    "permutation": Pattern(
        "M bytes along one random permutation", (_MESSAGES,), permutation, takes_rng=True
    ),
    "shift": Pattern(
        "M bytes from rank r to r + distance",
        (Parameter("distance", "int", 1, "ranks", "how far"), _MESSAGES),
        shift,
        takes_rng=True,
    ),
    "tornado": Pattern(
        "M bytes almost half way around each dimension",
        (Parameter("grid", "ints", None, "ranks", "sides; one ring if left out"), _MESSAGES),
        tornado,
        takes_rng=True,
    ),
    "adversarial": Pattern(
        "M bytes to random ranks of the next group",
        (
            Parameter("group_size", "int", None, "ranks", "ranks of a group", required=True),
            Parameter("offset", "int", 1, "groups", "how many groups further"),
            _MESSAGES,
        ),
        adversarial,
        takes_rng=True,
    ),
}


def _checked(pattern: str, parameter: Parameter, value: object) -> object:
    """The value in the parameter's kind; NetcosimError if it is of another kind."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if parameter.kind == "int" and isinstance(value, (int, np.integer)) and whole:
        return int(value)
    if parameter.kind == "float" and (whole or isinstance(value, (float, np.floating))):
        return value
    if parameter.kind == "bool" and isinstance(value, bool):
        return value
    if parameter.kind == "str" and isinstance(value, str):
        return value
    if parameter.kind == "ints":
        if value is None:
            return None
        if isinstance(value, (list, tuple, np.ndarray)):
            numbers = np.asarray(value)
            if numbers.ndim == 1 and (len(numbers) == 0 or numbers.dtype.kind in "iu"):
                return tuple(int(v) for v in numbers)
    raise NetcosimError(
        f"pattern {pattern}: {parameter.name} = {value!r}; {KINDS[parameter.kind]} is needed"
    )


def make_pattern(
    name: str,
    n_ranks: int,
    message_bytes: int,
    iterations: int,
    rng: np.random.Generator,
    params: Mapping[str, object] | None = None,
) -> Program:
    """The program of a pattern by name.

    Parameters
    ----------
    name : str
        A key of `PATTERNS`.
    n_ranks, message_bytes, iterations : int
    rng : numpy.random.Generator
        Used by the random patterns only.
    params : mapping, optional
        Extra parameters of the pattern; defaults for those left out.

    Raises
    ------
    NetcosimError
        Unknown pattern or parameter (the valid ones are listed), a value of the wrong
        kind, a missing one, or what the pattern itself refuses.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> program = nc.make_pattern("halo2d", 6, 1000, 1, rng, {"grid": [2, 3]})
    >>> program.n_messages, program.total_bytes
    (14, 14000)
    """
    if name not in PATTERNS:
        raise unknown_name("pattern", name, PATTERNS)
    pattern = PATTERNS[name]
    known = {p.name: p for p in pattern.parameters}
    given = dict(params or {})
    for key in given:
        if key not in known:
            if not known:
                raise NetcosimError(f"pattern {name}: unknown parameter {key!r}; it takes none")
            raise unknown_name(f"parameter of pattern {name}", key, known)
    missing = [p.name for p in pattern.parameters if p.required and p.name not in given]
    if missing:
        raise NetcosimError(f"pattern {name}: {missing[0]} is missing")
    extra = {key: _checked(name, known[key], value) for key, value in given.items()}
    try:
        if pattern.takes_rng:
            return pattern.function(n_ranks, message_bytes, iterations, rng, **extra)
        return pattern.function(n_ranks, message_bytes, iterations, **extra)
    except (OverflowError, MemoryError) as error:
        told = ", ".join(f"{key} = {value}" for key, value in extra.items()) or "none"
        raise NetcosimError(
            f"pattern {name} on {n_ranks} ranks: message_bytes = {shown(message_bytes)}, "
            f"iterations = {shown(iterations)}, parameters {told[:200]}: too large ({error})"
        ) from None
