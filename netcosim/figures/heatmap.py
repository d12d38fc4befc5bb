"""The links of a machine as a map of who loads whom."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.figures.style import new_figure
from netsim.errors import NetcosimError
from netsim.topologies.registry import family_of
from netsim.topology import Topology

_MOST_CELLS = 256


def link_matrix(
    topology: Topology, values: NDArray[np.float64], cells: int = _MOST_CELLS
) -> tuple[NDArray[np.float64], int]:
    """Largest value of the links between blocks of routers.

    Parameters
    ----------
    topology : Topology
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
    if len(values) != topology.n_links:
        raise NetcosimError(f"heat map: {len(values)} values for {topology.n_links} links")
    block = -(-topology.n_routers // cells)
    k = -(-topology.n_routers // block)
    first = topology.first_router_link
    src = (topology.link_src[first:] - topology.n_ports) // block
    dst = (topology.link_dst[first:] - topology.n_ports) // block
    flat = np.full(k * k, -np.inf)
    np.maximum.at(flat, src.astype(np.int64) * k + dst, np.asarray(values, dtype=float)[first:])
    matrix = flat.reshape(k, k)
    matrix[np.isneginf(matrix)] = np.nan
    return matrix, block


def link_heat_map(topology: Topology, busy_percent: NDArray[np.float64]) -> Figure:
    """Every router-to-router link as a cell: sending router down, receiving router across.

    In a dragonfly the squares on the diagonal are the groups, the cells off it the global
    links, and lines part the groups; in a fat-tree the off-diagonal bands are the levels.

    Parameters
    ----------
    topology : Topology
    busy_percent : (n_links,) float64
        Share of time that each link is busy; the largest has the darkest colour.

    Raises
    ------
    NetcosimError
        Not one value a link.
    """
    matrix, block = link_matrix(topology, busy_percent)
    known = matrix[np.isfinite(matrix)]
    top = float(known.max()) if len(known) else 1.0
    figure, [axis] = new_figure(6.8, 5.8)
    image = axis.imshow(
        matrix,
        cmap="cividis_r",
        norm=Normalize(0.0, top if top > 0 else 1.0),
        interpolation="nearest",
        origin="upper",
        extent=(0, len(matrix) * block, len(matrix) * block, 0),
    )
    axis.set_facecolor("#ffffff")
    grouped = family_of(topology).routers_a_group
    group = topology.n_routers if grouped is None else grouped(topology)
    if topology.n_routers // group <= 40:
        for line in range(group, topology.n_routers, group):
            axis.axhline(line, color="#b6bfc9", linewidth=0.4)
            axis.axvline(line, color="#b6bfc9", linewidth=0.4)
    axis.set_xlabel("receiving router")
    axis.set_ylabel("sending router")
    axis.spines[["top", "right"]].set_visible(True)
    bar = figure.colorbar(image, ax=axis, shrink=0.85, pad=0.02)
    bar.set_label("link busy (%)")
    bar.outline.set_visible(False)
    axis.set_title(topology.name, loc="left", fontsize=11)
    return figure
