"""Points of the verdict: a snapshot job by job under each policy, and queues with what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.bench import bench_of
from experiments.build import build_machine, communication_mix
from experiments.config import Config
from experiments.config_load import config_from
from experiments.papers.isolation import cases
from experiments.papers.isolation.cases import Case, Machine
from experiments.papers.jigsaw.logs import WINDOW
from experiments.papers.kit.points import observe
from experiments.papers.kit.routers import ROUTERS
from experiments.papers.paper import Options, Point
from experiments.points import canonical_json, point_rng, replaced, without
from experiments.schedules import queues_of
from experiments.store import Rows
from netsim.errors import NetcosimError
from queuesim.measured import SpeedupRow, SpeedupTable
from queuesim.measured_times import Measured
from queuesim.observables.registry import observed
from queuesim.pairing import Pairing
from queuesim.parts import Here
from queuesim.result import QueueResult
from queuesim.snapshots import size_class
from workloads.job import Workload

if TYPE_CHECKING:
    import pandas as pd

MEASURE = "experiments.papers.isolation.point:measure_snapshot"
QUEUE = "experiments.papers.isolation.point:run_queue"


def _sections(machine: Machine, policies: Sequence[str], seed: int) -> dict[str, Any]:
    queue = {"policies": list(policies), "window": WINDOW, "run_time_model": "as-logged"}
    return {**machine.sections, "queue": queue, "run": {"seed": seed, "snapshots": 0}}


def _mix(share: tuple[float, float], node_bytes: int | None = None) -> list[dict[str, object]]:
    """All patterns, equally likely."""
    size = {} if node_bytes is None else {"node_bytes": node_bytes}
    one_round = {"bisection-pairing": {"rounds": 1, "warmup_rounds": 0}}
    return [
        {
            "pattern": pattern,
            "communication_fraction": list(share),
            "parameters": one_round.get(pattern, {}),
            **size,
        }
        for pattern in cases.PATTERNS
    ]


def measure_points(
    machine: Machine,
    case: Case,
    seed: int,
    snapshots: int | None = None,
    policies: Sequence[str] = (),
) -> list[Point]:
    """One point a snapshot: a config that measures it alone.

    Parameters
    ----------
    machine : Machine
    case : Case
    seed : int
    snapshots : int, optional
        All of the case's by default.
    policies : sequence of str
        The reference first; the case's and the network's by default.
    """
    n = machine.n_snapshots(case) if snapshots is None else snapshots
    node_bytes, repeats = cases.LOADS[case.load]
    reference = case.order or cases.REFERENCES[machine.network]
    content = _sections(machine, policies or (reference, *cases.POLICIES[machine.network]), seed)
    network = {"routing": case.routing, "packet": ROUTERS[case.router]}
    content["machine"] = {**content["machine"], **network}
    content["communication"] = {
        "mix": _mix((case.duty, case.duty), node_bytes),
        "ranks_per_node": case.ranks_per_node,
        "task_mapping": case.mapping,
    }
    content["run"] |= {
        "measure": "paired",
        "paired": {
            "repeats": repeats * case.length,
            "max_iterations": cases.MOST_ITERATIONS * case.length,
        },
        "snapshots": n,
    }
    return [
        {
            "experiment": "isolation-packets",
            "config": config_from(replaced(content, {"run.only_snapshot": number})).resolved(),
            "labels": {"network": machine.network, "log": machine.log, "case": case.name},
        }
        for number in range(n)
    ]


def points_of(network: str, options: Options) -> list[Point]:
    """All snapshots of all logs, case by case, the main case first."""
    return [
        point
        for case in cases.asked_for(cases.CASES[network], options)
        for machine in cases.machines(network, options)
        for point in measure_points(machine, case, options.seed)
    ]


def measured_pairs(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The table "pairs" of the points, with the size class of each job.

    Raises
    ------
    NetcosimError
        No job of more than one node was seen.
    """
    if "pairs" not in frames or frames["pairs"].empty:
        raise NetcosimError("no job of more than one node ran at any of the snapshots")
    pairs = frames["pairs"]
    return pairs.assign(size_class=size_class(pairs["n_nodes"]))


@lru_cache(maxsize=3)
def _schedules(text: str) -> dict[str, QueueResult]:
    """By policy, run times as logged; kept for the process's next points."""
    config = config_from(json.loads(text))
    queues = queues_of(config, build_machine(config.machine).topology)
    return {name: queues.under(name) for name in config.queue.policies}


def patterns_of(config: Config, jobs: Workload) -> NDArray[np.int64]:
    """(n,) index into `PATTERNS` of every job: an all-to-all above `LARGE_RANKS` is in parts."""
    rng = point_rng({"seed": config.run.seed}, "isolation patterns")
    which, _ = communication_mix(config.communication).draw(jobs, rng)
    large = jobs.n_nodes.astype(np.int64) * config.communication.ranks_per_node > cases.LARGE_RANKS
    whole, parts = cases.PATTERNS.index("all-to-all"), cases.PATTERNS.index("sub-a2a")
    return np.where(large & (which == whole), parts, which)


@lru_cache(maxsize=1)
def _pairing(text: str) -> Pairing:
    config, content = config_from(json.loads(text)), json.loads(text)
    # nothing but jobs, queue and seed counts: the same schedules for all cases
    kept = {key: content[key] for key in ("machine", "workload", "queue")}
    kept = without(kept, ("machine.routing", "machine.packet"))
    found = _schedules(canonical_json({**kept, "run": {"seed": config.run.seed}}))
    jobs = next(iter(found.values())).workload
    bench = bench_of(config, jobs)
    # draws of the seed alone: the same for all machines and cases
    network = replace(bench.shared, seed=config.run.seed)
    sides = {name: replace(side, network=network) for name, side in bench.sides(found).items()}
    study = replace(bench.study(sides, config.queue.policies[0]), share=patterns_of(config, jobs))
    return Pairing(study, **config.run.paired.model_dump())


def pairing_of(content: Mapping[str, Any]) -> Pairing:
    """What the snapshots of a config share; kept for the process's next points."""
    return _pairing(canonical_json(replaced(content, {"run.only_snapshot": None})))


def measure_snapshot(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Time the jobs that run at one instant of the reference's schedule.

    Returns
    -------
    dict of str to list of dict
        "pairs": a row for each job of more than one node and each policy
        (`queuesim.pairs.Pair`); "proof" (first snapshot, static routing): a row a policy that
        isolates (`queuesim.pairing.Pairing.proof`).
    """
    pairing, number = pairing_of(point["config"]), point["config"]["run"]["only_snapshot"]
    jobs = dict(pairing.instants(pairing.study.reference))[number]
    pairs = pairing.snapshot(number, jobs).pairs if jobs else []
    proof = pairing.proofs(Here()) if number == 0 and jobs else []
    tables: dict[str, Rows] = {"pairs": [{**point["labels"], **pair.row()} for pair in pairs]}
    return tables | ({"proof": [{**point["labels"], **row} for row in proof]} if proof else {})


def queue_point(
    machine: Machine,
    policy: str,
    label: str,
    seed: int,
    table: SpeedupTable | None = None,
    *,
    scenario: str = "",
    share: tuple[float, float] = (1.0, 1.0),
    bound: str = "mean",
) -> Point:
    """A queue under a policy: its config, and what a file would say of measured run times.

    Parameters
    ----------
    machine : Machine
    policy : str
    label : str
        Name of the run times in tables.
    seed : int
    table : SpeedupTable, optional
        Run times measured: its rows of this policy.
    scenario : str
        Run times assumed; as logged if neither this nor a table is given.
    share : (float, float)
        Communication share, from and to, to which the table applies.
    bound : str
        Of the table's intervals.
    """
    content = _sections(machine, (policy,), seed)
    content["run"]["observables"] = ["runs"]
    if scenario:
        content["queue"] |= {"run_time_model": "assumed", "scenario": scenario}
    content["communication"] = {"mix": _mix(share)}
    rows = [] if table is None else [list(astuple(r)) for r in table.rows if r.policy == policy]
    return {
        "experiment": "isolation-queue",
        "config": config_from(content).resolved(),
        "labels": {"network": machine.network, "log": machine.log, "run_times": label},
        "speedups": {"rows": rows, "bound": bound},
    }


def run_queue(point: Mapping[str, Any]) -> dict[str, Rows]:
    """Simulate a queue: "runs", one row of metrics.

    A job has the same pattern and share under every policy.
    """
    if not point["speedups"]["rows"]:
        return observe(point)
    config = config_from(point["config"])
    rows = tuple(SpeedupRow(*row) for row in point["speedups"]["rows"])
    bench = bench_of(config)
    # the reference's own run times are the log's: its name does not matter here
    model = Measured(SpeedupTable("", rows), bench.mix, point["speedups"]["bound"])
    [policy] = config.queue.policies
    found = observed({policy: bench.queues.under(policy, model)}, config.run.observables)
    return {"runs": [{**point["labels"], **row} for row in found["runs"]]}
