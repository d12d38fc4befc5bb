"""How far the flow level of the queue is from packets: random mixes of running jobs, both judged.

Each mix fills 90 % of a machine with jobs of random sizes and patterns; all communicate at once.
At packet level each job repeats its iteration until all end at about the same time
(`experiments.calibration.flow_levels`). The flow level's form and constants were chosen on other
mixes, of other sizes of messages and seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from alloc.policy import Policy, Request
from alloc.registry import make_policy
from cosim.network.communication import Communication
from cosim.network.ensemble import SharedNetwork
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.mix import CommunicationMix, PatternShare
from cosim.network.running_jobs import RunningJobs
from cosim.network.situation import Situation
from cosim.parameters import PacketBudget
from cosim.run_times.flow_errors import ALL, FlowError, kind_of, size_class, traffic_class
from cosim.run_times.packet_judge import PacketJudge, PacketRecord, level_errors
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.frames import cells
from experiments.kit.panels import dots, panels
from experiments.kit.papers import Analysis, Options, Point
from experiments.kit.size_laws import draw_size
from netcosim.runs.points import point_rng
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

FUNCTION = "experiments.calibration.flow_levels:run_point"
study = read_data("calibration")["flow"]
MACHINES: dict[str, dict[str, Any]] = study["machines"]
PATTERNS: dict[str, dict[str, object]] = study["patterns"]
OF_A_JOB = ("n_nodes", "shares", "flow", "packet")
AIMS = {"error_p50": 0.03, "error_p90": 0.12, "error_p99": 0.18}
"""What the flow level aims at, in every family and routing."""
EXTRA_RATIO, LEAST_JOBS = (0.85, 1.15), 20
"""What it aims at in every class of jobs, if there are so many."""
COLUMNS = ("family", "routing", "traffic", "nodes")


def points(options: Options) -> list[Point]:
    """Return a point a mix and seed."""
    seeds = range(options.seed, options.seed + study["seeds"][options.scale])
    return [
        {
            "study": name,
            "message_bytes": size,
            "machine": machine,
            "routing": routing,
            "policy": entry["policies"][mix % 2],
            "mix": mix,
            "seed": seed,
        }
        for seed in seeds
        for name, size, n_mixes in study["studies"][options.scale]
        for machine, entry in MACHINES.items()
        if name in entry.get("studies", [name])
        for routing in entry["routings"]
        if not options.routings or routing in options.routings
        for mix in range(min(n_mixes, entry.get("mixes", n_mixes)))
    ]


def mix_of(config: Mapping[str, Any]) -> tuple[JobNetwork, list[Situation]]:
    """Return the network of a point, and its mix of jobs."""
    machine = MACHINES[config["machine"]]
    topology = make_topology(machine["family"], machine["params"])
    rng = point_rng(config, "mix", leave_out=("routing",))
    mix = CommunicationMix([PatternShare(name, 1.0, 0.1, 0.5) for name in PATTERNS])
    communications = [
        Communication(name, config["message_bytes"], 1, parameters)
        for name, parameters in PATTERNS.items()
    ]
    shared = SharedNetwork(make_routing(topology, config["routing"]))
    network = JobNetwork(shared, mix, communications)
    policy = make_policy(topology, config["policy"], rng)
    return network, random_mix(network, policy, rng, largest=machine["largest"])


def run_point(config: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    """Return the slowdowns of the jobs of one mix at both levels: table "jobs"."""
    network, jobs = mix_of(config)
    found = compare_mix(network, jobs, PacketBudget(periods=32))
    key = {k: config[k] for k in ("study", "machine", "routing", "policy", "mix")}
    routing = network.shared.routing
    key |= {"family": routing.topology.family, "kind": kind_of(routing)}
    return {
        "jobs": [
            {
                **key,
                "pattern": list(PATTERNS)[job.share],
                "traffic": traffic_class(network.loads.messages(job)),
                "nodes": size_class(job.n_nodes),
                **{name: getattr(found, name)[i].item() for name in OF_A_JOB},
            }
            for i, job in enumerate(jobs)
        ]
    }


def errors(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of jobs that share links: a row a routing, and one a class of jobs."""
    jobs = jobs[jobs["shares"]]
    rows = [
        _errors({**key, "traffic": ALL, "nodes": ALL}, part)
        for key, part in cells(jobs, "family", "routing")
    ]
    for by in ((), ("traffic",), ("nodes",), ("traffic", "nodes")):
        for key, part in cells(
            jobs.sort_values(["kind", "traffic", "n_nodes"], kind="stable"), "kind", *by
        ):
            row = {"family": ALL, "routing": key["kind"], "traffic": ALL, "nodes": ALL}
            rows.append(_errors(row | {name: key[name] for name in by}, part))
    return pd.DataFrame(rows)


def _errors(key: dict[str, object], jobs: pd.DataFrame) -> dict[str, object]:
    flow, packet = jobs["flow"].to_numpy(), jobs["packet"].to_numpy()
    off = level_errors(flow, packet)
    off["error_p99"] = float(np.quantile(np.abs(flow / packet - 1), 0.99))
    off["extra_ratio"] = float((flow - 1).sum()) / max(float((packet - 1).sum()), 1e-12)
    columns = [name for name in get_type_hints(FlowError) if name != "n_jobs"]
    return {**key, "n_jobs": len(jobs), **{name: off[name] for name in columns}}


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return errors by family and routing, and by class of jobs."""
    jobs = frames["jobs"]
    table = errors(jobs)
    rows = table.to_dict("records")
    claims = [claim for row in rows for claim in _claims(row)]
    notes = tuple(_line(row) for row in rows if row["traffic"] == row["nodes"] == ALL)
    return Analysis(claims_frame(claims), {"errors": table.round(4), "job_list": jobs}, notes)


def _line(row: Mapping[Any, Any]) -> str:
    """Describe a row of errors."""
    return (
        "{family}, {routing}: {n_jobs} jobs that share links: median error {error_p50:.1%}, "
        "90th percentile {error_p90:.1%}, 99th {error_p99:.1%}, extra time {extra_ratio:.2f} of "
        "that by packets; always 1: {one_p50:.1%}, {one_p90:.1%}"
    ).format(**row)


def _claims(row: Mapping[Any, Any]) -> list[Claim]:
    """Check a row against the flow level's target; no paper states one."""
    what = ", ".join(str(row[name]) for name in COLUMNS if row[name] != ALL)
    check, claims = ClaimBuilder("aim of the flow level", what), []
    if row["family"] != ALL:
        for key, aim in AIMS.items():
            error = row[key]
            one = row.get(key.replace("error", "one"), np.inf)
            rule = f"at most {aim:g}" + (f", and nearer than always 1 ({one:.3f})" * (one < np.inf))
            good = error <= min(aim, one)
            claims.append(check.holds(f"{key} of the run time", good, rule, error, expected=aim))
    elif row["n_jobs"] >= LEAST_JOBS:
        low, high = EXTRA_RATIO
        ratio = row["extra_ratio"]
        claims.append(
            check.holds("extra_ratio", low <= ratio <= high, f"{low:g} to {high:g}", ratio)
        )
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a dot a job that shares links, a panel a family and routing, a band of 10 %."""
    jobs = analysis.tables["job_list"]
    jobs = jobs[jobs["shares"]]
    ends = np.array([1.0, 1.1 * float(jobs[["flow", "packet"]].max().max())])
    ticks = [t for t in (1, 1.2, 1.5, 2, 3, 5) if t <= ends[1]]

    def against(axis: Axes, part: pd.DataFrame) -> None:
        axis.fill_between(ends, ends / 1.1, ends * 1.1, color="0.92")
        axis.plot(ends, ends, color="0.6", linewidth=0.8)
        dots(axis, part, "packet", "flow", "kind", size=9, alpha=0.6)
        axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_ticks(ticks, labels=[f"{t:g}" for t in ticks])
            scale.set_ticks([], minor=True)

    return panels(
        jobs,
        ["family", "routing"],
        against,
        columns=5,
        size_in=(3.0, 3.2),
        xlabel="run time over isolated, packets",
        ylabel="run time over isolated, flow level",
        legend=False,
    )


FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MixComparison:
    """Slowdowns of the jobs of a mix."""

    share: NDArray[np.int64]
    n_nodes: NDArray[np.int64]
    """share, n_nodes: (k,) int64. Index of the job's communication, and its nodes."""
    shares: NDArray[np.bool_]
    """(k,) bool. Whether it uses a router-to-router link that another job of the mix uses too."""
    flow: FloatArray
    packet: FloatArray
    """flow, packet: (k,) float64. Slowdown of the job at both levels: its run time over that in
    isolation."""


def random_mix(
    network: JobNetwork,
    policy: Policy,
    rng: np.random.Generator,
    *,
    largest: int,
    fill: float = 0.9,
) -> list[Situation]:
    """Place jobs on an empty machine until a share of it is full or a job does not fit.

    Sizes are log-uniform from 2 to ``largest`` nodes, patterns uniform over the mix, and fractions
    uniform between the two of the pattern.
    """
    total, used = policy.topology.n_nodes, 0
    jobs: list[Situation] = []
    while used < fill * total:
        size = draw_size("log", 2, largest, rng)
        placement = policy.allocate(Request(len(jobs), size))
        if placement is None:
            break
        used += len(placement.nodes)
        share = int(rng.integers(len(network.communications)))
        entry = network.mix.shares[share]
        fraction = float(rng.uniform(entry.fraction_low, entry.fraction_high))
        jobs.append(Situation(share, placement.nodes[:size].astype(np.int32).tobytes(), fraction))
    return jobs


def compare_mix(network: JobNetwork, jobs: list[Situation], budget: PacketBudget) -> MixComparison:
    """Return the slowdown of every job of a mix at flow and at packet level, all jobs at once.

    Each has at least 2 nodes; the budget's CPU time does not count.
    """
    loads = JobLoads(network)
    flows = RunningJobs(loads)
    placed = {k: (job, loads.load(job)) for k, job in enumerate(jobs)}
    flows.change(placed, [])
    judge = PacketJudge(loads, budget, PacketRecord())
    return MixComparison(
        np.array([job.share for job in jobs]),
        np.array([job.n_nodes for job in jobs]),
        sharing([load.links for _, load in placed.values()]),
        np.array([job.slowdown(flows.stretch(k)) for k, job in enumerate(jobs)]),
        np.array(judge.judge(tuple(jobs))),
    )


def sharing(links: list[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Return which jobs share a link with another one, (k,) bool."""
    used, jobs = np.unique(np.concatenate(links), return_counts=True)
    common = used[jobs > 1]
    return np.array([bool(np.isin(own, common).any()) for own in links])
