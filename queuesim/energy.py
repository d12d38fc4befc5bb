"""Energy of a schedule: power of nodes, idle or busy, of switches and links, and of each byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from queuesim.parameters import Power
from queuesim.result import COMPLETED, QueueResult, Rows

FloatArray = NDArray[np.float64]

J_PER_KWH = 3.6e6
MOST_JOBS = 1500
"""Number of jobs of the table by job, evenly spaced over the log."""


@dataclass(frozen=True, eq=False)
class Energy:
    """Energy from the first submission to the last end."""

    nodes_J: FloatArray
    logged_J: FloatArray
    """nodes_J, logged_J: (n,) float64. Of the nodes of each job: as it ran, and with its run time
    as logged. A job that did not complete counts as it ran in both."""
    traffic_J: FloatArray
    """(n,) float64. Of the bytes of each job."""
    idle_J: float
    switches_J: float
    links_J: float
    """idle_J, switches_J, links_J: Of nodes without a job, and of all switches and links."""

    def row(self) -> dict[str, object]:
        """Return the parts and their sum, and how much more the jobs take than as logged."""
        parts_J = {
            "jobs": float(self.nodes_J.sum()),
            "traffic": float(self.traffic_J.sum()),
            "idle_nodes": self.idle_J,
            "switches": self.switches_J,
            "links": self.links_J,
        }
        logged_J = float(self.logged_J.sum())
        return {
            "total_kWh": sum(parts_J.values()) / J_PER_KWH,
            **{f"{name}_kWh": value / J_PER_KWH for name, value in parts_J.items()},
            "jobs_change_percent": 100 * (parts_J["jobs"] / logged_J - 1) if logged_J else None,
        }


def energy_of(result: QueueResult, power: Power, link_bytes: FloatArray | None = None) -> Energy:
    """Return the energy of a schedule, with the bytes of each job on each link between switches.

    Examples
    --------
    >>> import netcosim as nc
    >>> import numpy as np
    >>> from queuesim.energy import energy_of
    >>> from queuesim.parameters import Power
    >>> rng = np.random.default_rng(1)
    >>> jobs = nc.laas_workload(3, 2, rng, run_time_range_s=(60, 60))
    >>> policy = nc.make_policy(nc.make_topology("fattree", {"radix": 4}), "baseline", rng)
    >>> schedule = nc.simulate_queue(jobs, policy, rng=rng)
    >>> row = energy_of(schedule, Power(100, 300, 50)).row()  # 14 of 16 nodes, 20 switches, 60 s
    >>> round(row["total_kWh"] * 3.6e6)
    324000
    """
    n, topology, size = len(result), result.topology, result.allocated_nodes
    # signed sums: a job that a failure sent back runs several times
    busy_s = np.zeros(n)
    np.add.at(busy_s, result.event_job, np.where(result.event_is_start, -1, 1) * result.event_s)
    logged_s = np.where(result.outcome == COMPLETED, result.workload.run_time_s, busy_s)
    # a job that never ran has no end: the last event is the last end
    ran = len(result.event_s) > 0
    span_s = float(result.event_s[-1] - result.workload.submit_s.min()) if ran else 0.0
    idle_node_s = result.machine_nodes * span_s - float((size * busy_s).sum())
    return Energy(
        nodes_J=size * power.node_busy_W * busy_s,
        logged_J=np.asarray(size * power.node_busy_W * logged_s, dtype=np.float64),
        traffic_J=np.zeros(n) if link_bytes is None else link_bytes * power.link_J_per_byte,
        idle_J=power.node_idle_W * idle_node_s,
        switches_J=topology.n_routers * power.switch_W * span_s,
        links_J=topology.n_links * power.link_W * span_s,
    )


def job_rows(result: QueueResult, energy: Energy) -> Rows:
    """Return the energy of some jobs, and that with their run times as logged."""
    some = np.unique(np.linspace(0, len(result) - 1, min(MOST_JOBS, len(result))).astype(np.int64))
    return [
        {
            "job_id": int(result.workload.job_id[i]),
            "nodes": int(result.allocated_nodes[i]),
            "energy_kWh": float(energy.nodes_J[i] + energy.traffic_J[i]) / J_PER_KWH,
            "logged_kWh": float(energy.logged_J[i] + energy.traffic_J[i]) / J_PER_KWH,
        }
        for i in some
    ]
