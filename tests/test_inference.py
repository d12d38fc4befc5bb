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


def test_times_of_both_pools_by_hand() -> None:
    """llama-7b on 2 GPUs an instance, 4 requests of 1000 + 100 tokens.

    Prompts: 2 x 6,607,077,376 parameters x 4000 tokens over 2 x 989 Tflop/s at a half. Generation:
    each of 100 tokens reads 2 bytes of 6,738,415,616 parameters (with the embedding), and 524,288
    bytes of each of 4 x 1050 tokens, the mean in the cache; at 2 x 2 TB/s.
    """
    given = {"tp": 2, "batch": 4, "prompt": 1000, "output": 100, "memory_GBps": 2000.0}
    settings = InferenceSettings(model="llama-7b", **given)
    prefill_s, decode_s = 5.285661901e13 / 9.89e14, 100 * (13_476_831_232 + 2_202_009_600) / 4e12
    assert (settings.prefill_s, settings.decode_s) == pytest.approx((prefill_s, decode_s))
    program = make_pattern("inference", 4, 1, 1, RNG, {"model": "llama-7b", "scale": 0.5, **given})
    # steps: 2 (tp - 1) of the ring and the end; those that generate wait for the cache first
    computes = [[prefill_s, 0, 0]] * 2 + [[0, decode_s, 0, 0]] * 2
    assert program.compute_s == pytest.approx(np.concatenate(computes) / 2)
    # the cache leaves in the last step of the prompts, and is awaited in the first of generation
    step = np.repeat(np.arange(program.n_steps), np.diff(program.send_ptr))
    begin = program.step_ptr
    sent = np.stack([step - begin[program.send_src()], program.send_step - begin[program.send_dst]])
    cross = (program.send_src() < 2) & (program.send_dst >= 2)
    assert sent[:, cross].tolist() == [[2, 2], [0, 0]]
    assert sent[:, ~cross].tolist() == [[0, 1] * 2 + [1, 2] * 2] * 2
    timeless = {"model": "llama-7b", "compute": False, **given}
    assert not make_pattern("inference", 4, 1, 1, RNG, timeless).compute_s.any()


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


def test_messages_have_a_byte_at_least() -> None:
    program = make_pattern("inference", 4, 1, 1, RNG, {"tp": 2, "scale": 1e-15})
    assert set(program.send_bytes.tolist()) == {1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((24, 1, 1), "24 ranks; two pools of tp = 8 need a multiple of 16"),
        ((16, 0, 1), "message_bytes = 0; it must be at least 1"),
        # 14 steps of a ring and its end; one more in all for those that wait for the cache
        ((16, 1, 10**9), "240,000,000,000 messages in 256,000,000,000 steps; at most"),
    ],
)
def test_what_cannot_be_built_is_refused(given: tuple[int, int, int], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        make_pattern("inference", *given, RNG, {})
