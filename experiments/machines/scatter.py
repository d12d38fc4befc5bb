"""How scattered jobs of real machines are, beside the policies of netcosim.

Jobs of the log arrive one after the other, in a drawn order, on the same machine; as many random
running jobs end as it takes to keep the busy nodes below `BUSY`. Of each job counts how many groups
and leaf switches it spans over the fewest possible.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alloc.policy import Request
from alloc.registry import make_policy
from experiments.kit.claims import claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options
from experiments.machines.rows import measured_folder
from netsim.hierarchy import hierarchy_of
from netsim.inputs import checked_path, input_file
from netsim.topologies.registry import make_topology

FUNCTION = "experiments.machines.scatter:point"
BUSY = 0.9
POLICIES = (
    "baseline", "random", "slurm", "slurm-linear", "slurm-tree", "slurm-block", "slurm-dragonfly",
    "balanced", "level-spread", "longest-idle", "shortest-idle", "rdr", "rdg",
    "pbs-placement-sets", "kueue-preferred",
)  # fmt: skip
CLASSES = (4, 8, 16, 32, 64, 128)
"""Least nodes of each class of job sizes."""
SITE = "site"


def points(options: Options) -> list[dict[str, Any]]:
    """Return a point a machine and policy, and one of the site's own placements."""
    folder, data = measured_folder(options), read_data("machines")["scatter"]
    policies = ("baseline", "random") if options.quick else POLICIES
    return [
        {
            "study": "scatter",
            "name": name,
            "policy": policy,
            "file": input_file(folder / one["file"]),
            **{key: one[key] for key in ("groups", "family", "parameters")},
            "leaves": one.get("leaves", ""),
            "where": one.get("where", {}),
            "seed": options.seed,
        }
        for name, one in data.items()
        for policy in (SITE, *policies)
    ]


def point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Compute a policy's placements, or count the site's: table "jobs"."""
    where = content["where"].items()
    with Path(checked_path(content["file"])).open(encoding="utf-8") as file:
        jobs = [row for row in csv.DictReader(file) if all(row[k] == v for k, v in where)]
    topology = make_topology(content["family"], content["parameters"])
    levels = hierarchy_of(topology)
    group_of, leaf_of = levels.domain[levels.levels.index("group")], levels.domain[-1]
    sizes = np.array([int(job["nodes"]) for job in jobs])
    fewest = [-(-sizes // int(np.bincount(of).max())) for of in (group_of, leaf_of)]
    if content["policy"] == SITE:
        spans = [
            [int(job[content[key]]) for job in jobs] if content[key] else []
            for key in ("groups", "leaves")
        ]
    else:
        spans = _placed(content, topology, sizes, (group_of, leaf_of))
    return {
        "jobs": [
            {
                "machine": content["name"],
                "policy": content["policy"],
                "nodes": int(sizes[i]),
                "groups_over_fewest": spans[0][i] / int(fewest[0][i]),
                "leaves_over_fewest": spans[1][i] / int(fewest[1][i]) if spans[1] else None,
            }
            for i in range(len(jobs))
            if spans[0][i]
        ]
    }


def _placed(
    content: Mapping[str, Any], topology: Any, sizes: Any, of: tuple[Any, Any]
) -> list[list[int]]:
    rng = np.random.default_rng(content["seed"])
    policy = make_policy(topology, content["policy"], rng)
    spans = [[0] * len(sizes), [0] * len(sizes)]
    running: list[Any] = []
    busy, most = 0, BUSY * topology.n_nodes
    for i in rng.permutation(len(sizes)).tolist():
        size = int(sizes[i])
        while (
            placement := None
            if running and busy + size > most
            else policy.allocate(Request(job_id=i, n_nodes=size))
        ) is None and running:
            ended = running.pop(int(rng.integers(len(running))))
            busy -= len(ended.nodes)
            policy.release(ended)
        if placement is None:
            continue
        running.append(placement)
        busy += len(placement.nodes)
        for spanned, domain in zip(spans, of, strict=True):
            spanned[i] = len(np.unique(domain[placement.nodes]))
    return spans


def analyse(tables: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return means by class of sizes, and the policies by their distance from the site."""
    jobs = tables["jobs"]
    label = np.searchsorted(CLASSES, jobs["nodes"], side="right") - 1
    jobs = jobs[label >= 0].assign(least_nodes=np.array(CLASSES)[label[label >= 0]])
    values = ["groups_over_fewest", "leaves_over_fewest"]
    means = jobs.groupby(["machine", "policy", "least_nodes"], sort=False)[values].mean()
    found = []
    for machine in dict.fromkeys(jobs["machine"]):
        mine = means.loc[machine]
        site = mine.loc[SITE]
        for policy in dict.fromkeys(mine.index.get_level_values(0)):
            if policy == SITE:
                continue
            off = np.log(mine.loc[policy].astype(float) / site.astype(float)).abs()
            entire = jobs[(jobs["machine"] == machine) & (jobs["policy"] == policy)]
            found.append(
                {
                    "machine": machine,
                    "policy": policy,
                    "groups_over_fewest": entire["groups_over_fewest"].mean(),
                    "leaves_over_fewest": entire["leaves_over_fewest"].mean(),
                    "groups_factor_off": float(np.exp(off["groups_over_fewest"].mean())),
                    "leaves_factor_off": float(np.exp(off["leaves_over_fewest"].mean())),
                }
            )
    nearest = pd.DataFrame(found).sort_values(["machine", "groups_factor_off"], kind="stable")
    return Analysis(claims_frame([]), {"nearest": nearest, "means": means.reset_index()})
