"""A paper's claims next to the simulated values, and the rules by which the two agree.

A claim's rule is written by the predicate that judges it, so the printed rule is what was tested::

    check = ClaimBuilder("Fig. 4, VI-A", "ugal-l")
    check.near("16-node jobs: least reduction (%)", 15.0, found, within=5, unit="points")
    check.ordered("Jigsaw's makespan is shortest", {"jigsaw": 1.02, "laas": 1.05, "ta": 1.1})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pandas as pd

from queuesim.statistics import Interval

CLAIM_COLUMNS = (
    "claim",
    "where",
    "condition",
    "paper",
    "paper_high",
    "expected",
    "simulated",
    "low",
    "high",
    "ratio",
    "verdict",
    "rule",
)
Found = float | Interval
Maybe = float | None
UNITS = {"": "", "%": " %", "points": " percentage points"}
"""How a tolerance is meant: absolute, in percent of the paper's number, or in points."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, next to the simulated value."""

    claim: str
    where: str
    """claim, where: What, and its section or figure."""
    holds: bool
    rule: str
    """When it counts as holding."""
    condition: str = ""
    """For which routing, pattern, ..."""
    paper: float | None = None
    simulated: float | None = None
    """paper, simulated: Numbers, if the claim has any. ``paper`` holds what the paper printed (or
    what follows from its numbers alone), never anything that depends on the simulation; else it is
    empty."""
    low: float | None = None
    high: float | None = None
    """low, high: Bootstrap interval (95 %) of the simulated value; nothing else."""
    paper_high: float | None = None
    """Where the paper prints a range: its upper end; ``paper`` is the lower one."""
    expected: float | None = None
    """From theory, another program or another run: no paper's number."""

    def beside(self, expected: float) -> Claim:
        """Return the claim with the value from theory, another program or another run."""
        return replace(self, expected=expected)

    def row(self) -> dict[str, object]:
        """Return cells of `CLAIM_COLUMNS`; ratio is simulated / printed if that is one number."""
        known = self.paper and self.simulated is not None and self.paper_high is None
        return {
            **{c: getattr(self, c) for c in CLAIM_COLUMNS if c not in ("ratio", "verdict")},
            "ratio": self.simulated / self.paper if known else None,  # type: ignore[operator]
            "verdict": "holds" if self.holds else "differs",
        }


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return claims as a table with `CLAIM_COLUMNS`."""
    return pd.DataFrame([claim.row() for claim in claims], columns=list(CLAIM_COLUMNS))


@dataclass(frozen=True)
class ClaimBuilder:
    """Makes the claims of one passage.

    In all methods ``what`` is the statement and ``found`` a number or an `Interval`;
    ``paper`` is what the paper printed, ``expected`` the value from theory or another program.
    """

    where: str
    """The section or figure."""
    condition: str = ""
    """For which routing, pattern, ..."""

    def holds(
        self,
        what: str,
        holds: bool,
        rule: str,
        found: Found | None = None,
        *,
        paper: float | None = None,
        paper_high: float | None = None,
        expected: float | None = None,
    ) -> Claim:
        """Return a claim judged elsewhere, with the rule to print."""
        value, low, high = found if isinstance(found, Interval) else (found, None, None)
        return Claim(
            claim=what,
            where=self.where,
            holds=bool(holds),
            rule=rule,
            condition=self.condition,
            paper=paper,
            simulated=value,
            low=low,
            high=high,
            paper_high=paper_high,
            expected=expected,
        )

    def near(
        self,
        what: str,
        paper: float,
        found: Found,
        *,
        within: float,
        unit: str = "",
        note: str = "",
    ) -> Claim:
        """Check that the value is close to the paper's; ``unit`` is a key of `UNITS`."""
        allowed = within / 100 * abs(paper) if unit == "%" else within
        rule = f"within {within:g}{UNITS[unit]}{_noted(note)}"
        return self.holds(what, abs(_middle(found) - paper) <= allowed, rule, found, paper=paper)

    def equal(self, what: str, paper: float, found: float) -> Claim:
        """Check that the value equals the paper's."""
        return self.holds(what, found == paper, "equal", found, paper=paper)

    def between(
        self,
        what: str,
        paper: float,
        paper_high: float,
        found: Found,
        *,
        within: float = 0.0,
        unit: str = "",
    ) -> Claim:
        """Check that the value is in the paper's range, or within a distance of it."""
        value = _middle(found)
        slack = f", within {within:g}{UNITS[unit]}" if within else ""
        return self.holds(
            what,
            paper - within <= value <= paper_high + within,
            f"from {paper:g} to {paper_high:g}{slack}",
            found,
            paper=paper,
            paper_high=paper_high if paper_high > paper else None,
        )

    def below(
        self, what: str, found: Found, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Check that the value is below a bound."""
        rule = f"below {bound:g}{_noted(note)}"
        return self.holds(what, _middle(found) < bound, rule, found, paper=paper)

    def at_most(
        self, what: str, found: Found, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Check that the value is not above a bound."""
        rule = f"at most {bound:g}{_noted(note)}"
        return self.holds(what, _middle(found) <= bound, rule, found, paper=paper)

    def above(
        self, what: str, found: Found, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Check that the value is above a bound."""
        rule = f"above {bound:g}{_noted(note)}"
        return self.holds(what, _middle(found) > bound, rule, found, paper=paper)

    def at_least(
        self, what: str, found: Found, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Check that the value is not below a bound."""
        rule = f"at least {bound:g}{_noted(note)}"
        return self.holds(what, _middle(found) >= bound, rule, found, paper=paper)

    def surely_below(
        self, what: str, found: Interval, bound: float, *, paper: float | None = None
    ) -> Claim:
        """Check that the interval is entirely below a bound."""
        rule = f"the whole interval below {bound:g}"
        return self.holds(what, found.high < bound, rule, found, paper=paper)

    def surely_above(self, what: str, found: Interval, bound: float) -> Claim:
        """Check that the interval is entirely above a bound."""
        rule = f"the whole interval above {bound:g}"
        return self.holds(what, found.low > bound, rule, found)

    def ordered(self, what: str, ascending: Mapping[str, float], found: Maybe = None) -> Claim:
        """Check that named values are strictly ascending in the given order."""
        rule = " < ".join(ascending)
        holds = all(a < b for a, b in pairwise(ascending.values()))
        return self.holds(what, holds, rule, found)

    def everywhere(
        self, what: str, held: Sequence[bool], parts: str = "panels", *, note: str = ""
    ) -> Claim:
        """Check that it holds in every part of a figure; the value is the percentage of parts."""
        percent = 100.0 * sum(held) / len(held)
        rule = f"in all {len(held)} {parts}{_noted(note)}"
        return self.holds(what, all(held), rule, percent, paper=100.0)


def _middle(found: Found) -> float:
    return found.value if isinstance(found, Interval) else found


def _noted(note: str) -> str:
    return f"; {note}" if note else ""
