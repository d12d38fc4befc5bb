"""Max-min rates: closed forms, naive filling, and the certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from experiments.validation.reference.flows import dense, reference_rates
from netsim.errors import NetcosimError
from netsim.flow.maxmin import max_min_rates


def csr(paths):
    ptr = np.cumsum([0] + [len(p) for p in paths])
    return ptr, np.array([link for p in paths for link in p], dtype=np.int32)


@st.composite
def cases(draw):
    """Small networks with many ties: few links, few capacities."""
    n_links = draw(st.integers(1, 7))
    path = st.lists(st.integers(0, n_links - 1), unique=True, max_size=n_links)
    ptr, links = csr(draw(st.lists(path, min_size=1, max_size=12)))
    capacity = np.array(
        draw(st.lists(st.sampled_from([1.0, 2.0, 3.0, 1e3]), min_size=n_links, max_size=n_links))
    )
    if not draw(st.booleans()):
        return ptr, links, capacity, None
    share = st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0])
    weights = draw(st.lists(share, min_size=len(links), max_size=len(links)))
    return ptr, links, capacity, np.array(weights)


def assert_max_min(A, capacity, rate):
    """The certificate: no link over capacity; each flow has a full link where none is faster."""
    moving = A.sum(0) > 0
    A, rate = A[:, moving], rate[moving]
    used = A @ rate
    assert np.all(used <= capacity * (1 + 1e-9))
    full = used >= capacity * (1 - 1e-9)
    for f in range(len(rate)):
        mine = np.flatnonzero(full & (A[:, f] > 0))
        assert any(rate[f] >= rate[A[link] > 0].max() * (1 - 1e-9) for link in mine)


def test_flows_on_one_link_share_it():
    ptr, links = csr([[0]] * 7)
    np.testing.assert_allclose(max_min_rates(ptr, links, [14.0]), 2.0)


def test_parking_lot():
    """A long flow over n links, each with one flow of its own: all get half."""
    n = 9
    ptr, links = csr([list(range(n)), *[[k] for k in range(n)]])
    np.testing.assert_allclose(max_min_rates(ptr, links, np.full(n, 10.0)), 5.0)


def test_parking_lot_where_all_go_to_the_end():
    """Flow k uses links k..n-1; the last link is shared by all n."""
    n = 6
    ptr, links = csr([list(range(k, n)) for k in range(n)])
    np.testing.assert_allclose(max_min_rates(ptr, links, np.full(n, 12.0)), 2.0)


def test_three_levels_by_hand():
    """Links of 1, 10, 30; flows {0,1}, {0}, {1,2}, {2}: 1/2, 1/2, 9.5, 20.5."""
    ptr, links = csr([[0, 1], [0], [1, 2], [2]])
    np.testing.assert_allclose(max_min_rates(ptr, links, [1.0, 10.0, 30.0]), [0.5, 0.5, 9.5, 20.5])


def test_split_flow_uses_its_share_of_each_path():
    """Half a flow on each of two links of 1, against a whole flow on the first: x + x/2 = 1."""
    ptr, links = csr([[0, 1], [0]])
    rates = max_min_rates(ptr, links, [1.0, 1.0], np.array([0.5, 0.5, 1.0]))
    np.testing.assert_allclose(rates, 2 / 3)


def test_the_last_flow_gets_what_is_left_to_the_last_digit():
    """Rates are computed from the sum of the used capacity, not from capacity less each in turn.

    The shared link has C = 2^54. Just below C, floats are multiples of 2: C - 1.5 rounds to C - 2.
    Four flows are stopped at 1.5 and one of weight (C - 16) / 2 at 2, each by a link of its own.
    They use 4 * 1.5 + C - 16 = C - 10, so the last flow gets 10. Subtraction in turn loses 0.5 four
    times and leaves 8.
    """
    capacity = 2.0**54
    ptr, links = csr([*[[0, k] for k in range(1, 6)], [0]])
    weights = np.ones(len(links))
    weights[8] = (capacity - 16) / 2
    rates = max_min_rates(ptr, links, [capacity, *[1.5] * 4, 2.0], weights)
    assert rates.tolist() == [1.5, 1.5, 1.5, 1.5, 2.0, 10.0]


def test_flow_without_links_is_unbounded():
    ptr, links = csr([[], [0]])
    np.testing.assert_array_equal(max_min_rates(ptr, links, [3.0]), [np.inf, 3.0])


def test_weights_of_flows_divide_a_link():
    """Weights 1 and 3 on a link of 12: 3 and 9; the second is stopped at 2 elsewhere: 10 and 2."""
    ptr, links = csr([[0], [0, 1]])
    rates = max_min_rates(ptr, links, [12.0, 12.0], flow_weight=[1.0, 3.0])
    np.testing.assert_allclose(rates, [3.0, 9.0])
    rates = max_min_rates(ptr, links, [12.0, 2.0], flow_weight=[1.0, 3.0])
    np.testing.assert_allclose(rates, [10.0, 2.0])


@given(cases(), st.data())
@examples(60)
def test_a_flow_of_weight_k_is_k_flows(case, data):
    ptr, links, capacity, weights = case
    n = len(ptr) - 1
    copies = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    rates = max_min_rates(ptr, links, capacity, weights, flow_weight=copies)
    many = np.repeat(np.arange(n), copies)
    entries = [np.arange(ptr[f], ptr[f + 1]) for f in many]
    many_ptr = np.concatenate([[0], np.cumsum([len(e) for e in entries])])
    at = np.concatenate(entries).astype(np.int64)
    several = max_min_rates(many_ptr, links[at], capacity, None if weights is None else weights[at])
    together = np.bincount(many, several, n)
    np.testing.assert_allclose(rates, together, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan])
def test_a_weight_of_a_flow_is_positive_and_finite(weight):
    with pytest.raises(NetcosimError, match="flow_weight"):
        max_min_rates(*csr([[0]]), [1.0], flow_weight=weight)


@given(cases(), st.data())
@examples(150)
def test_equals_naive_filling_and_holds_the_certificate(case, data):
    ptr, links, capacity, weights = case
    n, share = len(ptr) - 1, st.sampled_from([0.1, 0.5, 1.0, 7.0])
    weighted = data.draw(st.booleans())
    flow_weight = np.array(data.draw(st.lists(share, min_size=n, max_size=n))) if weighted else 1.0
    A = dense(ptr, links, len(capacity), weights)
    rates = max_min_rates(ptr, links, capacity, weights, flow_weight=flow_weight)
    np.testing.assert_allclose(rates, reference_rates(A, capacity, flow_weight), rtol=1e-9)
    if not weighted:
        assert_max_min(A, capacity, rates)


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_certificate_on_larger_networks(seed):
    rng = np.random.default_rng(seed)
    n_links, n_flows = 40, 300
    ptr, links = csr([rng.choice(n_links, rng.integers(1, 6), False) for _ in range(n_flows)])
    capacity = rng.uniform(1, 10, n_links)
    rates = max_min_rates(ptr, links, capacity)
    assert_max_min(dense(ptr, links, n_links), capacity, rates)


@pytest.mark.parametrize(
    ("ptr", "links", "capacity", "weights", "message"),
    [
        ([0, 2], [0], [1.0], None, "does not cover"),
        ([0, 1], [1], [1.0], None, "outside 0..0"),
        ([0, 1], [0], [0.0], None, "capacity 0.0"),
        ([0, 1], [0], [1.0], [0.0], "weight"),
        ([0, 1], [0], [1.0], [1.0, 1.0], "2 weights"),
    ],
)
def test_bad_input_says_what(ptr, links, capacity, weights, message):
    weights = None if weights is None else np.array(weights)
    with pytest.raises(NetcosimError, match=message):
        max_min_rates(np.array(ptr), np.array(links), capacity, weights)
