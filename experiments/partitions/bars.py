"""Two sides of a comparison at each partition size, and the factor between them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from experiments.kit.panels import Heights, grouped_bars


def two_sides(axis: Axes, table: pd.DataFrame, sides: Mapping[str, str], factor: str) -> None:
    """Draw bars of two columns by midplanes; over each pair the number of a third."""
    table = table.sort_values("Midplanes")
    long = table.melt("Midplanes", list(sides), "side", "height")
    grouped_bars(axis, long, "Midplanes", "side", Heights("height"), name=sides.__getitem__)
    highest = table[list(sides)].max(axis=1)
    for x, (top, times) in enumerate(zip(highest, table[factor], strict=True)):
        axis.text(x, top, f"x{times:.2f}", ha="center", va="bottom", fontsize=8)
    axis.margins(y=0.12)
