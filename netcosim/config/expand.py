"""Lists and ranges in a config to the points of a sweep."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from netsim.errors import NetcosimError
from netsim.units import DIMENSIONS, parse_exact

_RANGE_KEYS = {"from", "to", "step", "factor", "count", "scale"}
_NUMBER = re.compile(r"\.[0-9]+(?=\.)")
MAX_POINTS = 100_000
"""A point takes a second or more: a day of computing and a gigabyte to hold their configs."""
_MAX_FACTORS = 10_000
"""The exact value of each is a fraction of more and more digits."""


def expand(
    config: Mapping[str, object],
    *,
    list_keys: Collection[str] = (),
    zip_groups: Sequence[Sequence[str]] = (),
) -> list[dict[str, object]]:
    """Return every point of a config in which parameters may be lists or ranges.

    A list gives one point for each entry; a range is a table ``{from, to}`` with ``step``,
    ``factor`` or ``count`` (and ``scale = "log"``), bounds included. Several of them give the
    cartesian product, the last key running fastest, except that the dotted keys of a zip group run
    together. Tables in a list are numbered from 0: ``communication.mix.0.message_bytes``. The value
    of a key in ``list_keys``, which have no such numbers, is a list by nature (the dimensions of a
    torus): there only a list with lists in it is an axis.
    """
    axes = {
        key: values
        for key, value in _leaves(config).items()
        if (values := _axis(key, value, list_keys)) is not None
    }
    groups = _groups(axes, zip_groups)
    count = math.prod(len(axes[group[0]]) for group in groups)
    if count > MAX_POINTS:
        raise NetcosimError(f"the sweep has {count:,} points; at most {MAX_POINTS:,} are allowed")
    points = []
    for choice in itertools.product(*(range(len(axes[group[0]])) for group in groups)):
        chosen = {
            key: axes[key][i] for group, i in zip(groups, choice, strict=True) for key in group
        }
        points.append(_replaced(config, chosen))
    return points


def _leaves(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Map dotted keys to values, where a range counts as one value."""
    leaves: dict[str, object] = {}
    for key, value in config.items():
        dotted = f"{prefix}{key}"
        if (inner := _tables(value)) is not None:
            leaves |= _leaves(inner, f"{dotted}.")
        else:
            leaves[dotted] = value
    return leaves


def _tables(value: object) -> Mapping[str, object] | None:
    """Return what has keys: a table that is no range, a list of tables by their numbers."""
    if isinstance(value, Mapping):
        return None if _is_range(value) else value
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        inner = {str(i): entry for i, entry in enumerate(value)}
        return None if any(_is_range(entry) for entry in value) else inner
    return None


def _is_range(value: Mapping[str, object]) -> bool:
    return {"from", "to"} <= set(value)


def _axis(key: str, value: object, list_keys: Collection[str]) -> list[object] | None:
    """Return the values that a key runs through; None if it has one value."""
    if isinstance(value, Mapping):
        try:
            return range_values(value, key)
        except (OverflowError, ZeroDivisionError):
            raise NetcosimError(f"key {key}: a range of numbers too large or too small") from None
    if not isinstance(value, list):
        return None
    by_nature = _NUMBER.sub("", key) in list_keys
    if by_nature and not any(isinstance(entry, list) for entry in value):
        return None
    if not value:
        raise NetcosimError(f"key {key}: the list is empty, so the sweep has no points")
    return [inner for entry in value for inner in _inner_points(key, entry, list_keys)]


def _inner_points(key: str, value: object, list_keys: Collection[str]) -> list[object]:
    """Return a value of an axis; several for a list of tables with axes of its own."""
    if _tables(value) is None:
        return [value]
    return [point[key] for point in expand({key: value}, list_keys=list_keys)]


def _groups(
    axes: Mapping[str, Sequence[object]], zip_groups: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """Return which axes run together, in order of the first key of each."""
    group_of: dict[str, tuple[str, ...]] = {}
    for group in zip_groups:
        for key in group:
            if key not in axes:
                known = ", ".join(axes) or "none"
                raise NetcosimError(f"key sweep.zip: {key} is no list or range; those are: {known}")
            if key in group_of:
                raise NetcosimError(f"key sweep.zip: {key} is listed twice")
            group_of[key] = tuple(group)
        lengths = {key: len(axes[key]) for key in group}
        if len(set(lengths.values())) > 1:
            counted = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise NetcosimError(f"key sweep.zip: the lists must be of equal length; {counted}")
    return list(dict.fromkeys(group_of.get(key, (key,)) for key in axes))


def _replaced(
    config: Mapping[str, object], chosen: Mapping[str, object], prefix: str = ""
) -> dict[str, object]:
    point: dict[str, object] = {}
    for key, value in config.items():
        dotted = f"{prefix}{key}"
        if dotted in chosen:
            point[key] = chosen[dotted]
        elif (inner := _tables(value)) is not None:
            replaced = _replaced(inner, chosen, f"{dotted}.")
            point[key] = list(replaced.values()) if isinstance(value, list) else replaced
        else:
            point[key] = value
    return point


def range_values(spec: Mapping[str, object], key: str) -> list[object]:
    """Return the values of ``{from, to, step | factor | count}``, bounds included.

    Numbers stay numbers (whole where all are whole); quantities such as ``"1 GB/s"`` come out
    as text in the unit of ``from``. The arithmetic is exact, so 0 to 1 in steps of 0.1 has 11
    values and the last is 1. With ``count``, ``scale`` is "linear" (default) or "log".
    """
    where = f"key {key}"
    unknown = set(spec) - _RANGE_KEYS
    if unknown:
        allowed = "from, to and one of step, factor, count (with scale)"
        raise NetcosimError(f"{where}: unknown entry {sorted(unknown)[0]!r} of a range; {allowed}")
    ways = [way for way in ("step", "factor", "count") if way in spec]
    if len(ways) != 1:
        raise NetcosimError(f"{where}: a range needs one of step, factor and count, got {ways}")
    way = ways[0]
    if "scale" in spec and (way != "count" or spec["scale"] not in ("linear", "log")):
        raise NetcosimError(f'{where}: scale is "linear" or "log", and goes with count')
    # "GB/s" of "1.5 GB/s"; none of a number
    text = spec["from"] if isinstance(spec["from"], str) else ""
    unit = text.lstrip("+-0123456789.eE ").strip()
    first, last = exact_number(spec["from"], where, unit), exact_number(spec["to"], where, unit)
    if way == "count":
        return _counted(spec, first, last, unit, where)
    step = exact_number(spec[way], where, unit if way == "step" else "")
    never = f"{where}: a {way} of {spec[way]} never leads from {spec['from']} to {spec['to']}"
    if way == "step":
        if step == 0 or (last - first) / step < 0:
            raise NetcosimError(never)
        number = int((last - first) // step) + 1
        _check_count(number, where)
        return [_written(first + i * step, unit) for i in range(number)]
    if min(first, last, step) <= 0 or step == 1 or (last > first) != (step > 1):
        raise NetcosimError(never)
    # counted with logarithms before anything is multiplied; half a value too many at most
    wide, narrow = abs(_log(last) - _log(first)), abs(_log(step))
    if wide > narrow * _MAX_FACTORS:
        raise NetcosimError(f"{where}: the range has more than {_MAX_FACTORS:,} values")
    values, value = [], first
    while value <= last if step > 1 else value >= last:
        values.append(value)
        value *= step
    return [_written(value, unit) for value in values]


def _counted(
    spec: Mapping[str, object], first: Fraction, last: Fraction, unit: str, where: str
) -> list[object]:
    count = spec["count"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise NetcosimError(f"{where}: count is {count!r}; it must be a whole number of 2 or more")
    _check_count(count, where)
    if spec.get("scale", "linear") == "linear":
        inner = [first + (last - first) * i / (count - 1) for i in range(count)]
    elif first <= 0 or last <= 0:
        raise NetcosimError(f"{where}: a range on a log scale needs bounds above 0")
    else:
        ratio = float(last / first)
        inner = [Fraction(float(first) * ratio ** (i / (count - 1))) for i in range(count)]
        inner[0], inner[-1] = first, last
    return [_written(value, unit) for value in inner]


def _log(value: Fraction) -> float:
    """Return the logarithm of a positive number of any size, which need not fit into a float."""
    return math.log(value.numerator) - math.log(value.denominator)


def _check_count(number: int, where: str) -> None:
    if number > MAX_POINTS:
        raise NetcosimError(f"{where}: the range has more than {MAX_POINTS:,} values")


def exact_number(value: object, where: str, unit: str) -> Fraction:
    """Return a number, or a quantity counted in ``unit``, as an exact fraction."""
    if unit:
        for dimension in DIMENSIONS:
            try:
                return parse_exact(value, dimension) / parse_exact(f"1 {unit}", dimension)
            except NetcosimError:
                continue
        raise NetcosimError(
            f"{where}: {value!r} in a range of {unit!r}; all bounds need like units"
        )
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetcosimError(f"{where}: {value!r} in a range; it must be a number like the others")
    if isinstance(value, float) and not math.isfinite(value):
        raise NetcosimError(f"{where}: {value!r} in a range; it must be a finite number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _written(value: Fraction, unit: str) -> object:
    number = int(value) if value.denominator == 1 else float(value)
    return f"{number!r} {unit}" if unit else number
