"""Figure ``packet-errors``: the judgement of `coupled-packets` beside longer loops of the jobs.

Mixes of figure ``flow`` of a seed and messages of their own are judged together as the queue does,
and from other random starts for 32 periods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from cosim.network.isolated_loops import loop_together
from cosim.network.job_network import JobLoads
from cosim.parameters import PacketBudget
from cosim.run_times.packet_judge import PacketJudge, PacketRecord
from experiments.calibration.flow_levels import MACHINES, mix_of, sharing
from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import cells
from experiments.kit.papers import Analysis, Options, Point
from netcosim.runs.store import Rows

FUNCTION = "experiments.calibration.packet_errors:run_point"
STUDY = read_data("calibration")["packet_errors"]
AIMS = {0.5: 1.0, 0.9: 3.5, 0.99: 10.0}
"""Percent of error that a share of the jobs is within."""


def points(options: Options) -> list[Point]:
    """Return a point a mix and routing: all networks in turn, the largest with each fourth mix."""
    networks = STUDY["quick"] if options.quick else STUDY["networks"]
    drawn = {key: STUDY[key] for key in ("seed", "message_bytes")}
    return [
        {"machine": machine, "routing": routing, "mix": mix, **drawn}
        | {"policy": MACHINES[machine]["policies"][mix % 2]}
        for mix in range(1 if options.quick else STUDY["mixes"])
        for machine, routings in networks.items()
        for routing in routings
        if machine != STUDY["largest"] or mix % 4 == 3
    ]


def run_point(config: Mapping[str, Any]) -> dict[str, Rows]:
    """Return the slowdowns of the jobs of a mix that share links: table "jobs"."""
    network, jobs = mix_of(config)
    loads, draw = JobLoads(network), STUDY["draw"]
    judged = PacketJudge(loads, PacketBudget(), PacketRecord()).judge(jobs)
    sent = [(job, loop) for job in jobs if (loop := loads.isolated.of(job, 1.0)) is not None]
    loops = [loop for _, loop in sent]
    period_s, _ = loop_together(network.shared, loops, STUDY["periods"], draw=draw, stream=draw)
    long = {
        job: 1 + job.fraction * max(0.0, (period - loop.period_s) / loop.comm_s)
        for (job, loop), period in zip(sent, period_s.tolist(), strict=True)
    }
    shares = sharing([loads.load(job).links for job in jobs])
    labels = {key: config[key] for key in ("machine", "routing", "mix")}
    return {
        "jobs": [
            {**labels, "n_nodes": job.n_nodes, "judged": found, "long": long[job]}
            for job, found, shared in zip(jobs, judged, shares.tolist(), strict=True)
            if shared
        ]
    }


def errors(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return a row a network, and one of all: quantiles of the error in percent, its mean, and the
    extra time over that of the longer loops."""
    rows, every = [], ({"machine": "all", "routing": "all"}, jobs)
    for key, part in [*cells(jobs, "machine", "routing"), every]:
        error = 100 * (part["judged"] / part["long"] - 1)
        quantiles = {f"p{100 * q:g}": error.abs().quantile(q) for q in AIMS}
        judged, long = (float((part[column] - 1).sum()) for column in ("judged", "long"))
        extra = judged / long if long > 0 else np.nan
        rows.append({**key, "jobs": len(part), **quantiles, "mean": error.mean(), "extra": extra})
    return pd.DataFrame(rows)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the errors of each network, and whether those of all jobs are as small as aimed at."""
    table = errors(frames["jobs"])
    last, check = table.iloc[-1], ClaimBuilder("aim of the coupled models", "all jobs")
    claims = [
        check.at_most(f"error of {100 * q:g} % of the jobs (%)", float(last[f"p{100 * q:g}"]), aim)
        for q, aim in AIMS.items()
    ]
    return Analysis(claims_frame(claims), {"errors": table, "jobs": frames["jobs"]})
