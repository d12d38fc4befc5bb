"""Logs, machines and months of the walltime-aware allocation paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from alloc.bluegene.loops import blue_gene
from alloc.bluegene.machine import BlueGene
from experiments.inputs import checked_path
from experiments.papers.fattree.logs import logs_folder
from experiments.papers.paper import Options
from netsim.errors import NetcosimError, unknown_name
from workloads.job import Workload
from workloads.registry import known_log, read_known_log
from workloads.swf import read_swf_header
from workloads.transform import drop_larger, from_zero, select, time_window

HISTORY_S = 61 * 86400.0
"""Two months before the tested one teach the adjusted estimates."""


@dataclass(frozen=True)
class Case:
    """A log on a machine.

    Attributes
    ----------
    name : str
    log : str
        A key of `workloads.registry.LOGS`.
    files : tuple of str
        Names to look for; the first found is taken.
    machine : str
        A name of `alloc.bluegene.loops.MACHINES`.
    months : tuple of str
        "2009-03", ...; by submit time, UTC.
    middle : str
        The month whose distributions are shown (the paper: one with a median gain).
    """

    name: str
    log: str
    files: tuple[str, ...]
    machine: str
    months: tuple[str, ...]
    middle: str


_MIRA_FILES = ("ALCF-Mira-2018.swf.gz", "ALCF-Mira-2018.swf")
_MIRA_MONTHS = ("2018-09", "2018-10", "2018-11", "2018-12")

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case(
            "intrepid",
            "intrepid",
            ("ANL-Intrepid-2009-1.swf.gz", "ANL-Intrepid-2009-1.swf"),
            "intrepid",
            tuple(f"2009-0{month}" for month in range(3, 9)),
            "2009-05",
        ),
        Case("mira", "mira", _MIRA_FILES, "mira", _MIRA_MONTHS, "2018-10"),
        Case("mira-on-intrepid", "mira", _MIRA_FILES, "intrepid", _MIRA_MONTHS, "2018-10"),
    )
}


def chosen(options: Options) -> list[tuple[Case, str]]:
    """The cases to compute, each with the path of its log.

    Without a setting ``case``: the Intrepid log if it is there, else Mira in its stead.

    Raises
    ------
    NetcosimError
        An unknown case, or no log.
    """
    folder = logs_folder(options)
    name = options.settings.get("case", "")
    if name and name not in CASES:
        raise unknown_name("case", name, CASES)
    wanted = [CASES[name]] if name else list(CASES.values())
    found = [(case, path) for case in wanted if (path := _file(case, folder))]
    if not found:
        raise NetcosimError(
            "none of the job logs is there (give --logs DIR): " + "; ".join(map(_where, wanted))
        )
    return found[:1] if options.quick or found[0][0].log == "intrepid" else found


def notes(options: Options) -> tuple[str, ...]:
    """What the reader must know of the logs that were used."""
    if any(case.log == "intrepid" for case, _ in chosen(options)):
        return ()
    where = _where(CASES["intrepid"])
    return (
        f"Mira 2018 stands in for the paper's log, Intrepid 2009: {where}",
        "Mira is another machine with other jobs: levels differ, look at the relative gains",
    )


def _where(case: Case) -> str:
    return f"put {' or '.join(case.files)} into the logs folder ({known_log(case.log).source})"


def _file(case: Case, folder: Path | None) -> str:
    """The path of a case's log; empty where it is not there."""
    here = [folder / name for name in case.files] if folder else []
    return next((str(path.resolve()) for path in here if path.is_file()), "")


def month_window(month: str, start_unix_s: int) -> tuple[float, float]:
    """First and last second of a calendar month (UTC), from the log's start."""
    year, number = (int(part) for part in month.split("-"))
    begin = datetime(year, number, 1, tzinfo=UTC)
    end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return begin.timestamp() - start_unix_s, end.timestamp() - start_unix_s


@dataclass(frozen=True, eq=False)
class Month:
    """A month to simulate.

    Attributes
    ----------
    machine : BlueGene
    jobs : Workload
        From 0; jobs that need the whole machine left out and counted.
    history : Workload
        Jobs that had ended before it.
    """

    machine: BlueGene
    jobs: Workload
    history: Workload


def read_month(config: Mapping[str, object]) -> Month:
    """The month that a point's config names.

    Raises
    ------
    NetcosimError
        A log that does not say when it starts, or a month without jobs.
    """
    case = CASES[str(config["case"])]
    machine = blue_gene(case.machine)
    file = cast("Mapping[str, object]", config["file"])
    whole, start = _read(case.log, checked_path(file), str(file["sha256"]))
    begin, end = month_window(str(config["month"]), start)
    inside = replace(time_window(whole, begin, end), dropped={})
    jobs = _without_whole_machine(inside, machine)
    if not len(jobs):
        raise NetcosimError(f"{case.log}: no jobs in {config['month']}")
    known = np.nan_to_num(whole.wait_s) + whole.submit_s + whole.run_time_s <= begin
    history = select(whole, known & (whole.submit_s >= begin - HISTORY_S))
    return Month(machine, from_zero(jobs), history)


def _without_whole_machine(workload: Workload, machine: BlueGene) -> Workload:
    """Jobs that fit into something smaller than the whole machine."""
    parts = {len(p.midplanes) for p in machine.partitions} - {machine.n_midplanes}
    return drop_larger(workload, max(parts) * machine.midplane_nodes)


@lru_cache(maxsize=2)
def _read(log: str, path: str, digest: str) -> tuple[Workload, int]:
    """Kept by the file's digest too: a file that changed is read again."""
    start = read_swf_header(path).unix_start_time
    if start is None:
        raise NetcosimError(f"{path}: no UnixStartTime in the header; months cannot be told")
    workload = read_known_log(log, path)
    # A request of 0 is none.
    requested = np.where(workload.requested_s > 0, workload.requested_s, workload.run_time_s)
    return replace(workload, requested_s=requested), start
