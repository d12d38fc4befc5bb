"""In or out of step: closed forms of periodic jobs, the fluid reference, and packets against both.

Jobs compute for p and send for c. The packets go over one cable of a ring, on which the jobs' nodes
sit at either end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from steps_theory import (
    Looping,
    even_periods_s,
    fluid_ends_s,
    link,
    locked_at_s,
    next_apart_s,
    next_overlap_s,
    one_link,
)

from cosim.measuring.steps_measure import Loops, meetings, off_by_job
from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netsim.packet.model import PS_PER_S, PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.fattree import fat_tree
from netsim.topologies.registry import make_topology

LINK_BPS = 10**9
SEND_S = 1e-4
"""What 100 kB take on a cable."""
FAIR2 = link([1, 1])


def cable(nodes: int, *, feed: int = 1, buffer_bytes: int = 16384) -> SharedNetwork:
    """A ring of two-ended cables with so many nodes at each router."""
    machine = make_topology(
        "torus",
        {
            "dims": [4],
            "concentration": nodes,
            "link_bandwidth_Bps": LINK_BPS,
            "node_bandwidth_Bps": feed * LINK_BPS,
        },
    )
    packet = PacketConfig(buffer_bytes=buffer_bytes)
    return SharedNetwork(make_routing(machine), packet, task_mapping="in-order", seed=1)


def swap(number: int, nodes: list[int], node_bytes: int, **more: float) -> PlacedJob:
    """Nodes exchange with those opposite in the list."""
    parameters = {"rounds": 1, "warmup_rounds": 0}
    said = Communication("bisection-pairing", rank_bytes=node_bytes, parameters=parameters)
    return PlacedJob(number, said, np.array(nodes), **more)


def ends_s(network: SharedNetwork, jobs: list[PlacedJob], until_s: float) -> list[np.ndarray]:
    run = Ensemble(network, jobs).loops(until_s)
    return [ends / PS_PER_S for ends in run.ends_ps]


def mean_s(ends: np.ndarray) -> float:
    first = len(ends) // 4
    return float((ends[-1] - ends[first]) / (len(ends) - 1 - first))


# One link, shared evenly


@pytest.mark.parametrize("apart", [0.05, 0.2, 0.6])
def test_two_jobs_stay_as_far_apart_as_they_began(apart: float) -> None:
    jobs = [Looping(0.7, 0.3), Looping(0.7, 0.3, apart)]
    first, second = fluid_ends_s(jobs, FAIR2, 50.0)
    overlap = max(0.3 - apart, 0.0)
    np.testing.assert_allclose(np.diff(first), 1 + overlap)
    n = min(len(first), len(second))
    # the second ends c after the first did its own, wherever they met
    np.testing.assert_allclose(second[:n] - first[:n], apart)


def test_jobs_of_other_periods_drift_past_each_other() -> None:
    """Both are longer by c_1 c_2 over the other's period, in the mean: the same part f_1 f_2."""
    jobs = [Looping(0.7, 0.3), Looping(1.0, 0.2 * 2**0.5)]
    found = [mean_s(ends) for ends in fluid_ends_s(jobs, FAIR2, 4000.0)]
    np.testing.assert_allclose(found, even_periods_s([0.7, 1.0], [0.3, 0.2 * 2**0.5]), rtol=2e-3)
    alone = np.array([1.0, 1.0 + 0.2 * 2**0.5])
    extra = 0.3 * 0.2 * 2**0.5 / alone[::-1]
    np.testing.assert_allclose(even_periods_s([0.7, 1.0], [0.3, 0.2 * 2**0.5]), alone + extra)


def test_the_product_law_is_that_of_noise() -> None:
    """Three jobs, one of them other: by the law, and by a fluid with noise of 10 %."""
    compute, send = [0.7, 0.7, 1.1], [0.3, 0.3, 0.5]
    rng = np.random.default_rng(3)
    jobs = [
        Looping(rng.gamma(100, p / 100, 4000).tolist(), c, float(rng.random()))
        for p, c in zip(compute, send, strict=True)
    ]
    found = [mean_s(ends) for ends in fluid_ends_s(jobs, link([1, 1, 1]), 3000.0)]
    np.testing.assert_allclose(found, even_periods_s(compute, send), rtol=0.01)
    # who never computes has a third of the link
    np.testing.assert_allclose(even_periods_s([0, 0, 0], [1, 2, 3]), [3, 6, 9])


def test_three_jobs_on_a_cable_meet_as_the_law_says() -> None:
    """With buffers that hold little of a message: larger ones serve bursts in turns, if somewhat
    (4096 bytes: as the law; 16 KiB of 100 kB: what others cost is a tenth less)."""
    network, compute_s = cable(3, buffer_bytes=4096), 2e-4
    rng = np.random.default_rng(5)
    jobs = [
        swap(n, [n, 3 + n], 100_000, compute_s=compute_s, compute_noise=0.2, start_s=float(s))
        for n, s in enumerate(np.round(rng.random(3) * 3000) * 1e-7)
    ]
    alone = mean_s(ends_s(network, [swap(9, [0, 3], 100_000, compute_s=compute_s)], 5e-3)[0])
    found = np.mean([mean_s(ends) for ends in ends_s(network, jobs, 0.3)])
    law = even_periods_s([compute_s] * 3, [alone - compute_s] * 3)[0]
    assert found == pytest.approx(law, rel=0.02)
    assert found / alone > 1.2


def test_two_jobs_of_other_periods_on_a_cable() -> None:
    network = cable(2)
    jobs = [
        swap(1, [0, 2], 20_000, compute_s=5e-5),
        swap(2, [1, 3], 30_000, compute_s=6.37e-5, start_s=1e-5),
    ]
    alone = np.array([mean_s(ends_s(network, [job], 4e-3)[0]) for job in jobs])
    found = np.array([mean_s(ends) for ends in ends_s(network, jobs, 0.03)])
    f = 1 - np.array([job.compute_s for job in jobs]) / alone
    np.testing.assert_allclose(found / alone - 1, f[0] * f[1], rtol=0.06)


def ring(number: int, nodes: list[int], **more: float) -> PlacedJob:
    said = Communication("allreduce-ring", message_bytes=80_000)
    return PlacedJob(number, said, np.array(nodes), **more)


def test_two_rings_on_one_uplink_neither_lock_nor_interleave() -> None:
    """All-reduces of equal period whose rings leave a leaf by one cable, as in AI clusters.

    A ring goes at the pace of its slowest cable, so both rings slow down together: begun d < c
    apart they stay so. That is why CASSINI (NSDI'24) shifts jobs, and why fair sharing leaves
    gains to whoever does (Rajasekaran and others, HotNets'22).
    """
    network = SharedNetwork(
        make_routing(fat_tree(4, bandwidth_Bps=LINK_BPS, taper=0.5)), task_mapping="in-order"
    )
    compute_s = 4e-4
    alone = mean_s(ends_s(network, [ring(1, [0, 4], compute_s=compute_s)], 5e-3)[0])
    send_s = alone - compute_s
    for apart in (0.25, 0.5):
        late_s = round(apart * send_s * 1e7) * 1e-7
        jobs = [
            ring(1, [0, 4], compute_s=compute_s),
            ring(2, [1, 6], compute_s=compute_s, start_s=late_s),
        ]
        first, second = ends_s(network, jobs, 0.02)
        n = min(len(first), len(second))
        longer = np.array([mean_s(first), mean_s(second)]) - alone
        np.testing.assert_allclose(longer / send_s, 1 - apart, atol=0.06)
        np.testing.assert_allclose((second[:n] - first[:n]) / send_s, apart, atol=0.08)


# What is not even interleaves


@pytest.mark.parametrize(
    ("feed", "buffer_bytes"), [(4, 400_000), (4, 16384), (1, 400_000), (1, 16384)]
)
def test_bursts_first_come_first_served_take_turns(feed: int, buffer_bytes: int) -> None:
    """Nodes four times as fast as the cable: the lead grows four times each time, or by about half
    of what a buffer holds (packets come in bunches then). As fast: they stay where they are."""
    network, compute_s = cable(2, feed=feed, buffer_bytes=buffer_bytes), 2.5e-4
    jobs = [
        swap(1, [0, 2], 100_000, compute_s=compute_s),
        swap(2, [1, 3], 100_000, compute_s=compute_s, start_s=5e-6),
    ]
    first, second = ends_s(network, jobs, 4e-3)
    n = min(len(first), len(second))
    apart, expected, late_s = second[:n] - first[:n], [], 5e-6
    held_s = np.inf if buffer_bytes > 100_000 else buffer_bytes / LINK_BPS / 2
    for _ in range(n):
        late_s = next_apart_s(late_s, SEND_S, feed, held_s)
        expected.append(late_s)
    np.testing.assert_allclose(apart, expected, atol=1e-5 if feed == 4 else 4e-6)
    if feed == 4:
        assert first[-1] - first[-2] < compute_s + 1.2 * SEND_S


def test_who_begins_first_and_has_more_of_the_link_gets_away() -> None:
    """Two nodes of a job against one of the other's: 2/3 of the cable. The overlap halves."""
    network, send_s, compute_s = cable(3), 1.6e-3, 4e-3
    jobs = [
        swap(1, [0, 1, 3, 4], 800_000, compute_s=compute_s),
        swap(2, [2, 5], 1_600_000, compute_s=compute_s, start_s=0.2 * send_s),
    ]
    first, second = ends_s(network, jobs, 0.05)
    expected, overlap = [], 0.8
    for _ in range(6):
        overlap = next_overlap_s(overlap, 2 / 3)
        expected.append(overlap)  # how long the first is held up
    longer = (np.diff(first, prepend=0) - compute_s - send_s) / send_s
    np.testing.assert_allclose(longer[:6], expected, atol=0.05)
    assert second[-1] - second[-2] == pytest.approx(compute_s + send_s, rel=0.01)
    fluid = fluid_ends_s([Looping(3, 1), Looping(3, 1, 0.2)], link([1, 1], [2, 1]), 40.0)
    np.testing.assert_allclose(np.diff(fluid[0], prepend=0)[:6] - 4, expected, atol=1e-9)


def test_a_job_that_another_link_holds_up_is_not_held_up_and_locks_the_other() -> None:
    """The first fills half of the shared link for 1; the other fills all of it for 0.6."""
    rates = link([0.5, 1.0])
    for behind in (0.0, 0.1):
        jobs = [Looping(2.0, 1.0), Looping(2.0 - behind, 1.0, 0.3)]
        slow, fast = fluid_ends_s(jobs, rates, 300.0)
        np.testing.assert_allclose(np.diff(slow), 3.0)  # not held up
        np.testing.assert_allclose(np.diff(fast)[-5:], 3.0)  # one period for both
        n = min(len(slow), len(fast))
        apart = (fast[:n] - slow[:n])[-1] + (3 - np.diff(fast)[-1])
        begun = apart - behind * 1.0
        assert begun == pytest.approx(locked_at_s(behind, 1.0, 0.5), abs=0.01)
    assert np.isnan(locked_at_s(0.7, 1.0, 0.5))


def test_a_link_is_shared_max_min_fairly() -> None:
    """Who wants less than its share gets that, and the others what is left, by weights."""
    assert link([0.2, 1.0, 1.0])((0, 1, 2)) == pytest.approx([1, 0.4, 0.4])
    assert link([0.5, 1.0])((0, 1)) == pytest.approx([1, 0.5])
    assert link([1, 1, 1], [2, 1, 1])((0, 2)) == pytest.approx([2 / 3, 1 / 3])


# What is measured


def loops(starts: list[float], periods: list[float], n: int = 200) -> Loops:
    """Jobs of send 0.3 that nothing holds up."""
    k = len(starts)
    return Loops(
        tuple(s + p * np.arange(1, n + 1) for s, p in zip(starts, periods, strict=True)),
        tuple(np.full(n + 1, p - 0.3) for p in periods),
        np.array(starts),
        np.array(periods),
        np.array(periods) - 0.3,
        np.full(k, 0.3),
    )


def test_meeting_and_order_by_hand() -> None:
    weights = np.ones((2, 2))
    in_step = meetings(loops([0, 0], [1, 1]), weights, 20, 120)
    assert in_step == pytest.approx((1 / 0.3, 1), rel=0.02)
    half = meetings(loops([0, 0.15], [1, 1]), weights, 20, 120)
    assert half == pytest.approx((0.5 / 0.3, np.cos(2 * np.pi * 0.15)), rel=0.02)
    opposite = meetings(loops([0, 0.5], [1, 1]), weights, 20, 120)
    assert opposite == pytest.approx((0, -1), abs=1e-9)
    drifting = meetings(loops([0, 0], [1, 1.01]), weights, 20, 120)
    assert drifting == pytest.approx((1, 0), abs=0.03)
    assert np.isnan(meetings(loops([0, 0], [1, 1]), np.zeros((2, 2)), 20, 120)).all()


def test_time_off_by_hand() -> None:
    """Iterations take 1.25 where 1 would do; noise that makes computing longer is no loss."""
    seen = loops([0, 0], [1.25, 1.25])
    alone = np.array([1.0, 1.0])
    found = Loops(
        seen.ends_s, (np.full(201, 0.7), np.full(201, 0.95)), seen.start_s, alone, alone - 0.3,
        seen.send_s,
    )  # fmt: skip
    assert off_by_job(found, 10, 100).tolist() == pytest.approx([0.2, 0])
    assert np.isnan(off_by_job(found, 300, 400)).all()


def config(**steps: object) -> dict[str, Any]:
    return {
        "machine": {"family": "fattree", "radix": 6},
        "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 6}},
        "queue": {"policies": ["random"], "run_time_model": "as-logged"},
        "communication": {"mix": [{"pattern": "unstructured-mesh", "message_bytes": "8 KiB"}]},
        "run": {"snapshots": 4, "only_snapshot": 1, "measure": "steps", "steps": steps},
    }


def last(tables: dict[str, Any]) -> dict[str, float]:
    return [row for row in tables["steps"] if not row["redrawn"]][-1]


def test_a_config_asks_for_it() -> None:
    given = config(iterations=30, redraws=2, periods="equal", noise=0.05, phases="locked")
    result = run_cosim(config_from(given))
    assert result.measurement is not None
    rows = result.measurement.tables["steps"]
    assert [(r["redrawn"], r["from_iteration"], r["to_iteration"]) for r in rows] == [
        (0, 1, 4), (0, 4, 10), (0, 10, 30), (1, 1, 4), (2, 1, 4)
    ]  # fmt: skip
    assert rows[0]["meeting"] > 2  # in step at first, near 1 / f
    assert rows[3]["meeting"] == pytest.approx(rows[0]["meeting"])  # however often drawn


def test_one_link_in_theory() -> None:
    """Two jobs at f = 0.3: in step 0.3 longer, by chance 0.09, in turns nothing."""
    row = one_link().query("jobs == 2 and share == 0.3").iloc[0]
    found = [row[f"{name}_percent"] for name in ("in_step", "clocks_apart", "interleaved")]
    assert found == pytest.approx([100 * 0.3 / 1.3, 100 * 0.09 / 1.09, 0])


def test_alone_nothing_is_lost() -> None:
    """Isolated jobs lose nothing, with noise too: it counts on both sides."""
    given = config(iterations=60, noise=0.2)
    given["queue"]["policies"] = ["jigsaw"]
    result = run_cosim(config_from(given))
    assert result.measurement is not None
    row = last(result.measurement.tables)
    assert abs(row["off_percent"]) < 0.05
    assert np.isnan(row["meeting"])
