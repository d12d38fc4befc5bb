"""Figures that a reader of these studies expects; each function returns a matplotlib Figure."""

from experiments.figures.bars import bars_against_baseline
from experiments.figures.boxes import link_boxes
from experiments.figures.curves import cdf, utilisation_over_time
from experiments.figures.gantt import gantt
from experiments.figures.heatmap import link_heat_map

__all__ = [
    "bars_against_baseline",
    "cdf",
    "gantt",
    "link_boxes",
    "link_heat_map",
    "utilisation_over_time",
]
