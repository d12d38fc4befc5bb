"""What the Jigsaw paper prints (HPDC 2021, extended version), with where it stands."""

from __future__ import annotations

from typing import NamedTuple

TABLE1: dict[str, tuple[int, int, int, int]] = {
    "synth-16": (10_000, 138, 20, 3_000),
    "synth-22": (10_000, 190, 20, 3_000),
    "synth-28": (10_000, 241, 20, 3_000),
    "aug-cab": (30_691, 257, 1, 86_429),
    "sep-cab": (87_564, 256, 1, 57_629),
    "oct-cab": (125_228, 258, 1, 93_623),
    "nov-cab": (50_353, 256, 1, 86_426),
    "thunder": (105_764, 965, 1, 172_362),
    "atlas": (29_700, 1_024, 1, 342_754),
}
"""Table 1: jobs, most nodes, least and longest run time in seconds."""

RANGES = (">=98", "95-97", "90-95", "80-90", "60-80", "<=60")
TABLE2: dict[str, tuple[int, ...]] = {
    "laas": (4_133, 53_720, 78_072, 52_546, 21_261, 1_717),
    "jigsaw": (54_186, 51_789, 50_299, 36_586, 17_086, 1_503),
    "ta": (20_443, 27_134, 46_923, 68_262, 42_923, 5_764),
}
"""Table 2: counts by range of utilisation, Thunder."""

TABLE3: dict[str, dict[str, float]] = {
    "ta": {"synth-16": 0.00283, "sep-cab": 0.00252, "thunder": 0.00128, "synth-28": 0.00709},
    "laas": {"synth-16": 0.00294, "sep-cab": 0.00257, "thunder": 0.00106, "synth-28": 0.00947},
    "jigsaw": {"synth-16": 0.00305, "sep-cab": 0.00283, "thunder": 0.00104, "synth-28": 0.00998},
    "lc-s": {"synth-16": 0.05550, "sep-cab": 0.09239, "thunder": 0.05333, "synth-28": 0.25500},
}
"""Table 3: average scheduling time a job in seconds."""


class Range(NamedTuple):
    """Percent, from ``low`` to ``high``, and where the paper says so."""

    low: float
    high: float
    where: str

    @property
    def above(self) -> float | None:
        """The upper end, for a claim; None where the paper has one number."""
        return self.high if self.high > self.low else None


_WORDS = "6.1 (words of Fig. 6)"
FIG6: dict[str, Range] = {
    "baseline": Range(97, 100, _WORDS),
    "jigsaw": Range(95, 96, _WORDS),
    "laas": Range(90, 91, _WORDS),
    "ta": Range(85, 88, _WORDS),
}
"""Section 6.1: steady-state utilisation in percent; LaaS has "one at 93", not named."""
FIG6_JIGSAW = {"atlas": Range(92, 92, _WORDS), "oct-cab": Range(93, 93, _WORDS)}
"""Section 6.1: Jigsaw on single logs."""
LC_S_ABOVE_JIGSAW = 3.7
"""Section 6.1: LC+S is above Jigsaw by at most this (Aug-Cab), in points."""

MAKESPAN_WORST = {"jigsaw": 6.0, "lc-s": 5.0, "laas": 8.0, "ta": 14.0}
"""Section 6.3: makespan above Baseline with no speed-up, the worst of Thunder and Atlas, %."""
MAKESPAN_BEST_JIGSAW = -15.0
"""Section 6.3: Jigsaw's best scenario, %."""

OCT_CAB_10 = {
    ("laas", "all"): 1.00,
    ("laas", "large"): 1.05,
    ("jigsaw", "all"): 0.89,
    ("jigsaw", "large"): 0.95,
}
"""Section 6.2: turnaround over Baseline's, Oct-Cab, 10 % scenario, all and large jobs."""


def fig6_range(policy: str, log: str) -> Range | None:
    """What the paper says of a policy on a log, in percent; None if it says nothing.

    LaaS has one log at 93 % that the paper does not name, so no log of ours is given it.
    """
    single = FIG6_JIGSAW.get(log) if policy == "jigsaw" else None
    return single or FIG6.get(policy)
