"""Known job logs: what machine, how to read them, where a user gets them. None is shipped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from netsim.errors import unknown_name
from workloads.job import Workload
from workloads.swf import read_swf

_PWA = "Parallel Workloads Archive, https://www.cs.huji.ac.il/labs/parallel/workload/"
_ALCF = "ALCF Public Data, https://reports.alcf.anl.gov/data/"


@dataclass(frozen=True)
class KnownLog:
    """Settings for reading a known log.

    Attributes
    ----------
    description : str
    source : str
        Where a user gets it.
    file_name : str
        As the source calls it; empty where the user has to make SWF of it first.
    machine_nodes : int
    processors_per_node : int
        1 where the log counts nodes.
    statuses : tuple of int or None
        Jobs with these are used; None: all.
    max_nodes : int or None
        Larger jobs are left out, as in the paper that used the log.
    carries : str
        Data of its jobs besides sizes and run times.
    """

    description: str
    source: str
    file_name: str
    machine_nodes: int
    processors_per_node: int
    statuses: tuple[int, ...] | None = None
    max_nodes: int | None = None
    carries: str = ""


LOGS: dict[str, KnownLog] = {
    "thunder": KnownLog(
        "LLNL Thunder, Linux cluster, 2007; Jigsaw's subset: 105,764 jobs",
        _PWA + "l_llnl_thunder/",
        "LLNL-Thunder-2007-1.1-cln.swf.gz",
        1024,
        4,
        (0, 1),
        carries="submit times that act like starts (no waits), requested times of 32 % of the jobs",
    ),
    "atlas": KnownLog(
        "LLNL Atlas, Linux cluster, 2006-2007; Jigsaw's subset: 29,700 jobs of up to 1024 nodes",
        _PWA + "l_llnl_atlas/",
        "LLNL-Atlas-2006-2.1-cln.swf.gz",
        1152,
        8,
        (0, 1),
        1024,
        "submit times that act like starts (no waits), requested times of 81 % of the jobs",
    ),
    "kth-sp2": KnownLog(
        "KTH IBM SP2, 1996-1997: small, with real waits and requested times",
        _PWA + "l_kth_sp2/",
        "KTH-SP2-1996-2.1-cln.swf.gz",
        100,
        1,
        carries="waits, requested times, users",
    ),
    "theta": KnownLog(
        "ALCF Theta, Cray XC40 dragonfly, 2022; jobs of 128 nodes and more, sizes in nodes",
        _ALCF,
        "",
        4360,
        1,
        carries="waits, requested times; the ALCF's own table (trace import cobalt) has queues, "
        "users, projects and node numbers too",
    ),
    "mira": KnownLog(
        "ALCF Mira, Blue Gene/Q, 2018; sizes in nodes, real waits, requested times, users",
        _ALCF,
        "",
        49152,
        1,
        carries="waits, requested times, users, projects; the ALCF's own table (trace import "
        "cobalt) has queues too",
    ),
    "intrepid": KnownLog(
        "ALCF Intrepid, Blue Gene/P, 2009: 68,936 jobs",
        _PWA + "l_anl_int/",
        "ANL-Intrepid-2009-1.swf.gz",
        40960,
        4,
        carries="waits, requested times, users",
    ),
    "cab": KnownLog(
        "LLNL Cab, fat-tree cluster, 2014; Jigsaw's four months; SWF must be made of it",
        "Flux Framework Team, https://doi.org/10.5281/zenodo.3908771",
        "",
        1296,
        16,
        carries="submit times, requested times",
    ),
}


def known_log(name: str) -> KnownLog:
    """Return the entry of a name.

    Raises
    ------
    NetcosimError
        Unknown name; the valid ones are listed.
    """
    if name not in LOGS:
        raise unknown_name("job log", name, LOGS)
    return LOGS[name]


def describe(name: str) -> str:
    """Return a few lines on a known log: what it is, where it is from, how it is read.

    Raises
    ------
    NetcosimError
        Unknown name.
    """
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
    """Read a file as the known log of that name.

    Parameters
    ----------
    name : str
    path : str or Path
    processors_per_node : int, optional
        Instead of the entry's.

    Raises
    ------
    NetcosimError
        Unknown name, or what `workloads.swf.read_swf` refuses.
    """
    log = known_log(name)
    return read_swf(
        path,
        processors_per_node=processors_per_node,
        known_processors_per_node=log.processors_per_node,
        statuses=log.statuses,
        max_nodes=log.max_nodes,
        name=name,
    )
