"""Finish times: the plain simulation, closed forms, symmetry, order of flows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples
from test_flow_maxmin import cases, csr

from experiments.validation.reference.flows import dense, reference_finish
from netsim.errors import NetcosimError
from netsim.flow.kernels_covered import uncovered
from netsim.flow.kernels_filling import transpose
from netsim.flow.maxmin import flow_finish_times, run_flows
from netsim.flow.paths import FlowPaths, path_latency_s


@given(cases(), st.data())
@examples(200)
def test_equals_the_plain_simulation(case, data):
    ptr, links, capacity, weights = case
    n = len(ptr) - 1
    sizes, starts = st.sampled_from([0.0, 1.0, 2.0, 7.0]), st.sampled_from([0.0, 0.5, 1.0, 3.0])
    amount = np.array(data.draw(st.lists(sizes, min_size=n, max_size=n)))
    start = np.array(data.draw(st.lists(starts, min_size=n, max_size=n)))
    finish = flow_finish_times(FlowPaths(ptr, links, weights), amount, capacity, start)
    A = dense(ptr, links, len(capacity), weights)
    np.testing.assert_allclose(finish, reference_finish(A, capacity, amount, start), rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_equals_the_plain_simulation_where_levels_differ_by_orders(seed):
    """Capacities and sizes over six and three orders of magnitude, weights, flows that come late
    in ones and in crowds: levels leap, and flows are stopped by one link after the other."""
    rng = np.random.default_rng(seed)
    n_links, n = int(rng.integers(2, 25)), int(rng.integers(20, 90))
    sizes = rng.integers(1, min(n_links, 5) + 1, n)
    ptr, links = csr([rng.choice(n_links, size, False) for size in sizes])
    weights = rng.uniform(0.1, 3, len(links)) if rng.random() < 0.5 else None
    capacity = 10 ** rng.uniform(0, 6, n_links)
    amount = 10 ** rng.uniform(0, 3, n)
    start = np.where(rng.random(n) < 0.3, rng.choice([0.0, 5.0], n), rng.uniform(0, 50, n))
    finish = flow_finish_times(FlowPaths(ptr, links, weights), amount, capacity, start)
    A = dense(ptr, links, n_links, weights)
    np.testing.assert_allclose(finish, reference_finish(A, capacity, amount, start), rtol=1e-9)


@given(st.integers(0, 2**32 - 1))
@examples(25)
def test_links_that_others_cover_are_left_out(seed):
    """A link of more room to some of the flows of another never stops anybody; one of less
    may, and so may one that takes a larger part of a flow."""
    rng = np.random.default_rng(seed)
    n_links, n = 8, 40
    paths = [rng.choice(n_links, rng.integers(1, 4), False) for _ in range(n)]
    capacity = rng.uniform(1, 4, n_links)
    weights = [rng.uniform(0.5, 2, len(path)) for path in paths]
    covered = [np.append(path, n_links + path[0]) for path in paths]
    with_weights = np.concatenate([np.append(w, w[0]) for w in weights])
    plain = FlowPaths(*csr(paths), np.concatenate(weights))
    more = FlowPaths(*csr(covered), with_weights)
    wider = np.concatenate([capacity, 1.5 * capacity])
    _, links, kept = uncovered(transpose(more.ptr, more.links, with_weights, wider))
    np.testing.assert_array_equal(links, plain.links)
    np.testing.assert_array_equal(kept, plain.weights)
    first = int(paths[0][0])
    tight = np.tile(capacity, 2)
    tight[n_links + first] *= 0.9
    assert n_links + first in uncovered(transpose(more.ptr, more.links, with_weights, tight))[1]
    amount = rng.uniform(1, 5, n)
    finish = flow_finish_times(more, amount, tight)
    A = dense(more.ptr, more.links, 2 * n_links, with_weights)
    np.testing.assert_allclose(finish, reference_finish(A, tight, amount, np.zeros(n)), rtol=1e-9)


def test_sizes_on_one_link():
    """1, 2, 3 bytes on a link of 3: done at 1; then 1 and 2 left at 1.5 each: 5/3; then 2."""
    ptr, links = csr([[0], [0], [0]])
    finish = flow_finish_times(FlowPaths(ptr, links), [1.0, 2.0, 3.0], [3.0])
    np.testing.assert_allclose(finish, [1.0, 5 / 3, 2.0])


def test_late_flow_takes_half():
    """A flow of 10 alone at 1 for 4 s; then two of rate 1/2; the late one of 1 byte ends at 6."""
    ptr, links = csr([[0], [0]])
    finish = flow_finish_times(FlowPaths(ptr, links), [10.0, 1.0], [1.0], [0.0, 4.0])
    np.testing.assert_allclose(finish, [11.0, 6.0])


@pytest.mark.parametrize("L", [4, 8, 30])
def test_ring_bisection_pairing(L):
    """All to the opposite node of a ring of L, half each way: bytes * L / 4 / bandwidth."""
    clockwise, back = np.arange(L), L + np.arange(L)
    paths, weights = [], []
    for node in range(L):
        hops = np.arange(L // 2)
        paths.append([*clockwise[(node + hops) % L], *back[(node - hops) % L]])
        weights += [0.5] * L
    ptr, links = csr(paths)
    finish = flow_finish_times(FlowPaths(ptr, links, np.array(weights)), 1e6, np.full(2 * L, 1e9))
    np.testing.assert_allclose(finish, 1e6 * L / 4 / 1e9)


def test_weights_of_flows_by_their_latency():
    """1 and 4 bytes with weights 1 : 3 on a link of 4: rates 1 and 3, the first ends at 1, the
    other has one byte left then and ends at 1.25. Path latencies count by parts."""
    ptr, links = csr([[0, 1], [0, 2]])
    paths = FlowPaths(ptr, links)
    latency = path_latency_s(paths, [1.0, 2.0, 0.0])
    np.testing.assert_allclose(latency, [3.0, 1.0])
    finish = flow_finish_times(paths, [1.0, 4.0], [4.0, 9.0, 9.0], flow_weight=1 / latency)
    np.testing.assert_allclose(finish, [1.0, 1.25])
    halves = FlowPaths(ptr, links, np.array([1.0, 0.5, 1.0, 1.0]))
    np.testing.assert_allclose(path_latency_s(halves, [1.0, 2.0, 0.0]), [2.0, 1.0])


def test_like_flows_are_simulated_once_with_the_same_result():
    """A full exchange over a two-link bus is one class; one odd flow splits it further."""
    n = 12
    pairs = [(s, d) for s in range(n) for d in range(n) if s != d]
    paths = FlowPaths(*csr([[s, n + d, 2 * n + s % 2] for s, d in pairs]))
    capacity = np.concatenate([np.full(2 * n, 1.0), [3.0, 5.0]])
    A = dense(paths.ptr, paths.links, len(capacity))
    for odd in (1.0, 4.0):
        amount = np.ones(len(pairs))
        amount[7] = odd
        run = run_flows(paths, amount, capacity)
        assert run.n_classes < len(pairs) / 2
        expected = reference_finish(A, capacity, amount, np.zeros(len(pairs)))
        np.testing.assert_allclose(run.finish_s, expected, rtol=1e-9)
    assert run_flows(paths, 1.0, np.ones(2 * n + 2)).n_classes <= 4


def test_equal_bytes_and_starts_are_never_solved_again():
    """Who finishes first was fastest, and no slower flow gains by its end."""
    rng = np.random.default_rng(2)
    ptr, links = csr([rng.choice(60, 4, False) for _ in range(400)])
    capacity = rng.uniform(1, 2, 60)
    run = run_flows(FlowPaths(ptr, links), 1.0, capacity)
    assert run.n_solved == 400
    A = dense(ptr, links, 60)
    expected = reference_finish(A, capacity, np.ones(400), np.zeros(400))
    np.testing.assert_allclose(run.finish_s, expected, rtol=1e-9)


def test_short_flows_at_a_late_hour_keep_their_times():
    """Starting at 2^27 s, flows of 1 and 2 ms share a link: 2 ms and 3 ms."""
    ptr, links = csr([[0], [0]])
    late = 2.0**27
    finish = flow_finish_times(FlowPaths(ptr, links), [1.0, 2.0], [1e3], late)
    np.testing.assert_allclose(finish - late, [2e-3, 3e-3], atol=2e-8)


def test_no_flows():
    assert len(flow_finish_times(FlowPaths(*csr([])), [], [1.0])) == 0


@pytest.mark.parametrize(
    ("amount", "start", "message"),
    [
        ([-1.0], 0.0, "message_bytes = -1"),
        ([1.0, 1.0], 0.0, "2 message_bytes"),
        (1.0, [-2.0], "start_s"),
    ],
)
def test_bad_input_says_what(amount, start, message):
    with pytest.raises(NetcosimError, match=message):
        flow_finish_times(FlowPaths(*csr([[0]])), amount, [1.0], start)
