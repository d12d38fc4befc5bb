"""Jobs over nodes and time."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from experiments.figures.style import colour, literal, new_figure
from netcosim.figures.curves import time_unit
from netsim.errors import NetcosimError

_CLASSES = ((1, "1 node"), (16, "2-16"), (64, "17-64"), (256, "65-256"))
_STRENGTH = (0.25, 0.4, 0.58, 0.78, 1.0)
"""Opacity of each size class: large jobs stand out."""
MOST_BLOCKS = 2500
"""From here on blocks are drawn as one picture: a page of so many shapes scrolls badly."""


def gantt(
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    range_ptr: NDArray[np.int64],
    first: NDArray[np.int32],
    length: NDArray[np.int32],
    *,
    machine_nodes: int,
    title: str = "",
    paint: str = colour(0),
    size_in: tuple[float, float] = (9.0, 5.0),
) -> Figure:
    """Each job as the blocks of nodes that it held, from its start to its end.

    Shades tell size classes, so the eye sees which jobs are spread.

    Parameters
    ----------
    start_s, end_s : (n,) float64
    range_ptr : (n + 1,) int64
    first, length : int32
        Job i held the ranges ``range_ptr[i]:range_ptr[i + 1]`` of nodes
        (`experiments.archive.values.KeptSchedule`).
    machine_nodes : int
    title : str
    paint : str
        The policy's colour.
    size_in : (width, height), inches

    Raises
    ------
    NetcosimError
        No jobs, or lengths that differ.
    """
    if len(start_s) == 0 or len(start_s) != len(end_s) or len(range_ptr) != len(start_s) + 1:
        raise NetcosimError("gantt: it needs jobs, and a start, an end and nodes for each")
    origin, last = float(start_s.min()), float(end_s.max())
    unit_s, unit = time_unit(last - origin)
    left, right = (start_s - origin) / unit_s, (end_s - origin) / unit_s
    job = np.repeat(np.arange(len(start_s)), np.diff(range_ptr))
    sizes = np.bincount(job, weights=length, minlength=len(start_s))
    shade = np.searchsorted([most for most, _ in _CLASSES], sizes)
    shades = [to_rgba(paint, strength) for strength in _STRENGTH]
    low, high = first.astype(float), first + length.astype(float)
    corners = [(left[job], low), (right[job], low), (right[job], high), (left[job], high)]
    blocks = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    # Light edges part neighbours, but would eat blocks that are thinner than themselves.
    picture = len(blocks) > MOST_BLOCKS
    parted = (length > 0.012 * machine_nodes) & (not picture)  # a picture has no page's colours
    edges: ArrayLike = np.where(parted, 0.4, 0.0)
    figure, [axis] = new_figure(*size_in)
    axis.add_collection(
        PolyCollection(
            list(blocks),
            facecolors=[shades[i] for i in shade[job]],
            edgecolors="#ffffff",
            linewidths=edges,
            rasterized=picture,
        )
    )
    axis.set_xlim(0, max((last - origin) / unit_s, 1e-12))
    axis.set_ylim(0, machine_nodes)
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel("node")
    axis.set_title(literal(title), loc="left", fontsize=11)
    names = [name for _, name in _CLASSES] + ["more"]
    used = np.unique(shade)
    figure.legend(
        handles=[Patch(color=shades[i], label=names[i]) for i in used],
        loc="outside upper left",
        ncols=min(len(used), max(1, int(size_in[0] / 0.95))),
        frameon=False,
        fontsize=8,
    )
    return figure
