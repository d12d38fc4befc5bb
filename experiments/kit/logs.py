"""Job logs of papers: which file, on which machine, and substitutes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.kit.data import read_data
from experiments.kit.papers import Options
from netsim.errors import NetcosimError
from netsim.inputs import input_file
from workloads.registry import known_log

LOGS_VARIABLE = "NETCOSIM_LOGS"


@dataclass(frozen=True)
class PaperLog:
    """A log as a paper uses it."""

    name: str
    """As in our tables."""
    machine: Mapping[str, Any]
    workload: Mapping[str, Any]
    """machine, workload: Sections of a config; the log's file joins ``workload``."""
    files: tuple[str, ...] = ()
    """File names to look for, the first found is taken; none for synthetic jobs."""
    quick: Mapping[str, Any] | None = field(default_factory=dict)
    """What ``--scale quick`` changes of the workload; None: it leaves the log out."""
    stands_for: str = ""
    """What it replaces where the paper's own log is not public in this format."""
    source: str = ""
    """Where to get the file, if ``workload`` does not name a known log."""

    def sections(self, folder: Path | None, *, quick: bool = False) -> dict[str, Any] | None:
        """Return ``machine`` and ``workload`` of a config; None if the folder lacks its file."""
        workload = {"larger_jobs": "drop", **self.workload, **((quick and self.quick) or {})}
        if self.files:
            path = self.path(folder)
            if path is None:
                return None
            workload["log"] = input_file(path)
        return {"machine": dict(self.machine), "workload": workload}

    def path(self, folder: Path | None) -> Path | None:
        """Return the log's file, if it is in the folder."""
        return first_existing(folder, self.files)

    @property
    def missing_line(self) -> str:
        """One line for the user who lacks the file."""
        known = self.workload.get("known_log")
        source = self.source if known is None else known_log(known).source
        return f"{self.name}: put {' or '.join(self.files)} into the logs folder; {source}"

    @property
    def stand_in_note(self) -> str:
        """What it replaces, and on which machine."""
        size = {k: v for k, v in self.machine.items() if k in ("radix", "pods")}
        return f"{self.name} on {size} replaces {self.stands_for}"


def first_existing(folder: Path | None, names: Iterable[str]) -> Path | None:
    """Return the first of these files that a folder contains."""
    places = [] if folder is None else [folder / name for name in names]
    return next((path for path in places if path.is_file()), None)


def swf_files(stem: str) -> tuple[str, str]:
    """Return the file names of a log in SWF, packed or not."""
    return f"{stem}.swf.gz", f"{stem}.swf"


FILES: dict[str, tuple[str, ...]] = {
    "thunder": swf_files("LLNL-Thunder-2007-1.1-cln"),
    "atlas": swf_files("LLNL-Atlas-2006-2.1-cln"),
    "theta": swf_files("ALCF-Theta-2022-cqsim"),
    "kth-sp2": swf_files("KTH-SP2-1996-2.1-cln"),
    "mira": swf_files("ALCF-Mira-2018"),
    "intrepid": swf_files("ANL-Intrepid-2009-1"),
    **{f"cab-{month}": swf_files(f"cab-{month}-2014") for month in ("aug", "sep", "oct", "nov")},
}
"""File names of the logs of `workloads.registry.LOGS`; Cab's by month."""


def known(
    name: str,
    log: str,
    machine: Mapping[str, Any],
    *,
    quick: Mapping[str, Any] | None = None,
    stands_for: str = "",
    **workload: Any,
) -> PaperLog:
    """Return a log of `FILES`; without ``quick`` it is left out by ``--scale quick``."""
    content = {"known_log": log.split("-")[0] if log.startswith("cab") else log, **workload}
    return PaperLog(name, machine, content, FILES[log], quick, stands_for)


def read_logs(paper: str) -> dict[str, PaperLog]:
    """Return the logs of a paper in ``logs.toml`` by name.

    Keys of a log are fields of `PaperLog`, or ``known``: a key of `FILES`. ``[machine]`` has what
    all their machines share.
    """
    content = read_data("kit", "logs.toml")[paper]
    found = {}
    for name, log in content["logs"].items():
        machine = {**content["machine"], **log["machine"]}
        workload, quick = log.get("workload", {}), log.get("quick")
        if "known" in log:
            more = {"quick": quick, "stands_for": log.get("stands_for", "")}
            found[name] = known(name, log["known"], machine, **more, **workload)
        else:
            files, source = tuple(log.get("files", ())), log.get("source", "")
            found[name] = PaperLog(name, machine, workload, files, quick, source=source)
    return found


def logs_folder(options: Options) -> Path | None:
    """Return the folder of a figure's ``--logs`` or of the environment; see `folder_of_logs`."""
    return folder_of_logs(options.settings.get("logs", ""))


def folder_of_logs(given: str) -> Path | None:
    """Return a folder that is given, or the environment's; None if neither is."""
    given = given or os.environ.get(LOGS_VARIABLE, "")
    if not given:
        return None
    folder = Path(given)
    if not folder.is_dir():
        raise NetcosimError(f"logs = {given}: no such folder (--logs or {LOGS_VARIABLE})")
    return folder


def present(
    logs: Iterable[PaperLog], options: Options, *, quick: bool = False
) -> list[tuple[PaperLog, dict[str, Any]]]:
    """Return the available logs with the config sections of each, in full or for a quick look."""
    folder = logs_folder(options)
    found = [(log, log.sections(folder, quick=quick)) for log in logs]
    return [(log, sections) for log, sections in found if sections is not None]


def needed(logs: Iterable[PaperLog], options: Options) -> list[tuple[PaperLog, dict[str, Any]]]:
    """Return the available logs that a figure uses; at least one."""
    logs = tuple(logs)
    there = present(logs, options, quick=options.quick)
    taken = [pair for pair in there if not options.quick or pair[0].quick is not None]
    if there and not taken:
        names = ", ".join(log.name for log, _ in there)
        raise NetcosimError(
            f"scale = quick leaves out all job logs that are there ({names}): their machines are "
            "large; --scale full takes them"
        )
    if not taken:
        wanted = "; ".join(log.missing_line for log in logs if log.files)
        raise NetcosimError(f"none of this figure's job logs is there (give --logs DIR): {wanted}")
    return taken


def log_notes(
    logs: Iterable[PaperLog], options: Options, used: Iterable[object] = ()
) -> tuple[str, ...]:
    """Return notes on what was skipped and where to get it, what was cut, and what was replaced.

    ``used`` are the names of the logs in the results.
    """
    folder, logs, names = logs_folder(options), tuple(logs), set(used)
    there = [log for log in logs if not log.files or log.path(folder) is not None]
    cut = [log for log in there if options.quick and log.quick and "days" in log.quick]
    return (
        *(f"skipped {log.missing_line}" for log in logs if log not in there),
        *(f"{log.name}: the first {(log.quick or {})['days']:g} days only" for log in cut),
        *(log.stand_in_note for log in logs if log.stands_for and log.name in names),
    )
