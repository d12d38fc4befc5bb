"""Published communication shares by name, for a config: ``[communication] from = "NAME"``.

Two quantities are often mixed and are kept apart here: the share of a job's *time* in which it
communicates, as a profiler sees it (waiting for others included: tens of per cent), and the share
of a *link's capacity* that it uses (a few per cent). Contention comes of the second.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from netsim.errors import unknown_name
from workloads.shares.distributions import BetaFractions, Fractions, QuantileFractions


@dataclass(frozen=True)
class PublishedShare:
    """A published number and its location in the source."""

    id: str
    """Of the source; rows of one source share it."""
    what: str
    machine: str
    quantity: str
    """In words: "time in communication", "link capacity used", ..."""
    statistic: str
    """One of "value", "mean", "job", "q0.5" for the median, ...; empty where no number could be
    opened."""
    value: float | None
    """A share, 0 to 1."""
    year: str
    source: str
    link: str
    where: str
    """source, link, where: Its source, and the section, table or file."""
    opened: str
    """Either "yes"; "second-hand" for a number from another author's summary; "abstract" or "no"
    where none was seen. No mix is made of anything but "yes"."""
    inferred: str
    """What is not printed so."""

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
    """Return the rows of a source."""
    rows = tuple(row for row in published_shares() if row.id == source)
    if not rows:
        names = dict.fromkeys(row.id for row in published_shares())
        raise unknown_name("source of published shares", source, names)
    return rows


@dataclass(frozen=True)
class ShareMix:
    """A distribution of jobs' communication fractions, with what it is a share of."""

    registered_in: ClassVar[str] = "workloads.registry:MIXES"

    name: str
    description: str
    share: str
    """What a fraction is a share of: a name of `cosim.parameters.SHARES`."""
    fractions: Fractions
    source: str
    """Citation."""
    inferred: str = ""
    """What the source does not state itself."""

    @property
    def details(self) -> list[str]:
        """The numbers and the citation, a line each."""
        fractions = self.fractions
        lines = [
            f'a share "{self.share}" ([run.steady] share)',
            f"mean {fractions.mean:.3f}, spread {fractions.spread:.3f} over jobs; "
            f"{fractions.description}",
            f"source: {self.source}",
        ]
        return [*lines, *([f"inferred: {self.inferred}"] if self.inferred else [])]


def fractions_of(rows: tuple[PublishedShare, ...]) -> Fractions:
    """Return a distribution made of the rows of a source: one value, quantiles, or a value a job.

    Values of jobs are quantiles at even distances, the least at 0 and the greatest at 1.
    """
    values = {row.statistic: row.value for row in rows if row.value is not None}
    if set(values) == {"value"}:
        return BetaFractions(values["value"], 0.0)
    if set(values) == {"job"}:
        jobs = sorted(row.value for row in rows if row.value is not None)
        return QuantileFractions(tuple((k / (len(jobs) - 1), v) for k, v in enumerate(jobs)))
    return QuantileFractions(tuple((float(name[1:]), v) for name, v in values.items()))


def _published(name: str, description: str, share: str) -> ShareMix:
    rows = shares_of(name)
    return ShareMix(
        name, description, share, fractions_of(rows), rows[0].citation, rows[0].inferred
    )


PUBLISHED = (
    _published(
        "pollard-cab",
        "30 % of the isolated run time, all jobs alike: Pollard et al. on Cab (SC'18)",
        "alone",
    ),
    _published(
        "amg-ranks",
        "12 to 27 % of the time in MPI, as a profiler saw it: ranks of one run of AMG",
        "contended",
    ),
    _published(
        "seren-links",
        "0.1 to 95 % of a node's link, median 16 %: servers of Seren that send (AcmeTrace)",
        "drive",
    ),
    _published(
        "frontier-congested",
        "0.04 to 12 % of a node's links: eight jobs of Frontier that met congestion",
        "drive",
    ),
)
