"""A machine in use: jobs over nodes and time, the load of links as a map and as boxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from netcosim.archive.values import ArchivedMachine
from netcosim.report.figures.lines import time_unit
from netcosim.report.figures.style import (
    GRID,
    INK,
    SOFT,
    check_columns,
    colour,
    grid,
    literal,
    new_figure,
    policy_colours,
)
from netcosim.runs.frames import first_seen
from netsim.errors import NetcosimError
from netsim.units import time_scale

if TYPE_CHECKING:
    import pandas as pd

_CLASSES = ((1, "1 node"), (16, "2-16"), (64, "17-64"), (256, "65-256"))
_STRENGTH = (0.25, 0.4, 0.58, 0.78, 1.0)
"""Opacity of each size class: large jobs are the most visible."""
MOST_BLOCKS = 2500
"""From here on blocks are drawn as one picture: a page of so many shapes scrolls badly."""

_MOST_CELLS = 256
_MOST_GROUPS = 40

LOAD = LinearSegmentedColormap.from_list(
    "load",
    [
        (0.0, (0.45, 0.55, 0.75, 0.18)),
        (0.25, (0.0, 0.447, 0.698, 0.75)),
        (0.6, (0.72, 0.24, 0.6, 0.95)),
        (1.0, (0.835, 0.369, 0.0, 1.0)),
    ],
)
"""Little load lets the ground through, so that the same picture reads on white and on dark."""


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
    """Draw each job as the blocks of nodes that it held, from its start to its end.

    Shades show size classes, so the eye sees which jobs are spread.

    Parameters
    ----------
    start_s, end_s : (n,) float64
    range_ptr : (n + 1,) int64
    first, length : int32
        Job i held the ranges ``range_ptr[i]:range_ptr[i + 1]`` of nodes
        (`netcosim.archive.values.ArchivedSchedule`).
    paint : str
        The policy's colour.
    size_in : (width, height), inches
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
    axis.set(
        xlim=(0, max((last - origin) / unit_s, 1e-12)),
        ylim=(0, machine_nodes),
        xlabel=f"time ({unit})",
        ylabel="node",
    )
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


def link_matrix(
    machine: ArchivedMachine, values: NDArray[np.float64], cells: int = _MOST_CELLS
) -> tuple[NDArray[np.float64], int]:
    """Return the largest value of the links between blocks of routers.

    Parameters
    ----------
    values : (n_links,) float64
        A value for each link; injection and ejection are not used.
    cells : int
        Largest side of the matrix.

    Returns
    -------
    matrix : (k, k) float64
        Row: sending block; column: receiving block; nan where no link is.
    block : int
        Routers a block.
    """
    n_links, n_routers = len(machine.link_src), len(machine.router_group)
    if len(values) != n_links:
        raise NetcosimError(f"heat map: {len(values)} values for {n_links} links")
    block = max(1, -(-n_routers // cells))
    k = -(-n_routers // block)
    first, n_ports = machine.first_router_link, len(machine.port_router)
    src = (machine.link_src[first:] - n_ports) // block
    dst = (machine.link_dst[first:] - n_ports) // block
    flat = np.full(k * k, -np.inf)
    np.maximum.at(flat, src.astype(np.int64) * k + dst, np.asarray(values, dtype=float)[first:])
    matrix = flat.reshape(k, k)
    matrix[np.isneginf(matrix)] = np.nan
    return matrix, block


def link_heat_map(
    machine: ArchivedMachine,
    busy_percent: NDArray[np.float64],
    *,
    title: str = "",
    top_percent: float | None = None,
    size_in: tuple[float, float] = (6.8, 5.8),
) -> Figure:
    """Draw every router-to-router link as a cell: sending router down, receiving router across.

    In a dragonfly the squares on the diagonal are the groups, the cells off it the global
    links, and lines part the groups; in a fat-tree the off-diagonal bands are the levels.

    Parameters
    ----------
    busy_percent : (n_links,) float64
        Share of time that each link is busy.
    title : str
        By default the machine's name.
    top_percent : float, optional
        What has the strongest colour: the same for maps that are side by side; by default the
        largest value.
    size_in : (width, height), inches
    """
    matrix, block = link_matrix(machine, busy_percent)
    known = matrix[np.isfinite(matrix)]
    top = top_percent or (float(known.max()) if len(known) else 1.0)
    figure, [axis] = new_figure(*size_in)
    n_routers = len(machine.router_group)
    image = axis.imshow(
        matrix,
        cmap=LOAD,
        norm=Normalize(0.0, top if top > 0 else 1.0),
        interpolation="nearest",
        origin="upper",
        extent=(0, len(matrix) * block, len(matrix) * block, 0),
    )
    borders = np.flatnonzero(np.diff(machine.router_group)) + 1
    if len(borders) < _MOST_GROUPS:
        for line in borders.tolist():
            axis.axhline(line, color=GRID, linewidth=0.5)
            axis.axvline(line, color=GRID, linewidth=0.5)
    axis.set(
        xlim=(0, n_routers),
        ylim=(n_routers, 0),
        xlabel="receiving router",
        ylabel="sending router",
    )
    axis.spines[["top", "right"]].set_visible(True)
    bar = figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02)
    bar.set_label("link busy (%)")
    bar.outline.set_visible(False)
    axis.set_title(literal(title or machine.name), loc="left", fontsize=11)
    return figure


def link_boxes(
    frame: pd.DataFrame,
    *,
    values: tuple[tuple[str, str], ...] = (
        ("packets", "packets on a link"),
        ("stall_s", "stalled time of a link"),
    ),
    colours: Mapping[str, str] | None = None,
) -> Figure:
    """Draw boxes by policy, a column of panels for each kind of link, a row for each value.

    Boxes span the quartiles, whiskers the 1st to the 99th percentile, the point is the mean.

    Parameters
    ----------
    frame : pandas.DataFrame
        A row a link: columns ``policy``, ``kind`` and those named in ``values``.
    values : tuple of (column, label)
        A column in seconds (``..._s``) is drawn in the unit that fits, which the label names.
    colours : mapping, optional
        Of policies; by default in order of appearance.
    """
    check_columns(frame, ["policy", "kind", *(column for column, _ in values)], "link boxes")
    kinds, policies = first_seen(frame, "kind"), first_seen(frame, "policy")
    paints = colours or policy_colours(policies)
    height = 0.9 + len(values) * (0.75 + 0.27 * len(policies))
    figure, axes = new_figure(max(6.5, 2.9 * len(kinds) + 1.2), height, len(values), len(kinds))
    for row, (column, label) in enumerate(values):
        factor, unit = 1.0, ""
        if column.endswith("_s"):
            factor, unit = time_scale(float(np.nanmax(frame[column].to_numpy(dtype=float))))
        for place, kind in enumerate(kinds):
            axis = axes[row * len(kinds) + place]
            mine = frame[frame["kind"] == kind]
            data = [
                mine.loc[mine["policy"] == policy, column].to_numpy(dtype=float) * factor
                for policy in policies
            ]
            drawn = axis.boxplot(
                [d if len(d) else np.array([np.nan]) for d in data],
                orientation="horizontal",
                widths=0.62,
                whis=(1, 99),
                showfliers=False,
                showmeans=True,
                patch_artist=True,
                medianprops={"color": "white", "linewidth": 1.6},
                meanprops={
                    "marker": "o",
                    "markersize": 3.5,
                    "markerfacecolor": "white",
                    "markeredgecolor": INK,
                },
                whiskerprops={"color": INK, "linewidth": 0.9},
                capprops={"color": INK, "linewidth": 0.9},
                boxprops={"linewidth": 1.5},
            )
            for i, box in enumerate(drawn["boxes"]):
                box.set(facecolor=paints[policies[i]], edgecolor=paints[policies[i]])
                # A box whose quartiles are equal has no inside: its median shows it.
                if len(data[i]) and np.ptp(np.quantile(data[i], [0.25, 0.75])) == 0:
                    drawn["medians"][i].set(color=paints[policies[i]], linewidth=3.0)
            axis.invert_yaxis()
            if not any(np.any(d > 0) for d in data):
                axis.set_xlim(0, 1)
                axis.text(0.5, 0.5, "all 0", transform=axis.transAxes, ha="center", color=SOFT)
            names = [literal(p) for p in policies] if place == 0 else [""] * len(policies)
            axis.set_yticks(np.arange(1, len(policies) + 1), names)
            axis.tick_params(axis="y", length=0)
            axis.set_xlim(0, None)
            axis.locator_params(axis="x", nbins=5)
            axis.set_xlabel(f"{label} ({unit})" if unit else label)
            if row == 0:
                axis.set_title(f"{kind} links", fontsize=10, loc="left")
            grid(axis, "x")
    return figure
