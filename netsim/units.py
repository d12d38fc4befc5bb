"""Quantities with units: text as a user writes it, SI numbers as the code wants them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

from netsim.errors import NetcosimError

Dimension = Literal["bandwidth", "bytes", "time"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)

_DECIMAL = {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

_BYTES: dict[str, Fraction] = {"B": Fraction(1), "byte": Fraction(1), "bytes": Fraction(1)}
_BYTES |= {f"{p}B": Fraction(f) for p, f in (_DECIMAL | _BINARY).items()}

_BANDWIDTH: dict[str, Fraction] = {"B/s": Fraction(1), "bit/s": Fraction(1, 8)}
_BANDWIDTH |= {f"{p}B/s": Fraction(f) for p, f in (_DECIMAL | _BINARY).items()}
# A small b is a bit: "8 Gbit/s", "8 Gb/s" and "8 Gbps" are the same.
_BANDWIDTH |= {
    f"{p}{bit}": Fraction(f, 8) for p, f in _DECIMAL.items() for bit in ("bit/s", "b/s", "bps")
}

_TIME: dict[str, Fraction] = {
    "ps": Fraction(1, 10**12),
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
    "day": Fraction(86400),
    "days": Fraction(86400),
}

_UNITS: dict[Dimension, dict[str, Fraction]] = {
    "bandwidth": _BANDWIDTH,
    "bytes": _BYTES,
    "time": _TIME,
}
_SHOWN: dict[Dimension, str] = {
    "bandwidth": "B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, bit/s, kbit/s, Mbit/s, Gbit/s",
    "bytes": "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)",
    "time": "ps, ns, us, ms, s, min, h, d",
}
_EXAMPLE: dict[Dimension, str] = {"bandwidth": "8 Gbit/s", "bytes": "1 KiB", "time": "2 us"}
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*?)\s*\Z", re.DOTALL)

# What `format_quantity` writes, largest unit first.
_WRITTEN: dict[Dimension, tuple[str, ...]] = {
    "bandwidth": ("TB/s", "GB/s", "MB/s", "KB/s", "B/s"),
    "bytes": ("TB", "GB", "MB", "KB", "B"),
    "time": ("d", "h", "min", "s", "ms", "us", "ns", "ps"),
}


@dataclass(frozen=True)
class Quantity:
    """The unit of a parameter, from the suffix of its SI name."""

    dimension: Dimension
    suffix: str
    """The end of the SI name: "_Bps", "_bytes" or "_s"."""


_SUFFIXES = (
    Quantity("bandwidth", "_Bps"),
    Quantity("bytes", "_bytes"),
    Quantity("time", "_s"),
)


def quantity_of(name: str) -> Quantity | None:
    """Return the dimension of a parameter from its SI name (``latency_s``: time), or None."""
    for quantity in _SUFFIXES:
        if name.endswith(quantity.suffix):
            return quantity
    return None


def short_name(name: str) -> str:
    """Return the key of an SI name in a file: ``latency_s`` is ``latency``; ``_bytes`` stays."""
    found = quantity_of(name)
    return name if found is None or found.dimension == "bytes" else name[: -len(found.suffix)]


def parse_exact(value: object, dimension: Dimension, *, plain: bool = False) -> Fraction:
    """Return a quantity, "8 Gbit/s" or "2 us", as an exact fraction of its SI unit.
    ``plain``: whether a number without a unit is taken as SI, for parameters whose name carries the
    unit. A text always needs one.
    """
    hint = f'a quantity like "{_EXAMPLE[dimension]}"; units: {_SHOWN[dimension]}'
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise NetcosimError(f"{value!r}; it must be {hint}")
    if isinstance(value, float) and not math.isfinite(value):
        raise NetcosimError(f"{value!r}; it must be {hint}")
    if not isinstance(value, str):
        if not plain:
            raise NetcosimError(f"{value!r} has no unit; it must be {hint}")
        return Fraction(Decimal(repr(value)) if isinstance(value, float) else value)
    match = _NUMBER.match(value)
    if match is None:
        raise NetcosimError(f"{value!r}; it must be {hint}")
    number, unit = Fraction(Decimal(match[1])), match[2]
    if not unit:
        raise NetcosimError(f"{value!r} has no unit; it must be {hint}")
    factor = _UNITS[dimension].get(unit)
    if factor is None:
        raise NetcosimError(
            f"{value!r}: {unit!r} is no unit of {dimension}; units: {_SHOWN[dimension]}"
        )
    return number * factor


def parse_quantity(value: object, dimension: Dimension, *, plain: bool = False) -> int | float:
    """Return a quantity in SI: whole bytes per second, whole bytes, or seconds as a float.

    Signs and zero pass; the caller checks whether they are allowed.

    Examples
    --------
    >>> parse_quantity("8 Gbit/s", "bandwidth")
    1000000000
    >>> parse_quantity("1 KiB", "bytes"), parse_quantity("1 KB", "bytes")
    (1024, 1000)
    >>> parse_quantity("2 us", "time")
    2e-06
    """
    exact = parse_exact(value, dimension, plain=plain)
    if dimension == "time":
        try:
            return float(exact)
        except OverflowError:
            raise NetcosimError(f"{value!r} is too large") from None
    if abs(exact) >= 2**63:
        raise NetcosimError(f"{value!r} is too large")
    if dimension == "bytes":
        if exact.denominator != 1:
            raise NetcosimError(f"{value!r} is not a whole number of bytes")
        return int(exact)
    rounded = round(exact)
    if rounded == 0 and exact != 0:
        raise NetcosimError(f"{value!r} is less than 1 byte/s")
    return rounded


def format_quantity(value: float, dimension: Dimension, digits: int = 4) -> str:
    """Return a SI number for humans: the largest unit that gives a number of 1 or more.

    So many significant digits, without trailing zeros; nan and infinities are written as they are.

    Examples
    --------
    >>> format_quantity(25e9, "bandwidth"), format_quantity(1.5e-6, "time")
    ('25 GB/s', '1.5 us')
    """
    units, written = _UNITS[dimension], _WRITTEN[dimension]
    if not math.isfinite(value):
        return f"{value} {'s' if dimension == 'time' else written[-1]}"
    if value == 0:
        return f"0 {'s' if dimension == 'time' else written[-1]}"
    exact = Fraction(abs(value))
    sign = "-" if value < 0 else ""
    for place, unit in enumerate(written):
        if exact < units[unit] and unit != written[-1]:
            continue
        text = _significant(exact / units[unit], digits)
        # Rounding may reach the next larger unit: 999.99 us is 1 ms.
        if place and Fraction(text) * units[unit] >= units[written[place - 1]]:
            return f"{sign}1 {written[place - 1]}"
        return f"{sign}{text} {unit}"
    raise AssertionError("unreachable: the last unit takes all")


def time_scale(longest_s: float) -> tuple[float, str]:
    """Return factor and unit that suit times up to ``longest_s``: 3e-5 s are 30 us."""
    for seconds, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if longest_s >= seconds:
            return 1.0 / seconds, unit
    return 1.0, "s"


def _significant(number: Fraction, digits: int) -> str:
    """Format with at most ``digits`` significant digits, without exponent for usual sizes."""
    value = float(number)
    places = digits - 1 - math.floor(math.log10(value))
    rounded = round(number, places) if places > 0 else Fraction(round(value, places))
    text = f"{float(rounded):.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_UNIT_OF_COLUMN = {
    "_s": "s",
    "_ms": "ms",
    "_us": "us",
    "_ns": "ns",
    "_ps": "ps",
    "_min": "min",
    "_h": "h",
    "_d": "d",
    "_bytes": "bytes",
    "_Bps": "B/s",
    "_GBps": "GB/s",
    "_percent": "%",
}


def title_and_unit(column: str) -> tuple[str, str]:
    """Return title and unit of a column: "mean wait" in "s" for ``mean_wait_s``."""
    column = column.removeprefix("n_")
    for suffix, unit in _UNIT_OF_COLUMN.items():
        if column.endswith(suffix) and len(column) > len(suffix):
            return column[: -len(suffix)].replace("_", " "), unit
    return column.replace("_", " "), ""
