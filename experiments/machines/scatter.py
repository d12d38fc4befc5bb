"""How scattered jobs of real machines are, beside the policies of netcosim.

Jobs of the log arrive one after the other, in a drawn order, on the same machine; as many random
running jobs end as it takes to keep the busy nodes below `BUSY`. Of each job counts how many groups
and leaf switches it spans over the fewest possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
    jobs = pd.read_csv(checked_path(content["file"]), dtype=dict.fromkeys(content["where"], str))
    for key, text in content["where"].items():
        jobs = jobs[jobs[key] == text]
    topology = make_topology(content["family"], content["parameters"])
    levels = hierarchy_of(topology)
    group_of, leaf_of = levels.domain[levels.levels.index("group")], levels.domain[-1]
    sizes = jobs["nodes"].to_numpy()
    spans = {"groups": jobs[content["groups"]].to_numpy()}
    if content["leaves"]:
        spans["leaves"] = jobs[content["leaves"]].to_numpy()
    if content["policy"] != SITE:
        placed = _placed(content, topology, sizes, (group_of, leaf_of))
        spans = dict(zip(("groups", "leaves"), placed, strict=True))
    named = {"machine": content["name"], "policy": content["policy"]}
    frame = pd.DataFrame({**named, "nodes": sizes, "leaves_over_fewest": None})
    for key, of in (("groups", group_of), ("leaves", leaf_of)):
        if key in spans:
            frame[f"{key}_over_fewest"] = spans[key] / -(-sizes // np.bincount(of).max())
    return {"jobs": frame[spans["groups"] > 0].to_dict("records")}


def _placed(
    content: Mapping[str, Any], topology: Any, sizes: Any, of: tuple[Any, Any]
) -> NDArray[np.int64]:
    rng = np.random.default_rng(content["seed"])
    policy = make_policy(topology, content["policy"], rng)
    spans = np.zeros((2, len(sizes)), dtype=int)
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
