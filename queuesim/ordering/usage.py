"""Usage of the machine by owner: node-seconds that decay with a half-life."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from workloads.job import Workload

FloatArray = NDArray[np.float64]


class Usage:
    """Usage of each owner, while jobs start and end.

    A node-second used t ago counts 2^(-t / half-life). Running jobs are charged as they run.
    """

    def __init__(self, n_owners: int, half_life_s: float) -> None:
        self._fades = log(2.0) / half_life_s
        self._used_node_s = np.zeros(n_owners)
        self._nodes = np.zeros(n_owners)
        self._at_s = 0.0

    def at(self, now_s: float) -> FloatArray:
        """Return each owner's decayed node-seconds, (owners,), as an array not to be changed."""
        passed = now_s - self._at_s
        if passed > 0:
            # d used / dt = nodes - fades * used
            left = np.exp(-self._fades * passed)
            new = -np.expm1(-self._fades * passed) / self._fades
            self._used_node_s = self._used_node_s * left + self._nodes * new
            self._at_s = now_s
        return self._used_node_s

    def changes(self, owner: int, nodes: int, now_s: float) -> None:
        """Change the number of nodes that an owner uses from now on by ``nodes``."""
        self.at(now_s)
        self._nodes[owner] += nodes

    def add(self, owner: NDArray[np.integer], node_s: FloatArray) -> None:
        """Add earlier usage, decayed to time 0."""
        np.add.at(self._used_node_s, owner, node_s)


def owners(workload: Workload, by: str) -> tuple[NDArray[np.int64], list[object]]:
    """Return the index of every job's owner, and the owners' names; unknown ones are one."""
    if by == "account":
        labels = workload.details.account
        code = None if labels is None else labels.code
        names: list[object] = [] if labels is None else list(labels.names)
    else:
        code = workload.user if by == "user" else workload.project
        names = [] if code is None else list(range(int(code.max(initial=-1)) + 1))
    if code is None or not len(code) or code.max() < 0:
        raise NetcosimError(f"{workload.name}: fair share by {by}: the log has no {by} of any job")
    found, index = np.unique(code, return_inverse=True)
    return index.reshape(-1), [None if k < 0 else names[k] for k in found.tolist()]


def history_usage(
    history: Workload, by: str, names: list[object], half_life_s: float
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the usage of earlier jobs in node-seconds, decayed to the end of the last of them.

    Also the owners, as positions in ``names``; those that are not there have no jobs, and are left
    out.
    """
    index, known = owners(history, by)
    place = {name: i for i, name in enumerate(names)}
    owner = np.array([place.get(name, -1) for name in known], dtype=np.int64)[index]
    begin = history.submit_s + np.nan_to_num(history.wait_s)
    end = begin + history.run_time_s
    fades, last = log(2.0) / half_life_s, float(end.max(initial=0.0))
    faded = np.exp(-fades * (last - end)) * -np.expm1(-fades * (end - begin)) / fades
    mine = owner >= 0
    return owner[mine], (history.n_nodes * faded)[mine]
