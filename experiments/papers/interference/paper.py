"""The figures of jobs side by side (Pollard et al., section V-B)."""

from __future__ import annotations

from experiments.papers.interference.figures import CAB_FIGURE, SIMULATED_FIGURE
from experiments.papers.interference.why import WHY

INTERFERENCE = (SIMULATED_FIGURE, CAB_FIGURE, WHY)
