"""Who waits: waits by the size of jobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from experiments.figures.style import (
    grid,
    literal,
    marker,
    new_figure,
    policy_colours,
    shared_legend,
)
from netcosim.figures.curves import time_unit
from netsim.errors import NetcosimError

SIZES = ((1, "1"), (8, "2-8"), (32, "9-32"), (128, "33-128"), (512, "129-512"), (2048, "513-2048"))
"""Most nodes of each class, and its name; larger ones are one more."""
MORE = "more"


def waits_by_size(
    n_nodes: ArrayLike,
    wait_s: Mapping[str, ArrayLike],
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Mean waits by size class, a mark a policy; a line from the median to the 90th percentile.

    Parameters
    ----------
    n_nodes : (n,) int
        That jobs ask for.
    wait_s : mapping of str to (n,) float64
        By policy; nan for jobs that never ran.
    colours : mapping, optional
        Of policies; by default in their order.

    Raises
    ------
    NetcosimError
        No jobs.
    """
    nodes = np.asarray(n_nodes)
    paints = colours or policy_colours(list(wait_s))
    waits = {name: np.asarray(values, dtype=float) for name, values in wait_s.items()}
    size = np.searchsorted([most for most, _ in SIZES], nodes)
    names = [name for _, name in SIZES] + [MORE]
    used = [int(i) for i in np.unique(size)]
    if not used:
        raise NetcosimError("waits by size: there is nothing to draw")
    high = [np.nanquantile(v, 0.9) for v in waits.values() if np.isfinite(v).any()]
    unit_s, unit = time_unit(4 * max([1.0, *map(float, high)]))
    figure, [axis] = new_figure(4.9, 3.6)
    step = 0.8 / max(1, len(waits))
    for i, (name, values) in enumerate(waits.items()):
        for place, group in enumerate(used):
            mine = values[(size == group) & np.isfinite(values)] / unit_s
            if not len(mine):
                continue
            at = place + (i - (len(waits) - 1) / 2) * step
            middle, most = np.quantile(mine, [0.5, 0.9])
            axis.vlines(at, middle, most, color=paints[name], linewidth=1.6)
            label = literal(name)
            axis.plot([at], [mine.mean()], marker(i), ls="", color=paints[name], label=label)
    counts = np.bincount(size, minlength=len(names))
    axis.set_xticks(range(len(used)), [f"{names[i]}\n{counts[i]:,}" for i in used])
    axis.tick_params(axis="x", length=0)
    axis.set_xlim(-0.6, len(used) - 0.4)
    axis.set_ylim(0, None)
    axis.set_xlabel("nodes of the job, and how many jobs there are")
    axis.set_ylabel(f"wait ({unit})")
    grid(axis)
    shared_legend(figure, [axis])
    return figure
