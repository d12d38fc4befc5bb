"""Fit the constants of `patterns.collectives.links` to rows of nccl-tests, and compare with all.

    NETCOSIM_SHARED=../shared python experiments/curve/links.py

writes tables/links.csv, or prints the constants that the rows give with --fit.

Every other size is fitted, for the last class on every other number of nodes too. The start of a
protocol has the least squares of relative errors for each efficiency of a grid; of all sizes at
which the protocol may change, and of all efficiencies, those with least squares are kept.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.curve.collective import collective_point, points
from experiments.curve.config import curve_from
from experiments.kit.measured import read_measured
from netcosim.config.machine import build_machine
from patterns.collectives.links import LINKS, LinkClass, Protocol

STUDY = Path(__file__).parent
FILE = STUDY / "tables" / "links.csv"
P4DE = STUDY / "tables" / "nccl-p4de.csv"
PACKET = {"packet_bytes": "4 KiB", "buffer_bytes": "256 KiB"}
LEAST_BYTES = 1 << 20
EFFICIENCIES = (*np.arange(0.1, 0.3, 0.025), *np.arange(0.3, 0.9, 0.05), 0.9, 0.925, 0.95, 0.975, 1)
SIMAI = "hgx-400g"
NODE_BPS = 400e9
"""Of a node's NICs in SimAI's table."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recipe:
    """A machine of two nodes of a class, and its measured runs, the first of which is fitted."""

    machine: dict[str, Any]
    nic_Gbps: float
    runs: tuple[str, ...]


RECIPES = {
    "a100-efa": Recipe({"preset": "aws-p4de", "nodes": 2}, 100, ("aws-p4de-2x8",)),
    "h100-efa": Recipe(
        {"preset": "aws-p5", "nodes": 2}, 100, ("aws-p5-2x8-new", "aws-p5-2x8-eks-nccl2.18.5")
    ),
    "gh200-slingshot": Recipe(
        {"family": "gpu-cluster", "nodes": 2, "gpus_per_node": 1},
        200,
        ("alps-gh200-2x1",),
    ),
}


def measured_rows() -> pd.DataFrame:
    """Return the measured rows from 1 MiB on: class, run, nodes, GPUs, bytes, time_s, fitted."""
    folder = Path(os.environ.get("NETCOSIM_SHARED", "../shared")) / "inputs" / "ai"
    every = pd.concat(
        [read_measured(folder / "nccl-tests" / "measured_busbw.csv"), read_measured(P4DE)]
    )
    found = []
    for name, recipe in RECIPES.items():
        for run in recipe.runs:
            rows = every[(every["run"] == run) & (every["bytes"] >= LEAST_BYTES)]
            for n_bytes, gpus, time_s in rows[["bytes", "gpus", "time_s"]].itertuples(index=False):
                fitted = run == recipe.runs[0] and n_bytes.bit_length() % 2 == 1
                found.append((name, run, 2, gpus, n_bytes, time_s, fitted))
    with (folder / "simai" / "nic_ratio.csv").open(encoding="utf-8") as file:
        shares = [row for row in csv.reader(file) if row and row[0].isdigit()]
    for row in shares:
        for k, share in enumerate(row[2:9], 1):
            p, n_bytes = 8 << k, int(row[0])
            time_s = _ring_s(p, n_bytes) / float(share)
            fitted = k % 2 == 1 and n_bytes.bit_length() % 2 == 1
            found.append((SIMAI, "simai-nic-ratio", 1 << k, p, n_bytes, time_s, fitted))
    columns = ["links", "run", "nodes", "gpus", "bytes", "measured_s", "fitted"]
    return pd.DataFrame(found, columns=columns).astype({"bytes": np.int64})


def _ring_s(p: Any, n_bytes: Any) -> Any:
    """Return the time of an all-reduce's bytes in rings over all NICs of nodes of 8 GPUs."""
    return 2 * (p - 1) / p * n_bytes / NODE_BPS


def simulated_s(name: str, sizes: Sequence[int], **section: Any) -> Floats:
    """Return times of all-reduces on the two nodes of a recipe by packets."""
    recipe = RECIPES[name]
    bandwidth = f"{recipe.nic_Gbps * section.pop('efficiency', 1)} Gbit/s"
    config = curve_from(
        {
            "machine": recipe.machine | {"nic_bandwidth": bandwidth, "packet": PACKET},
            "collective": section | {"sizes": [int(n) for n in sizes]},
        }
    )
    topology = build_machine(config.machine).topology
    each = points(config, topology, "all-reduce")
    return np.array([collective_point(one)["collective"][0]["time_s"] for one in each])


def class_times(name: str, rows: pd.DataFrame) -> Floats:
    """Return the times of rows of a class: by packets, of SimAI's table by the bytes of rings."""
    links = LINKS[name]
    if name in RECIPES:
        sizes = sorted(set(rows["bytes"]))
        found = dict(zip(sizes, simulated_s(name, sizes, links=name), strict=True))
        return np.array([found[n] for n in rows["bytes"]])
    ring = _ring_s(rows["gpus"], rows["bytes"]) / links.large.efficiency
    starts = [links.start_s(p, n) for p, n in zip(rows["gpus"], rows["bytes"], strict=True)]
    return np.asarray(ring + np.array(starts))


def table() -> pd.DataFrame:
    """Return all rows beside the times of their classes."""
    parts = []
    for name, rows in measured_rows().groupby("links", sort=False):
        parts.append(rows.assign(simulated_s=class_times(str(name), rows)))
    found = pd.concat(parts)
    return found.assign(error=found["simulated_s"] / found["measured_s"] - 1)


def medians(rows: pd.DataFrame) -> pd.DataFrame:
    """Return median errors from 1 and from 64 MiB on, of rows that are fitted and that are not."""
    found = []
    for key, part in rows.groupby(["links", "run", "fitted"], sort=False):
        large = part[part["bytes"] >= 1 << 26]
        errors = [one["error"].abs().median() for one in (part, large)]
        found.append((*key, len(part), *errors, part["error"].abs().max()))
    columns = ["links", "run", "fitted", "rows", "from_1_MiB", "from_64_MiB", "largest"]
    return pd.DataFrame(found, columns=columns)


def page_tables(rows: pd.DataFrame) -> list[str]:
    """Return the rows in two tables: two nodes by size and run, SimAI's by size and nodes."""
    rows = rows.assign(
        text=[
            f"{1e6 * m:,.0f} / {1e6 * s:,.0f}" + " (fitted)" * f
            for m, s, f in zip(rows["measured_s"], rows["simulated_s"], rows["fitted"], strict=True)
        ],
        share=[
            f"{100 * e:+.0f} %" + " (fitted)" * f
            for e, f in zip(rows["error"], rows["fitted"], strict=True)
        ],
        MiB=rows["bytes"] // 2**20,
    )
    two, many = rows[rows["links"] != SIMAI], rows[rows["links"] == SIMAI]
    lines = []
    for part, columns, values in ((two, "run", "text"), (many, "nodes", "share")):
        wide = part.pivot(index="MiB", columns=columns, values=values).fillna("")
        wide = wide[list(dict.fromkeys(part[columns]))]
        heads = [f"{name} nodes" if columns == "nodes" else name for name in wide.columns]
        lines += ["", f"| MiB | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
        lines += [
            f"| {i:,} | {' | '.join(cells)} |"
            for i, cells in zip(wide.index, wide.to_numpy(), strict=True)
        ]
    return lines


def _start(measured: Floats, net: Floats) -> tuple[float, float]:
    """Return the start with the least squares of relative errors, and these squares."""
    start = max(0.0, float(np.sum((measured - net) / measured**2) / np.sum(measured**-2.0)))
    return start, float(np.sum(((start + net) / measured - 1) ** 2))


def fit(name: str, rows: pd.DataFrame, algorithm: str) -> LinkClass:
    """Return the constants of a class of two nodes that meet the fitted rows best."""
    rows = rows[rows["fitted"]].sort_values("bytes")
    sizes, measured = rows["bytes"].to_numpy(), rows["measured_s"].to_numpy()
    net = {}
    for efficiency in EFFICIENCIES:
        one = Protocol(0.0, round(float(efficiency), 3))
        net[one] = simulated_s(
            name, sizes.tolist(), algorithms=[algorithm], efficiency=one.efficiency
        )

    def best(part: slice) -> tuple[float, Protocol]:
        found = []
        for one, times in net.items():
            start, squares = _start(measured[part], times[part])
            found.append((squares, replace(one, start_s=round(start, 7))))
        return min(found, key=lambda pair: pair[0])

    options = []
    for k in range(2, len(sizes) - 1):
        (a, small), (b, large) = best(slice(k)), best(slice(k, None))
        options.append((a + b, LinkClass("", "", algorithm, int(sizes[k] // 2), small, large)))
    return min(options, key=lambda pair: pair[0])[1]


def fit_rings(rows: pd.DataFrame) -> Floats:
    """Return start, start a step and efficiency of SimAI's table."""
    from scipy.optimize import least_squares

    rows = rows[rows["fitted"]]
    p, n_bytes = rows["gpus"].to_numpy(), rows["bytes"].to_numpy()
    logs = np.log(rows["measured_s"].to_numpy())

    def errors(x: Floats) -> Floats:
        seconds = (x[0] + 2 * (p - 1) * x[1]) * 1e-6 + _ring_s(p, n_bytes) / x[2]
        return np.asarray(np.log(seconds) - logs)

    bounds = ([0.0, 0.0, 0.5], [500.0, 50.0, 1.0])
    return np.asarray(least_squares(errors, [20.0, 5.0, 0.9], bounds=bounds).x)


def main() -> None:
    """Write the table, or print the constants that the rows give."""
    rows = measured_rows()
    if "--fit" in sys.argv:
        for name in RECIPES:
            print(name, fit(name, rows[rows["links"] == name], LINKS[name].algorithm))
        print(SIMAI, fit_rings(rows[rows["links"] == SIMAI]))
        return
    table().to_csv(FILE, index=False, float_format="%.6g")
    found = pd.read_csv(FILE)
    print(medians(found).to_string(index=False), *page_tables(found), sep="\n")


if __name__ == "__main__":
    main()
