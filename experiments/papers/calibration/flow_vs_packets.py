"""How far the flow level is from the packet level: random mixes of running jobs, both judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alloc.policy import Policy, Request
from cosim.network.job_network import JobLoads, JobNetwork
from cosim.network.running_jobs import RunningJobs
from cosim.network.situation import Situation
from cosim.run_times.packet_judge import PacketBudget, PacketJudge, PacketRecord
from experiments.papers.kit.size_laws import draw_size

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MixComparison:
    """Slowdowns of the jobs of a mix.

    Attributes
    ----------
    share, n_nodes : (k,) int64
        Index of the job's communication, and its nodes.
    shares : (k,) bool
        Whether it uses a router-to-router link that another job of the mix uses too.
    flow, packet : (k,) float64
        Slowdown of the job at both levels: its run time over that in isolation.
    """

    share: NDArray[np.int64]
    n_nodes: NDArray[np.int64]
    shares: NDArray[np.bool_]
    flow: FloatArray
    packet: FloatArray


def random_mix(
    network: JobNetwork,
    policy: Policy,
    rng: np.random.Generator,
    *,
    largest: int,
    fill: float = 0.9,
) -> list[Situation]:
    """Jobs placed on an empty machine until a share of it is full or a job does not fit.

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
    """Slowdown of every job of a mix at flow and at packet level, all jobs at once.

    Parameters
    ----------
    network : JobNetwork
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
    """(k,) bool: jobs with a link that is another's too."""
    used, jobs = np.unique(np.concatenate(links), return_counts=True)
    common = used[jobs > 1]
    return np.array([bool(np.isin(own, common).any()) for own in links])
