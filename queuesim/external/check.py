"""Check that a program keeps to the protocol, on small queues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from alloc.registry import make_policy
from netsim.errors import NetcosimError
from netsim.topologies.registry import make_topology
from queuesim.external.decider import PROTOCOL, External
from queuesim.queue import simulate_queue
from workloads.job import Workload, bare_jobs

N_NODES = 8
_SCRIPT = (
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
_RANDOM_JOBS = 200


def _queues() -> list[Workload]:
    rng = np.random.default_rng(1)
    drawn = np.stack(
        [
            np.sort(rng.integers(0, 20_000, _RANDOM_JOBS)),
            rng.integers(1, 900, _RANDOM_JOBS),
            rng.integers(1, N_NODES + 1, _RANDOM_JOBS),
            rng.integers(60, 900, _RANDOM_JOBS),
        ],
        axis=1,
    )
    return [
        bare_jobs(
            name,
            submit_s=rows[:, 0].astype(np.float64),
            run_time_s=rows[:, 1].astype(np.float64),
            n_nodes=rows[:, 2],
            requested_s=rows[:, 3].astype(np.float64),
        )
        for name, rows in (("script", np.array(_SCRIPT)), ("random", drawn), ("random", drawn))
    ]


def check_scheduler(command: Sequence[str], time_limit_s: float = 10.0) -> str:
    """Return one line on a program that keeps to the protocol.

    Parameters
    ----------
    command : sequence of str
    time_limit_s : float
        For each answer.

    Raises
    ------
    NetcosimError
        The first violation; a job that is never started; two runs with different starts.
    """
    decider, starts, exchanges, seconds = External(command, time_limit_s), [], 0, 0.0
    for jobs in _queues():
        policy = make_policy(
            make_topology("torus", {"dims": [N_NODES]}), "baseline", np.random.default_rng(1)
        )
        found = simulate_queue(jobs, policy, backfill=decider, rng=np.random.default_rng(1))
        if decider.status != 0:
            how = "did not end" if decider.status is None else f"had status {decider.status}"
            raise NetcosimError(f'decider {decider.name!r}: {how} after "end"; must be status 0')
        starts.append(found.start_s)
        exchanges, seconds = exchanges + decider.n_exchanges, seconds + decider.exchange_s
    if not np.array_equal(starts[1], starts[2]):
        raise NetcosimError(
            f"decider {decider.name!r}: two runs of the same jobs and seed differ; "
            "results must depend only on the messages"
        )
    return (
        f"{decider.name}: protocol {PROTOCOL}, {exchanges} decisions, "
        f"{1e3 * seconds / exchanges:.2f} ms each"
    )
