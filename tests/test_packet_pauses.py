"""A run that stops to tell of its progress goes on as if it had not stopped."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from experiments.validation.cases import Send, Step, program
from experiments.validation.reference.packets import simulate_reference
from netsim.packet import engine
from netsim.packet.model import PacketConfig, PacketResult
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import Traffic, combine

DRAGONFLY = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})
ROUTERS = {
    "output-queued": PacketConfig(),
    "input-queued": PacketConfig(router="input-queued", crossbar_speedup=1.5),
}


def loops(config: PacketConfig, until_s: float) -> PacketResult:
    """Jobs that compute in between, so that nothing happens for a while."""
    network = SharedNetwork(make_routing(DRAGONFLY, "ugal-l"), config, task_mapping="in-order")
    jobs = [
        PlacedJob(
            k,
            Communication(pattern, message_bytes=3000 + k),
            np.arange(10 * k, 10 * k + 10),
            compute_s=7e-6,
            start_s=3e-7 * k,
        )
        for k, pattern in enumerate(("all-to-all", "halo2d", "pairs"))
    ]
    return Ensemble(network, jobs).loops(until_s, stream=1).packets


@pytest.mark.parametrize("router", list(ROUTERS))
@pytest.mark.parametrize("until_s", [4e-4, 4e-4 + 1e-12])
def test_pauses_change_nothing(router, until_s, monkeypatch):
    """With a tick of a picosecond a silence is longer than what the wheel holds at a time."""
    config = ROUTERS[router]
    whole = loops(config, until_s)
    assert (whole.message_finish_ps > 3.5e8).any()
    for budget in (0, 3, 40):
        monkeypatch.setattr(engine, "BUDGET", budget)
        paused = loops(config, until_s)
        for field in fields(PacketResult):
            one, other = getattr(whole, field.name), getattr(paused, field.name)
            assert np.array_equal(one, other), (budget, field.name)


def rounds(n: int, size: int, count: int) -> Traffic:
    """Every rank sends to all others, then computes for a while, and again."""
    steps = [
        [
            Step([Send((r + i) % n, size, k) for i in range(1, n)], n - 1, compute_ps=7_000_000)
            for k in range(count)
        ]
        for r in range(n)
    ]
    return combine([program(*steps)], [np.arange(n)])


@pytest.mark.slow
@pytest.mark.parametrize("router", list(ROUTERS))
def test_a_run_that_pauses_by_itself_is_the_plain_engines(router: str) -> None:
    """More arrivals than the real budget, against the engine that never stops (minutes)."""
    routing = make_routing(make_topology("dragonfly", {"p": 1, "a": 2, "g": 3}), "ugal-l")
    config = replace(ROUTERS[router], packet_bytes=64)
    traffic = rounds(6, 64 * 900, 50)
    pauses: list[float] = []
    rng = np.random.default_rng
    fast = engine.simulate_packets(routing, traffic, config, rng(1), progress=pauses.append)
    assert fast.packet_hops > engine.BUDGET
    assert pauses
    plain = simulate_reference(routing, traffic, config, rng(1))
    for field in fields(PacketResult):
        assert np.array_equal(getattr(fast, field.name), getattr(plain, field.name)), field.name
