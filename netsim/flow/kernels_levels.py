"""Levels of links, compiled: max-min rates that are kept up as flows come and go.

A link's level is what its other flows leave of it over the weights of those that it stops. Rates
are max-min fair when no flow is faster than the level of any link on its path (Bertsekas and
Gallager, Data Networks, section 6.5.2). So a flow that comes or ends changes the sums of its own
links; a link whose level moves passes the difference on to the other links of the flows that it
stops, which all have higher levels; links are looked at from the lowest level up until none moves.
A flow that has become faster than the level of a link is stopped by that link from then on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.flow.kernels_filling import fill, heap_pop, heap_push
from netsim.flow.kernels_targets import ACTIVE, DONE, set_clock, stop_at, take_out, work_at
from netsim.kernels_options import HOT_KERNEL, INNER_ALLOCATING_KERNEL, INNER_KERNEL

SAME_LEVEL = 1e-13  # a level that moves by less, relative, is not passed on
FASTER = 1e-12  # a flow faster than a link's level by less, relative, is not
LEAP = 2.0  # a level that rises by more lets go first of the flows that others would stop
RECOUNT = 200  # looks at a link after which its sums, added to at each, are worked out anew


@njit(**INNER_KERNEL)
def weight_on(inc, flow, link):  # type: ignore[no-untyped-def]
    """Return the load of a flow on one of its links per unit of its rate."""
    for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
        if inc.links[j] == link:
            return inc.weight[j]
    return 0.0


@njit(**HOT_KERNEL)
def queue_link(s, link):  # type: ignore[no-untyped-def]
    """Have a link looked at, after those of lower levels."""
    if not s.queued[link]:
        s.queued[link] = True
        enqueue(s, link)


@njit(**INNER_KERNEL)
def enqueue(s, link):  # type: ignore[no-untyped-def]
    """Put a link into one of the queues."""
    if s.size[link] > 0:
        heap_push(s.queue_key, s.queue, s.n_queued[0], s.level[link], link)
        s.n_queued[0] += 1
    else:
        s.later[s.n_queued[1]] = link
        s.n_queued[1] += 1


@njit(**INNER_KERNEL)
def add_flow(inc, s, flow, amount, now):  # type: ignore[no-untyped-def]
    """Add a flow, stopped by the link that offers it the least."""
    weighted = len(inc.weight) > 0
    least, link, its_weight = np.inf, np.int64(-1), 1.0
    for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
        other = np.int64(inc.links[j])
        w = inc.weight[j] if weighted else 1.0
        share = (inc.capacity[other] - s.used[other]) / (s.weight[other] + w)
        if link < 0 or share < least:
            least, link, its_weight = share, other, w
    if s.size[link] == 0:
        s.level[link] = least if least > 0.0 else inc.capacity[link] / its_weight
    s.status[flow] = ACTIVE
    stop_at(inc, s, flow, link, its_weight, amount, now)
    pass_on(inc, s, flow, link, s.level[link], s.level[link])
    queue_link(s, link)
    set_clock(inc, s, link)


@njit(**HOT_KERNEL)
def pass_on(inc, s, flow, link, more, rate):  # type: ignore[no-untyped-def]
    """Add ``more`` to the rate of a flow on its links except the one that stops it."""
    weighted = len(inc.weight) > 0
    for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
        other = np.int64(inc.links[j])
        if other == link:
            continue
        s.used[other] += inc.weight[j] * more if weighted else more
        s.fastest[other] = max(s.fastest[other], rate)
        queue_link(s, other)


@njit(**INNER_KERNEL)
def end_first(inc, s, link):  # type: ignore[no-untyped-def]
    """End the first of the flows that a link stops; returns it."""
    weighted = len(inc.weight) > 0
    flow, level, weight = s.stopped[inc.link_ptr[link]], s.level[link], 1.0
    if weighted:
        weight = weight_on(inc, flow, link)
    pass_on(inc, s, flow, link, -level, 0.0)
    take_out(inc, s, flow, weight)
    s.status[flow] = DONE
    s.stop[flow] = -1
    if s.size[link] > 0:
        queue_link(s, link)
    set_clock(inc, s, link)
    return flow


@njit(**INNER_KERNEL)
def count_link(inc, s, link):  # type: ignore[no-untyped-def]
    """Work out the sums of a link, and take finished flows out of its list, keeping its order."""
    weighted = len(inc.weight) > 0
    used = weight = fastest = 0.0
    to = inc.link_ptr[link]
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        flow = inc.link_flow[i]
        if s.status[flow] == DONE:
            continue
        inc.link_flow[to] = flow
        w = 1.0
        if weighted:
            w = inc.link_weight[i]
            inc.link_weight[to] = w
        to += 1
        at = s.stop[flow]
        if at == link:
            weight += w
        elif at >= 0:
            used += w * s.level[at]
            fastest = max(fastest, s.level[at])
    inc.link_end[link] = to
    s.used[link], s.weight[link], s.fastest[link] = used, weight, fastest
    s.looks[link] = 0


@njit(**INNER_KERNEL)
def pull(inc, s, link, now):  # type: ignore[no-untyped-def]
    """Stop those of a link's flows that are too fast for it, the fastest first."""
    weighted = len(inc.weight) > 0
    capacity = inc.capacity[link]
    share = (capacity - s.used[link]) / s.weight[link] if s.size[link] > 0 else 0.0
    n = np.int64(0)
    for i in range(inc.link_ptr[link], inc.link_end[link]):
        flow = inc.link_flow[i]
        at = s.stop[flow]
        if at >= 0 and at != link and s.level[at] > share * (1.0 + FASTER):
            heap_push(s.found_key, s.found, n, -s.level[at], flow)
            n += 1
    while n > 0:
        flow = s.found[0]
        rate = -s.found_key[0]
        if s.size[link] == 0:
            s.level[link] = rate
        elif rate <= share * (1.0 + FASTER):
            break
        heap_pop(s.found_key, s.found, n)
        n -= 1
        move(inc, s, flow, link, weight_on(inc, flow, link) if weighted else 1.0, now)
        share = (capacity - s.used[link]) / s.weight[link]
    count_link(inc, s, link)


@njit(**INNER_KERNEL)
def push(inc, s, link, now):  # type: ignore[no-untyped-def]
    """Release the flows that another link would stop before this one's level now."""
    weighted = len(inc.weight) > 0
    base = inc.link_ptr[link]
    at = 0
    while at < s.size[link]:
        share = (inc.capacity[link] - s.used[link]) / s.weight[link]
        flow = s.stopped[base + at]
        least, lowest, weight = share, link, 1.0
        for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
            other = np.int64(inc.links[j])
            if s.level[other] < least and other != link:
                least, lowest = s.level[other], other
                weight = inc.weight[j] if weighted else 1.0
        if lowest == link:
            at += 1
            continue
        move(inc, s, flow, lowest, weight, now)
        queue_link(s, lowest)
        set_clock(inc, s, lowest)
        at = 0


@njit(**INNER_KERNEL)
def move(inc, s, flow, link, weight, now):  # type: ignore[no-untyped-def]
    """Make a link stop a flow that another one has stopped."""
    old = np.int64(s.stop[flow])
    rate, level = s.level[old], s.level[link]
    left = max(0.0, s.target[flow] - work_at(s, old, now))
    old_weight = weight_on(inc, flow, old) if len(inc.weight) > 0 else 1.0
    take_out(inc, s, flow, old_weight)
    s.used[link] -= weight * rate
    # as if it had been absent, since it now counts among the old link's others
    s.used[old] += old_weight * rate
    stop_at(inc, s, flow, link, weight, left, now)
    pass_on(inc, s, flow, link, level - rate, level)
    set_clock(inc, s, old)


@njit(**INNER_KERNEL)
def spread(inc, s, flows, link, more, level):  # type: ignore[no-untyped-def]
    """Add ``more`` to the rates of a link's flows on other links; return how many to queue.

    No branch depends on the link: this is where the time goes.
    """
    paths, weight, used, fastest = s.paths, inc.weight, s.used, s.fastest
    queued, touched = s.queued, s.touched
    own_used, own_fastest = used[link], fastest[link]
    queued[link] = True
    n = 0
    if paths.shape[1] > 0 and more < 0.0:
        for flow in flows:
            for j in range(paths.shape[1]):
                other = paths[flow, j]
                used[other] += more
                touched[n] = other
                n += not queued[other]
                queued[other] = True
    elif paths.shape[1] > 0:
        for flow in flows:
            for j in range(paths.shape[1]):
                other = paths[flow, j]
                used[other] += more
                if fastest[other] < level:
                    fastest[other] = level
                touched[n] = other
                n += not queued[other]
                queued[other] = True
    else:
        for flow in flows:
            for j in range(inc.ptr[flow], inc.ptr[flow + 1]):
                other = inc.links[j]
                used[other] += weight[j] * more if len(weight) > 0 else more
                fastest[other] = max(fastest[other], level)
                touched[n] = other
                n += not queued[other]
                queued[other] = True
    used[link], fastest[link], queued[link] = own_used, own_fastest, False
    used[-1] = 0.0
    return n


@njit(**INNER_KERNEL)
def settle(inc, s, link, now):  # type: ignore[no-untyped-def]
    """Bring a link's level up to date and pass on what has moved; returns rates that have."""
    capacity = inc.capacity[link]
    s.looks[link] += 1
    if s.looks[link] > RECOUNT:
        count_link(inc, s, link)
    if s.size[link] == 0:
        if s.used[link] <= capacity * (1.0 + FASTER):
            return 0
        pull(inc, s, link, now)
    else:
        level = (capacity - s.used[link]) / s.weight[link]
        if s.fastest[link] > level * (1.0 + FASTER):
            pull(inc, s, link, now)
        elif level > LEAP * s.level[link]:
            # digits would be lost if links of far lower levels heard of it, and then of the end
            push(inc, s, link, now)
    n = s.size[link]
    if n == 0:
        return 0
    level, old = (capacity - s.used[link]) / s.weight[link], s.level[link]
    if abs(level - old) <= SAME_LEVEL * old:
        set_clock(inc, s, link)
        return 0
    s.work[link] = work_at(s, link, now)
    s.since[link] = now
    s.level[link] = level
    set_clock(inc, s, link)
    base = inc.link_ptr[link]
    n_queued = spread(inc, s, s.stopped[base : base + n], link, level - old, level)
    for k in range(n_queued):
        enqueue(s, np.int64(s.touched[k]))
    return n


@njit(**INNER_KERNEL)
def settle_all(inc, s, now, most):  # type: ignore[no-untyped-def]
    """Look at queued links until none moves: (rates that have, whether ``most`` looks will do)."""
    moved = 0
    for _ in range(most):
        if s.n_queued[0] > 0:
            link = np.int64(s.queue[0])
            heap_pop(s.queue_key, s.queue, s.n_queued[0])
            s.n_queued[0] -= 1
        elif s.n_queued[1] > 0:
            s.n_queued[1] -= 1
            link = np.int64(s.later[s.n_queued[1]])
        else:
            return moved, True
        s.queued[link] = False
        moved += settle(inc, s, link, now)
    return moved, False


@njit(**INNER_ALLOCATING_KERNEL)
def fill_anew(inc, s, st, now):  # type: ignore[no-untyped-def]
    """Return all levels from nothing, by progressive filling; returns the flows that are there."""
    n_flows, n_links = len(inc.ptr) - 1, len(inc.capacity)
    weighted = len(inc.weight) > 0
    n_active = 0
    st.rate[:] = 0.0
    for flow in range(n_flows):
        if s.status[flow] == ACTIVE:
            if s.stop[flow] >= 0:
                s.target[flow] = max(0.0, s.target[flow] - work_at(s, s.stop[flow], now))
            st.rising[flow] = True
            n_active += 1
    for link in range(n_links):
        st.left[link] = inc.capacity[link]
        weight = 0.0
        count = 0
        for i in range(inc.link_ptr[link], inc.link_end[link]):
            if s.status[inc.link_flow[i]] == ACTIVE:
                weight += inc.link_weight[i] if weighted else 1.0
                count += 1
        st.rising_weight[link] = weight
        st.rising_count[link] = count
    fill(inc, st)
    s.size[:] = 0
    s.level[:] = np.inf
    s.queued[:-1] = False
    s.n_queued[:] = 0
    for flow in range(n_flows):
        if s.status[flow] == ACTIVE:
            bottleneck = np.int64(st.bottleneck[flow])
            s.level[bottleneck] = st.rate[flow]
            stop_at(inc, s, flow, bottleneck, 0.0, s.target[flow], now)
    for link in range(n_links):
        count_link(inc, s, link)
        set_clock(inc, s, link)
    return n_active
