"""What the topology-aware paper prints (Pollard et al., SC 2018), with where it stands."""

from __future__ import annotations

WAIT_COLUMNS = (("baseline", "none"), ("ta", "none"), ("ta", "V1"), ("ta", "V2"))
TABLE1_WAIT_H: dict[str, tuple[float, float, float, float]] = {
    "aug on cab": (0.15, 0.98, 0.8, 0.3),
    "sep on cab": (295.0, 330.0, 327.0, 307.0),
    "nov on cab": (0.01, 0.41, 0.31, 0.10),
    "aug-2x on cab": (269.0, 322.0, 296.0, 270.0),
    "nov-2x on cab": (240.0, 300.0, 266.0, 240.0),
    "aug-2x on pinot": (0.15, 1.2, 0.65, 0.29),
    "nov-2x on pinot": (0.01, 0.69, 0.13, 0.04),
    "aug-3x on pinot": (110.0, 148.0, 126.0, 103.0),
}
"""Table I: mean waits in hours, by `WAIT_COLUMNS`. Some decimal points are missing in the
text at hand; they stand here where section V-E (45 min, 18 min, 38 h) puts them."""

OVERLOADED = ("sep on cab", "aug-2x on cab", "nov-2x on cab", "aug-3x on pinot")
"""V-C: (b), (d), (e) and (h) of Fig. 8."""
DROP_POINTS = 10.0
"""V-C: what TA loses of the utilisation in the overloaded scenarios."""
SEP_MAKESPAN_PERCENT = {"none": 9.0, "V1": 9.0, "V2": 4.0}
"""V-D: TA's makespan above Baseline's, September on Cab."""
EXTRA_WAIT_H = {"aug on cab": 0.75, "aug-3x on pinot": 38.0}
"""V-E: mean additional wait under TA."""
MOST_HOPS_BELOW_128 = 2.0
"""V-A: average pairwise hops under TA stay below this for jobs of less than 128 nodes."""
