"""The measured speed-ups of the verdict beside the scenarios: figures fattree and dragonfly."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.isolation.cases import CASES, LOGS, Case
from experiments.papers.isolation.draw import draw_verdict
from experiments.papers.isolation.point import MEASURE, measured_pairs, points_of
from experiments.papers.isolation.printed import CAB, CAB_30, CAB_ALL, LEVEL_SPREAD_PERCENT
from experiments.papers.isolation.shares import MAIN_SHARE
from experiments.papers.isolation.tables import ratio_table, speedups, square_law, verdict_tables
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.frames import first_seen, groups
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure
from experiments.points import point_rng
from queuesim.speedup_file import speedup_rows
from queuesim.statistics import Interval, mean_of_snapshots

if TYPE_CHECKING:
    import pandas as pd

NEAR = 2.5
CAB_NODES, CAB_30_NODES = (4, 512), 128
"""Jobs that Pollard et al. measured on Cab (1296 nodes): of 4-512 nodes; 4-128 where jobs
communicate 30 % of the time."""


def live_case(network: str) -> Case:
    """Jobs communicate 30 % of the time, as those of Pollard et al. on Cab."""
    return next(case for case in CASES[network] if f"{case.duty:g}" == MAIN_SHARE)


def _tables(pairs: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    import pandas as pd

    verdict, scenarios, boxes = verdict_tables(pairs, seed)
    tables = {
        "verdict": verdict,
        "scenarios": scenarios,
        "boxes": boxes,
        "square-law": square_law(verdict),
        "ratios": ratio_table(pairs, seed),
    }
    for (network, log, case), part in groups(pairs, "network", "log", "case"):
        words = {CASES[network][0].name: "always", live_case(network).name: "live"}
        if case in words:
            table = speedups(part, network, log, case, seed)
            tables[f"speedups-{log}-{words[case]}"] = pd.DataFrame(speedup_rows(table))
    return tables


def analyse_fattree(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The scenarios beside what was measured under Jigsaw, and the proof of isolation."""
    pairs = measured_pairs(frames)
    tables = _tables(pairs, options.seed)
    claims = _scenarios(tables["scenarios"], tables["verdict"])
    for (log,), part in groups(pairs[pairs["policy"] == "ta"], "log"):
        claims += _cab(part, log, options.seed)
    if "proof" in frames:
        proof = tables["proof"] = frames["proof"]
        says = Says("Pollard III, Jigsaw 3", "d-mod-k; in their partitions under laas and jigsaw")
        claims.append(
            says.holds(
                "isolated jobs take the same time alone and with all others",
                bool((proof["untouched"] == proof["jobs"]).all()),
                "every job, to the picosecond",
                float(proof["untouched"].sum()),
                expected=float(proof["jobs"].sum()),
            )
        )
    return Analysis(claims_frame(claims), tables, _notes(options))


def _scenarios(scenarios: pd.DataFrame, verdict: pd.DataFrame) -> list[Claim]:
    """Each scenario's own mean over our jobs beside the time that Jigsaw really takes off."""
    keys = ["network", "log", "case", "policy", "share", "weighting"]
    told = scenarios.merge(verdict[[*keys, "low", "high"]], on=keys)
    told = told[(told["weighting"] == "node-hours") & (told["share"] == MAIN_SHARE)]
    told = told[(told["scenario"] != "none") & (told["policy"] == "jigsaw")]
    claims = []
    for case in (live_case("fattree").name, CASES["fattree"][0].name):
        says = Says("Pollard IV-B, Jigsaw 5.4.1", f"jigsaw, {case}, f = {MAIN_SHARE}")
        for row in told[told["case"] == case].to_dict("records"):
            claims.append(
                says.holds(
                    f"{row['log']}: isolated jobs take less time as {row['scenario']} has it (%)",
                    abs(row["assumed"] - row["measured"]) <= NEAR,
                    f"means over node-hours within {NEAR} points; expected: the scenario's"
                    " own mean over these jobs",
                    Interval(row["measured"], row["low"], row["high"]),
                    expected=row["assumed"],
                )
            )
    return claims


def _cab(pairs: pd.DataFrame, log: str, seed: int) -> list[Claim]:
    """The speed-ups that were measured on a real fat-tree, beside ours under TA."""
    live, always = live_case("fattree").name, CASES["fattree"][0].name
    sized = pairs[pairs["n_nodes"].between(*CAB_NODES) & pairs["pattern"].isin(CAB)]
    always_all, small = sized[sized["case"] == always], sized[sized["n_nodes"] <= CAB_30_NODES]
    told: list[tuple[str, pd.DataFrame, float]] = [
        (pattern, always_all[always_all["pattern"] == pattern], 1.0)
        for pattern in CAB
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
        speedup = 1 - share + share * part["reference_s"] / part["policy_s"]
        found = mean_of_snapshots(speedup, np.ones(len(part)), part["snapshot"], rng)
        near, verb = (0.025, "run") if what == CAB_30 else (0.1, "communicate")
        says = Says("Pollard V-B, on Cab", f"ta, {part['case'].iloc[0]}")
        claims.append(
            says.near(
                f"{log}, {what}: jobs {verb} faster under TA (times)",
                CAB[what],
                found,
                within=near,
                note="theirs are random packings on a real machine",
            )
        )
    return claims


def analyse_dragonfly(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Level-Spread's communication times beside those of the policies it is compared with."""
    pairs = measured_pairs(frames)
    claims: list[Claim] = []
    for case in first_seen(pairs, "case"):
        for (log,), part in groups(pairs[pairs["case"] == case], "log"):
            claims += _level_spread(part, log, case, options.seed)
    return Analysis(claims_frame(claims), _tables(pairs, options.seed), _notes(options))


def _level_spread(part: pd.DataFrame, log: str, case: str, seed: int) -> list[Claim]:
    """Less communication time than each other policy, job by job."""
    times = part.set_index(["snapshot", "job_id"])
    mine = times[times["policy"] == "level-spread"]
    if mine.empty or float(mine["duty"].iloc[0]) < 1:
        return []
    claims, percents = [], []
    rng = point_rng({"of": [log, case], "seed": seed}, "level-spread bootstrap")
    for other in ("rdn", "rdg", "simple"):
        theirs = times[times["policy"] == other]["policy_s"]
        theirs = mine["reference_s"] if other == "rdn" else theirs.reindex(mine.index)
        less = 100 * (1 - mine["policy_s"] / theirs)
        snapshot = mine.index.get_level_values("snapshot")
        found = mean_of_snapshots(less, np.ones(len(less)), snapshot, rng)
        percents.append(found.value)
        what = f"{log}: communication is faster under Level-Spread than under {other} (% less)"
        claims.append(Says("VI", case).above(what, found, 0, note="mean over jobs"))
    claims.append(
        Says("abstract, VI-D", case).near(
            f"{log}: less communication time under Level-Spread, mean over the others (%)",
            LEVEL_SPREAD_PERCENT,
            float(np.mean(percents)),
            within=5,
            unit="points",
            note="theirs are eight policies and made-up workloads",
        )
    )
    return claims


def _notes(options: Options) -> tuple[str, ...]:
    told = (
        "the logs do not say what jobs send, nor for how much of their time: eight patterns "
        "equally likely, communication shares are an assumption",
    )
    return told if options.quick else (*told, *log_notes(LOGS, options))


FATTREE = PaperFigure(
    "fattree",
    "fat-trees: measured speed-ups of isolated jobs, the assumed scenarios over them",
    MEASURE,
    partial(points_of, "fattree"),
    analyse_fattree,
    draw_verdict,
)
DRAGONFLY = PaperFigure(
    "dragonfly",
    "dragonflies: Level-Spread, RDG and simple against RDN, measured",
    MEASURE,
    partial(points_of, "dragonfly"),
    analyse_dragonfly,
    draw_verdict,
)
