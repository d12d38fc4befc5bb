"""Logs, machines and months of the walltime-aware allocation paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.inputs import input_file
from experiments.papers.fattree.logs import logs_folder
from experiments.papers.paper import Options
from netsim.errors import NetcosimError, unknown_name
from workloads.registry import known_log

MIDPLANE_NODES = 512
LARGEST_NODES = 32_768
"""The largest partition of either machine but the whole."""


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
    dims : tuple of int
        The machine in midplanes of 512 nodes; the policies know its menu by them.
    months : tuple of str
        "2009-03", ...; by submit time, UTC.
    middle : str
        The month whose distributions are shown (the paper: one with a median gain).
    """

    name: str
    log: str
    files: tuple[str, ...]
    dims: tuple[int, ...]
    months: tuple[str, ...]
    middle: str

    def file(self, folder: Path | None) -> str:
        """The path of the log; empty where it is not there."""
        here = [folder / name for name in self.files] if folder else []
        return next((str(path.resolve()) for path in here if path.is_file()), "")

    def config(self, path: str, policy: str, estimates: str) -> dict[str, Any]:
        """The config of its months; jobs that need the whole machine are left out."""
        return {
            "machine": {
                "family": "torus",
                "parameters": {"dims": list(self.dims), "concentration": MIDPLANE_NODES},
            },
            "workload": {
                "log": input_file(path),
                "known_log": self.log,
                "max_nodes": LARGEST_NODES,
            },
            "queue": {
                "policies": [policy],
                "estimates": estimates,
                "backfill": "cobalt",
                "run_time_model": "as-logged",
            },
            "run": {"snapshots": 0},
        }

    @property
    def where_to_get(self) -> str:
        """One line for the user who lacks the file."""
        source = known_log(self.log).source
        return f"put {' or '.join(self.files)} into the logs folder ({source})"


_INTREPID = (5, 4, 4)
_MIRA = (2, 3, 4, 4)
_INTREPID_FILES = ("ANL-Intrepid-2009-1.swf.gz", "ANL-Intrepid-2009-1.swf")
_MIRA_FILES = ("ALCF-Mira-2018.swf.gz", "ALCF-Mira-2018.swf")
_INTREPID_MONTHS = tuple(f"2009-0{month}" for month in range(3, 9))
_MIRA_MONTHS = ("2018-09", "2018-10", "2018-11", "2018-12")

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("intrepid", "intrepid", _INTREPID_FILES, _INTREPID, _INTREPID_MONTHS, "2009-05"),
        Case("mira", "mira", _MIRA_FILES, _MIRA, _MIRA_MONTHS, "2018-10"),
        Case("mira-on-intrepid", "mira", _MIRA_FILES, _INTREPID, _MIRA_MONTHS, "2018-10"),
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
    found = [(case, path) for case in wanted if (path := case.file(folder))]
    if not found:
        where = "; ".join(case.where_to_get for case in wanted)
        raise NetcosimError(f"none of the job logs is there (give --logs DIR): {where}")
    return found[:1] if options.quick or found[0][0].log == "intrepid" else found


def notes(options: Options) -> tuple[str, ...]:
    """What the reader must know of the logs that were used."""
    if any(case.log == "intrepid" for case, _ in chosen(options)):
        return ()
    where = CASES["intrepid"].where_to_get
    return (
        f"Mira 2018 stands in for the paper's log, Intrepid 2009: {where}",
        "Mira is another machine with other jobs: levels differ, look at the relative gains",
    )
