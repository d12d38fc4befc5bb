"""Print a digest of the results of small configs, to compare two trees.

`PYTHONPATH=$PWD python tests/digests.py` in each.
The configs cover families, policies, run-time models and measures. A change that alters no result
alters no line; the time that computing the schedules took is left out.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from unread_bases import BASES, base, merged, write_files

import netcosim as nc

MACHINES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "fattree": (
        {"family": "fattree", "radix": 4},
        ["baseline", "random", "slurm-tree", "ta", "laas", "jigsaw", "lc"],
    ),
    "dragonfly": (
        {"family": "dragonfly", "p": 2, "a": 4, "g": 5},
        ["simple", "rdn", "rdg", "rrr", "slurm", "level-spread", "jokanovic"],
    ),
    "torus": (
        {"family": "torus", "dims": [4, 4]},
        ["random", "first-fit-cuboid", "cuboid-best"],
    ),
    "slim-fly": ({"family": "slimfly", "q": 5}, ["baseline", "random"]),
}
MODELS = ("measured", "coupled-flow", "coupled-packets")


def contents() -> dict[str, dict[str, Any]]:
    """Return the configs by name."""
    found = {name: base(name) for name in BASES}
    start = base("generated jobs, as logged")
    del start["machine"]
    start["communication"] = {"mix": [{"pattern": "all-to-all", "message_bytes": 20000}]}
    for family, (machine, policies) in MACHINES.items():
        for model in MODELS:
            queue = {"policies": policies, "run_time_model": model}
            run = {"snapshots": 2 if model == "measured" else 0}
            changes = {"machine": machine, "queue": queue, "run": run}
            found[f"{family}, {model}"] = merged(start, changes)
    return found


def digest(content: dict[str, Any]) -> str:
    """Return 16 hex digits of the tables of a config."""
    tables = nc.result_tables(nc.run_cosim(nc.config_from(content)))
    rows = [
        (table, [{k: v for k, v in dict(row).items() if "scheduling" not in k} for row in rows])
        for table, rows in sorted(tables.items())
    ]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        for name, content in contents().items():
            try:
                print(f"{name}: {digest(content)}", flush=True)
            except nc.NetcosimError as error:
                print(f"{name}: {error}", flush=True)
