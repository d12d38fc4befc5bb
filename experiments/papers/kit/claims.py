"""What a paper says beside what we find, and the rules by which the two agree.

A claim's rule is made by the predicate that judges it, so that what is printed is what was asked::

    says = Says("Fig. 4, VI-A", "ugal-l")
    says.near("16-node jobs: least reduction (%)", 15.0, ours, within=5, unit="points")
    says.ordered("Jigsaw's makespan is the shortest", {"jigsaw": 1.02, "laas": 1.05, "ta": 1.1})
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
    "ours",
    "low",
    "high",
    "ratio",
    "verdict",
    "rule",
)
Ours = float | Interval
Maybe = float | None
UNITS = {"": "", "%": " %", "points": " percentage points"}
"""How a tolerance is meant: as it stands, in percent of the paper's number, or in points."""


@dataclass(frozen=True)
class Claim:
    """Something a paper says, beside what we find.

    Attributes
    ----------
    claim, where : str
        What, and the section or figure where it stands.
    holds : bool
    rule : str
        When it counts as holding.
    condition : str
        For which routing, pattern, ...
    paper, ours : float or None
        Numbers, if the claim has any. ``paper`` holds what the paper printed (or what follows
        from its numbers alone), never anything that depends on ours; else it stays empty.
    low, high : float or None
        Bootstrap interval (95 %) of ours; nothing else.
    paper_high : float or None
        Where the paper prints a range: its upper end; ``paper`` is the lower one.
    expected : float or None
        What theory, another program or another run of ours says: no paper's number.
    """

    claim: str
    where: str
    holds: bool
    rule: str
    condition: str = ""
    paper: float | None = None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    paper_high: float | None = None
    expected: float | None = None

    def beside(self, expected: float) -> Claim:
        """The claim with what theory, another program or another run says."""
        return replace(self, expected=expected)

    def row(self) -> dict[str, object]:
        """Cells of `CLAIM_COLUMNS`; ratio is ours / paper where that is one number."""
        known = self.paper and self.ours is not None and self.paper_high is None
        return {
            **{c: getattr(self, c) for c in CLAIM_COLUMNS if c not in ("ratio", "verdict")},
            "ratio": self.ours / self.paper if known else None,  # type: ignore[operator]
            "verdict": "holds" if self.holds else "differs",
        }


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """Claims as a table with `CLAIM_COLUMNS`."""
    return pd.DataFrame([claim.row() for claim in claims], columns=list(CLAIM_COLUMNS))


@dataclass(frozen=True)
class ClaimBuilder:
    """Makes the claims of one passage.

    In all methods ``what`` is the claim in words and ``ours`` a number or an `Interval`;
    ``paper`` is what the paper printed, ``expected`` what theory or another program says.

    Attributes
    ----------
    where : str
        The section or figure.
    condition : str
        For which routing, pattern, ...
    """

    where: str
    condition: str = ""

    def holds(
        self,
        what: str,
        holds: bool,
        rule: str,
        ours: Ours | None = None,
        *,
        paper: float | None = None,
        paper_high: float | None = None,
        expected: float | None = None,
    ) -> Claim:
        """A claim judged elsewhere, with its rule in words."""
        value, low, high = ours if isinstance(ours, Interval) else (ours, None, None)
        return Claim(
            claim=what,
            where=self.where,
            holds=bool(holds),
            rule=rule,
            condition=self.condition,
            paper=paper,
            ours=value,
            low=low,
            high=high,
            paper_high=paper_high,
            expected=expected,
        )

    def near(
        self, what: str, paper: float, ours: Ours, *, within: float, unit: str = "", note: str = ""
    ) -> Claim:
        """Ours is at most so far from the paper's; ``unit`` is a key of `UNITS`."""
        allowed = within / 100 * abs(paper) if unit == "%" else within
        rule = f"within {within:g}{UNITS[unit]}{_noted(note)}"
        return self.holds(what, abs(_value(ours) - paper) <= allowed, rule, ours, paper=paper)

    def equal(self, what: str, paper: float, ours: float) -> Claim:
        """Ours is the paper's number."""
        return self.holds(what, ours == paper, "equal", ours, paper=paper)

    def between(
        self,
        what: str,
        paper: float,
        paper_high: float,
        ours: Ours,
        *,
        within: float = 0.0,
        unit: str = "",
    ) -> Claim:
        """Ours is in the paper's range, or at most so far outside."""
        value = _value(ours)
        slack = f", within {within:g}{UNITS[unit]}" if within else ""
        return self.holds(
            what,
            paper - within <= value <= paper_high + within,
            f"from {paper:g} to {paper_high:g}{slack}",
            ours,
            paper=paper,
            paper_high=paper_high if paper_high > paper else None,
        )

    def below(
        self, what: str, ours: Ours, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Ours is below a bound."""
        rule = f"below {bound:g}{_noted(note)}"
        return self.holds(what, _value(ours) < bound, rule, ours, paper=paper)

    def at_most(
        self, what: str, ours: Ours, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Ours is not above a bound."""
        rule = f"at most {bound:g}{_noted(note)}"
        return self.holds(what, _value(ours) <= bound, rule, ours, paper=paper)

    def above(
        self, what: str, ours: Ours, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Ours is above a bound."""
        rule = f"above {bound:g}{_noted(note)}"
        return self.holds(what, _value(ours) > bound, rule, ours, paper=paper)

    def at_least(
        self, what: str, ours: Ours, bound: float, *, paper: Maybe = None, note: str = ""
    ) -> Claim:
        """Ours is not below a bound."""
        rule = f"at least {bound:g}{_noted(note)}"
        return self.holds(what, _value(ours) >= bound, rule, ours, paper=paper)

    def surely_below(
        self, what: str, ours: Interval, bound: float, *, paper: float | None = None
    ) -> Claim:
        """The whole interval of ours is below a bound."""
        rule = f"the whole interval below {bound:g}"
        return self.holds(what, ours.high < bound, rule, ours, paper=paper)

    def surely_above(
        self, what: str, ours: Interval, bound: float, *, paper: float | None = None
    ) -> Claim:
        """The whole interval of ours is above a bound."""
        rule = f"the whole interval above {bound:g}"
        return self.holds(what, ours.low > bound, rule, ours, paper=paper)

    def ordered(
        self, what: str, ascending: Mapping[str, float], ours: Maybe = None, *, paper: Maybe = None
    ) -> Claim:
        """Named values ascend, none equal to the next, in the order in which they stand."""
        rule = " < ".join(ascending)
        holds = all(a < b for a, b in pairwise(ascending.values()))
        return self.holds(what, holds, rule, ours, paper=paper)

    def everywhere(
        self, what: str, held: Sequence[bool], parts: str = "panels", *, note: str = ""
    ) -> Claim:
        """It holds in every part of a figure; ours is the share of parts, in percent."""
        percent = 100.0 * sum(held) / len(held)
        rule = f"in all {len(held)} {parts}{_noted(note)}"
        return self.holds(what, all(held), rule, percent, paper=100.0)


def _value(ours: Ours) -> float:
    return ours.value if isinstance(ours, Interval) else ours


def _noted(note: str) -> str:
    return f"; {note}" if note else ""
