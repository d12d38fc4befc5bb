"""Check that a program keeps to the protocol, on small queues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.external.decider import PROTOCOL, External
from queuesim.queue import simulate_queue
from workloads.job import bare_jobs

N_NODES = 8
N_RANDOM = 200
SCRIPT = (
    # submitted, runs, nodes, walltime: a start and an end, then nothing for a day
    (0, 10, 1, 20),
    # the entire machine, behind a job that runs past its walltime
    (86_400, 900, 5, 600),
    (86_400, 60, N_NODES, 60),
    # three at once, of which one fits beside
    (86_410, 50, 3, 60),
    (86_410, 50, 3, 6_000),
    (86_410, 50, 4, 60),
    # submitted as another ends
    (86_460, 5, 1, 5),
)


def check_scheduler(command: Sequence[str], time_limit_s: float = 10.0) -> str:
    """Return one line on a program that keeps to the protocol; the limit is for each answer."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(*limits, N_RANDOM) for limits in ((0, 20_000), (1, 900), (1, 9))]
    drawn = np.stack([np.sort(columns[0]), *columns[1:], rng.integers(60, 900, N_RANDOM)], axis=1)
    decider, starts, n, seconds = External(command, time_limit_s), [], 0, 0.0
    for rows in (np.array(SCRIPT), drawn, drawn):
        times_s = rows.astype(np.float64).T
        jobs = bare_jobs(
            "check",
            submit_s=times_s[0],
            run_time_s=times_s[1],
            n_nodes=rows[:, 2],
            requested_s=times_s[3],
        )
        machine = make_topology("torus", {"dims": [N_NODES]})
        policy = make_policy(machine, "baseline", np.random.default_rng(1))
        found = simulate_queue(jobs, policy, backfill=decider, rng=np.random.default_rng(1))
        if decider.status != 0:
            how = "did not end" if decider.status is None else f"had status {decider.status}"
            raise NetcosimError(f'decider {decider.name!r}: {how} after "end"; must be status 0')
        starts.append(found.start_s)
        n, seconds = n + decider.n_exchanges, seconds + decider.exchange_s
    if not np.array_equal(starts[1], starts[2]):
        raise NetcosimError(
            f"decider {decider.name!r}: two runs of the same jobs and seed differ; "
            "results must depend only on the messages"
        )
    each_ms = 1e3 * seconds / n
    return f"{decider.name}: protocol {PROTOCOL}, {n} decisions, {each_ms:.2f} ms each"
