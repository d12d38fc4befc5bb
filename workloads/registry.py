"""Known job logs: what machine, how to read them, where a user gets them. None is shipped."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netsim.errors import need_name
from netsim.registry import Registry
from workloads.job import Workload

if TYPE_CHECKING:
    from workloads.shares.mixes import ShareMix


@cache
def read_published() -> dict[str, Any]:
    """Return ``published.toml``, read once; do not change it."""
    return tomllib.loads(files("workloads").joinpath("published.toml").read_text("utf-8"))


@dataclass(frozen=True)
class KnownLog:
    """Settings for reading a known log."""

    description: str
    source: str
    """Where a user gets it."""
    machine_nodes: int
    processors_per_node: int
    """1 where the log counts nodes."""
    file_name: str = ""
    """As the source calls it; empty where the user has to make SWF of it first."""
    statuses: Sequence[int] | None = None
    """Jobs with these are used; None: all."""
    max_nodes: int | None = None
    """Larger jobs are left out, as in the paper that used the log."""
    carries: str = ""
    """Data of its jobs besides sizes and run times."""


LOGS: dict[str, KnownLog] = {
    name: KnownLog(**log) for name, log in read_published()["logs"].items()
}


def known_log(name: str) -> KnownLog:
    """Return the entry of a name."""
    need_name("job log", name, LOGS)
    return LOGS[name]


def describe(name: str) -> str:
    """Return a few lines on a known log: what it is, where it is from, how it is read."""
    log = known_log(name)
    used = "all" if log.statuses is None else ", ".join(map(str, log.statuses))
    lines = [
        f"{name}: {log.description}",
        f"  get it from: {log.source}",
        f"  file: {log.file_name or 'as you name it, in the Standard Workload Format'}",
        f"  machine: {log.machine_nodes} nodes, {log.processors_per_node} processors a node "
        "(1: the log counts nodes)",
        f"  status used: {used}",
    ]
    if log.carries:
        lines.append(f"  data of its jobs: {log.carries}")
    if log.max_nodes is not None:
        lines.append(f"  jobs of more than {log.max_nodes} nodes are left out")
    return "\n".join(lines)


def read_known_log(
    name: str, path: str | Path, *, processors_per_node: int | None = None
) -> Workload:
    """Read a file as the known log of that name, or with these processors of a node."""
    from workloads.swf import read_swf

    log = known_log(name)
    return read_swf(
        path,
        processors_per_node=processors_per_node,
        known_processors_per_node=log.processors_per_node,
        statuses=log.statuses,
        max_nodes=log.max_nodes,
        name=name,
    )


MIXES: Registry[ShareMix] = Registry(
    "workloads.registry:MIXES",
    "mix of communication shares",
    "workloads.shares.mixes:ShareMix",
    ("workloads.shares.mixes:PUBLISHED",),
)
DISTRIBUTIONS = {
    "uniform": "all values alike that are nearer to the mean than 1.732 times the spread",
    "beta": "the beta distribution of this mean and spread",
    "quantiles": "a table of quantiles, straight between them",
}
"""Names of distributions of communication fractions."""
