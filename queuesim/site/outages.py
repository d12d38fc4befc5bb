"""Nodes that are out for a while: reservations, known beforehand, and failures, which are not.

The file is a CSV table with a head: ``start_s,end_s,nodes,kind`` and, if wanted, ``partition`` and
``account``. Times are on the simulated clock, which begins with the first job. ``nodes`` is a host
list or numbers and ranges (in quotes where it has commas); ``kind`` is "reservation" or
"failure". Jobs of the ``partition`` or ``account`` of a reservation may use its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from netsim.errors import NetcosimError, unknown_name
from netsim.files import read_text
from netsim.text_numbers import csv_records, number_of

KINDS = ("reservation", "failure")
COLUMNS = ("start_s", "end_s", "nodes", "kind", "partition", "account")
_NEEDED = COLUMNS[:4]


@dataclass(frozen=True)
class Outage:
    """Nodes that are out from ``start_s`` to ``end_s``."""

    start_s: float
    end_s: float
    nodes: str
    """As in the file."""
    kind: str
    """One of `KINDS`."""
    partition: str = ""
    account: str = ""
    """partition, account: Whose jobs may use the nodes of a reservation; empty: none."""
    where: str = "outage"
    """File and line, for what is wrong with it."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise NetcosimError(f"{self.where}: {unknown_name('kind', self.kind, KINDS)}")
        if not (isfinite(self.start_s) and isfinite(self.end_s) and self.start_s >= 0):
            raise NetcosimError(
                f"{self.where}: {self.start_s} to {self.end_s} s; times must be finite and not "
                "negative"
            )
        if not self.end_s > self.start_s:
            raise NetcosimError(
                f"{self.where}: {self.start_s:g} to {self.end_s:g} s; the end must be after the "
                "start"
            )
        if self.kind == "failure" and (self.partition or self.account):
            raise NetcosimError(
                f"{self.where}: a failure spares no partition and no account; leave them empty"
            )


def read_outages(path: str) -> tuple[Outage, ...]:
    """Return the reservations and failures of a file, in its order."""
    rows = csv_records(path, read_text(path), _NEEDED, COLUMNS)
    return tuple(_outage(row, where) for where, row in rows)


def _outage(row: dict[str, str], where: str) -> Outage:
    times = []
    for name in ("start_s", "end_s"):
        value = row.pop(name)
        seconds = number_of(value)
        if seconds is None:
            raise NetcosimError(f"{where}: {name} = {value[:60]!r}; it must be a number")
        times.append(seconds)
    return Outage(times[0], times[1], **row, where=where)
