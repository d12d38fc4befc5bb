"""What network schedulers gain: tables of docs/network-schedulers.md.

    python docs/network_schedulers.py queue JOBS     writes docs/network-schedulers-queue.csv

Each method is a network scheduler with a routing. All have the same jobs, placed on the free GPUs
of the lowest numbers.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.config_load import config_from
from experiments.cosim import run_cosim

HERE = Path(__file__).parent
METHODS = (
    *(("none", "ecmp"), ("crux", "ecmp"), ("cassini", "ecmp")),
    *(("crux", "pinned"), ("none", "pinned"), ("none", "spray"), ("crux", "spray")),
)
MODELS = ((1 << 30, 0.3), (1 << 29, 0.2), (1 << 28, 0.25), (1 << 28, 0.4))
"""Bytes of the all-reduce of an iteration, and its share of the isolated iteration."""


def queue_config(scheduler: str, routing: str, n_jobs: int) -> dict[str, Any]:
    """Return a queue on 2,000 GPUs in 250 servers, 10 a leaf, with half of the up-links."""
    return {
        "machine": {
            "family": "gpu-cluster",
            "fabric": "leaf",
            "nodes": 250,
            "nodes_per_leaf": 10,
            "oversubscription": 2.0,
            "routing": routing,
        },
        "workload": {
            "synthetic": {
                "n_jobs": n_jobs,
                "sizes": [8, 16, 32, 64, 128, 256],
                "load": 0.8,
                "median_run_time": "30 min",
                "run_time_range": ["2 min", "12 h"],
            }
        },
        "queue": {
            "policies": ["baseline"],
            "run_time_model": "iterations",
            "network_scheduler": scheduler,
        },
        "communication": {
            "task_mapping": "in-order",
            "mix": [
                {
                    "pattern": "collective",
                    "message_bytes": size,
                    "communication_fraction": fraction,
                    "parameters": {
                        "operation": "all-reduce",
                        "algorithm": "ring",
                        "chunks": 1,
                        "gpus_per_node": 8,
                    },
                }
                for size, fraction in MODELS
            ],
        },
        "run": {"snapshots": 0, "seed": 1},
    }


def queue_row(scheduler: str, routing: str, n_jobs: int) -> dict[str, object]:
    """Return what a queue costs under a method, relative to isolated iterations."""
    began = time.perf_counter()
    result = run_cosim(config_from(queue_config(scheduler, routing, n_jobs)))
    schedule = result.schedules["baseline"]
    jobs = schedule.workload
    run_s, gpus = schedule.end_s - schedule.start_s, jobs.n_nodes
    stretch = run_s / jobs.run_time_s
    return {
        "scheduler": scheduler,
        "routing": routing,
        "jobs": len(jobs),
        "gpu_time_ratio": round(float(gpus @ run_s / (gpus @ jobs.run_time_s)), 4),
        "jobs_slowed": round(float((stretch > 1.001).mean()), 4),
        "stretch_p95": round(float(np.quantile(stretch, 0.95)), 4),
        "stretch_max": round(float(stretch.max()), 3),
        "mean_completion_s": round(float((schedule.end_s - jobs.submit_s).mean()), 1),
        "largest_group": int(schedule.reports["network_scheduler"]["largest_group"]),
        "seconds": round(time.perf_counter() - began, 1),
    }


def queue(n_jobs: int) -> None:
    """Write a row for each method, as it is done."""
    rows = []
    for method in METHODS:
        rows.append(queue_row(*method, n_jobs))
        print(rows[-1], flush=True)
        pd.DataFrame(rows).to_csv(HERE / "network-schedulers-queue.csv", index=False)


if __name__ == "__main__":
    queue(int(sys.argv[2]))
