"""The links of a machine as a map of who loads whom."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.archive.values import KeptMachine
from experiments.figures.style import GRID, literal, new_figure
from netsim.errors import NetcosimError

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


def link_matrix(
    machine: KeptMachine, values: NDArray[np.float64], cells: int = _MOST_CELLS
) -> tuple[NDArray[np.float64], int]:
    """Largest value of the links between blocks of routers.

    Parameters
    ----------
    machine : KeptMachine
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

    Raises
    ------
    NetcosimError
        Not one value a link.
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
    machine: KeptMachine,
    busy_percent: NDArray[np.float64],
    *,
    title: str = "",
    top_percent: float | None = None,
    size_in: tuple[float, float] = (6.8, 5.8),
) -> Figure:
    """Every router-to-router link as a cell: sending router down, receiving router across.

    In a dragonfly the squares on the diagonal are the groups, the cells off it the global
    links, and lines part the groups; in a fat-tree the off-diagonal bands are the levels.

    Parameters
    ----------
    machine : KeptMachine
    busy_percent : (n_links,) float64
        Share of time that each link is busy.
    title : str
        By default the machine's name.
    top_percent : float, optional
        What has the strongest colour: the same for maps that stand side by side; by default the
        largest value.
    size_in : (width, height), inches

    Raises
    ------
    NetcosimError
        Not one value a link.
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
    axis.set_xlim(0, n_routers)
    axis.set_ylim(n_routers, 0)
    axis.set_xlabel("receiving router")
    axis.set_ylabel("sending router")
    axis.spines[["top", "right"]].set_visible(True)
    bar = figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02)
    bar.set_label("link busy (%)")
    bar.outline.set_visible(False)
    axis.set_title(literal(title or machine.name), loc="left", fontsize=11)
    return figure
