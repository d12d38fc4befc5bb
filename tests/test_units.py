"""Units: what is written is what is meant, and what is unclear is refused."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netsim.errors import NetcosimError
from netsim.units import (
    DIMENSIONS,
    Dimension,
    format_quantity,
    parse_exact,
    parse_quantity,
    quantity_of,
    time_scale,
)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("8 Gbit/s", "bandwidth", 10**9),
        ("8Gbps", "bandwidth", 10**9),
        ("2.5 GB/s", "bandwidth", 2_500_000_000),
        ("1 MiB/s", "bandwidth", 2**20),
        ("12 bit/s", "bandwidth", 2),
        ("1 KB", "bytes", 1000),
        ("1 kB", "bytes", 1000),
        ("1 KiB", "bytes", 1024),
        ("1.5 KB", "bytes", 1500),
        ("1e3 B", "bytes", 1000),
        (" 16 MiB ", "bytes", 2**24),
        ("2 us", "time", 2e-6),
        ("1 day", "time", 86_400.0),
        ("2 µs", "time", 2e-6),
        ("152 ns", "time", 152e-9),
        ("344 ps", "time", 344e-12),
        ("1.5 h", "time", 5400.0),
        ("-3 s", "time", -3.0),
    ],
)
def test_written_values(text: str, dimension: Dimension, expected: float) -> None:
    value = parse_quantity(text, dimension)
    assert value == expected
    assert isinstance(value, float if dimension == "time" else int)


@pytest.mark.parametrize(
    ("value", "dimension", "told"),
    [
        (10, "bandwidth", "10 has no unit"),
        ("10", "time", "'10' has no unit"),
        ("ten GB/s", "bandwidth", "'ten GB/s'; it must be a quantity like \"8 Gbit/s\""),
        ("8 gbit/s", "bandwidth", "'gbit/s' is no unit of bandwidth; units: B/s"),
        ("1 KiB", "time", "'KiB' is no unit of time; units: ps, ns"),
        ("0.5 B", "bytes", "not a whole number of bytes"),
        ("1 bit/s", "bandwidth", "less than 1 byte/s"),
        ("1e300 GB", "bytes", "too large"),
        ("1e999 s", "time", "too large"),
        (float("nan"), "time", "must be"),
        (True, "bytes", "must be"),
        (None, "bytes", "must be"),
        ([1], "bytes", "must be"),
        ("", "bytes", "must be"),
        ("1 s\n2", "time", "is no unit"),
    ],
)
def test_refused(value: object, dimension: Dimension, told: str) -> None:
    with pytest.raises(NetcosimError) as caught:
        parse_quantity(value, dimension)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_plain_numbers_only_where_the_name_carries_the_unit() -> None:
    assert parse_quantity(1000, "bytes", plain=True) == 1000
    assert parse_quantity(0.1, "time", plain=True) == 0.1
    with pytest.raises(NetcosimError, match=r"'0\.1' has no unit"):
        parse_quantity("0.1", "time", plain=True)
    with pytest.raises(NetcosimError, match="whole"):
        parse_quantity(0.5, "bytes", plain=True)


@examples(200)
@given(st.integers(1, 2**62), st.sampled_from(DIMENSIONS))
def test_si_unit_is_identity(number: int, dimension: Dimension) -> None:
    unit = {"bandwidth": "B/s", "bytes": "B", "time": "s"}[dimension]
    assert parse_exact(f"{number} {unit}", dimension) == number


@examples(300)
@given(
    st.floats(1e-12, 1e12, allow_nan=False),
    st.sampled_from(DIMENSIONS),
    st.integers(2, 9),
)
def test_format_parses_back(value: float, dimension: Dimension, digits: int) -> None:
    if dimension != "time":
        value = float(max(1, round(value)))
    text = format_quantity(value, dimension, digits)
    back = parse_exact(text, dimension)
    assert abs(back - Fraction(value)) <= Fraction(value) / 10 ** (digits - 1)


@examples(200)
@given(st.integers(1, 999), st.sampled_from(["KB", "MB", "GB", "TB"]))
def test_format_keeps_short_numbers(number: int, unit: str) -> None:
    text = f"{number} {unit}"
    assert format_quantity(parse_quantity(text, "bytes"), "bytes") == text


def test_format_edges() -> None:
    assert format_quantity(0, "time") == "0 s"
    assert (format_quantity(1, "time"), format_quantity(60, "time")) == ("1 s", "1 min")
    assert (time_scale(1.0), time_scale(1e-3), time_scale(2e-4)) == (
        (1, "s"),
        (1e3, "ms"),
        (1e6, "us"),
    )
    assert format_quantity(0.00099999999, "time") == "1 ms"
    assert format_quantity(59.99999, "time") == "1 min"
    assert format_quantity(-2e-6, "time") == "-2 us"
    assert format_quantity(float("nan"), "bytes") == "nan B"
    assert format_quantity(1e-13, "time") == "0.1 ps"
    assert format_quantity(5e16, "bytes") == "50000 TB"


def test_every_shown_unit_is_what_it_says() -> None:
    """What a message lists as a unit, and no other, by its definition."""
    kilo = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    kilo |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    size = {"B": Fraction(1), **{f"{p}B": Fraction(f) for p, f in kilo.items()}}
    rate = {f"{unit}/s": f for unit, f in size.items() if unit != "TiB"}
    bits = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
    seconds = {"ps": 10**12, "ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
    known: dict[Dimension, dict[str, Fraction]] = {
        "bytes": size,
        "bandwidth": rate | {unit: Fraction(f, 8) for unit, f in bits.items()},
        "time": {unit: Fraction(1, f) for unit, f in seconds.items()}
        | {"min": Fraction(60), "h": Fraction(3600), "d": Fraction(86400)},
    }
    for dimension in DIMENSIONS:
        with pytest.raises(NetcosimError) as told:
            parse_quantity("8 furlongs", dimension)
        listed = str(told.value).partition("units: ")[2]
        shown = re.sub(r" \([^)]*\)", "", listed).split(", ")
        assert set(shown) == set(known[dimension])
        for unit in shown:
            assert parse_exact(f"8 {unit}", dimension) == 8 * known[dimension][unit]


def test_quantity_of_a_name() -> None:
    bandwidth, latency = quantity_of("local_bandwidth_Bps"), quantity_of("latency_s")
    assert bandwidth is not None
    assert bandwidth.dimension == "bandwidth"
    assert latency is not None
    assert latency.dimension == "time"
    assert quantity_of("p") is None
