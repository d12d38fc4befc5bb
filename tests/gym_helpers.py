"""A small world, for the tests of the environments."""

from __future__ import annotations

from typing import Any

MACHINE = {"family": "dragonfly", "p": 2, "a": 4, "g": 5}
CONFIG: dict[str, Any] = {
    "machine": MACHINE,
    "workload": {
        "synthetic": {
            "n_jobs": 120,
            "mean_nodes": 6,
            "load": 1.2,
            "requested_factor": [1.0, 2.0],
        },
        "larger_jobs": "drop",
    },
    "queue": {"policies": ["simple", "rdn", "level-spread"], "run_time_model": "as-logged"},
    "communication": {
        "mix": [
            {"pattern": "all-to-all", "node_bytes": 65536, "communication_fraction": [0.2, 0.6]},
            {"pattern": "halo3d", "node_bytes": 65536},
        ]
    },
    "run": {"snapshots": 2, "seed": 3},
}
