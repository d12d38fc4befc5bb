"""What a compiled queue consists of: its state, and its arrays with their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from queuesim.compiled.kernels_waiting import Rows

STRICT, EASY, CONSERVATIVE = 0, 1, 2
"""How a pass runs the queue."""
MANY = 1 << 62
"""More nodes, or jobs, than there are."""
GOES_ON, NEEDS_SCORES, STUCK, NEEDS_ROOM = 0, 1, 2, 3
"""Why `advance` came back: enough jobs are over, scores of ``listed`` are due, nothing moves,
what is written of nodes and links is to be read."""

STATE = np.dtype(
    [(name, np.float64) for name in ("now_s", "arrives_s", "shadow_s", "first_blocked_s", "due_s")]
    + [
        (name, np.int64)
        for name in (
            *("backfill", "window", "depth", "by_score", "cuts", "reservations"),
            *("n_free", "n_waiting", "n_running", "n_arrived", "n_done", "n_events"),
            *("first_block", "end_block", "n_listed", "n_ranked", "n_steps", "n_passes"),
            *("due", "scored", "changed", "released", "forecast_broken", "reserved_for", "extra"),
            *("n_releases", "n_holds", "n_states", "n_searches", "held", "n_held", "opened"),
            *("n_nodes_out", "n_links_out", "most_out", "stuck"),
        )
    ],
    align=True,
)
"""What a queue consists of beside its arrays; the second row of whole numbers is the user's choice.

``reservations`` is the number of blocked jobs that conservative backfilling reserves for.
``window`` is the number of jobs behind the head that a pass looks at, ``depth`` of those that can
be read at all; ``by_score``: scores order the queue. ``due``: a pass follows when all of
this instant has happened; ``scored``: its scores are there. ``reserved_for`` is the rank for which
EASY has a reservation, or -1, with ``shadow_s`` and ``extra``. ``due_s`` is the first reserved
start of conservative backfilling.

Where nodes and links matter (`queuesim.compiled.kernels_room`), ``n_releases`` and ``n_holds``
number the states in which searches failed, and ``n_states`` all changes, of which ``opened`` is the
last for which TA was prepared. ``held`` is the first part of what the head holds, of ``n_held``
nodes. A pass begins with at most ``most_out`` nodes written. ``stuck``: the head never fits.
"""

JOB = np.dtype(
    [(name, np.float64) for name in ("requested_s", "work_s", "start_s", "end_s", "promised_s")]
    + [("reserved_s", np.float64), ("nodes", np.int64), ("late", np.int64)]
    + [("index", np.int64), ("reserved_in", np.int64)],
    align=True,
)
"""A job, by rank: ``late`` if it has work left at its walltime, ``index`` in the workload.

Conservative backfilling reserved ``reserved_s`` in its pass number ``reserved_in``; a reservation
lasts until the next pass.
"""

ARRIVAL = np.dtype([("enters_s", np.float64), ("rank", np.int64)], align=True)
"""A job, by index in the workload, which is the order of arrival."""

EVENT = np.dtype([("time_s", np.float64), ("rank", np.int64), ("is_start", np.int64)], align=True)
"""A start or an end, in their order."""

PROMISE = np.dtype([("end_s", np.float64), ("nodes", np.int64), ("rank", np.int64)], align=True)
"""A running job: when it ends by its walltime; in ascending order."""

LISTED = np.dtype([("rank", np.int64), ("score", np.float64)], align=True)
"""A job that needs a score, or one of the front of the queue."""


class Queue(NamedTuple):
    """The arrays of a queue.

    Attributes
    ----------
    jobs, arrivals, blocks, events : (n,) JOB, (n,) ARRIVAL, (blocks,) BLOCK, (2 n,) EVENT
    running : (room,) PROMISE
    ends : (room,) PAIR
        Heap of the ends as they come: time and number of the start among the events.
    listed : (n,) LISTED
    """

    jobs: Rows
    arrivals: Rows
    blocks: Rows
    events: Rows
    running: Rows
    ends: Rows
    listed: Rows


class Plan(NamedTuple):
    """The arrays of conservative backfilling.

    Attributes
    ----------
    steps : (room,) STEP
        A profile of free nodes.
    kept : (n,) PAIR
        Heap of reservations by their start.
    """

    steps: Rows
    kept: Rows
