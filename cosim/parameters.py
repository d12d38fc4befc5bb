"""The keys of run-time models and measures in a config, without these themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt

from cosim.registry import NETWORK_SCHEDULERS
from netsim.errors import need_name
from netsim.parameters import Example, NamesFile, NamesIn, OneOf, check_values

ISOLATED, CONTENDED = "isolated", "contended-baseline"
RUNTIME_REFERENCES: dict[str, str] = {
    ISOLATED: "the log's run time is that of an isolated run on the job's nodes",
    CONTENDED: "the log's run time is the job's time under the baseline policy",
}
MAX_ROUNDS = 1000
"""Each runs every queue and sends every snapshot again; waits settle within a few."""
PERIODS = 6
"""How long jobs loop together, in isolated periods of the one with the longest, by default."""
PHASES = 4
"""Random starts that few jobs loop from, by default."""
NOISE = 0.1
"""Standard deviation of an iteration's computing time over its mean, wherever jobs loop."""
REFERENCE, OWN_NODES = "reference", "own-nodes"
BASELINES: dict[str, str] = {
    REFERENCE: "an isolated run on the nodes that the job has in the reference policy's queue with "
    "logged run times; without one, the mean of random placements",
    OWN_NODES: "an isolated run on the nodes that the job has, so that bad nodes cost nothing",
}
"""What a coupled run time is relative to."""
SHARES = {
    "alone": "the share of its isolated run time in which it communicates, under the reference",
    "contended": "the share of its time under the reference, among all others, as a profiler sees",
    "drive": "the share of the time for which its busiest node keeps its link busy",
}
"""Definitions of a job's communication fraction."""

STARTS = {
    "random": "each begins at a moment of its own",
    "locked": "all begin an iteration at once",
}
"""How jobs begin."""


ComputingNoise = Annotated[
    float,
    "standard deviation of an iteration's computing time over its mean",
    Ge(0),
    Le(1),
    Example(0.2),
]
"""A parameter of the rules of loops."""
QUEUE, LOG_ORDER, SMALL_FIRST = "queue", "empty", "empty-small-first"
PLACED = {
    QUEUE: "where the queue of each policy has them",
    LOG_ORDER: "placed anew by each policy on an empty machine, in the order of the log",
    SMALL_FIRST: "placed anew by each policy on an empty machine, the smallest first",
}
"""Where the jobs of a snapshot sit."""


@dataclass(frozen=True, kw_only=True)
class CpuBudget:
    """What the packet simulations of a queue may cost."""

    budget_s: Annotated[
        float, "CPU time of the packet simulations of a queue", Gt(0), Example("60 min")
    ] = 600.0
    """CPU time of the packet simulations of a queue, as `cosim.run_times.packet_judge.cost_s`
    estimates it from the simulated packets, so that no result depends on the machine. It is spent
    as jobs start. The locality of jobs that it does not cover is that of like jobs
    (`cosim.run_times.like_jobs`); groups that it does not cover wait, and keep their last result of
    packets."""


@dataclass(frozen=True)
class CoupledParameters(CpuBudget):
    """``[queue.coupled-flow]``, and keys of ``[queue.coupled-packets]``."""

    baseline: Annotated[
        str, "nodes of the isolated run whose time is the logged run time", OneOf(BASELINES)
    ] = REFERENCE
    runtime_reference: Annotated[
        str,
        "whether a logged run time is isolated or under the baseline policy",
        OneOf(RUNTIME_REFERENCES),
    ] = "isolated"


@dataclass(frozen=True)
class PacketBudget(CpuBudget):
    """Budget of the packet level."""

    periods: Annotated[int, "periods of the job with the longest one, at most", Ge(2)] = PERIODS
    """Most isolated periods of the job with the longest one in a simulation, about half as many
    where those of the others are shorter, and fewer where it seldom communicates
    (`cosim.network.isolated_loops.wanted_s`). The first quarter of a job's iterations does not
    count."""
    phases: Annotated[int, "random starts of groups of two or three jobs", Ge(1)] = 2
    """Simulations, with other random starts, whose mean is the slowdown in groups of two or three
    jobs, and half as many for up to seven of which two are alike
    (`cosim.network.isolated_loops.n_starts`). Others are simulated once."""
    message_scale: Annotated[float, "messages are shortened by this", Gt(0), Le(1)] = 1.0
    """Messages are shortened by this factor (0 < scale <= 1), to whole bytes >= 1."""

    def __post_init__(self) -> None:
        check_values("packet budget", self)


@dataclass(frozen=True)
class PacketParameters(PacketBudget, CoupledParameters):
    """``[queue.coupled-packets]``: also what the packet level may cost."""


@dataclass(frozen=True)
class IterationParameters:
    """``[queue.iterations]``: who schedules the network."""

    network_scheduler: Annotated[
        str,
        "what shifts, ranks and routes the communication of running jobs (netcosim list "
        "network-schedulers)",
        NamesIn(NETWORK_SCHEDULERS),
        Example("crux"),
    ] = "none"

    def __post_init__(self) -> None:
        need_name("network scheduler", self.network_scheduler, NETWORK_SCHEDULERS)


@dataclass(frozen=True)
class MeasuredParameters:
    """``[queue.measured]``: where the speed-ups come from, and which end of them counts.

    With ``runtime_reference`` "isolated" the reference's jobs run longer than logged too, so that
    its schedule answers to what is measured; see `cosim.measuring.rounds`.
    """

    table: Annotated[
        str | None,
        "speed-ups as CSV, instead of those of this run",
        NamesFile,
        Example("speedups.csv"),
    ] = None
    bound: Annotated[
        str, "the measured mean or an end of its interval", OneOf(("mean", "low", "high"))
    ] = "mean"
    rounds: Annotated[
        int,
        "how often schedules are measured: those as logged, then those that came out",
        Ge(1),
        Le(MAX_ROUNDS),
    ] = 1
    runtime_reference: Annotated[
        str,
        "whether a logged run time is isolated or under the reference policy",
        OneOf(RUNTIME_REFERENCES),
    ] = CONTENDED


@dataclass(frozen=True)
class SteadyRules:
    """Rules of the loops, and of the accuracy of their means."""

    share: Annotated[
        str, "what a job's communication fraction is a share of", NamesIn(SHARES), Example("drive")
    ] = "alone"
    phases: Annotated[str, "when jobs start to communicate", NamesIn(STARTS)] = "random"
    noise: ComputingNoise = NOISE
    precision: Annotated[
        float,
        "wanted half-width of the mean iteration time under the reference, relative to it, over "
        "all jobs weighted by nodes",
        Gt(0),
        Lt(1),
    ] = 0.01
    least_iterations: Annotated[
        int, "fewest iterations, warm-up included, of the job with the longest iteration", Ge(4)
    ] = 16
    most_iterations: Annotated[
        int, "most iterations, warm-up included, of the job with the longest iteration", Ge(4)
    ] = 256
    warm_up: Annotated[
        float, "initial part of a job's iterations that is left out", Ge(0), Lt(1)
    ] = 0.25
    level: float = 0.95
    """Of the half-widths."""
