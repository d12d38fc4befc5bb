"""Which reading of a paper fits which of its claims.

A figure declares its readings (`experiments.kit.papers.Reading`) and is computed under all of
them. A claim's condition begins with the name of its reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from experiments.kit.papers import Reading

Row = Mapping[str, Any]


class ClaimBeside(NamedTuple):
    """A claim under each reading."""

    number: int
    """From 1, as `which_fits` counts."""
    claim: str
    condition: str
    """claim, condition: The condition is what the reading leaves of it."""
    rows: Mapping[str, Row]
    """Mapping of str to row of `CLAIM_COLUMNS`. By reading, in the order in which readings are
    declared."""


def side_by_side(claims: pd.DataFrame, readings: Sequence[Reading]) -> list[ClaimBeside]:
    """Return claims with their rows by reading; a claim of no reading has the key ``""``."""
    by_claim: dict[tuple[str, str, str], dict[str, Row]] = {}
    order = {reading.name: i for i, reading in enumerate(readings)}
    for row in claims.to_dict("records"):
        first, _, rest = str(row["condition"]).partition(", ")
        name, condition = (first, rest) if first in order else ("", str(row["condition"]))
        at = (str(row["claim"]), str(row["where"]), condition)
        by_claim.setdefault(at, {})[name] = {str(column): value for column, value in row.items()}
    return [
        ClaimBeside(
            number,
            claim,
            condition,
            dict(sorted(rows.items(), key=lambda pair: order.get(pair[0], -1))),
        )
        for number, ((claim, _, condition), rows) in enumerate(by_claim.items(), 1)
    ]


def which_fits(claims: Sequence[ClaimBeside], readings: Sequence[Reading]) -> str:
    """Return one sentence: the claims that hold, by number, under each reading that was run.

    The reading that fits most claims comes first.
    """
    numbers = {
        reading: [c.number for c in claims if _holds(c.rows.get(reading.name))]
        for reading in readings
        if any(reading.name in claim.rows for claim in claims)
    }
    if not numbers:
        held = sum(all(map(_holds, claim.rows.values())) for claim in claims)
        return f"{held} of {len(claims)} claims hold"
    ordered = sorted(numbers, key=lambda reading: -len(numbers[reading]))
    parts = [f"{r.name} fits {_claims(numbers[r], len(claims))}" for r in ordered]
    return "; ".join(parts)


def _holds(row: Row | None) -> bool:
    return row is not None and row["verdict"] == "holds"


def _claims(numbers: Sequence[int], count: int) -> str:
    """Return how many claims these are and which: ``4 of 6 claims (1-3, 5)``."""
    if len(numbers) in (0, count):
        return f"{'none' if not numbers else 'all'} of {count} claims"
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ]
    ranges = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"{len(numbers)} of {count} claims ({ranges})"
