"""A machine in use: jobs over nodes and time, the load of links as a map and as shares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from numpy.typing import ArrayLike, NDArray

from netcosim.archive.values import ArchivedMachine
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf, time_unit
from netcosim.report.figures.style import GRID, SIDE_IN, colour
from netsim.errors import NetcosimError

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
    axis: Axes,
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    range_ptr: NDArray[np.int64],
    first: NDArray[np.int32],
    length: NDArray[np.int32],
    *,
    machine_nodes: int,
    paint: str = colour(0),
) -> None:
    """Draw each job as the blocks of nodes that it held, from its start to its end.

    Shades show size classes, so the eye sees which jobs are spread. The ranges of nodes are those
    of `netcosim.archive.values.ArchivedSchedule`.
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
    axis.add_collection(
        PolyCollection(
            list(blocks),
            facecolors=[shades[i] for i in shade[job]],
            edgecolors="#ffffff",
            linewidths=edges,
            rasterized=picture,
        )
    )
    names = [name for _, name in _CLASSES] + ["more"]
    for i in np.unique(shade):
        axis.plot([], [], "s", color=shades[i], label=names[i])
    axis.set(
        xlim=(0, max((last - origin) / unit_s, 1e-12)),
        ylim=(0, machine_nodes),
        xlabel=f"time ({unit})",
        ylabel="node",
    )


def link_matrix(
    machine: ArchivedMachine, values: NDArray[np.float64], cells: int = _MOST_CELLS
) -> tuple[NDArray[np.float64], int]:
    """Return the largest value of the links between blocks of routers, and the routers a block.

    Row: sending block; column: receiving block; nan where no link is. ``values`` has all links of
    the machine; injection and ejection are not used.
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
    axis: Axes,
    machine: ArchivedMachine,
    busy_percent: NDArray[np.float64],
    *,
    top_percent: float | None = None,
) -> None:
    """Draw every router-to-router link as a cell: sending router down, receiving router across.

    In a dragonfly the squares on the diagonal are the groups, the cells off it the global links,
    and lines part the groups; in a fat-tree the off-diagonal bands are the levels. ``top_percent``
    has the strongest colour, the same for maps that are side by side; by default the largest value.
    """
    matrix, block = link_matrix(machine, busy_percent)
    known = matrix[np.isfinite(matrix)]
    top = top_percent or (float(known.max()) if len(known) else 1.0)
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
    # as a part of the axes, which are laid out faster than two
    bar = axis.figure.colorbar(image, cax=axis.inset_axes((1.02, 0.075, 0.0425, 0.85)))
    bar.set_label("link busy (%)")
    bar.outline.set_visible(False)


def load_drawings(
    machine: ArchivedMachine,
    busy_percent: Mapping[str, NDArray[np.float64]],
    colours: Mapping[str, str] | None = None,
) -> list[Drawing]:
    """Return a map of the machine's links for each policy or routing, and their loads as shares.

    ``busy_percent`` is the share of time that each link is busy, by name, as are the colours.
    """
    first = machine.first_router_link
    if not busy_percent or len(machine.link_src) == first:
        return []
    top = max(float(values[first:].max()) for values in busy_percent.values())
    maps = [
        Drawing(
            f"load-{name}",
            f"{name}: share of time that each link is busy, from row to column.",
            [
                Panel(
                    partial(link_heat_map, machine=machine, busy_percent=values, top_percent=top),
                    name,
                )
            ],
            size_in=SIDE_IN,
            legend=False,
            lines="",
        )
        for name, values in busy_percent.items()
    ]
    own = {name: values[first:] for name, values in busy_percent.items()}
    shares = partial(cdf, samples=own, xlabel="link busy (%)", of="links", colours=colours)
    caption = "Share of the links between routers that are busy for at most this share of time."
    return [
        *maps,
        Drawing(
            "link-loads",
            "Links by the share of time that they are busy, cumulative.",
            [Panel(shares)],
            caption,
            SIDE_IN,
            legend=False,
            lines="both",
        ),
    ]
