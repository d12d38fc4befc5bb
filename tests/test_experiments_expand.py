"""Lists and ranges of a config: the points a user would count by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from netcosim.config.expand import expand, range_values
from netsim.errors import NetcosimError


def test_a_config_without_lists_is_one_point() -> None:
    config = {"machine": {"p": 4}, "queue": {"dims": [4, 4]}}
    assert expand(config, list_keys=["queue.dims"]) == [config]


def test_product_with_the_last_key_fastest() -> None:
    config = {"machine": {"p": [2, 4], "a": 8}, "run": {"seed": [1, 2, 3]}}
    points = expand(config)
    pairs = [(p["machine"], p["run"]) for p in points]
    assert pairs[:4] == [
        ({"p": 2, "a": 8}, {"seed": 1}),
        ({"p": 2, "a": 8}, {"seed": 2}),
        ({"p": 2, "a": 8}, {"seed": 3}),
        ({"p": 4, "a": 8}, {"seed": 1}),
    ]
    assert len(points) == 6


def test_lists_by_nature_stay_lists() -> None:
    config = {"m": {"dims": [[4, 4], [8, 2]]}, "q": {"policies": ["rdn", "rdg"]}}
    points = expand(config, list_keys=["m.dims", "q.policies"])
    assert points == [
        {"m": {"dims": dims}, "q": {"policies": ["rdn", "rdg"]}} for dims in ([4, 4], [8, 2])
    ]


def test_zipped_keys_run_together() -> None:
    config = {"a": [1, 2], "b": ["x", "y"], "c": [0, 1]}
    points = expand(config, zip_groups=[["a", "b"]])
    assert points == [{"a": a, "b": b, "c": c} for a, b in ((1, "x"), (2, "y")) for c in (0, 1)]


@examples(100)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_number_of_points_is_the_product(lengths: list[int]) -> None:
    config = {f"k{i}": list(range(length)) for i, length in enumerate(lengths)}
    points = expand(config)
    assert len(points) == math.prod(lengths)
    assert len({tuple(p.values()) for p in points}) == len(points)


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ({"from": 1, "to": 10, "step": 3}, [1, 4, 7, 10]),
        ({"from": 3, "to": 1, "step": -1}, [3, 2, 1]),
        ({"from": 0, "to": 1, "step": 0.1}, [i / 10 for i in range(11)]),
        ({"from": 1, "to": 64, "factor": 2}, [1, 2, 4, 8, 16, 32, 64]),
        ({"from": 8, "to": 1, "factor": 0.5}, [8, 4, 2, 1]),
        ({"from": 0, "to": 1, "count": 5}, [0, 0.25, 0.5, 0.75, 1]),
        ({"from": "1 GB/s", "to": "8 GB/s", "factor": 2}, [f"{x} GB/s" for x in (1, 2, 4, 8)]),
        ({"from": "500 ns", "to": "1.5 us", "step": "0.5 us"}, ["500 ns", "1000 ns", "1500 ns"]),
        ({"from": 5, "to": 5, "step": 1}, [5]),
    ],
)
def test_ranges(spec: dict[str, object], values: list[object]) -> None:
    assert range_values(spec, "k") == values
    assert [p["k"] for p in expand({"k": spec})] == values


def test_log_range_ends_at_its_bounds() -> None:
    values = range_values({"from": 1, "to": 1000, "count": 4, "scale": "log"}, "k")
    assert (values[0], values[-1]) == (1, 1000)
    assert values == pytest.approx([1, 10, 100, 1000])


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"a": {"b": []}}, r"key a\.b: the list is empty"),
        ({"a": {"from": 1, "to": 5}}, "key a: a range needs one of step, factor and count"),
        ({"a": {"from": 1, "to": 5, "stop": 1}}, "key a: unknown entry 'stop' of a range"),
        ({"a": {"from": 1, "to": 5, "step": -1}}, "never leads from 1 to 5"),
        ({"a": {"from": 1, "to": 5, "step": 0}}, "never leads"),
        ({"a": {"from": 1, "to": 5, "factor": 0.5}}, "never leads"),
        ({"a": {"from": 0, "to": 5, "factor": 2}}, "never leads"),
        ({"a": {"from": 1, "to": 5, "count": 1}}, "count is 1"),
        ({"a": {"from": 0, "to": 5, "count": 3, "scale": "log"}}, "above 0"),
        ({"a": {"from": 1, "to": 5, "step": 1, "scale": "log"}}, "scale"),
        ({"a": {"from": "1 GB/s", "to": 5, "factor": 2}}, "5 in a range of 'GB/s'"),
        ({"a": {"from": "1 GB/s", "to": "5 us", "factor": 2}}, "'5 us' in a range of 'GB/s'"),
        ({"a": {"from": 1, "to": 10**9, "step": 1}}, "more than"),
        ({"a": list(range(4000)), "b": list(range(4000))}, "16,000,000 points"),
    ],
)
def test_refused(config: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        expand(config)


def test_zip_mistakes() -> None:
    config = {"a": [1, 2], "b": [1, 2, 3], "c": 5}
    with pytest.raises(NetcosimError, match="equal length; a has 2, b has 3"):
        expand(config, zip_groups=[["a", "b"]])
    with pytest.raises(NetcosimError, match="c is no list or range; those are: a, b"):
        expand(config, zip_groups=[["a", "c"]])
    with pytest.raises(NetcosimError, match="is listed twice"):
        expand(config, zip_groups=[["a"], ["a"]])
