"""GPCNeT's congestion impacts of described networks under each congestion control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options
from experiments.machines.match.machine import match_from
from experiments.machines.match.rows import Row
from experiments.machines.match.tests import match
from netsim.packet.model import CONGESTION_CONTROLS

FUNCTION = "experiments.machines.controls:point"
TESTS = {"lat": 8, "bw+sync": 131_072, "allreduce": 8}
"""Tests whose impact GPCNeT prints, with their bytes."""
MOST = {"mean": 1.5, "p99": 3.0}
"""Impact on latency up to which a control isolates."""


def points(options: Options) -> list[dict[str, Any]]:
    """Return a point a network and control; in quick those of one switch."""
    data = read_data("machines")["controls"]
    names = ("switch",) if options.quick else data["networks"]
    return [
        {
            "study": "controls",
            "network": name,
            "machine": data["networks"][name],
            "control": control,
            **{key: data[key] for key in ("testing", "ranks_per_node")},
        }
        for name in names
        for control in CONGESTION_CONTROLS
    ]


def point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Compute a network under a control: table "impacts"."""
    described = content["machine"]
    packet = described["packet"] | {"congestion_control": content["control"]}
    machine = match_from({"machine": described | {"packet": packet}})
    nodes = content["testing"]
    rows = [
        Row(f"gpcnet impact {test}", "", size, nodes, nodes * content["ranks_per_node"], statistic,
            1.0, "factor")
        for test, size in TESTS.items()
        for statistic in MOST
    ]  # fmt: skip
    names = {key: content[key] for key in ("network", "control")}
    return {
        "impacts": [
            names
            | {"test": test, "statistic": row.statistic, "impact": match(row, machine).simulated}
            for row, test in zip(rows, [test for test in TESTS for _ in MOST], strict=True)
        ]
    }


def analyse(tables: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the impacts of all controls side by side, and where endpoint-pairs isolates."""
    impacts = tables["impacts"]
    judged = (impacts["control"] == "endpoint-pairs") & (impacts["test"] == "lat")
    claims = [
        ClaimBuilder(line["network"]).at_most(
            f"{line['network']}: impact on latency under endpoint-pairs, {line['statistic']}",
            line["impact"],
            MOST[line["statistic"]],
        )
        for line in impacts[judged].to_dict("records")
    ]
    beside = impacts.pivot_table(
        "impact", ["network", "test", "statistic"], "control", sort=False
    ).reset_index()
    return Analysis(claims_frame(claims), {"controls": beside})
