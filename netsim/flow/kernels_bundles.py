"""Jobs as bundles of flows, compiled: only over-subscribed links bind, only they join jobs.

A job at rate x in (0, 1] puts x * load on each of its links. A link whose jobs fit at
x = 1 never binds, so the jobs that a change reaches are those joined to it by links
that are over-subscribed (before or after the change).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from netsim.flow.kernels import TIE, heap_pop, heap_push
from netsim.kernels_options import PLAIN_KERNEL

SLACK = 1e-9  # over-subscribed: above the capacity by this much, relative


class Bundles(NamedTuple):
    """Jobs in slots: ``job_begin .. job_end`` in the entries; a link's jobs in its row."""

    capacity: NDArray[np.float64]
    job_begin: NDArray[np.int64]
    job_end: NDArray[np.int64]
    entry_link: NDArray[np.int32]
    entry_load: NDArray[np.float64]
    link_count: NDArray[np.int32]
    link_jobs: NDArray[np.int32]
    link_loads: NDArray[np.float64]
    rate: NDArray[np.float64]


class Component(NamedTuple):
    """Working arrays: the jobs and links that a change reaches. All marks are false outside."""

    job_in: NDArray[np.bool_]
    job_list: NDArray[np.int32]
    link_seen: NDArray[np.bool_]
    seen_list: NDArray[np.int32]
    link_list: NDArray[np.int32]
    rising: NDArray[np.bool_]
    heap_key: NDArray[np.float64]
    heap_link: NDArray[np.int32]


@njit(**PLAIN_KERNEL)
def insert(b, job):  # type: ignore[no-untyped-def]
    """Enter a job in the rows of its links, which have room."""
    for i in range(b.job_begin[job], b.job_end[job]):
        link = b.entry_link[i]
        at = b.link_count[link]
        b.link_jobs[link, at] = job
        b.link_loads[link, at] = b.entry_load[i]
        b.link_count[link] = at + 1


@njit(**PLAIN_KERNEL)
def delete(b, job):  # type: ignore[no-untyped-def]
    """Take a job out of the rows of its links."""
    for i in range(b.job_begin[job], b.job_end[job]):
        link = b.entry_link[i]
        last = b.link_count[link] - 1
        at = 0
        while b.link_jobs[link, at] != job:
            at += 1
        b.link_jobs[link, at] = b.link_jobs[link, last]
        b.link_loads[link, at] = b.link_loads[link, last]
        b.link_count[link] = last


@njit(**PLAIN_KERNEL)
def row_total(b, link):  # type: ignore[no-untyped-def]
    """Load of a link with all its jobs at rate 1."""
    total = 0.0
    for at in range(b.link_count[link]):
        total += b.link_loads[link, at]
    return total


@njit(**PLAIN_KERNEL)
def join_row(b, c, link, n_jobs):  # type: ignore[no-untyped-def]
    """List the jobs of a link that are not listed yet."""
    for at in range(b.link_count[link]):
        other = b.link_jobs[link, at]
        if not c.job_in[other]:
            c.job_in[other] = True
            c.job_list[n_jobs] = other
            n_jobs += 1
    return n_jobs


@njit(**PLAIN_KERNEL)
def leave(b, c, leaving):  # type: ignore[no-untyped-def]
    """Delete jobs; lists the others on links that were over-subscribed, and counts them."""
    n_jobs = 0
    for k in range(len(leaving)):
        c.job_in[leaving[k]] = True
    for k in range(len(leaving)):
        for i in range(b.job_begin[leaving[k]], b.job_end[leaving[k]]):
            link = b.entry_link[i]
            if row_total(b, link) > b.capacity[link] * (1.0 + SLACK):
                n_jobs = join_row(b, c, link, n_jobs)
    for k in range(len(leaving)):
        delete(b, leaving[k])
        c.job_in[leaving[k]] = False
    return n_jobs


@njit(**PLAIN_KERNEL)
def reach(b, c, coming, n_jobs):  # type: ignore[no-untyped-def]
    """List the jobs joined to the listed and the new ones, and the over-subscribed links there."""
    n_links = n_seen = 0
    for k in range(len(coming)):
        if not c.job_in[coming[k]]:
            c.job_in[coming[k]] = True
            c.job_list[n_jobs] = coming[k]
            n_jobs += 1
    done = 0
    while done < n_jobs:
        here = c.job_list[done]
        done += 1
        for i in range(b.job_begin[here], b.job_end[here]):
            link = b.entry_link[i]
            if c.link_seen[link] or b.link_count[link] < 2:
                continue
            c.link_seen[link] = True
            c.seen_list[n_seen] = link
            n_seen += 1
            if row_total(b, link) > b.capacity[link] * (1.0 + SLACK):
                c.link_list[n_links] = link
                n_links += 1
                n_jobs = join_row(b, c, link, n_jobs)
    for k in range(n_seen):
        c.link_seen[c.seen_list[k]] = False
    return n_jobs, n_links


@njit(**PLAIN_KERNEL)
def offer(b, c, link):  # type: ignore[no-untyped-def]
    """The rate that a link can give its rising jobs; inf if it has none."""
    used = rising = 0.0
    for at in range(b.link_count[link]):
        job = b.link_jobs[link, at]
        if c.rising[job]:
            rising += b.link_loads[link, at]
        else:
            used += b.link_loads[link, at] * b.rate[job]
    if rising == 0.0:
        return np.inf
    return max(b.capacity[link] - used, 0.0) / rising


@njit(cache=True)
def solve(b, c, coming, n_reached, changed):  # type: ignore[no-untyped-def]
    """Solve again what deleted and new jobs reach; returns how many rates changed.

    ``n_reached`` is what `leave` gave. ``changed`` receives the slots whose rate is
    another one.
    """
    n_jobs, n_links = reach(b, c, coming, n_reached)
    old = np.empty(n_jobs, np.float64)
    for k in range(n_jobs):
        old[k] = b.rate[c.job_list[k]]
        c.rising[c.job_list[k]] = True
    size = 0
    level = 0.0
    for k in range(n_links):
        link = c.link_list[k]
        heap_push(c.heap_key, c.heap_link, size, b.capacity[link] / row_total(b, link), link)
        size += 1
    while size > 0:
        key, link = c.heap_key[0], c.heap_link[0]
        heap_pop(c.heap_key, c.heap_link, size)
        size -= 1
        share = offer(b, c, link)
        if share >= 1.0:
            continue  # its last jobs run at full rate: the cap binds, not the link
        if size > 0 and share > c.heap_key[0] and share > key:
            heap_push(c.heap_key, c.heap_link, size, share, link)
            size += 1
            continue
        if share <= level * (1.0 + TIE):
            share = level
        level = share
        for at in range(b.link_count[link]):
            other = b.link_jobs[link, at]
            if c.rising[other]:
                c.rising[other] = False
                b.rate[other] = share
    n_changed = 0
    for k in range(n_jobs):
        other = c.job_list[k]
        if c.rising[other]:
            c.rising[other] = False
            b.rate[other] = 1.0
        c.job_in[other] = False
        if abs(b.rate[other] - old[k]) > 1e-12 * b.rate[other]:
            changed[n_changed] = other
            n_changed += 1
        else:
            b.rate[other] = old[k]
    return n_changed
