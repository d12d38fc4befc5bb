"""Effects of placement policies by each run-time model, beside those of a schedule sent by packets.

A case is a small machine with three policies, the reference first. Each of its logs, of jobs of
tens of milliseconds, runs under every policy with every model. A policy's effect on a mean is
relative to the reference's schedule by the same model; a model's error is its effect minus that of
`experiments.calibration.sent_schedules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import netcosim as nc
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.size_laws import draw_size
from netsim.plugins import load_plugin, using
from workloads.job import Workload, bare_jobs

FUNCTION = "experiments.calibration.whole_schedules:run_point"
STUDY = read_data("calibration")["whole_schedules"]
CASES: dict[str, dict[str, Any]] = STUDY["cases"]
MODELS: dict[str, dict[str, Any]] = STUDY["models"]
"""Keys of ``[queue]`` by the name of a model in tables."""
SENT, *COMPARED = MODELS
"""The brute force, and the models that are compared with it."""
METRICS = ("run_time", "wait", "turnaround", "makespan")
KEYS = ["case", "log", "policy"]
TIMES = ["start_us", "end_us"]
STORED = Path(__file__).resolve().parent / "tables"


def points(options: Options) -> list[Point]:
    """Return a point for each model on each log of each case."""
    scale = STUDY["scales"][options.scale]
    return [
        {
            "case": case,
            "log": log,
            "n_jobs": scale["n_jobs"],
            "run_time_model": model,
            "seed": options.seed,
        }
        for case, entry in CASES.items()
        if not options.routings or entry["machine"]["routing"] in options.routings
        for log in range(1, scale["logs"] + 1)
        for model in MODELS
    ]


def drawn_jobs(machine_nodes: int, n_jobs: int, rng: np.random.Generator) -> Workload:
    """Draw jobs of sizes even in the logarithm, up to half of the machine."""
    law = STUDY["jobs"]
    n_nodes = np.array([draw_size("log", 2, machine_nodes // 2, rng) for _ in range(n_jobs)])
    low, high = np.log(law["run_time_s"])
    run_time_s = np.exp(rng.uniform(low, high, n_jobs))
    gap_s = float((n_nodes * run_time_s).mean()) / (law["load"] * machine_nodes)
    return bare_jobs(
        "drawn jobs",
        submit_s=np.cumsum(rng.exponential(gap_s, n_jobs)),
        run_time_s=run_time_s,
        n_nodes=n_nodes,
        requested_s=law["requested_factor"] * run_time_s,
    )


def content(case: str, model: str, seed: int) -> dict[str, Any]:
    """Return the config of a case under a model; its jobs are drawn apart."""
    queue = {"policies": CASES[case]["policies"], "run_time_model": model, **MODELS[model]}
    run = STUDY["run"] if queue["run_time_model"] == "measured" else {"snapshots": 0}
    shared, patterns = STUDY["communication"], STUDY["patterns"]
    return {
        "machine": CASES[case]["machine"],
        "workload": {"synthetic": {"n_jobs": 1}},
        "queue": queue,
        "communication": {
            "mix": [{"pattern": p, **shared, "parameters": keys} for p, keys in patterns.items()],
            "task_mapping": "in-order",
        },
        "run": {"seed": seed, **run},
    }


def run_point(point: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Return starts and ends by one model: table "schedules"; of the first also the "jobs"."""
    case, log, model = point["case"], point["log"], point["run_time_model"]
    machine = dict(CASES[case]["machine"])
    del machine["routing"]
    n_nodes = nc.make_topology(machine.pop("family"), machine).n_nodes
    rng = np.random.default_rng([point["seed"], log, n_nodes])
    jobs = drawn_jobs(n_nodes, point["n_jobs"], rng)
    with using([load_plugin("experiments.calibration.sent_schedules")]):
        config = nc.config_from(content(case, model, 100 * point["seed"] + log))
        result = nc.run_cosim(config, jobs=jobs)
    key = {"case": case, "log": log}
    number = jobs.job_id.tolist()
    schedules = [
        {**key, "run_time_model": model, "policy": policy, "job": job}
        | {"start_us": start_us, "end_us": end_us}
        for policy, found in result.schedules.items()
        for job, start_us, end_us in zip(number, _us(found.start_s), _us(found.end_s), strict=True)
    ]
    if model != SENT:
        return {"schedules": schedules}
    columns = {
        "job": number,
        "nodes": jobs.n_nodes.tolist(),
        "pattern": [list(STUDY["patterns"])[share] for share in result.share],
        "fraction": result.fraction.round(4).tolist(),
        "submit_us": _us(jobs.submit_s),
        "run_us": _us(jobs.run_time_s),
    }
    logged = [
        key | dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ]
    return {"schedules": schedules, "jobs": logged}


def _us(times_s: NDArray[np.float64]) -> list[int]:
    """Convert to whole microseconds."""
    found: list[int] = np.round(1e6 * times_s).astype(int).tolist()
    return found


def stored_tables() -> dict[str, pd.DataFrame]:
    """Return the stored tables "schedules", a row a job, and "jobs"."""
    rows = pd.read_csv(STORED / "whole-schedules.csv")
    for column in TIMES:
        rows[column] = rows[column].str.split()
    rows["job"] = [list(range(1, len(starts) + 1)) for starts in rows["start_us"]]
    schedules = rows.explode(["job", *TIMES], ignore_index=True)
    schedules = schedules.astype(dict.fromkeys(("job", *TIMES), int))
    return {"schedules": schedules, "jobs": pd.read_csv(STORED / "whole-schedules-jobs.csv")}


def joined(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return a row a schedule: the starts of its jobs in a text, and their ends."""
    texts = schedules.astype(dict.fromkeys(TIMES, str))
    parts = texts.groupby([*KEYS, "run_time_model"], sort=False)[TIMES]
    return parts.agg(" ".join).reset_index()


def means(schedules: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return `METRICS` in microseconds by case, log, policy and model: means and the last end."""
    rows = schedules.merge(jobs[["case", "log", "job", "submit_us"]])
    rows["run_time"] = rows["end_us"] - rows["start_us"]
    rows["wait"] = rows["start_us"] - rows["submit_us"]
    rows["turnaround"] = rows["end_us"] - rows["submit_us"]
    rows["makespan"] = rows["end_us"]
    how = {m: "max" if m == "makespan" else "mean" for m in METRICS}
    return rows.groupby([*KEYS, "run_time_model"]).agg(how)


def effects(schedules: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return percent by which `METRICS` differ from the reference's by the same model.

    Columns are ``(metric, model)``; rows are case, log and policy, without the reference.
    """
    found = means(schedules, jobs).unstack("run_time_model")
    reference = {case: entry["policies"][0] for case, entry in CASES.items()}
    is_reference = np.array([reference[case] == policy for case, _, policy in found.index])
    base = found[is_reference].droplevel("policy")
    others = found[~is_reference]
    of_reference = base.loc[[row[:2] for row in others.index]].to_numpy()
    return others.div(of_reference).sub(1).mul(100)


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Compare effects of policies with those of the brute force, schedule by schedule."""
    schedules, jobs = frames["schedules"], frames["jobs"]
    found = effects(schedules, jobs)
    rows = [
        {**dict(zip(KEYS, key, strict=True)), "run_time_model": model}
        | {metric: found.loc[key, (metric, model)] for metric in METRICS}
        for key in found.index
        for model in MODELS
    ]
    tables = {
        "effects": pd.DataFrame(rows),
        "errors": errors(found),
        "run_times": by_job(schedules),
    }
    claims = [
        claim for model, rules in STUDY["aims"].items() for claim in _claims(found, model, rules)
    ]
    notes = tuple(
        "{run_time_model}: mean error of an effect {run_time:.1f} points in run time, "
        "{turnaround:.1f} in turnaround, {makespan:.1f} in makespan".format_map(row)
        for row in tables["errors"]
        .groupby("run_time_model")[list(METRICS)]
        .mean()
        .reset_index()
        .to_dict("records")
    )
    tables |= {"schedules": joined(schedules), "jobs": jobs}
    return Analysis(claims_frame(claims), tables, notes)


def errors(found: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error of each model's effects, in points, by case and policy."""
    rows = []
    for (case, policy), part in found.groupby(["case", "policy"], sort=False):
        for model in COMPARED:
            off = {m: float((part[m, model] - part[m, SENT]).abs().mean()) for m in METRICS}
            rows.append({"case": case, "policy": policy, "run_time_model": model, **off})
    return pd.DataFrame(rows)


def by_job(schedules: pd.DataFrame) -> pd.DataFrame:
    """Return how far a job's run time is from the brute force, in percent, by case and model."""
    rows = schedules.assign(run_us=schedules["end_us"] - schedules["start_us"])
    wide = rows.pivot(index=[*KEYS, "job"], columns="run_time_model", values="run_us")
    found = []
    for case, part in wide.groupby("case", sort=False):
        for model in COMPARED:
            off = 100 * (part[model] / part[SENT] - 1)
            p50, p90 = off.abs().quantile([0.5, 0.9])
            found.append(
                {"case": case, "run_time_model": model, "jobs": len(off)}
                | {"error_p50": p50, "error_p90": p90, "signed_mean": off.mean()}
            )
    return pd.DataFrame(found)


def _claims(found: pd.DataFrame, model: str, rules: Mapping[str, Any]) -> list[Claim]:
    check = ClaimBuilder("aim of the coupled models", model)
    claims = []
    for metric, (percent, in_points) in rules.items():
        sent, own = found[metric, SENT], found[metric, model]
        good = (own - sent).abs() <= np.maximum(percent / 100 * sent.abs(), in_points)
        rule = f"all within {percent:g} % or {in_points:g} points"
        what = f"effects on {metric.replace('_', ' ')} as by brute force (%)"
        claims.append(check.holds(what, good.all(), rule, 100 * good.mean(), expected=100))
    sent, own = found["run_time", SENT], found["run_time", model]
    clear = sent.abs() > STUDY["clear"]
    same = np.sign(sent[clear]) == np.sign(own[clear])
    what = f"signs of effects on run time above {STUDY['clear']:g} % as by brute force (%)"
    claims.append(check.holds(what, same.all(), "all", 100 * same.mean(), expected=100))
    return claims
