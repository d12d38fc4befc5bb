"""Loops of a snapshot's jobs: as short as it takes to time each job's communication.

A measure's interval comes from the spread between snapshots, and what is left of chance in the
loops of one is part of that spread. So a snapshot's loops end when each job is timed: many
snapshots with short loops know a mean better than a few with long ones. Jobs begin at random
moments of their periods, as if they had looped for long, with communication. Jobs that share no
link are simulated apart, each group for as long as it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cosim.network.communication import rounded_s
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from cosim.network.isolated_loops import LEAST_FRACTION, IsolatedLoop
from cosim.network.loops import LoopTimes
from cosim.network.situation import connected
from netsim.packet.model import PS_PER_S, PacketResult

FloatArray = NDArray[np.float64]

USUAL = 1.5
"""Isolated communication over the time that its busiest node's bytes take, where the search for
computing begins; patterns have 1 to 2."""
NEAR = 2.0
"""Communication within this factor of what its simulation assumed is taken as it is: it depends on
computing only by how far ranks have drifted apart."""
ALLOWANCE = 1.0
"""Isolated communication times that a simulation lasts beyond the longest period, half a time more
than the last of all to begin would take alone. If a job takes longer, the jobs are simulated for
twice as long."""
_ROUNDS = 8


def isolated_loop(
    network: SharedNetwork, job: PlacedJob, fraction: float, stream: int
) -> IsolatedLoop | None:
    """Return the loop of a job that communicates for a fraction of its isolated period.

    Its second iteration is timed: communication of c needs c (1 / fraction - 1) of computing. A job
    that sends nothing between nodes has none.
    """
    least_s = float(Ensemble(network, [job]).least_s[0])
    if not least_s:
        return None
    pause, about_s = 1 / max(fraction, LEAST_FRACTION) - 1, USUAL * least_s
    for _ in range(_ROUNDS):
        looping = job.altered(compute_s=float(rounded_s(about_s * pause)))
        period_s, _ = isolated_period(network, looping, stream)
        comm_s = period_s - looping.compute_s
        if about_s / NEAR <= comm_s <= about_s * NEAR:
            break
        about_s = comm_s
    compute_s = float(rounded_s(comm_s * pause))
    return IsolatedLoop(job.altered(compute_s=compute_s), compute_s + comm_s)


def isolated_period(network: SharedNetwork, job: PlacedJob, stream: int) -> tuple[float, LoopTimes]:
    """Return how long a job's second isolated iteration takes, and the iterations, mostly two."""
    isolated = Ensemble(network, [job])
    # No third communication has begun by then.
    until_s = 3 * job.compute_s + 2 * float(isolated.least_s[0])
    run = isolated.watched(until_s, 1, stream=stream, least=2)
    return float(np.diff(run.ends_ps[0][:2])[0]) / PS_PER_S, run


def groups_that_meet(
    network: SharedNetwork, loops: Sequence[IsolatedLoop], isolated: bool
) -> list[list[int]]:
    """Return the jobs, by their places, in groups of which no two share a link.

    Under routings whose paths depend on loads or draws all jobs are one group.

    ``isolated``: each has links of its own.
    """
    if isolated:
        return [[place] for place in range(len(loops))]
    together = Ensemble(network, [loop.job for loop in loops])
    if not together.routing.is_single_path:
        return [list(range(len(loops)))]
    links = [load.links for load in together.loads]
    return connected(links, network.routing.topology.n_links)


def loops_together(
    network: SharedNetwork,
    loops: Sequence[IsolatedLoop],
    *,
    least: int = 1,
    draw: int = 0,
    stream: int = 0,
) -> tuple[FloatArray, LoopTimes]:
    """Simulate jobs that loop together from random phases; return their periods and times.

    It lasts until each has communicated, that of the longest period ``least`` times. One job alone
    is timed by `isolated_period`. A job that would be in the first half of communicating at the
    start begins there, one in the second half has ended: so from the start on jobs communicate for
    the same share of the time. A period is computing and the mean of the complete communications.
    The first, which all ranks begin at once, counts only if it is the only one. Exposed
    communication is that of a period.
    """
    if len(loops) == 1:
        alone_s, run = isolated_period(network, loops[0].job, stream)
        return np.array([alone_s]), run
    jobs = [_from_phase(network, loop, draw, turn) for turn, loop in enumerate(loops)]
    # Independent of the phases: a run that ended when a long job has communicated would show the
    # others too much of it.
    until_s = max(least * loop.period_s + ALLOWANCE * loop.comm_s for loop in loops)
    run = Ensemble(network, jobs).watched(until_s, len(jobs), stream=stream, least=least)
    period_s = np.array([_period_s(network, *one) for one in zip(jobs, run.ends_ps, strict=True)])
    compute_s, start_s = np.array([(job.compute_s, job.start_s) for job in jobs]).T
    # A run is as many periods as if it had begun with the computing that was left out.
    watched_s = run.packets.end_ps / PS_PER_S - start_s
    share = period_s / run.time_s * watched_s / (watched_s + compute_s)
    exposed_s = tuple(
        {kind: spent_s * part for kind, spent_s in job.items()}
        for job, part in zip(run.exposed_s, share.tolist(), strict=True)
    )
    return period_s, replace(run, exposed_s=exposed_s)


def _from_phase(network: SharedNetwork, loop: IsolatedLoop, draw: int, turn: int) -> PlacedJob:
    job = loop.started(network, draw, turn)
    start_s = max(0.0, job.start_s - loop.comm_s / 2)
    return job.altered(start_s=float(rounded_s(start_s)), communicates_first=True)


def _period_s(network: SharedNetwork, job: PlacedJob, ends_ps: NDArray[np.int64]) -> float:
    """Return the mean period, with mean computing in place of the drawn."""
    if len(ends_ps) == 1:
        return job.compute_s + float(ends_ps[0]) / PS_PER_S - job.start_s
    drawn_s = np.broadcast_to(network.computing_s(job, len(ends_ps)), (len(ends_ps),))
    count = len(ends_ps) - 1
    whole_s = float(ends_ps[-1] - ends_ps[0]) / PS_PER_S
    return job.compute_s + (whole_s - float(drawn_s[1:].sum())) / count


def united(runs: Sequence[PacketResult]) -> PacketResult:
    """Return the packets of groups that share no link, for as long as the longest run.

    What links carried in a shorter run is scaled to that length.
    """
    if len(runs) == 1:
        return runs[0]
    end_ps = max(run.end_ps for run in runs)

    def total(name: str) -> NDArray[np.int64]:
        scaled = [getattr(run, name) * (end_ps / run.end_ps) for run in runs]
        summed: NDArray[np.int64] = np.rint(np.sum(scaled, axis=0)).astype(np.int64)
        return summed

    of_links = ("link_packets", "link_bytes", "link_busy_ps", "link_stalls", "link_stall_ps")
    return replace(runs[0], end_ps=end_ps, **{name: total(name) for name in of_links})
