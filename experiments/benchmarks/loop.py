"""The queue, the loop closed through the network, the store, and how a command starts."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from alloc.registry import make_policy
from experiments.benchmarks.case import Round
from netcosim.config.content import checked_config
from netcosim.runs.cosim import cosim_point, run_cosim
from netcosim.runs.store import Rows
from netcosim.runs.sweep import run_points
from netsim.topologies.fattree import fat_tree
from queuesim.queue import simulate_queue
from workloads.synthetic import laas_workload

NEEDS_BPS = (0.5e9, 1e9, 1.5e9, 2e9)
"""Bandwidths that jobs need, for policies that share links."""


def queue(policy_name: str, n_jobs: int, window: int | None = 50, at_once: bool = False) -> Round:
    """Return a round that simulates an entire queue with logged run times.

    ``at_once``: all jobs are submitted at time 0, and each pass looks at all of them.
    """
    topology = fat_tree(16)
    workload = laas_workload(n_jobs, 16.0, np.random.default_rng(1))
    if at_once:
        workload, window = replace(workload, submit_s=np.zeros(n_jobs)), None
    needs_Bps = np.random.default_rng(3).choice(NEEDS_BPS, n_jobs)

    def run() -> Mapping[str, float]:
        policy = make_policy(topology, policy_name, np.random.default_rng(0))
        rng = np.random.default_rng(0)
        result = simulate_queue(workload, policy, window=window, bandwidth_Bps=needs_Bps, rng=rng)
        return {"jobs": len(result)}

    return run


def coupled(
    model: str,
    machine: str = "dragonfly-272",
    policy: str = "rdn",
    n_jobs: int = 200,
    mean_nodes: int = 14,
) -> Round:
    """Return a round that runs a config whose running jobs share the network live."""
    content = {
        "machine": {"preset": machine},
        "workload": {"synthetic": {"n_jobs": n_jobs, "mean_nodes": mean_nodes, "load": 0.95}},
        "queue": {"policies": [policy], "run_time_model": model},
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
        return {"jobs": len(run_cosim(config).schedules[policy])}

    return run


def small_point(config: Mapping[str, object]) -> Mapping[str, Rows]:
    """Return two small tables: the point function of `store`."""
    rows = [{"job": i, "time_s": i / 7} for i in range(30)]
    return {"jobs": rows, "policies": [{"policy": "baseline", "seed": str(config["run"])}]}


def store(n_points: int, n_jobs: int = 0) -> Round:
    """Return a round that sweeps points of so many jobs into a results file in this folder.

    0 jobs: two tables are stored for each point without work.
    """
    content = {
        "machine": {"family": "torus", "dims": [8, 8]},
        "workload": {"synthetic": {"n_jobs": n_jobs or 30, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    points = [
        checked_config({**content, "run": {"snapshots": 0, "seed": seed}}).resolved()
        for seed in range(n_points)
    ]

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-", dir=Path.cwd()) as folder:
            results = Path(folder) / "results.db"
            summary = run_points(
                cosim_point if n_jobs else small_point, points, results, progress=False
            )
        return {"points": 0 if summary is None else summary.computed}

    return run


QUEUE_ONLY = """
[machine]
family = "fattree"
radix = 16
[workload.synthetic]
n_jobs = 200
mean_nodes = 16
[run]
snapshots = 0
[queue]
policies = ["baseline"]
run_time_model = "as-logged"
"""
COMMUNICATION = """
[communication]
mix = [{ pattern = "all-to-all", message_bytes = "10 KB" }]
"""


def command(arguments: Sequence[str], first: bool = False) -> Round:
    """Run a command in a separate process, if ``first`` with nothing compiled.

    Its folder has a config without packets by each of two run-time models.
    """

    def run() -> Mapping[str, float]:
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
            coupled = QUEUE_ONLY.replace("as-logged", "coupled-flow") + COMMUNICATION
            Path(folder, "as-logged.toml").write_text(QUEUE_ONLY, "utf-8")
            Path(folder, "coupled-flow.toml").write_text(coupled, "utf-8")
            subprocess.run(
                [sys.executable, "-m", "netcosim", *arguments],
                cwd=folder,
                capture_output=True,
                check=True,
                env={**os.environ, **({"NETCOSIM_CACHE_DIR": folder} if first else {})},
            )
        return {"runs": 1}

    return run
