"""Jobs over nodes and time."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from experiments.figures.style import colour, new_figure
from netcosim.figures.curves import time_unit
from netsim.errors import NetcosimError

_CLASSES = ((1, "1 node"), (16, "2-16 nodes"), (64, "17-64 nodes"), (256, "65-256 nodes"))


def gantt(
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    node_ptr: NDArray[np.int64],
    nodes: NDArray[np.int32],
    *,
    machine_nodes: int,
) -> Figure:
    """Each job as the blocks of nodes that it held, from its start to its end.

    Colours tell size classes, so the eye sees which jobs are spread.

    Parameters
    ----------
    start_s, end_s : (n,) float64
    node_ptr : (n + 1,) int64
    nodes : int32
        Job i held ``nodes[node_ptr[i]:node_ptr[i + 1]]`` (`queuesim.result.KeptPlacements`).
    machine_nodes : int

    Raises
    ------
    NetcosimError
        No jobs, or lengths that differ.
    """
    if len(start_s) == 0 or len(start_s) != len(end_s) or len(node_ptr) != len(start_s) + 1:
        raise NetcosimError("gantt: it needs jobs, and a start, an end and nodes for each")
    origin, last = float(start_s.min()), float(end_s.max())
    unit_s, unit = time_unit(last - origin)
    left, right = (start_s - origin) / unit_s, (end_s - origin) / unit_s
    span = max((last - origin) / unit_s, 1e-12)
    figure, [axis] = new_figure(9.0, 5.0)
    blocks: list[list[tuple[float, float]]] = []
    fills: list[str] = []
    used: set[int] = set()
    for job in range(len(start_s)):
        mine = np.sort(nodes[node_ptr[job] : node_ptr[job + 1]])
        size = _size_class(len(mine))
        used.add(size)
        runs = np.split(mine, np.flatnonzero(np.diff(mine) > 1) + 1)
        for run in runs:
            if len(run) == 0:
                continue
            low, high = float(run[0]), float(run[-1] + 1)
            a, b = float(left[job]), float(right[job])
            blocks.append([(a, low), (b, low), (b, high), (a, high)])
            fills.append(colour(size))
    # White edges part neighbours, but would eat blocks that are thinner than themselves.
    edges = [0.4 if (b[2][1] - b[0][1]) > 0.012 * machine_nodes else 0.0 for b in blocks]
    axis.add_collection(
        PolyCollection(blocks, facecolors=fills, edgecolors="white", linewidths=edges)
    )
    axis.set_xlim(0, span)
    axis.set_ylim(0, machine_nodes)
    axis.set_xlabel(f"time ({unit})")
    axis.set_ylabel("node")
    names = [name for _, name in _CLASSES] + [f"more than {_CLASSES[-1][0]} nodes"]
    figure.legend(
        handles=[Patch(color=colour(size), label=names[size]) for size in sorted(used)],
        loc="outside upper right",
        ncols=len(used),
        frameon=False,
        fontsize=9,
    )
    return figure


def _size_class(n_nodes: int) -> int:
    for index, (most, _) in enumerate(_CLASSES):
        if n_nodes <= most:
            return index
    return len(_CLASSES)
