"""What Zhang et al. (IPDPS 2018) print, in percent if nothing else is said."""

from __future__ import annotations

FIG2_RATIO, FIG2_BELOW = 0.7, 30.0
"""III-A: RDN's time over RDG's with 4 x 68-node jobs."""
FIG4 = {16: (15.0, 89.0), 64: (22.0, 54.0)}
"""VI-A, by nodes of a job: least and largest reduction, by grouping and Level-Spread against
spreading, and by Level-Spread against Simple at alpha 1."""
FIG7_RRR = 5.0
"""Fig. 7(a): RRR's time over Simple's, small jobs, alpha 0.25; more than that."""
SMALL_ON_1056 = {"broadcast": 32.0, "all-to-all": 64.0}
"""VI-B: reduction of 16-node jobs on 1056 nodes, against the spreading policies."""

LEVEL_SPREAD_BETTER, OTHER_BETTER = "reference better (%)", "other better (%)"
MEAN_REDUCTION, BEST_REDUCTION = "mean reduction (%)", "best reduction (%)"
RANDOM = {
    "Fig. 10, VI-D": {
        LEVEL_SPREAD_BETTER: 59.0,
        OTHER_BETTER: 3.0,
        MEAN_REDUCTION: 16.0,
        BEST_REDUCTION: 71.0,
    },
    "Fig. 12, VI-F": {LEVEL_SPREAD_BETTER: 64.0, OTHER_BETTER: 0.0},
}
"""By figure and column of our summary; reductions stand in the abstract, too."""
SINGLE = {"all-to-all": 1.0, "halo3d": 1.0, "halo3d26": 3.0, "halo2d": 4.0, "broadcast": 8.0}
"""VI-D's text: workloads of one pattern in which a baseline is strictly better; the FFT is not
named there."""
