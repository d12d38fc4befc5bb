"""Serving a language model: bytes and times of both pools against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from netsim.errors import NetcosimError
from netsim.packet.engine import simulate_packets
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from netsim.traffic import combine
from patterns.registry import PATTERNS, make_pattern
from patterns.training.inference import SERVED, InferenceSettings

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("name", "n_bytes"),
    # 80 layers of 8 heads of 128, 32 layers of 32 heads of 128, twice, of 2 bytes
    [("llama3-70b", 327_680), ("llama-7b", 524_288)],
)
def test_keys_and_values_of_a_token(name: str, n_bytes: int) -> None:
    assert InferenceSettings(model=name).token_cache_bytes == n_bytes
    assert not {"deepseek-v3", "resnet-50"} & set(SERVED)


@pytest.mark.parametrize(("tp", "instances"), [(1, 3), (2, 2), (8, 1)])
def test_bytes_of_each_gpu_are_those_of_the_closed_forms(tp: int, instances: int) -> None:
    given = {"tp": tp, "batch": 4, "prompt": 1000, "output": 10}
    p = 2 * tp * instances
    assert PATTERNS["inference"].least_ranks(given) == 2 * tp
    program = make_pattern("inference", p, 1, 1, RNG, given)
    program.validate()
    src, dst = program.send_src(), program.send_dst
    cross = (src < p // 2) & (dst >= p // 2)
    assert np.array_equal(dst[cross], src[cross] + p // 2)
    assert set(program.send_bytes[cross].tolist()) == {4 * 1000 * 327_680 // tp}
    for pool, tokens in ((src < p // 2, 4000), (src >= p // 2, 40)):
        reduced = 2 * 80 * tokens * 8192 * 2
        total = program.send_bytes[pool & ~cross].sum()
        assert total == 2 * (tp - 1) * reduced * instances
    twice = make_pattern("inference", p, 1, 2, RNG, given)
    assert twice.total_bytes == 2 * program.total_bytes


def test_a_batch_takes_prompts_then_transfer_then_generation() -> None:
    """On one switch without latency; times of docs/training.md by hand for tp = 1."""
    given = {"model": "llama-7b", "tp": 1, "batch": 2, "prompt": 512, "output": 16, "scale": 1e-2}
    program = make_pattern("inference", 2, 1, 1, RNG, given)
    machine = make_topology(
        "hyperx",
        {"dims": [1], "concentration": 2, "node_bandwidth_Bps": 50 * 10**9, "node_latency_s": 0.0},
    )
    packets = PacketConfig(packet_bytes=4096, buffer_bytes=1 << 18, router_latency_s=0.0)
    placed = combine([program], [np.arange(2)])
    result = simulate_packets(make_routing(machine), placed, packets, RNG)
    n, active, cache = 6_738_415_616, 6_607_077_376, 524_288
    prompts = 2 * active * 1024 / (989e12 * 0.5)
    transfer = 1024 * cache / 50e9
    generation = 16 * (2 * n + 2 * 520 * cache) / 3350e9
    closed = 1e-2 * (prompts + transfer + generation)
    assert result.end_ps * 1e-12 == pytest.approx(closed, rel=1e-3)


def test_ranks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NetcosimError, match="24 ranks; two pools of tp = 8 need a multiple of 16"):
        make_pattern("inference", 24, 1, 1, RNG, {})
