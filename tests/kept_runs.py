"""Kept runs made by hand, for whoever draws them: no packet is sent, every number is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netcosim.archive.extract import machine_of, ranges
from netcosim.archive.values import (
    ArchivedJobs,
    ArchivedLinks,
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
)
from netsim.topology import Topology

PATTERNS = ("all-to-all", "halo3d26")


def kept_jobs(n_jobs: int, largest: int, rng: np.random.Generator) -> ArchivedJobs:
    run_s = np.round(rng.exponential(3600.0, n_jobs)) + 60.0
    return ArchivedJobs(
        log="made by hand",
        start_unix_s=None,
        job_id=np.arange(101, 101 + n_jobs),
        submit_s=np.sort(np.round(rng.uniform(0.0, 400.0 * n_jobs, n_jobs))),
        run_time_s=run_s,
        requested_s=2 * run_s,
        n_nodes=rng.integers(1, largest + 1, n_jobs).astype(np.int32),
        user=np.zeros(n_jobs, dtype=np.int32),
        pattern=(np.arange(n_jobs) % 2).astype(np.int16),
        fraction=np.full(n_jobs, 0.3),
        patterns=PATTERNS,
    )


def kept_schedule(
    machine: ArchivedMachine, jobs: ArchivedJobs, rng: np.random.Generator, n_snapshots: int
) -> ArchivedSchedule:
    """First come, first served, each job on free nodes that are drawn."""
    free_from = np.zeros(machine.n_nodes)
    start, nodes, earliest = np.empty(len(jobs)), [], 0.0
    for job in range(len(jobs)):
        need = int(jobs.n_nodes[job])
        moment = max(earliest, float(jobs.submit_s[job]), float(np.sort(free_from)[need - 1]))
        chosen = np.sort(rng.permutation(np.flatnonzero(free_from <= moment))[:need])
        free_from[chosen] = moment + jobs.run_time_s[job]
        start[job], earliest = moment, moment
        nodes.append(chosen)
    end = start + jobs.run_time_s
    ptr, first, length = ranges(nodes)
    links, measured = None, None
    if n_snapshots:
        times = (np.arange(n_snapshots) + 0.5) / n_snapshots * float(start[-1])
        links = kept_links(machine, times, rng)
        measured = kept_measured(jobs, times, start, end, nodes, rng)
    return ArchivedSchedule(
        start_s=start,
        end_s=end,
        eligible_s=jobs.submit_s,
        outcome=np.zeros(len(jobs), dtype=np.int8),
        allocated_nodes=jobs.n_nodes,
        range_ptr=ptr,
        range_first=first,
        range_length=length,
        links=links,
        measured=measured,
    )


def kept_links(
    machine: ArchivedMachine, times: np.ndarray, rng: np.random.Generator
) -> ArchivedLinks:
    shape = (len(times), len(machine.link_src))
    busy = rng.integers(0, 800_000, shape) * (rng.random(shape) < 0.5)
    return ArchivedLinks(
        time_s=times,
        number=np.arange(len(times), dtype=np.int32),
        span_s=np.full(len(times), 1e-6),
        packets=busy // 1000,
        bytes=busy,
        busy_ps=busy,
        stall_ps=busy // 3,
    )


def kept_measured(
    jobs: ArchivedJobs,
    times: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    nodes: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> ArchivedMeasured:
    """Jobs of two nodes and more at every instant, each slowed by up to three of the others."""
    at, job, neighbours, parts = [], [], [], []
    for number, moment in enumerate(times):
        running = np.flatnonzero((start <= moment) & (moment < end) & (jobs.n_nodes > 1))
        for mine in running:
            others = rng.permutation(running[running != mine])[:3]
            share = rng.random(len(others)) + 0.1
            at.append(number)
            job.append(mine)
            neighbours.append(others)
            parts.append(share / max(share.sum(), 1e-9))
    alone = rng.uniform(1e-5, 1e-4, len(job))
    ptr, first, length = ranges([nodes[mine] for mine in job])
    return ArchivedMeasured(
        snapshot=np.array(at, dtype=np.int32),
        job=np.array(job, dtype=np.int64),
        time_s=alone * rng.uniform(1.0, 1.8, len(job)),
        baseline_s=alone,
        alone_s=alone,
        range_ptr=ptr,
        range_first=first,
        range_length=length,
        neighbour_ptr=np.concatenate([[0], np.cumsum([len(n) for n in neighbours])]),
        neighbour=np.concatenate([np.empty(0, dtype=np.int64), *neighbours]),
        part=np.concatenate([np.empty(0), *parts]),
    )


def archived_run(
    topology: Topology,
    policies: Sequence[str] = ("rdn", "simple"),
    *,
    n_jobs: int = 60,
    largest: int | None = None,
    n_snapshots: int = 4,
    seed: int = 1,
) -> ArchivedRun:
    """The same jobs under several policies, all of which place them by chance."""
    rng = np.random.default_rng(seed)
    machine = machine_of(topology)
    jobs = kept_jobs(n_jobs, largest or max(2, machine.n_nodes // 3), rng)
    return ArchivedRun(
        machine,
        jobs,
        {name: kept_schedule(machine, jobs, rng, n_snapshots) for name in policies},
    )
