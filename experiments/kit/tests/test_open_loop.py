"""Open-loop streams and task mappings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from experiments.kit.open_loop import DESTINATIONS, open_loop
from netsim.errors import NetcosimError
from netsim.traffic import Program
from patterns import mapping


def send_times(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """Sender and time of each message when sending takes no time."""
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    src = program.send_src()
    clock = np.cumsum(program.compute_s)
    before = np.concatenate(([0.0], clock))[program.step_ptr[src]]
    return src, clock[step] - before


@examples(30)
@given(
    st.integers(2, 9),
    st.sampled_from(["poisson", "periodic"]),
    st.floats(0.1, 20.0),
    st.integers(0, 1000),
)
def test_streams_are_open_and_within_the_time(n: int, process: str, load: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = open_loop(n, "uniform-random", 100, 100 * load, 3.0, rng, process)
    program.validate()
    assert not program.recv_need.any()
    src, time = send_times(program)
    assert np.all((time >= 0) & (time < 3.0 + 1e-9))
    assert np.all(program.send_dst != src)
    for r in range(n):
        own = time[src == r]
        assert np.all(np.diff(own) >= 0)
        if process == "periodic":
            assert np.allclose(np.diff(own), 1 / load)
            assert abs(len(own) - 3.0 * load) <= 1


def test_poisson_rate_and_gaps() -> None:
    program = open_loop(100, "shift", 50, 50e6, 1e-3, np.random.default_rng(2))
    src, time = send_times(program)
    assert program.n_messages == pytest.approx(100 * 1000, rel=0.02)
    gaps = np.concatenate([np.diff(time[src == r]) for r in range(100)])
    # An exponential law: standard deviation as large as the mean, 1/e above the mean.
    assert gaps.mean() == pytest.approx(1e-6, rel=0.02)
    assert gaps.std() == pytest.approx(1e-6, rel=0.03)
    assert np.mean(gaps > 1e-6) == pytest.approx(np.exp(-1), rel=0.03)
    assert np.array_equal(program.send_dst, (src + 1) % 100)


def test_periodic_streams_begin_at_a_random_phase_of_their_gap() -> None:
    """A gap of 1 us: 2000 first messages are uniform in it (Kolmogorov, 1 % level)."""
    n, gap = 2000, 1e-6
    rng = np.random.default_rng(3)
    src, time = send_times(open_loop(n, "shift", 50, 50e6, 3 * gap, rng, "periodic"))
    first = np.sort(time[np.searchsorted(src, np.arange(n))]) / gap
    assert first.max() < 1
    assert np.abs(first - (np.arange(n) + 0.5) / n).max() < 1.63 / np.sqrt(n)


def test_every_named_destination_is_its_definition_and_a_callable_is_called() -> None:
    """8 ranks: on a grid of 4 x 2 tornado moves ceil(4/2) - 1 = 1 along x and nothing along y."""

    def sent(name: str, params: dict[str, object] | None = None) -> tuple[np.ndarray, np.ndarray]:
        program = open_loop(8, name, 8, 1e6, 1e-3, np.random.default_rng(0), params=params)
        program.validate()
        assert program.n_messages > 500
        return program.send_src().astype(int), program.send_dst.astype(int)

    src, dst = sent("shift", {"distance": 3})
    assert np.array_equal(dst, (src + 3) % 8)
    src, dst = sent("tornado", {"grid": [4, 2]})
    assert np.array_equal(dst, src // 4 * 4 + (src + 1) % 4)
    src, dst = sent("tornado")
    assert np.array_equal(dst, (src + 3) % 8)
    src, dst = sent("adversarial", {"group_size": 2, "offset": 3})
    assert np.array_equal(dst // 2, (src // 2 + 3) % 4)
    src, dst = sent("permutation")
    to = dict(zip(src.tolist(), dst.tolist(), strict=True))
    assert np.array_equal(dst, [to[r] for r in src.tolist()])
    assert sorted(to.values()) == sorted(to)
    assert all(a != b for a, b in to.items())
    src, dst = sent("uniform-random")
    assert {(int(a), int(b)) for a, b in zip(src, dst, strict=True)} == {
        (a, b) for a in range(8) for b in range(8) if a != b
    }
    src, dst = sent("uniform")
    assert np.mean(src == dst) == pytest.approx(1 / 8, abs=0.05)
    assert len({*zip(src.tolist(), dst.tolist(), strict=True)}) == 64
    others = {"shift", "tornado", "adversarial", "permutation", "uniform-random"}
    assert set(DESTINATIONS) == {"uniform", *others}
    rng = np.random.default_rng(0)
    own = open_loop(8, lambda src, rng: 7 - src, 8, 1e6, 1e-4, rng, "periodic")
    assert np.array_equal(own.send_dst, 7 - own.send_src())


def test_open_loop_errors() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NetcosimError, match="valid: adversarial, permutation"):
        open_loop(8, "hotspot", 8, 1e6, 1e-4, rng)
    with pytest.raises(NetcosimError, match="rate_Bps = 0"):
        open_loop(8, "shift", 8, 0, 1e-4, rng)
    with pytest.raises(NetcosimError, match="valid: periodic, poisson"):
        open_loop(8, "shift", 8, 1e6, 1e-4, rng, "burst")
    with pytest.raises(NetcosimError, match="group_size = None"):
        open_loop(8, "adversarial", 8, 1e6, 1e-4, rng)


def test_mappings_keep_the_ranks_of_a_node_together() -> None:
    nodes = np.array([9, 4, 7, 2], dtype=np.int32)
    rng = np.random.default_rng(3)
    in_order = mapping.map_ranks("in-order", nodes, 2, rng)
    assert in_order.tolist() == [9, 9, 4, 4, 7, 7, 2, 2]
    mixed = mapping.map_ranks("random", nodes, 2, rng)
    assert mixed[::2].tolist() == mixed[1::2].tolist()
    assert sorted(mixed[::2].tolist()) == [2, 4, 7, 9]
    firsts = {int(mapping.map_ranks("random", nodes, 1, rng)[0]) for _ in range(60)}
    assert firsts == {2, 4, 7, 9}
    with pytest.raises(NetcosimError, match="ranks_per_node = 0"):
        mapping.map_ranks("in-order", nodes, 0, rng)


def test_mappings_by_domain_and_by_rail() -> None:
    """Two servers of four GPUs, in the order of a placement; rails are GPU numbers in a server."""
    nodes, rng = np.array([6, 7, 4, 5, 0, 1]), np.random.default_rng(1)
    by_domain = mapping.map_ranks("by-domain", nodes, 1, rng, rails=4)
    assert by_domain.tolist() == [0, 1, 4, 5, 6, 7]
    by_rail = mapping.map_ranks("by-rail", nodes, 1, rng, rails=4)
    assert by_rail.tolist() == [0, 4, 1, 5, 6, 7]
    assert mapping.map_ranks("by-rail", nodes, 1, rng).tolist() == by_domain.tolist()
