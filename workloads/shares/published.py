"""Published communication fractions: a table with its sources.

Two quantities are often mixed and are kept apart here: the share of a job's *time* in which it
communicates, as a profiler sees it (waiting for others included: tens of per cent), and the share
of a *link's capacity* that it uses (a few per cent). Contention comes of the second.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from netsim.errors import unknown_name


@dataclass(frozen=True)
class PublishedShare:
    """A published number and its location in the source.

    Attributes
    ----------
    id : str
        Of the source; rows of one source share it.
    what, machine : str
    quantity : str
        In words: "time in communication", "link capacity used", ...
    statistic : str
        "value", "mean", "job", "q0.5" for the median, ...; empty where no number could be opened.
    value : float or None
        A share, 0 to 1.
    year : str
    source, link, where : str
        Its source, and the section, table or file.
    opened : str
        "yes"; "second-hand" for a number from another author's summary; "abstract" or "no" where
        none was seen. No mix is made of anything but "yes".
    inferred : str
        What is not printed so.
    """

    id: str
    what: str
    machine: str
    quantity: str
    statistic: str
    value: float | None
    year: str
    source: str
    link: str
    where: str
    opened: str
    inferred: str

    @property
    def citation(self) -> str:
        """Source, place and address in one line."""
        return "; ".join(part for part in (self.source, self.where, self.link) if part)


@lru_cache(maxsize=1)
def published_shares() -> tuple[PublishedShare, ...]:
    """Return all rows of the table that is shipped, ``published.csv``."""
    names = [field.name for field in fields(PublishedShare)]
    with (Path(__file__).parent / "published.csv").open(encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines)
        return tuple(
            PublishedShare(
                **{name: row[name] for name in names if name != "value"},
                value=float(row["value"]) if row["value"] else None,
            )
            for row in table
        )


def shares_of(source: str) -> tuple[PublishedShare, ...]:
    """Return the rows of a source.

    Raises
    ------
    NetcosimError
        No such source.
    """
    found = tuple(row for row in published_shares() if row.id == source)
    if not found:
        names = dict.fromkeys(row.id for row in published_shares())
        raise unknown_name("source of published shares", source, names)
    return found
