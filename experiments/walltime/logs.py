"""Logs, machines and months of the walltime-aware allocation paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from experiments.kit.data import read_data
from experiments.kit.logs import PaperLog, known, present
from experiments.kit.papers import Options
from netsim.errors import NetcosimError, unknown_name

MIDPLANE_NODES = 512
LARGEST_NODES = 32_768
"""The second largest partition of either machine: jobs that need more are left out."""


@dataclass(frozen=True)
class Case:
    """A log on a machine, as ``paper.toml`` explains it."""

    log: PaperLog
    months: tuple[str, ...]
    middle: str


def _case(name: str, log: str, dims: list[int], months: list[str], middle: str) -> Case:
    machine = {"family": "torus", "dims": dims, "concentration": MIDPLANE_NODES}
    found = known(name, log, machine, quick={}, max_nodes=LARGEST_NODES)
    return Case(found, tuple(months), middle)


CASES = {name: _case(name, **case) for name, case in read_data("walltime")["cases"].items()}


def of_intrepid(case: str) -> bool:
    """Return whether a case's log is the paper's own."""
    return bool(CASES[case].log.workload["known_log"] == "intrepid")


def chosen(options: Options) -> list[tuple[Case, dict[str, Any]]]:
    """Return the cases to compute, each with ``machine`` and ``workload`` of its config.

    Without a setting ``case``: the Intrepid log if it is there, else Mira in its stead.
    """
    name = options.settings.get("case", "")
    if name and name not in CASES:
        raise unknown_name("case", name, CASES)
    wanted = [CASES[name].log] if name else [case.log for case in CASES.values()]
    found = [(CASES[log.name], sections) for log, sections in present(wanted, options)]
    if not found:
        where = "; ".join(log.missing_line for log in wanted)
        raise NetcosimError(f"none of the job logs is there (give --logs DIR): {where}")
    return found[:1] if options.quick or of_intrepid(found[0][0].log.name) else found


def notes(options: Options) -> tuple[str, ...]:
    """Return what the reader must know of the logs that were used."""
    if any(of_intrepid(case.log.name) for case, _ in chosen(options)):
        return ()
    return (
        f"Mira 2018 replaces the paper's log, Intrepid 2009: {CASES['intrepid'].log.missing_line}",
        "Mira is another machine with other jobs: levels differ, look at the relative gains",
    )
