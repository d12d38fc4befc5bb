"""The queue, the loop closed through the network, the store, and how a command starts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from alloc.registry import make_policy
from experiments.benchmarks.case import Round
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.store import Rows
from netcosim.runs.sweep import run_points
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.synthetic import laas_workload

N_POINTS = 2000
LOOP_JOBS = 200


def queue(policy_name: str, n_jobs: int) -> Round:
    """Return a round that simulates an entire queue with logged run times."""
    topology = fat_tree(16)
    workload = laas_workload(n_jobs, 16.0, np.random.default_rng(1))

    def run() -> Mapping[str, float]:
        policy = make_policy(topology, policy_name, np.random.default_rng(0))
        result = simulate_queue(workload, policy, window=50, rng=np.random.default_rng(0))
        return {"jobs": len(result)}

    return run


def coupled(model: str) -> Round:
    """Return a round that runs a config whose running jobs share the network live."""
    content = {
        "machine": {"preset": "dragonfly-272"},
        "workload": {"synthetic": {"n_jobs": LOOP_JOBS, "mean_nodes": 14, "load": 0.95}},
        "queue": {"policies": ["rdn"], "run_time_model": model},
        "communication": {
            "mix": [
                {
                    "pattern": pattern,
                    "message_bytes": "10 KB",
                    "communication_fraction": [0.1, 0.5],
                }
                for pattern in ("all-to-all", "halo3d26")
            ]
        },
        "run": {"seed": 1, "snapshots": 0},
    }
    config = checked_config(content)

    def run() -> Mapping[str, float]:
        return {"jobs": len(run_cosim(config).schedules["rdn"])}

    return run


def small_point(config: Mapping[str, object]) -> Mapping[str, Rows]:
    """Return two small tables: the point function of `store`."""
    rows = [{"job": i, "time_s": i / 7} for i in range(30)]
    return {"jobs": rows, "policies": [{"policy": "baseline", "seed": str(config["run"])}]}


def store() -> Round:
    """Return a round that sweeps points without work into a results file in this folder."""
    content = {
        "machine": {"family": "torus", "dims": [8, 8]},
        "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    points = [
        checked_config({**content, "run": {"snapshots": 0, "seed": seed}}).resolved()
        for seed in range(N_POINTS)
    ]

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-", dir=Path.cwd()) as folder:
            results = Path(folder) / "results.db"
            summary = run_points(small_point, points, results, progress=False)
        return {"points": 0 if summary is None else summary.computed}

    return run


def command(arguments: Sequence[str]) -> Round:
    """Run a command in a separate process."""

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
            subprocess.run(
                [sys.executable, "-m", "netcosim", *arguments],
                cwd=folder,
                capture_output=True,
                check=True,
            )
        return {"runs": 1}

    return run
