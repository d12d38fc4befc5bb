"""How far the flow level of the queue is from packets: random mixes of running jobs, both judged.

Each mix fills 90 % of a machine with jobs of random sizes and patterns; all communicate at once.
At packet level each job repeats its iteration until all end at about the same time
(`experiments.calibration.flow_levels`). The flow level's form and constants were chosen
on the mixes of the set "chosen on"; those of the set "held out" have other machines, sizes of
messages, patterns and seeds, and were only judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
from cosim.run_times.packet_judge import PacketJudge, PacketRecord, level_errors
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_data
from experiments.kit.size_laws import draw_size
from netcosim.report.figures.panels import dots, panels
from netcosim.reproduce.paper import Analysis, Options, Point
from netcosim.runs.frames import cells
from netcosim.runs.points import point_rng
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology

FUNCTION = "experiments.calibration.flow_levels:run_point"
CHOSEN_ON, HELD_OUT = "chosen on", "held out"
study = read_data("calibration")["flow"]
MACHINES: dict[str, dict[str, Any]] = study["machines"]
PATTERNS: dict[str, dict[str, object]] = study["patterns"]
STATIC = ("d-mod-k", "minimal", "dimension-order", "shortest-path")
OF_A_JOB = ("n_nodes", "shares", "flow", "packet")
SHARING = "that share links"
LENGTHENED = 1.05
"""Jobs whose run times packets lengthen by more than this are judged once more by themselves."""
AIMS = {"error_p50": 0.03, "error_p90": 0.12}
ADAPTIVE_AIMS = {"error_p50": 0.04, "error_p90": 0.14}
"""What the flow level aims at, for static and adaptive routings."""
SIGNED_MEAN, EXTRA_RATIO = 0.015, (0.85, 1.15)


def points(options: Options) -> list[Point]:
    """Return a point a mix."""
    return [
        {
            "study": name,
            "message_bytes": size,
            "machine": machine,
            "routing": routing,
            "policy": entry["policies"][mix % 2],
            "mix": mix,
            "seed": options.seed,
        }
        for name, size, n_mixes in study["studies"][options.scale]
        for machine, entry in MACHINES.items()
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
    key["family"] = network.shared.routing.topology.family
    return {
        "jobs": [
            {**key, "pattern": list(PATTERNS)[share]}
            | {name: getattr(found, name)[i].item() for name in OF_A_JOB}
            for i, share in enumerate(found.share)
        ]
    }


def _both(key: dict[str, object], jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return a row of jobs that share links, and one of those that packets lengthen."""
    parts = {
        SHARING: jobs[jobs["shares"]],
        f"lengthened by more than {LENGTHENED - 1:.0%}": jobs[jobs["packet"] > LENGTHENED],
    }
    return [
        {
            **key,
            "jobs": which,
            "n_jobs": len(part),
            **level_errors(part["flow"].to_numpy(), part["packet"].to_numpy()),
            "signed_mean": float((part["flow"] / part["packet"] - 1).mean()),
            "extra_ratio": float((part["flow"] - 1).sum() / (part["packet"] - 1).sum()),
        }
        for which, part in parts.items()
    ]


TABLES = {
    "errors": ("study", "machine", "routing"),
    "families": ("family", "routing"),
    "patterns": ("pattern",),
}
"""Tables of errors, and the columns by which jobs are distinguished."""


def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return errors by set, machine and routing, by family and routing, and by pattern."""
    jobs = frames["jobs"]
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in TABLES}
    for mixes, part in cells(jobs, "mixes"):
        for name, keys in TABLES.items():
            for key, case in cells(part, *keys):
                tables[name] += _both(mixes | key, case)
        static = part["routing"].isin(STATIC)
        for routing, case in (("static", part[static]), ("adaptive", part[~static])):
            if len(case):
                tables["families"] += _both({**mixes, "family": "all", "routing": routing}, case)
    claims = [
        claim for row in tables["families"] if row["jobs"] == SHARING for claim in _claims(row)
    ]
    found = {name: pd.DataFrame(rows) for name, rows in tables.items()}
    notes = tuple(_line(row) for row in tables["families"])
    return Analysis(claims_frame(claims), {**found, "job_list": jobs}, notes)


def _line(row: Mapping[str, Any]) -> str:
    """Describe a row of errors."""
    return (
        "{mixes}, {family}, {routing}: {n_jobs} jobs {jobs}: median error {error_p50:.1%}, "
        "90th percentile {error_p90:.1%}, signed mean {signed_mean:+.1%}, extra time "
        "{extra_ratio:.2f} of that by packets; always 1: {one_p50:.1%}, {one_p90:.1%}; rank "
        "correlation {rank_correlation:.2f}"
    ).format(**row)


def _claims(row: Mapping[str, Any]) -> list[Claim]:
    """Check a row against the flow level's target; no paper states one."""
    check = ClaimBuilder("aim of the flow level", f"{row['family']}, {row['routing']}")
    what = f"{row['mixes']}, jobs {row['jobs']}: {{}} of the run time"
    claims = []
    static = row["routing"] in (*STATIC, "static")
    for key, aim in (AIMS if static else ADAPTIVE_AIMS).items():
        error, one = row[key], row[key.replace("error", "one")]
        rule = f"at most {aim:g}, and nearer than always 1 ({one:.3f})"
        good = error <= min(aim, one)
        claims.append(check.holds(what.format(key), good, rule, error, expected=aim))
    mean, (low, high), ratio = row["signed_mean"], EXTRA_RATIO, row["extra_ratio"]
    for key, good, rule, error in (
        ("signed_mean", abs(mean) <= SIGNED_MEAN, f"within {SIGNED_MEAN:g} of 0", mean),
        ("extra_ratio", low <= ratio <= high, f"{low:g} to {high:g}", ratio),
    ):
        claims.append(check.holds(what.format(key), good, rule, error))
    return claims


def draw(analysis: Analysis, options: Options) -> Figure:
    """Draw a dot a job that shares links, a panel a family and routing, a band of 10 %."""
    jobs = analysis.tables["job_list"]
    jobs = jobs[(jobs["mixes"] == HELD_OUT) & jobs["shares"]]
    ends = np.array([1.0, 1.1 * float(jobs[["flow", "packet"]].max().max())])
    ticks = [t for t in (1, 1.2, 1.5, 2, 3, 5) if t <= ends[1]]

    def against(axis: Axes, part: pd.DataFrame) -> None:
        axis.fill_between(ends, ends / 1.1, ends * 1.1, color="0.92")
        axis.plot(ends, ends, color="0.6", linewidth=0.8)
        dots(axis, part, "packet", "flow", "mixes", size=9, alpha=0.6)
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

    Parameters
    ----------
    jobs : list of Situation
        At least one, each of at least 2 nodes.
    budget : PacketBudget
        Its ``max_simulations`` and ``tolerance`` do not count; messages are not scaled.
    """
    loads = JobLoads(network)
    flows = RunningJobs(loads)
    placed = {k: (job, loads.load(job)) for k, job in enumerate(jobs)}
    flows.change(placed, [])
    judge = PacketJudge(loads, budget, PacketRecord())
    return MixComparison(
        np.array([job.share for job in jobs]),
        np.array([job.n_nodes for job in jobs]),
        _sharing([load.links for _, load in placed.values()]),
        np.array([job.slowdown(flows.stretch(k)) for k, job in enumerate(jobs)]),
        np.array(judge.judge(tuple(jobs))),
    )


def _sharing(links: list[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Return which jobs share a link with another one, (k,) bool."""
    used, jobs = np.unique(np.concatenate(links), return_counts=True)
    common = used[jobs > 1]
    return np.array([bool(np.isin(own, common).any()) for own in links])
