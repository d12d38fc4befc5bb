"""The measured speed-ups of the verdict beside the scenarios: figure fattree."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from experiments.frames import groups
from experiments.papers.isolation.cases import CASES, LIVE, LOGS, PATTERNS
from experiments.papers.isolation.draw import draw_verdict
from experiments.papers.isolation.point import MEASURE, measured_pairs, points_of
from experiments.papers.isolation.printed import CAB, CAB_30, CAB_ALL
from experiments.papers.isolation.tables import (
    MAIN_SHARE,
    ratio_table,
    speedups,
    square_law,
    verdict_tables,
)
from experiments.papers.kit.claims import Claim, Says, claims_frame
from experiments.papers.kit.logs import log_notes
from experiments.papers.paper import Analysis, Options, PaperFigure
from experiments.points import point_rng
from queuesim.speedup_file import speedup_rows
from queuesim.statistics import Interval, mean_of_snapshots

if TYPE_CHECKING:
    import pandas as pd

NEAR = 2.5
ALWAYS = CASES["fattree"][0].name
CAB_NODES, CAB_30_NODES = (4, 512), 128
"""Jobs that Pollard et al. measured on Cab (1296 nodes): of 4-512 nodes; 4-128 where jobs
communicate 30 % of the time."""


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
        words = {CASES[network][0].name: "always", LIVE[network].name: "live"}
        if case in words:
            table = speedups(part, network, log, case, seed)
            tables[f"speedups-{log}-{words[case]}"] = pd.DataFrame(speedup_rows(table))
    return tables


def analyse_fattree(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """The scenarios beside what was measured under Jigsaw, and the proof of isolation."""
    pairs = measured_pairs(frames)
    tables = _tables(pairs, options.seed)
    claims = [*_scenarios(tables), *_cab(pairs, options.seed)]
    if "proof" in frames:
        proof = tables["proof"] = frames["proof"]
        says = Says("Pollard III, Jigsaw 3", "the case's; on own links under laas and jigsaw")
        what = "isolated jobs take the same time alone and with all others"
        rule = "every job, to the picosecond"
        ours, jobs = (float(proof[column].sum()) for column in ("untouched", "jobs"))
        claims.append(says.holds(what, ours == jobs, rule, ours, expected=jobs))
    return Analysis(claims_frame(claims), tables, _notes(options))


def _scenarios(tables: Mapping[str, pd.DataFrame]) -> list[Claim]:
    """Each scenario's own mean over our jobs beside the time that Jigsaw really takes off."""
    keys = ["network", "log", "case", "policy", "share", "weighting"]
    told = tables["scenarios"].merge(tables["verdict"][[*keys, "low", "high"]], on=keys)
    told = told[(told["weighting"] == "node-hours") & (told["share"] == MAIN_SHARE)]
    told = told[(told["scenario"] != "none") & (told["policy"] == "jigsaw")]
    rule = f"means over node-hours within {NEAR} points; expected: the scenario's own mean over"
    claims = []
    for case in (LIVE["fattree"].name, ALWAYS):
        says = Says("Pollard IV-B, Jigsaw 5.4.1", f"jigsaw, {case}, f = {MAIN_SHARE}")
        for row in told[told["case"] == case].to_dict("records"):
            what = f"{row['log']}: isolated jobs take less time as {row['scenario']} has it (%)"
            ours, assumed = Interval(row["measured"], row["low"], row["high"]), row["assumed"]
            near = abs(assumed - ours.value) <= NEAR
            claims.append(says.holds(what, near, f"{rule} these jobs", ours, expected=assumed))
    return claims


def _cab(pairs: pd.DataFrame, seed: int) -> list[Claim]:
    """The speed-ups that were measured on a real fat-tree, beside ours under TA."""
    sized = pairs[pairs["n_nodes"].between(*CAB_NODES) & pairs["pattern"].isin(CAB)]
    claims = []
    for (log,), part in groups(sized[sized["policy"] == "ta"], "log"):
        live, always = (part[part["case"] == case] for case in (LIVE["fattree"].name, ALWAYS))
        of_pattern = [(name, always[always["pattern"] == name]) for name in CAB if name in PATTERNS]
        told = [(name, jobs, 1.0) for name, jobs in (*of_pattern, (CAB_ALL, always))]
        for jobs, share in ((live, 1.0), (always, 0.3)):
            told.append((CAB_30, jobs[jobs["n_nodes"] <= CAB_30_NODES], share))
        rng = point_rng({"of": log, "seed": seed}, "cab bootstrap")
        for name, jobs, share in told:
            if jobs.empty:
                continue
            # the share is that of the time when isolated, as on Cab
            speedup = 1 - share + share * jobs["reference_s"] / jobs["policy_s"]
            found = mean_of_snapshots(speedup, 1, jobs["snapshot"], rng)
            near, verb = (0.025, "run") if name == CAB_30 else (0.1, "communicate")
            says = Says("Pollard V-B, on Cab", f"ta, {jobs['case'].iloc[0]}")
            what = f"{log}, {name}: jobs {verb} faster under TA (times)"
            note = "theirs are random packings on a real machine"
            claims.append(says.near(what, CAB[name], found, within=near, note=note))
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
