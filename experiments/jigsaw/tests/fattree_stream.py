"""What the tests of the fat-tree papers share: a small stream on a small tree."""

from __future__ import annotations

import gzip

import numpy as np

from experiments.kit.fat_tree_logs import LINK_BPS
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim


def small_log(tmp_path, n=400):
    """A stream small enough for a tree of 54 nodes."""
    rng = np.random.default_rng(3)
    lines = ["job,nodes,run_s,arrival_s"]
    lines += [
        f"{i},{int(rng.integers(1, 30))},{int(rng.integers(20, 300))},0" for i in range(1, n + 1)
    ]
    path = tmp_path / "synth-16.csv.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))  # the same each time
    return str(path)


def on_54_nodes(tmp_path, policy, walltimes="logged", backfill="easy", **assumed):
    """A config of the stream on a tree of 54 nodes under one policy, as the papers run it."""
    queue = {"policies": [policy], "window": 50, "run_time_model": "assumed", "assumed": assumed}
    return checked_config(
        {
            "machine": {"family": "fattree", "radix": 6, "bandwidth_Bps": LINK_BPS},
            "workload": {
                "log": small_log(tmp_path),
                "all_at_zero": True,
                "larger_jobs": "drop",
                "walltimes": walltimes,
                "missing_limits": "run-time",
            },
            "queue": {**queue, "backfill": backfill},
            "run": {"snapshots": 0},
        }
    )


def simulate(config):
    [result] = run_cosim(config).schedules.values()
    return result
