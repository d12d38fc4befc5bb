"""``NUMBA_DISABLE_JIT=1`` runs the packet kernels as plain Python, with the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
from dataclasses import fields
import numpy as np
from numba import config
from packet_cases import ENGINES, BIG, all_to_all, flows, line
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

assert config.DISABLE_JIT

def run(routing, traffic, **more):
    config = PacketConfig(**{"packet_bytes": 1000, "buffer_bytes": 2200, **more})
    results = [
        simulate(routing, traffic, config, np.random.default_rng(7))
        for simulate in ENGINES.values()
    ]
    for field in fields(results[0]):
        one, other = (getattr(result, field.name) for result in results)
        assert np.array_equal(one, other), (routing.name, more, field.name)
    return results[-1]

# two packets of 1,000 bytes over two links of 1 ns a byte and 40 ns, and a router of 100 ns: the
# second starts at 1,000 ns, is routed 140 ns later, and takes 1,000 ns and 40 ns to the node
one = run(line([0, 0]), flows([(0, 1)], 2000, 2), buffer_bytes=BIG, header_bytes=0)
assert one.message_finish_ps.tolist() == [1_000_000 + 140_000 + 1_000_000 + 40_000], one

dragonfly = make_topology("dragonfly", {"p": 2, "a": 2, "g": 3})
torus = make_topology("torus", {"dims": [3, 3]})
run(make_routing(dragonfly, "ugal-l"), all_to_all(8, 3000))
run(make_routing(dragonfly, "minimal"), all_to_all(8, 3000), eager_limit_bytes=1000)
run(make_routing(dragonfly, "ugal-l"), all_to_all(8, 3000), router="input-queued")
run(make_routing(torus, "minimal-adaptive"), all_to_all(8, 3000), recv_overhead_s=1e-6)
throttled = {"congestion_control": "endpoint-pairs"}
run(make_routing(torus, "dimension-order"), all_to_all(8, 3000), **throttled)
"""


def test_packets_without_compilation() -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        # unsigned products wrap, which NumPy's scalars report
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
