"""Figures that a reader of these studies expects; each function returns a matplotlib Figure."""

from experiments.figures.bars import bars_against_baseline
from experiments.figures.boxes import link_boxes
from experiments.figures.curves import cdf, latency_load, utilisation_over_time
from experiments.figures.gantt import gantt
from experiments.figures.heatmap import link_heat_map
from experiments.figures.scatter import small_against_large
from experiments.figures.style import save_figure

__all__ = [
    "bars_against_baseline",
    "cdf",
    "gantt",
    "latency_load",
    "link_boxes",
    "link_heat_map",
    "save_figure",
    "small_against_large",
    "utilisation_over_time",
]
