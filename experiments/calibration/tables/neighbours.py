"""How far a neighbour's part goes: jobs taken out one by one, beside the parts that a run keeps.

    python experiments/calibration/tables/neighbours.py    writes neighbours.csv (two minutes)

A run with ``keep = "all"`` splits what its neighbours cost a job by what each sends over the links
that the job uses. Here every neighbour is really taken out, and the snapshot sent again: what the
job gains by that is compared with the part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from cosim.network.ensemble import Ensemble
from netcosim.config.content import checked_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult

HERE = Path(__file__).parent
LEAST_EXCESS = 0.1
"""Of jobs that are looked at: what the others cost them, of their time alone."""

MACHINES: dict[str, tuple[dict[str, Any], list[str], int]] = {
    "dragonfly, UGAL-L": (
        {"preset": "dragonfly-272", "routing": "ugal-l"},
        ["rdn", "rdg", "simple"],
        14,
    ),
    "dragonfly, minimal": (
        {"preset": "dragonfly-272", "routing": "minimal"},
        ["rdn", "rdg", "simple"],
        14,
    ),
    "fat-tree, D-mod-k": (
        {"family": "fattree", "radix": 12, "routing": "d-mod-k"},
        ["baseline"],
        20,
    ),
}


def content(machine: dict[str, Any], policies: list[str], mean_nodes: int) -> dict[str, Any]:
    """A config of generated jobs that fill a machine."""
    return {
        "machine": machine,
        "workload": {"synthetic": {"n_jobs": 400, "mean_nodes": mean_nodes, "load": 1.0}},
        "queue": {"policies": policies, "run_time_model": "as-logged"},
        "communication": {
            "together": "always",
            "mix": [
                {"pattern": name, "node_bytes": 65_536}
                for name in ("all-to-all", "halo3d", "fft3d")
            ],
        },
        "run": {"seed": 1, "snapshots": 8, "keep": "all"},
    }


def rows_of(result: CosimResult, name: str) -> list[dict[str, float]]:
    """One row a job that is held up: how its neighbours' parts and removals go together."""
    measured, near = result.measured[name], result.neighbours[name]
    assert result.study is not None
    side, rows = result.study.sides[name], []
    for number in np.unique(measured.snapshot).tolist():
        here = np.flatnonzero(measured.snapshot == number)
        jobs = [int(job) for job in measured.job[here]]
        placed = [side.placed(job, result.study.communication(job)) for job in jobs]
        gain_s = np.zeros((len(jobs), len(jobs)))
        for out in range(len(jobs)):
            rest = [i for i in range(len(jobs)) if i != out]
            if rest:
                run = Ensemble(side.network, [placed[i] for i in rest]).packets(stream=number)
                gain_s[rest, out] = measured.time_s[here][rest] - run.time_s
        for i, row in enumerate(here.tolist()):
            excess_s = measured.time_s[row] - near.alone_s[row]
            if excess_s < LEAST_EXCESS * near.alone_s[row] or len(jobs) < 4:
                continue
            mine = slice(near.ptr[row], near.ptr[row + 1])
            part = dict(zip(near.job[mine].tolist(), near.part[mine].tolist(), strict=True))
            others = [k for k in range(len(jobs)) if k != i]
            told = np.array([part.get(jobs[k], 0.0) for k in others])
            gained = gain_s[i, others] / excess_s
            if told.std() and gained.std():
                rows.append(
                    {
                        "rank_correlation": np.corrcoef(rankdata(told), rankdata(gained))[0, 1],
                        "first_is_first": float(told.argmax() == gained.argmax()),
                        "by_chance": 1 / len(others),
                        "sum_of_gains": gained.sum(),
                    }
                )
    return rows


def main() -> None:
    """Measure, and write the table."""
    table = []
    for machine, (section, policies, mean_nodes) in MACHINES.items():
        result = run_cosim(checked_config(content(section, policies, mean_nodes)))
        for name in policies:
            rows = pd.DataFrame(rows_of(result, name))
            table.append(
                {
                    "machine": machine,
                    "policy": name,
                    "jobs": len(rows),
                    "rank_correlation": rows["rank_correlation"].median(),
                    "first_is_first": rows["first_is_first"].mean(),
                    "by_chance": rows["by_chance"].mean(),
                    "sum_of_gains": rows["sum_of_gains"].median(),
                }
            )
    frame = pd.DataFrame(table)
    frame.to_csv(HERE / "neighbours.csv", index=False, float_format="%.4g")
    print(frame.to_string(index=False))


if __name__ == "__main__":
    main()
