"""The points of the benchmark: hand rules, the agents, random choices, a clairvoyant search.

Samples come in mirrored pairs (Brockhoff et al., PPSN 2010), and count by their rank alone, with
the weights of Hansen and Ostermeier (2001): no scale of the score, and no outlier, matters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.learning.cells import NETWORK, NO_NETWORK, Cell, Scale
from experiments.learning.clairvoyant import CLAIRVOYANT, clairvoyant
from experiments.learning.learned import JOB_FEATURES, n_weights
from experiments.learning.play import PPO, BenchmarkCase, RandomPlayer, costs, rows_of
from netcosim.runs.points import point_rng
from netsim.errors import NetcosimError
from queuesim.result import QueueResult, Rows

FUNCTION = "experiments.learning.points:compute"
HANDS = "hand rules"
HAND = (
    ("fcfs", "easy"),
    ("wfp", "easy"),
    ("shortest", "easy"),
    ("smallest", "easy"),
    ("fcfs", "none"),
)
"""Orders and backfilling of the hand rules."""
FOLLOWED = 4
"""Hand rules, the best of the training weeks, that play the held-out weeks too."""
AGENT, BLIND, RANDOM = "agent", "agent, no network", "random"
NO_CONTENTION = "no contention"
"""The best hand rule with run times as logged: what it would score if contention cost nothing."""
ORDER_ALONE, PLACING_ALONE = "order alone", "placing alone"
SIGMA = 1.0

Content = Mapping[str, Any]


@dataclass(frozen=True)
class Training:
    """How an agent is trained."""

    scale: Scale
    reward: str
    """A name of `experiments.learning.play.METRICS`."""
    seed: int


def points_of(cell: Cell, training: Training, ppo: bool = False) -> list[dict[str, Any]]:
    """Return all points of a cell, those that take longest first."""
    common = {key: value for key, value in vars(cell).items() if key != "config"}
    learns = {"reward": training.reward, "seed": training.seed}
    scale = training.scale
    evolves = learns | {key: getattr(scale, key) for key in ("generations", "pairs", "batch")}
    requests: list[dict[str, object]] = [{"player": AGENT, "contention": NETWORK, **evolves}]
    if ppo:
        requests.append({"player": PPO, "contention": NETWORK, **learns, "steps": scale.steps})
    searches = {"evaluations": scale.evaluations, "searched": scale.searched}
    requests += [
        {"player": CLAIRVOYANT, **learns, **searches},
        {"player": BLIND, "contention": NO_NETWORK, **evolves},
        {"player": HANDS, "reward": training.reward},
        {"player": RANDOM},
    ]
    config = cell.config.resolved()
    return [{**config, "bench_rl": {**common, **one}} for one in requests]


def compute(point: Content) -> dict[str, Rows]:
    """Return a point's tables: weeks, and of agents the curve and the weights."""
    benchmark = BenchmarkCase(point)
    with benchmark.config.plugged():
        return _PLAYERS[point["bench_rl"]["player"]](benchmark, point)


def _hands(benchmark: BenchmarkCase, point: Content) -> dict[str, Rows]:
    reward = point["bench_rl"]["reward"]
    plays = {
        f"{order} {'strict ' if backfill == 'none' else ''}+ {rule}": partial(
            benchmark.played, backfill=backfill, order=order, rule=rule
        )
        for rule in benchmark.rules
        for order, backfill in HAND
    }
    rows = rows_of(benchmark, point, plays, benchmark.training)
    scores = {name: [row[reward] for row in rows if row["player"] == name] for name in plays}
    ranked = sorted(plays, key=lambda name: float(np.sum(scores[name])))
    best = {name: plays[name] for name in ranked[:FOLLOWED]}
    free = {NO_CONTENTION: partial(plays[ranked[0]], contention=NO_NETWORK)}
    return {"weeks": [*rows, *rows_of(benchmark, point, best | free, benchmark.held_out)]}


def _random(benchmark: BenchmarkCase, point: Content) -> dict[str, Rows]:
    def play(week: int) -> QueueResult:
        seed = int(point_rng(point, f"week {week}").integers(2**32))
        return benchmark.played(week, RandomPlayer(benchmark.rules, seed))

    return {"weeks": rows_of(benchmark, point, {RANDOM: play})}


def _agent(benchmark: BenchmarkCase, point: Content) -> dict[str, Rows]:
    """Train an agent by evolution, keeping the mean that was best on the training weeks."""
    request = point["bench_rl"]
    player, contention, reward = request["player"], request["contention"], request["reward"]
    labels = {key: request[key] for key in ("machine", "workload", "player")}
    rng = point_rng(point, "evolution")
    began, plays = time.process_time(), 0

    def score(weights: Any, weeks: Sequence[int], contention: str) -> float:
        nonlocal plays
        plays += len(weeks)
        agent = benchmark.agent(weights)
        found = [costs(benchmark.played(k, agent, contention=contention))[reward] for k in weeks]
        return float(np.mean(found))

    batches = [
        sorted(
            rng.choice(
                benchmark.n_training, min(request["batch"], benchmark.n_training), replace=False
            )
        )
        for _ in range(request["generations"])
    ]
    mean = np.zeros(n_weights(len(benchmark.rules), len(benchmark.context.mix.shares)))
    steps = evolve(
        lambda weights, k: score(weights, batches[k], contention),
        mean,
        rng,
        generations=request["generations"],
        pairs=request["pairs"],
        sigma=SIGMA,
    )
    best, least, curve = mean, np.inf, []
    for number in range(request["generations"] + 1):
        mean = mean if number == 0 else next(steps)
        training = score(mean, benchmark.training, contention)
        if training < least:
            best, least = mean, training
        cpu_s = time.process_time() - began
        step = {"generation": number, "plays": plays, "training": training, "cpu_s": cpu_s}
        curve.append({**labels, **step})
    orders = np.arange(len(best)) < len(JOB_FEATURES)
    parts = {player: best, f"{player}, {ORDER_ALONE}": np.where(orders, best, 0.0)}
    if player == AGENT:
        parts[f"{player}, {PLACING_ALONE}"] = np.where(orders, 0.0, best)
    players = {
        name: partial(benchmark.played, backfill=benchmark.agent(weights))
        for name, weights in parts.items()
    }
    kept = [
        {**labels, "number": number, "weight": float(weight)} for number, weight in enumerate(best)
    ]
    return {"weeks": rows_of(benchmark, point, players), "curve": curve, "weights": kept}


def _ppo(benchmark: BenchmarkCase, point: Content) -> dict[str, Rows]:
    try:
        from experiments.learning.ppo import trained_and_played
    except ImportError as error:
        raise NetcosimError(
            f"the player {PPO} needs torch, stable-baselines3 and sb3-contrib: {error}"
        ) from None
    return trained_and_played(benchmark, point)


_PLAYERS: dict[str, Callable[[BenchmarkCase, Content], dict[str, Rows]]] = {
    AGENT: _agent,
    BLIND: _agent,
    RANDOM: _random,
    PPO: _ppo,
    CLAIRVOYANT: clairvoyant,
    HANDS: _hands,
}


FloatArray = NDArray[np.float64]


def rank_weights(n: int) -> FloatArray:
    """Return weights of n samples, the best first: positive for the better half, of sum 1, (n,)."""
    raw = np.maximum(np.log(n / 2 + 0.5) - np.log(np.arange(1, n + 1)), 0.0)
    return np.asarray(raw / raw.sum())


def evolve(
    score: Callable[[FloatArray, int], float],
    begin: FloatArray,
    rng: np.random.Generator,
    *,
    generations: int,
    pairs: int,
    sigma: float = 1.0,
) -> Iterator[FloatArray]:
    """Yield the means of the generations, one after the other, without the first mean.

    ``score(weights, generation)`` is better if smaller; its random draws should be the same for all
    of a generation (common random numbers), which has so many mirrored pairs. The deviation of the
    samples is kept through all.
    """
    mean = np.array(begin, dtype=np.float64)
    weights = rank_weights(2 * pairs)
    for generation in range(generations):
        drawn = rng.standard_normal((pairs, len(mean)))
        offsets = sigma * np.concatenate([drawn, -drawn])
        found = np.array([score(mean + offset, generation) for offset in offsets])
        mean = mean + weights @ offsets[np.argsort(found, kind="stable")]
        yield mean.copy()
