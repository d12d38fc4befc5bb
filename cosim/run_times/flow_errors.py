"""Known errors of the flow level relative to packets, by routing and by class of jobs.

Run times of jobs that share links, on random mixes that were not used to choose anything of the
flow level. ``netcosim reproduce calibration flow`` computes the table; docs/flow-model.md describes
the mixes.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosim.network.job_network import JobNetwork
from cosim.network.situation import Situation
from netsim.flow.job_messages import JobMessages
from netsim.routing.base import Routing

ALL = "all"
STATIC, ADAPTIVE = "static", "adaptive"
ONE, SEVERAL, CHAIN = "one message a step", "several messages a step", "8 steps or more"
SIZES = {"2-4": 4, "5-12": 12, "13-32": 32, "33 or more": np.inf}
"""Classes of jobs by their nodes, and the largest of each."""
NEARER = "; always 1 is nearer"
UNBIASED = 0.85, 1.15
"""Extra times that are called right, over those by packets."""
_MANY_STEPS, _SINGLE = 8, 1.5


class Key(NamedTuple):
    """What a row of the table is of; `ALL` where it does not count."""

    family: str
    routing: str
    """Its name; for all families `STATIC` (one path between two nodes) or `ADAPTIVE`."""
    traffic: str
    nodes: str


class FlowError(NamedTuple):
    """Errors |flow / packets - 1| of run times of jobs that share links; those of answering 1."""

    n_jobs: int
    error_p50: float
    error_p90: float
    error_p99: float
    """error_p50, error_p90, error_p99: Median, 90th and 99th percentile."""
    one_p50: float
    one_p90: float
    """one_p50, one_p90: The same for a constant prediction of 1."""
    extra_ratio: float
    """Time added by flows over that added by packets, of all jobs."""

    @property
    def helps(self) -> bool:
        """Whether the flow level is nearer to packets than answering 1, in one of the two."""
        return self.error_p50 <= self.one_p50 or self.error_p90 <= self.one_p90


def _read() -> dict[Key, FlowError]:
    lines = files("cosim.run_times").joinpath("flow_errors.csv").read_text("utf-8").splitlines()
    rows = csv.reader(lines[1:])
    return {Key(*row[:4]): FlowError(int(row[4]), *map(float, row[5:])) for row in rows}


FLOW_ERRORS = _read()


def kind_of(routing: Routing) -> str:
    """Return `STATIC` or `ADAPTIVE`."""
    return STATIC if routing.is_single_path else ADAPTIVE


def traffic_class(messages: JobMessages) -> str:
    """Return the class of what a job sends: `ONE`, `SEVERAL` or `CHAIN`."""
    n_steps = len(messages.order)
    if n_steps * messages.scale >= _MANY_STEPS * max(1, len(messages.rank_ptr) - 1):
        return CHAIN
    return ONE if len(messages.traced) <= _SINGLE * n_steps else SEVERAL


def size_class(n_nodes: int) -> str:
    """Return the class of a job by its nodes."""
    return next(name for name, most in SIZES.items() if n_nodes <= most)


def classes_of(
    network: JobNetwork, share: NDArray[np.int64], n_nodes: NDArray[np.integer]
) -> list[tuple[str, str]]:
    """Return the classes of some jobs by traffic and nodes.

    Of each communication and class of sizes the smallest job represents all.
    """
    smallest: dict[tuple[int, str], int] = {}
    for which, n in zip(share.tolist(), n_nodes.tolist(), strict=True):
        if n > 1:
            at = which, size_class(n)
            smallest[at] = min(n, smallest.get(at, n))
    found = set()
    for (which, size), n in smallest.items():
        job = Situation(which, np.arange(n, dtype=np.int32).tobytes())
        found.add((traffic_class(network.loads.messages(job)), size))
    return sorted(found)


def flow_error_text(routing: Routing) -> str:
    """Describe the known error of the flow level under a routing in one sentence."""
    family, name = routing.topology.family, routing.name
    known = FLOW_ERRORS.get(Key(family, name, ALL, ALL))
    if known is None:
        return f"Flow level: how far it is from packets is not known for {family}, {name}."
    where = f"Flow level ({family}, {name}): on mixes that were not used for choosing"
    return f"{where}, the {_of(known)}{'' if known.helps else NEARER}."


def class_texts(
    routing: Routing, classes: Sequence[tuple[str, str]], *, misses_only: bool = False
) -> list[str]:
    """Describe the known errors of classes of jobs, a sentence each; with ``misses_only`` of those
    for which the flow level is no better than answering 1."""
    kind, texts = kind_of(routing), []
    for traffic, nodes in classes:
        known = FLOW_ERRORS.get(Key(ALL, kind, traffic, nodes))
        if known is not None and not (misses_only and known.helps):
            texts.append(
                f"Flow level, {kind} routings, jobs of {nodes} nodes with {traffic}: the "
                f"{_of(known)}{_bias(known)}{'' if known.helps else NEARER}."
            )
    return texts


def flow_warnings(routing: Routing, classes: Sequence[tuple[str, str]]) -> list[str]:
    """Return what to warn of: errors that are unknown, or no better than those of answering 1."""
    known = FLOW_ERRORS.get(Key(routing.topology.family, routing.name, ALL, ALL))
    texts = class_texts(routing, classes, misses_only=True)
    return texts if known is not None and known.helps else [flow_error_text(routing), *texts]


def _bias(known: FlowError) -> str:
    low, high = UNBIASED
    if low <= known.extra_ratio <= high:
        return ""
    return f"; it adds {known.extra_ratio:.2f} times the time that packets add"


def _of(known: FlowError) -> str:
    return (
        f"median / 90th percentile error of a job's run time is {known.error_p50:.1%} / "
        f"{known.error_p90:.1%}, always answering 1 gives {known.one_p50:.1%} / "
        f"{known.one_p90:.1%} ({known.n_jobs:,} jobs that share links)"
    )
