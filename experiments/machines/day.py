"""Piz Daint by day: one load of the other nodes, fitted on a pair of a rack, and what it predicts.

Overhead and jitter of the pair are fitted on the least and the median latency by night. The load is
fitted on the median of 16 MiB by day, as a factor of that by night. All other values are predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from experiments.kit.claims import ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.papers import Analysis, Options
from experiments.machines.match.gpcnet import exchange_s
from experiments.machines.match.machine import MatchMachine, load_match
from experiments.machines.rows import measured_folder
from netsim.inputs import checked_path, input_file
from netsim.packet.engine import simulate_packets
from netsim.traffic import Program, combine
from patterns.bisection_pairing import bisection_pairing
from patterns.build import build_program, join, make_messages, waiting_for_sends

FUNCTION = "experiments.machines.day:point"
PAIRS = {"same rack": (0, 84), "same slot": (0, 1)}
"""Nodes; the first is in slot 0 of the first chassis, 84 in slot 5 of the next."""
LARGE = 1 << 24
ROUNDS = {1: 3000, LARGE: 24}
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
    table = pd.read_csv(checked_path(content["file"]))
    described, _ = load_match(Path(checked_path(content["machine"])))

    def measured(pair: str, when: str, size: int, statistic: str) -> float:
        test = table["test"].str.contains("latency" if size == 1 else "one_one 16 MiB")
        [value] = table[(table["placement"] == pair) & (table["when"] == when) & test][statistic]
        return float(value)

    def times(pair: str, size: int, load: float) -> NDArray[np.float64]:
        return times_us(machine, pair, size, load, content["load"])

    night, by_day = ("same rack", "night"), ("same rack", "day")
    machine = _fitted(described, *(measured(*night, 1, one) for one in ("min", "median")))
    factor = measured(*by_day, LARGE, "median") / measured(*night, LARGE, "median")
    target = factor * float(np.median(times("same rack", LARGE, 0.0)))
    (low, high), tried = LOADS, {}
    for _ in range(6):
        load = (low + high) / 2
        tried[load] = float(np.median(times("same rack", LARGE, load))) / target
        low, high = (low, load) if tried[load] > 1 else (load, high)
    load = min(tried, key=lambda one: abs(np.log(tried[one])))
    found: list[dict[str, object]] = []
    for (pair, when), size in product((night, ("same slot", "day"), by_day), ROUNDS):
        simulated = times(pair, size, load if when == "day" else 0.0)
        for statistic, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
            value, us = measured(pair, when, size, statistic), float(np.quantile(simulated, share))
            line = {"pair": pair, "when": when, "bytes": size, "statistic": statistic}
            fitted = ((pair, when), size, statistic) in (
                (night, 1, "median"), (by_day, LARGE, "median"),
            )  # fmt: skip
            found.append(
                {"design": content["design"], "load": load, **line, "measured_us": value}
                | {"simulated_us": us, "ratio": us / value, "fitted": fitted}
            )
    return {"day": found}


def _fitted(described: MatchMachine, least_us: float, median_us: float) -> MatchMachine:
    """Return the machine with the overhead of the least latency and the jitter of the median."""
    costs: dict[str, object] = dict.fromkeys(("send_overhead_s", "recv_overhead_s"), 0.0)

    def machine(**keys: object) -> MatchMachine:
        values = (costs | keys).items()
        return described.with_values({("machine", "packet", key): value for key, value in values})

    def off(jitter_s: float) -> float:
        with_jitter = machine(jitter_s=jitter_s, jitter_distribution="lognormal")
        return float(np.median(times_us(with_jitter, "same rack", 1))) - median_us

    wire_us = float(times_us(machine(), "same rack", 1).min())
    costs = dict.fromkeys(costs, max(0.0, least_us - wire_us) / 2e6)
    jitter_s = float(brentq(off, 0.0, 5e-6, xtol=1e-9))
    return machine(jitter_s=jitter_s, jitter_distribution="lognormal")


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
    frame, claims = tables["day"], []
    for line in frame[~frame["fitted"]].to_dict("records"):
        is_median, of_large = line["statistic"] == "median", line["bytes"] > 1
        if not is_median and (of_large or line["statistic"] == "p90"):
            continue
        low, high = (0.9, 1.1) if is_median else (0.5, 2.0)
        what = f"{'16 MiB' if of_large else 'latency'}, {line['pair']} by {line['when']}"
        check, ratio = ClaimBuilder(line["design"]), line["ratio"]
        text, rule = f"{check.where}: {what}, {line['statistic']}", f"{low} to {high}"
        claims.append(check.holds(text, low <= ratio <= high, rule, ratio, expected=1.0))
    return Analysis(claims_frame(claims), {"day": frame})
