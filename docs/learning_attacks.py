"""Attacks on what `netcosim bench-rl` found: other jobs, nothing told, other scores.

``python docs/learning_attacks.py FOLDER docs/learning/attacks.csv`` reads the folder of a run and
plays what it kept: each agent, the hand rule to beat and the agent trained without a network, on
weeks of jobs made with another seed (of a log: on the same held-out weeks), and the agent once
more without being told what jobs send. The same weeks are then judged by other scores.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.frames import frames_of
from netcosim.bench_rl.cells import SCALES, WORKLOADS, Scale, chosen
from netcosim.bench_rl.learned import JOB_FEATURES, LearnedAgent
from netcosim.bench_rl.play import METRICS, BenchmarkCase, costs
from netcosim.bench_rl.points import AGENT, BLIND, ORDER_ALONE, Training, points_of
from netcosim.bench_rl.tables import word
from netcosim.study.results import read_tables
from queuesim.statistics import t_interval

SCALE = "full"
SEED = 2
"""Of the other jobs; the benchmark's are made with 1."""


def hand_rule(name: str) -> dict[str, str]:
    """A hand rule's name as what is played."""
    order, _, rule = name.partition(" + ")
    strict = order.endswith(" strict")
    return {"order": order.removesuffix(" strict"), "backfill": "none" if strict else "easy"} | {
        "rule": rule
    }


def attacked(folder: Path, machine: str, workload: str, logs: str) -> list[dict[str, object]]:
    """The rows of a cell."""
    scale: Scale = SCALES[SCALE]
    made = not WORKLOADS[workload].log
    [cell], _ = chosen(SCALE, [machine], [workload], logs, SEED if made else 1)
    training = Training(scale, "bounded-stretch", 1)
    game = BenchmarkCase(points_of(cell, training)[0])
    [mine], _ = chosen(SCALE, [machine], [workload], logs, 1)
    frames = frames_of(read_tables(folder / "bench-rl.db", points_of(mine, training)))
    weights = {
        player: rows["weight"].to_numpy() for player, rows in frames["weights"].groupby("player")
    }
    hand = frames["weeks"][frames["weeks"]["player"].str.contains(r" \+ ")]
    trained = hand[hand["part"] == "training"].groupby("player")["bounded-stretch"].mean()
    best = str(trained.idxmin())
    asked = hand_rule(best)
    orders = np.arange(len(weights[AGENT])) < len(JOB_FEATURES)
    silent = LearnedAgent(weights[AGENT], game.rules, len(game.context.mix.shares))
    deciders = {
        AGENT: game.agent(weights[AGENT]),
        f"{AGENT}, told nothing": silent,
        f"{AGENT}, {ORDER_ALONE}": game.agent(np.where(orders, weights[AGENT], 0)),
        f"{BLIND}, {ORDER_ALONE}": game.agent(np.where(orders, weights[BLIND], 0)),
    }
    weeks = range(len(game.weeks)) if made else game.held_out
    base = [
        costs(game.played(week, asked["backfill"], order=asked["order"], rule=asked["rule"]))
        for week in weeks
    ]
    rows: list[dict[str, object]] = []
    for player, decider in deciders.items():
        found = [costs(game.played(week, decider)) for week in weeks]
        for metric in METRICS:
            one, other = (np.array([week[metric] for week in them]) for them in (found, base))
            off = t_interval(one - other)
            rows.append(
                {
                    "machine": machine,
                    "workload": workload,
                    "jobs": "other seed" if made else "held out",
                    "player": player,
                    "best_hand": best,
                    "metric": metric,
                    "weeks": len(base),
                    "score": one.mean(),
                    "best_hand_score": other.mean(),
                    "difference": off.value,
                    "low": off.low,
                    "high": off.high,
                    "verdict": word(off),
                }
            )
    return rows


def main(folder: Path, out: Path, logs: str) -> None:
    """Attack every cell of a run."""
    cells = pd.read_csv(folder / "differences.csv")[["machine", "workload"]].drop_duplicates()
    rows: list[dict[str, object]] = []
    for machine, workload in cells.itertuples(index=False):
        rows += attacked(folder, machine, workload, logs)
    pd.DataFrame(rows).to_csv(out, index=False, float_format="%.6g")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
