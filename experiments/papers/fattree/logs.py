"""Job logs of the fat-tree papers: which file, on which machine, what stands in for what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from experiments.inputs import checked_path, input_file
from experiments.papers.paper import Options
from experiments.points import point_rng
from netsim.errors import NetcosimError
from workloads.csv_jobs import read_csv
from workloads.job import Workload
from workloads.registry import known_log, read_known_log
from workloads.synthetic import laas_workload
from workloads.transform import all_at_zero, drop_larger, from_zero, scale_arrivals, scale_sizes
from workloads.transform import time_window as cut

LOGS_VARIABLE = "NETCOSIM_LOGS"
N_SYNTHETIC = 10_000
DAY_S = 86_400.0
QUICK_THUNDER_DAYS = 14.0
"""Of Thunder's 105,764 jobs, ``--scale quick`` takes those of the first days: 6234."""


@dataclass(frozen=True)
class PaperLog:
    """A log as a paper uses it.

    Attributes
    ----------
    name : str
        As in our tables.
    kind : str
        "synthetic" (made by our generator), "csv" (a stream in a file) or a key of
        `workloads.registry.LOGS`.
    files : tuple of str
        File names to look for, the first found is taken; none for "synthetic".
    machine : mapping
        Parameters of `netsim.topologies.fattree.fat_tree`.
    source : str
        Where to get the file.
    mean_nodes : int
        Of a synthetic stream.
    arrivals : float or None
        None: all at 0. Otherwise the factor on the logged submit times.
    sizes : int
        Factor on the job sizes; what does not fit then is left out and counted.
    days : float or None
        Only jobs submitted in the first days.
    stands_for : str
        What it replaces where the paper's own log is not public in this format.
    """

    name: str
    kind: str
    files: tuple[str, ...]
    machine: Mapping[str, int]
    source: str = ""
    mean_nodes: int = 0
    arrivals: float | None = None
    sizes: int = 1
    days: float | None = None
    stands_for: str = ""

    def config(self, folder: Path | None) -> dict[str, object] | None:
        """As it stands in a point's config; None if its file is not in the folder."""
        file: str | dict[str, str] = ""
        if self.files:
            found = [] if folder is None else [f for f in self.files if (folder / f).is_file()]
            if not found or folder is None:
                return None
            file = input_file(folder / found[0])
        return {
            "name": self.name,
            "kind": self.kind,
            "file": file,
            "mean_nodes": self.mean_nodes,
            "arrivals": self.arrivals,
            "sizes": self.sizes,
            "days": self.days,
        }

    @property
    def where_to_get(self) -> str:
        """One line for the user who lacks the file."""
        return f"{self.name}: put {' or '.join(self.files)} into the logs folder; {self.source}"


def _known(
    name: str,
    kind: str,
    files: tuple[str, ...],
    machine: Mapping[str, int],
    *,
    arrivals: float | None = None,
    sizes: int = 1,
    days: float | None = None,
    stands_for: str = "",
) -> PaperLog:
    return PaperLog(
        name, kind, files, machine, known_log(kind).source, 0, arrivals, sizes, days, stands_for
    )


def _synthetic(mean: int, radix: int, *, from_file: bool) -> PaperLog:
    if from_file:
        files = (f"synth-{mean}.csv.gz", f"synth-{mean}.csv")
        source = "a CSV file (job, nodes, run_s, arrival_s) of the LaaS generator"
        return PaperLog(f"synth-{mean}-file", "csv", files, {"radix": radix}, source)
    return PaperLog(f"synth-{mean}", "synthetic", (), {"radix": radix}, mean_nodes=mean)


THUNDER_FILES = ("LLNL-Thunder-2007-1.1-cln.swf.gz", "LLNL-Thunder-2007-1.1-cln.swf")
ATLAS_FILES = ("LLNL-Atlas-2006-2.1-cln.swf.gz", "LLNL-Atlas-2006-2.1-cln.swf")
THETA_FILES = ("ALCF-Theta-2022-cqsim.swf.gz", "ALCF-Theta-2022-cqsim.swf")
KTH_FILES = ("KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln.swf")


def cab_files(month: str) -> tuple[str, ...]:
    """File names of a month of the Cab log ("aug" ... "nov")."""
    return (f"cab-{month}-2014.swf.gz", f"cab-{month}-2014.swf")


RADIX_18 = {"radix": 18}
CAB = {"radix": 36, "pods": 4}
PINOT = {"radix": 36, "pods": 8}
# 100 nodes in 4 pods of 5 leaves of 5: KTH SP2's size in Cab's shape; twice the pods as Pinot.
SMALL_CAB = {"radix": 10, "pods": 4}
SMALL_PINOT = {"radix": 10, "pods": 8}
# The full tree nearest above Theta's 4360 nodes: 4394.
RADIX_26 = {"radix": 26}

SYNTHETIC = tuple(
    _synthetic(mean, radix, from_file=from_file)
    for from_file in (False, True)
    for mean, radix in ((16, 16), (22, 22), (28, 28))
)
THUNDER = _known("thunder", "thunder", THUNDER_FILES, RADIX_18)
ATLAS = _known("atlas", "atlas", ATLAS_FILES, RADIX_18)
THETA = _known("theta", "theta", THETA_FILES, RADIX_26, arrivals=1.0, stands_for="Cab")
KTH = _known("kth-sp2", "kth-sp2", KTH_FILES, SMALL_CAB, arrivals=1.0, stands_for="Cab")
JIGSAW_CAB = {
    month: _known(f"{month}-cab", "cab", cab_files(month), RADIX_18, arrivals=factor)
    for month, factor in (("aug", 0.5), ("sep", 1.0), ("oct", 1.0), ("nov", 0.5))
}


def logs_folder(options: Options) -> Path | None:
    """The folder of ``--logs`` or of the environment; None if neither is given.

    Raises
    ------
    NetcosimError
        It is no folder.
    """
    given = options.settings.get("logs") or os.environ.get(LOGS_VARIABLE, "")
    if not given:
        return None
    folder = Path(given)
    if not folder.is_dir():
        raise NetcosimError(f"logs = {given}: no such folder (--logs or {LOGS_VARIABLE})")
    return folder


def present(logs: Iterable[PaperLog], options: Options) -> list[tuple[PaperLog, dict[str, object]]]:
    """The logs whose files are there, with their configs."""
    folder = logs_folder(options)
    configs = ((log, log.config(folder)) for log in logs)
    return [(log, config) for log, config in configs if config is not None]


def missing(logs: Iterable[PaperLog], options: Options) -> list[PaperLog]:
    """The logs whose files are not there."""
    folder = logs_folder(options)
    return [log for log in logs if log.config(folder) is None]


def skipped_notes(logs: Iterable[PaperLog], options: Options) -> tuple[str, ...]:
    """One line a missing log: what was skipped and where to get it; how Thunder was cut."""
    logs = tuple(logs)
    gone = missing(logs, options)
    cut_short = options.quick and THUNDER in logs and THUNDER not in gone
    return (
        *(f"skipped {log.where_to_get}" for log in gone),
        *((f"thunder: the first {QUICK_THUNDER_DAYS:g} days only",) if cut_short else ()),
    )


def read_log(config: Mapping[str, object], machine_nodes: int, seed: int) -> Workload:
    """The workload that a log's config names, scaled and cut.

    Parameters
    ----------
    config : mapping
        From `PaperLog.config`.
    machine_nodes : int
        Larger jobs are left out and counted.
    seed : int
        For synthetic streams.
    """
    workload = _read(
        str(config["kind"]),
        str(config["name"]),
        *_path_and_digest(config["file"]),
        _whole(config, "mean_nodes"),
        seed,
    )
    days, arrivals = config["days"], config["arrivals"]
    workload = from_zero(workload)
    if days is not None:
        workload = cut(workload, 0.0, float(str(days)) * DAY_S)
    workload = scale_sizes(workload, float(_whole(config, "sizes")))
    workload = drop_larger(workload, machine_nodes)
    if arrivals is None:
        return all_at_zero(workload)
    return scale_arrivals(workload, float(str(arrivals)))


def _whole(config: Mapping[str, object], key: str) -> int:
    value = config[key]
    assert isinstance(value, int)
    return value


def _path_and_digest(file: object) -> tuple[str, str]:
    return (checked_path(file), str(file["sha256"])) if isinstance(file, Mapping) else ("", "")


@lru_cache(maxsize=2)
def _read(kind: str, name: str, path: str, digest: str, mean_nodes: int, seed: int) -> Workload:
    """Kept by the file's digest too: a file that changed is read again."""
    if kind == "synthetic":
        rng = point_rng({"log": name, "seed": seed}, "workload")
        return laas_workload(N_SYNTHETIC, mean_nodes, rng)
    if kind == "csv":
        return read_csv(path, name=name)
    return read_known_log(kind, path)


def _pollard(
    name: str,
    kind: str,
    files: tuple[str, ...],
    machine: Mapping[str, int],
    sizes: int = 1,
    days: float | None = None,
    stands_for: str = "",
) -> PaperLog:
    return _known(
        name, kind, files, machine, arrivals=1.0, sizes=sizes, days=days, stands_for=stands_for
    )


POLLARD_CAB: dict[str, PaperLog] = {
    log.name: log
    for log in (
        _pollard("aug on cab", "cab", cab_files("aug"), CAB),
        _pollard("sep on cab", "cab", cab_files("sep"), CAB, days=15.0),
        _pollard("nov on cab", "cab", cab_files("nov"), CAB),
        _pollard("aug-2x on cab", "cab", cab_files("aug"), CAB, 2),
        _pollard("nov-2x on cab", "cab", cab_files("nov"), CAB, 2),
        _pollard("aug-2x on pinot", "cab", cab_files("aug"), PINOT, 2),
        _pollard("nov-2x on pinot", "cab", cab_files("nov"), PINOT, 2),
        _pollard("aug-3x on pinot", "cab", cab_files("aug"), PINOT, 3),
    )
}
POLLARD_OTHERS: dict[str, PaperLog] = {
    log.name: log
    for log in (
        _pollard("kth on small cab", "kth-sp2", KTH_FILES, SMALL_CAB, stands_for="aug on cab"),
        _pollard(
            "kth-2x on small cab", "kth-sp2", KTH_FILES, SMALL_CAB, 2, stands_for="aug-2x on cab"
        ),
        _pollard(
            "kth-2x on small pinot",
            "kth-sp2",
            KTH_FILES,
            SMALL_PINOT,
            2,
            stands_for="aug-2x on pinot",
        ),
        _pollard(
            "kth-3x on small pinot",
            "kth-sp2",
            KTH_FILES,
            SMALL_PINOT,
            3,
            stands_for="aug-3x on pinot",
        ),
        _pollard("theta on radix 26", "theta", THETA_FILES, RADIX_26, stands_for="sep on cab"),
    )
}
POLLARD_MIX: dict[str, PaperLog] = {
    log.name: log
    for log in (
        _pollard("thunder on cab", "thunder", THUNDER_FILES, CAB, stands_for="aug on cab"),
        _pollard("atlas on cab", "atlas", ATLAS_FILES, CAB, stands_for="aug on cab"),
    )
}
"""Logs of other LLNL Linux clusters under Slurm, of nearly Cab's size, on Cab's tree."""
