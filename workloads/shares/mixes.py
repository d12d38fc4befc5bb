"""Published communication shares by name, for a config: ``[communication] from = "NAME"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netsim.registry import Registry
from workloads.shares.distributions import BetaFractions, Fractions, QuantileFractions
from workloads.shares.published import PublishedShare, shares_of


@dataclass(frozen=True)
class ShareMix:
    """A distribution of jobs' communication fractions, with what it is a share of.

    Attributes
    ----------
    name, description : str
    share : str
        What a fraction is a share of: a name of `cosim.measuring.steady.SHARES`.
    fractions : Fractions
    source : str
        Citation.
    inferred : str
        What the source does not state itself.
    """

    registered_in: ClassVar[str] = "workloads.shares.mixes:MIXES"

    name: str
    description: str
    share: str
    fractions: Fractions
    source: str
    inferred: str = ""

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


MIXES: Registry[ShareMix] = Registry(
    ShareMix.registered_in,
    "mix of communication shares",
    ShareMix,
    (
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
    ),
)
