"""Piz Daint by day: one load of the other nodes, fitted on a pair of a rack, and what it predicts.

Overhead and jitter of the pair are fitted on the least and the median latency by night. The load is
fitted on the median of 16 MiB by day, as a factor of that by night. All other values are predicted.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from experiments.kit.claims import Claim, claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options
from experiments.machines.rows import measured_folder
from netcosim.match.gpcnet import exchange_s
from netcosim.match.machine import MatchMachine, load_match
from netsim.inputs import checked_path, input_file
from netsim.packet.engine import simulate_packets
from netsim.traffic import Program, combine
from patterns.bisection_pairing import bisection_pairing
from patterns.build import build_program, join, make_messages, waiting_for_sends

FUNCTION = "experiments.machines.day:point"
PAIRS = {"same rack": (0, 84), "same slot": (0, 1)}
"""Nodes; the first is in slot 0 of the first chassis, 84 in slot 5 of the next."""
ROUNDS = {1: 3000, 1 << 24: 24}
"""Of a ping-pong of so many bytes, with each seed."""
SEEDS = (1, 2, 3)
HORIZON_S, WARM_UP_S = 0.2, 200e-6
LOADS = (0.3, 1.2)
Loads = list[tuple[Program, NDArray[np.int64]]]


def points(options: Options) -> list[dict[str, Any]]:
    """Return a point a design of the load."""
    measured = measured_folder(options) / "noise_in_the_clouds_pairs.csv"
    machine = files("experiments").joinpath("machines", "machines", "piz-daint.toml")
    return [
        {
            "study": "day",
            "design": name,
            "load": load,
            "machine": input_file(str(machine)),
            "file": input_file(measured),
        }
        for name, load in read_data("machines")["day"].items()
    ]


def point(content: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Fit a design of the load and predict: table "day"."""
    with Path(checked_path(content["file"])).open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))

    def measured(pair: str, when: str, size: int, statistic: str) -> float:
        test = "latency" if size == 1 else "16 MiB"
        [value] = [
            float(row[statistic])
            for row in table
            if (row["placement"], row["when"]) == (pair, when) and test in row["test"]
        ]
        return value

    described, _ = load_match(Path(checked_path(content["machine"])))
    night = [measured("same rack", "night", 1, one) for one in ("min", "median")]
    machine = _fitted(described, *night)

    def times(pair: str, size: int, load: float) -> NDArray[np.float64]:
        return times_us(machine, pair, size, load, content["load"])

    large = 1 << 24
    factor = measured("same rack", "day", large, "median") / measured(
        "same rack", "night", large, "median"
    )
    target = factor * float(np.median(times("same rack", large, 0.0)))
    (low, high), tried = LOADS, {}
    for _ in range(6):
        load = (low + high) / 2
        tried[load] = float(np.median(times("same rack", large, load))) / target
        low, high = (low, load) if tried[load] > 1 else (load, high)
    load = min(tried, key=lambda one: abs(np.log(tried[one])))
    found = []
    for pair, when in (("same rack", "night"), ("same slot", "day"), ("same rack", "day")):
        for size in ROUNDS:
            simulated = times(pair, size, load if when == "day" else 0.0)
            for statistic, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
                value, line = measured(pair, when, size, statistic), (pair, when, size, statistic)
                found.append(
                    {
                        "design": content["design"],
                        "load": load,
                        **dict(zip(("pair", "when", "bytes", "statistic"), line, strict=True)),
                        "measured_us": value,
                        "simulated_us": float(np.quantile(simulated, share)),
                        "ratio": float(np.quantile(simulated, share)) / value,
                        "fitted": line
                        in (
                            ("same rack", "night", 1, "median"),
                            ("same rack", "day", large, "median"),
                        ),
                    }
                )
    return {"day": found}


def _fitted(described: MatchMachine, least_us: float, median_us: float) -> MatchMachine:
    """Return the machine with the overhead of the least latency and the jitter of the median."""

    def with_costs(overhead_s: float, jitter_s: float) -> MatchMachine:
        keys = {
            "send_overhead_s": overhead_s,
            "recv_overhead_s": overhead_s,
            "jitter_s": jitter_s,
            "jitter_distribution": "lognormal",
        }
        return described.with_values({("machine", "packet", key): v for key, v in keys.items()})

    wire_us = float(times_us(with_costs(0.0, 0.0), "same rack", 1).min())
    overhead_s = max(0.0, least_us - wire_us) / 2e6

    def off(jitter_s: float) -> float:
        latency = times_us(with_costs(overhead_s, jitter_s), "same rack", 1)
        return float(np.median(latency)) - median_us

    return with_costs(overhead_s, float(brentq(off, 0.0, 5e-6, xtol=1e-9)))


def times_us(
    machine: MatchMachine,
    pair: str,
    size: int,
    load: float = 0.0,
    design: Mapping[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Return half the time of each ping-pong of a pair beside a load, of all seeds."""
    rounds, found = ROUNDS[size], []
    program = bisection_pairing(2, size, rounds=rounds, warmup_rounds=0, mode="ping-pong")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        beside = loads(machine, load, design, rng) if design and load else []
        parts = [(waiting_for_sends(program), np.array(PAIRS[pair])), *beside]
        traffic = combine(
            [one for one, _ in parts],
            [nodes for _, nodes in parts],
            start_s=[WARM_UP_S, *[0.0] * len(beside)],
            group_loops=[False, *[True] * len(beside)],
        )
        packets = replace(machine.packets(), jitter_seed=seed)
        result = simulate_packets(machine.routing, traffic, packets, rng)
        found.append(exchange_s(program, result.message_post_ps, rounds) / 2 * 1e6)
    return np.concatenate(found)


def loads(
    machine: MatchMachine, load: float, design: Mapping[str, Any], rng: np.random.Generator
) -> Loads:
    """Return programs of other nodes, which send to a node at ``load`` of its bandwidth.

    ``together``: ``senders`` random nodes send to one, drawn for each time. Otherwise the nodes are
    dealt to ``jobs``, of which each node sends to the first on its own. Times are Poisson.
    """
    size, others = design["bytes"], np.setdiff1d(range(machine.topology.n_nodes), (0, 1, 84))
    Bps = machine.content["machine"]["parameters"]["node_bandwidth_Bps"]
    order = rng.permutation(others)
    if design["together"]:
        senders = design["senders"]
        n = max(2, int(HORIZON_S * load * Bps / (senders * size)))
        roots = rng.integers(senders, len(order), n)
        sends = [make_messages(np.arange(senders), j, roots[j], 0, size) for j in range(n)]
        program = build_program(len(order), n, join(sends), wait=False)
        starts = np.tile(np.sort(rng.random(n)) * HORIZON_S, len(order))
        return [(waiting_for_sends(replace(program, step_start_s=starts)), order)]
    found: Loads = []
    for nodes in np.array_split(order, design["jobs"]):
        gap_s = (len(nodes) - 1) * size / (load * Bps)
        n = max(2, int(HORIZON_S / gap_s))
        sends = [make_messages(np.arange(1, len(nodes)), j, 0, 0, size) for j in range(n)]
        compute_s = rng.exponential(gap_s, n * len(nodes))
        program = build_program(len(nodes), n, join(sends), compute_s=compute_s, wait=False)
        found.append((waiting_for_sends(program), nodes))
    return found


def analyse(tables: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return the values beside their goals: 10 % in the median, a factor of two at the 99 %."""
    frame = tables["day"]
    claims = []
    for line in frame[~frame["fitted"] & (frame["statistic"] != "p90")].to_dict("records"):
        of_large = line["bytes"] > 1
        if of_large and line["statistic"] == "p99":
            continue
        low, high = (0.9, 1.1) if line["statistic"] == "median" else (0.5, 2.0)
        what = "16 MiB" if of_large else "latency"
        text = f"{line['design']}: {what}, {line['pair']} by {line['when']}, {line['statistic']}"
        claims.append(
            Claim(
                text, line["design"], bool(low <= line["ratio"] <= high), f"{low} to {high}",
                simulated=line["ratio"], expected=1.0,
            )
        )  # fmt: skip
    return Analysis(claims_frame(claims), {"day": frame})
