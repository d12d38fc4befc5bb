"""The measured speed-ups of the verdict beside the scenarios: figures fattree and dragonfly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.isolation.cases import CASES, LOGS, Case
from experiments.papers.isolation.draw import draw_verdict
from experiments.papers.isolation.pairs import measured_pairs, points_of
from experiments.papers.isolation.point import MEASURE
from experiments.papers.isolation.shares import MAIN_SHARE, mean_of_snapshots
from experiments.papers.isolation.tables import (
    ratio_table,
    speedup_frame,
    speedups,
    square_law,
    verdict_tables,
)
from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure, Point
from experiments.points import point_rng

if TYPE_CHECKING:
    import pandas as pd

NEAR = 2.5
LEVEL_SPREAD_PAPER_PERCENT = 16.0
"""Level-Spread's abstract: less communication time, mean over the policies it is compared with."""

CAB_ALL, CAB_30 = "the four patterns", "30 % communication when isolated"
CAB_PAPER = {
    "stencil4d": 1.26,
    "unstructured-mesh": 1.14,
    "pairs": 1.10,
    "sub-a2a": 1.55,
    CAB_ALL: 1.30,
    CAB_30: 1.08,
}
CAB_NODES, CAB_30_NODES = (4, 512), 128
"""Pollard et al., V-B: mean speed-ups on Cab (1296 nodes, jobs of 4-512 nodes) by pattern, over
all four, and where jobs communicate 30 % of the time (4-128 nodes)."""


def live_case(network: str) -> Case:
    """Jobs communicate 30 % of the time, as those of Pollard et al. on Cab."""
    return next(case for case in CASES[network] if f"{case.duty:g}" == MAIN_SHARE)


def _tables(pairs: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    verdict, scenarios, boxes = verdict_tables(pairs, seed)
    tables = {
        "verdict": verdict,
        "scenarios": scenarios,
        "boxes": boxes,
        "square-law": square_law(verdict),
        "ratios": ratio_table(pairs, seed),
    }
    kinds = pairs[["network", "log", "case"]].drop_duplicates()
    for network, log, case in kinds.itertuples(index=False):
        if case in (CASES[network][0].name, live_case(network).name):
            word = "always" if case == CASES[network][0].name else "live"
            tables[f"speedups-{log}-{word}"] = speedup_frame(
                speedups(pairs, network, log, case, seed)
            )
    return tables


def analyse_fattree(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The scenarios beside what was measured under Jigsaw, and the proof of isolation."""
    pairs = measured_pairs(frames)
    tables = _tables(pairs, options.seed)
    claims: list[Claim] = []
    live = live_case("fattree").name
    told = tables["scenarios"]
    told = told[(told["weighting"] == "node-hours") & (told["share"] == MAIN_SHARE)]
    told = told[told["scenario"] != "none"]
    verdict = tables["verdict"]
    verdict = verdict[(verdict["policy"] == "jigsaw") & (verdict["share"] == MAIN_SHARE)]
    verdict = verdict[verdict["weighting"] == "node-hours"]
    for case in (live, CASES["fattree"][0].name):
        for row in told[(told["case"] == case) & (told["policy"] == "jigsaw")].to_dict("records"):
            here = (verdict["log"] == row["log"]) & (verdict["case"] == case)
            found = verdict[here].iloc[0]
            claims.append(
                Claim(
                    f"{row['log']}: isolated jobs take less time as {row['scenario']} has it (%)",
                    "Pollard IV-B, Jigsaw 5.4.1",
                    abs(row["assumed"] - row["measured"]) <= NEAR,
                    f"means over node-hours within {NEAR} points; expected: the scenario's"
                    " own mean over these jobs",
                    f"jigsaw, {case}, f = {MAIN_SHARE}",
                    None,
                    row["measured"],
                    float(found["low"]),
                    float(found["high"]),
                    expected=row["assumed"],
                )
            )
    for log in dict.fromkeys(pairs["log"]):
        claims += _cab(pairs[(pairs["log"] == log) & (pairs["policy"] == "ta")], log, options.seed)
    if "proof" in frames:
        proof = frames["proof"]
        tables["proof"] = proof
        claims.append(
            Claim(
                "isolated jobs take the same time alone and with all others",
                "Pollard III, Jigsaw 3",
                bool((proof["untouched"] == proof["jobs"]).all()),
                "every job, to the picosecond",
                "d-mod-k; in their partitions under laas and jigsaw",
                None,
                float(proof["untouched"].sum()),
                expected=float(proof["jobs"].sum()),
            )
        )
    return Analysis(claims_frame(claims), tables, _notes(options))


def _cab(pairs: pd.DataFrame, log: str, seed: int) -> list[Claim]:
    """The speed-ups that were measured on a real fat-tree, beside ours under TA."""
    live, always = live_case("fattree").name, CASES["fattree"][0].name
    sized = pairs[pairs["n_nodes"].between(*CAB_NODES) & pairs["pattern"].isin(CAB_PAPER)]
    always_all, small = sized[sized["case"] == always], sized[sized["n_nodes"] <= CAB_30_NODES]
    told: list[tuple[str, pd.DataFrame, float]] = [
        (pattern, always_all[always_all["pattern"] == pattern], 1.0)
        for pattern in CAB_PAPER
        if pattern not in (CAB_ALL, CAB_30)
    ]
    told.append((CAB_ALL, always_all, 1.0))
    told.append((CAB_30, small[small["case"] == live], 1.0))
    told.append((CAB_30, small[small["case"] == always], 0.3))
    claims = []
    rng = point_rng({"of": log, "seed": seed}, "cab bootstrap")
    for what, part, share in told:
        if part.empty:
            continue
        # the share is that of the time when isolated, as on Cab
        speedup = 1 - share + share * part["reference_us"] / part["policy_us"]
        found = mean_of_snapshots(speedup, np.ones(len(part)), part["snapshot"], rng)
        near = 0.1 if what != CAB_30 else 0.025
        verb = "communicate" if what != CAB_30 else "run"
        claims.append(
            Claim(
                f"{log}, {what}: jobs {verb} faster under TA (times)",
                "Pollard V-B, on Cab",
                abs(found.value - CAB_PAPER[what]) <= near,
                f"within {near}; theirs are random packings on a real machine",
                f"ta, {part['case'].iloc[0]}",
                CAB_PAPER[what],
                found.value,
                found.low,
                found.high,
            )
        )
    return claims


def analyse_dragonfly(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Level-Spread's communication times beside those of the policies it is compared with."""
    pairs = measured_pairs(frames)
    claims: list[Claim] = []
    for case in dict.fromkeys(pairs["case"]):
        for log in dict.fromkeys(pairs["log"]):
            part = pairs[(pairs["case"] == case) & (pairs["log"] == log)]
            claims += _level_spread(part, log, case, options.seed)
    return Analysis(claims_frame(claims), _tables(pairs, options.seed), _notes(options))


def _level_spread(part: pd.DataFrame, log: str, case: str, seed: int) -> list[Claim]:
    """Less communication time than each other policy, job by job."""
    mine = part[part["policy"] == "level-spread"].set_index(["snapshot", "job_id"])
    if mine.empty or float(mine["duty"].iloc[0]) < 1:
        return []
    claims, percents = [], []
    rng = point_rng({"of": [log, case], "seed": seed}, "level-spread bootstrap")
    for other in ("rdn", "rdg", "simple"):
        if other == "rdn":
            theirs = mine["reference_us"]
        else:
            theirs = part[part["policy"] == other].set_index(["snapshot", "job_id"])["policy_us"]
        less = 100 * (1 - mine["policy_us"] / theirs.reindex(mine.index))
        snapshot = mine.index.get_level_values("snapshot")
        found = mean_of_snapshots(less, np.ones(len(less)), snapshot, rng)
        percents.append(found.value)
        claims.append(
            Claim(
                f"{log}: communication is faster under Level-Spread than under {other} (% less)",
                "VI",
                found.value > 0,
                "mean over jobs above 0",
                case,
                None,
                found.value,
                found.low,
                found.high,
            )
        )
    mean = float(np.mean(percents))
    claims.append(
        Claim(
            f"{log}: less communication time under Level-Spread, mean over the others (%)",
            "abstract, VI-D",
            abs(mean - LEVEL_SPREAD_PAPER_PERCENT) <= 5,
            "within 5 points; theirs are eight policies and made-up workloads",
            case,
            LEVEL_SPREAD_PAPER_PERCENT,
            mean,
        )
    )
    return claims


def _notes(options: Options) -> tuple[str, ...]:
    told = (
        "the logs do not say what jobs send, nor for how much of their time: eight patterns "
        "equally likely, communication shares are an assumption",
    )
    return told if options.quick else (*told, *log_notes(LOGS, options))


def fattree_points(options: Options) -> list[Point]:
    """Baseline against TA, LaaS, Jigsaw."""
    return points_of("fattree", options)


def dragonfly_points(options: Options) -> list[Point]:
    """RDN against RDG, simple, Level-Spread."""
    return points_of("dragonfly", options)


FATTREE = PaperFigure(
    "fattree",
    "fat-trees: measured speed-ups of isolated jobs, the assumed scenarios over them",
    MEASURE,
    fattree_points,
    analyse_fattree,
    draw_verdict,
)
DRAGONFLY = PaperFigure(
    "dragonfly",
    "dragonflies: Level-Spread, RDG and simple against RDN, measured",
    MEASURE,
    dragonfly_points,
    analyse_dragonfly,
    draw_verdict,
)
