"""A decision as an RGB picture: the machine's nodes by job, and the jobs that wait."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from queuesim.learning.episode import Episode

_CELL, _BAR, _GAP = 6, 6, 12
_PAPER, _FREE, _INK = (255, 255, 255), (226, 226, 222), (70, 70, 70)
_COLOURS = (
    *((0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0)),
    *((86, 180, 233), (204, 121, 167), (240, 228, 66), (148, 103, 189)),
)
"""Okabe and Ito's, by job id."""


def picture(episode: Episode) -> NDArray[np.uint8]:
    """The machine and its queue.

    Parameters
    ----------
    episode : Episode

    Returns
    -------
    (height, width, 3) uint8
        Left the nodes in rows of a domain each, in the colour of their job, free ones grey; right
        a bar for each job that is seen waiting, as long as it is large, in its own colour.
    """
    view, machine = episode.view, episode.run.machine
    job_id = episode.run.workload.job_id
    rows, n_rows = view.domains.of, view.domains.n
    column = np.empty(len(rows), dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    begins = np.searchsorted(rows[order], np.arange(n_rows))
    column[order] = np.arange(len(rows)) - begins[rows[order]]
    cells = np.full((n_rows, int(column.max()) + 1, 3), _PAPER, dtype=np.uint8)
    cells[rows, column] = _FREE
    for job, placement in machine.placements.items():
        nodes = placement.nodes
        cells[rows[nodes], column[nodes]] = _COLOURS[int(job_id[job]) % len(_COLOURS)]
    nodes_picture = np.kron(cells, np.ones((_CELL, _CELL, 1), dtype=np.uint8))
    height = max(nodes_picture.shape[0], view.depth * _BAR)
    width = nodes_picture.shape[1]
    shown = np.full((height, 2 * width + _GAP, 3), _PAPER, dtype=np.uint8)
    shown[: nodes_picture.shape[0], :width] = nodes_picture
    shown[:, width + _GAP // 2] = _INK
    for k, job in enumerate(episode.waiting):
        long = max(1, round(width * machine.n_nodes[job] / len(rows)))
        colour = _COLOURS[int(job_id[job]) % len(_COLOURS)]
        shown[k * _BAR : (k + 1) * _BAR - 1, width + _GAP : width + _GAP + long] = colour
    return shown
