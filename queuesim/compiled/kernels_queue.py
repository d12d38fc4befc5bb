"""The queue compiled: `queuesim.run` and its passes where a count of free nodes decides all.

Jobs are known by their *rank*: their place in a static order, or their index where a score orders
them anew at each pass. Every float is the result of the same operations in the same order as in
`queuesim.run` and `queuesim.backfilling`, so that all times are equal to the bit.

Two arguments are None where a queue does not need them: ``ranked``, the heap of those that wait by
score, and ``plan``, the arrays of conservative backfilling. Numba leaves out what depends on an
argument that is None, so that a queue compiles no other queue's pass.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from alloc.fattree.kernels_bits import MERGED_KERNEL, popcount
from netsim.kernels_options import HOT_KERNEL, INNER_KERNEL, PLAIN_KERNEL
from queuesim.compiled.kernels_profile import earliest, release_later, take
from queuesim.compiled.kernels_room import (
    Room,
    add_kind,
    add_to_kind,
    any_by_count,
    hold_room,
    leave_room,
    remove_from_kind,
    try_place,
)
from queuesim.compiled.kernels_state import (
    CONSERVATIVE,
    EASY,
    GOES_ON,
    MANY,
    NEEDS_ROOM,
    NEEDS_SCORES,
    STUCK,
    Plan,
    Queue,
)
from queuesim.compiled.kernels_waiting import (
    Rows,
    State,
    add_waiting,
    first_waiting,
    heap_pop,
    heap_push,
    heap_sift,
    is_in_front,
    list_waiting,
    rank_of,
    remove_waiting,
)


@njit(**PLAIN_KERNEL)
def advance(
    state: State,
    queue: Queue,
    ranked: Rows | None,
    plan: Plan | None,
    room: Room | None,
    until: int,
) -> int:
    """Go on until so many jobs are over, or what only the caller can do is due."""
    s = state[0]
    n = len(queue.jobs)
    while s.n_done < until:
        arrives = s.arrives_s if s.n_arrived < n else np.inf
        end = queue.ends[0].key if s.n_running > 0 else np.inf
        next_s = min(arrives, end)
        # All arrivals and ends of an instant come before its pass.
        if s.due and next_s > s.now_s:
            if ranked is not None and not s.scored and needs_scores(s):
                s.n_listed = list_waiting(s, queue.blocks, queue.listed, n)
                s.scored = 1
                return NEEDS_SCORES
            if room is not None and s.n_nodes_out > s.most_out:
                return NEEDS_ROOM
            if ranked is not None and s.scored:
                rank_by_score(s, queue.listed, ranked)
            if plan is not None:
                conservative_pass(s, queue, ranked, plan)
            elif s.backfill == EASY:
                easy_pass(s, queue, ranked, room)
            else:
                start_heads(s, queue, ranked, room)
            if s.stuck:
                return STUCK
            s.due = 0
            s.scored = 0
            continue
        if next_s == np.inf:
            return STUCK
        s.now_s = next_s
        s.due = 1
        if end == next_s:
            end_job(s, queue, room)
        else:
            arrive(s, queue, room)
    return GOES_ON


@njit(**INNER_KERNEL)
def needs_scores(s: State) -> bool:
    """Return whether the next pass reads which job is first."""
    return s.n_waiting > 0 and (s.n_free > 0 or s.backfill == CONSERVATIVE)


@njit(**INNER_KERNEL)
def arrive(s: State, queue: Queue, room: Room | None) -> None:
    """Put the jobs that have arrived into the queue, and plan the next arrival."""
    arrivals, blocks = queue.arrivals, queue.blocks
    n, k = len(arrivals), s.n_arrived
    while k < n and arrivals[k].enters_s <= s.now_s:
        rank = arrivals[k].rank
        if s.by_score or is_in_front(s, blocks, rank, s.depth):
            s.changed = 1
        add_waiting(s, blocks, rank, queue.jobs[rank].nodes, queue.jobs[rank].requested_s)
        if room is not None:
            add_to_kind(room, rank, queue.jobs[rank].requested_s)
        k += 1
    s.n_arrived = k
    if k < n:
        s.arrives_s = s.now_s + delay(s.now_s, arrivals[k].enters_s)


@njit(**INNER_KERNEL)
def delay(now_s: float, time_s: float) -> float:
    """Return the delay as `queuesim.run.delay` does: never a rounding step before the time."""
    wait = time_s - now_s
    while now_s + wait < time_s:
        wait = np.nextafter(wait, np.inf)
    return wait


@njit(**INNER_KERNEL)
def end_job(s: State, queue: Queue, room: Room | None) -> None:
    """End the running job whose time has come, of several the one that started first."""
    running = queue.running
    rank = queue.events[queue.ends[0].tie].rank
    heap_pop(queue.ends, s.n_running)
    job = queue.jobs[rank]
    promised = job.start_s + job.requested_s
    k = ends_before(s, running, promised)
    while running[k].rank != rank:
        k += 1
    nodes = running[k].nodes
    s.n_running -= 1
    for i in range(k, s.n_running):
        running[i].end_s = running[i + 1].end_s
        running[i].nodes = running[i + 1].nodes
        running[i].rank = running[i + 1].rank
    job.end_s = s.now_s
    note_event(s, queue, rank, 0)
    if room is not None:
        leave_room(s, room, rank)
    s.n_free += nodes
    s.n_done += 1
    s.released = 1
    if promised > s.now_s or s.now_s > s.shadow_s:
        s.forecast_broken = 1


@njit(**INNER_KERNEL)
def ends_before(s: State, running: Rows, time_s: float) -> int:
    """Return how many running jobs are to end before a time."""
    low, high = 0, s.n_running
    while low < high:
        middle = (low + high) >> 1
        if running[middle].end_s < time_s:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**INNER_KERNEL)
def note_event(s: State, queue: Queue, rank: int, is_start: int) -> None:
    """Write down a start or an end."""
    event = queue.events[s.n_events]
    event.time_s = s.now_s
    event.rank = rank
    event.is_start = is_start
    s.n_events += 1


@njit(**INNER_KERNEL)
def start_job(s: State, queue: Queue, room: Room | None, rank: int) -> None:
    """Start a waiting job that has its place, and plan its end."""
    now, job, running = s.now_s, queue.jobs[rank], queue.running
    nodes = job.nodes if room is None else room.jobs[rank].nodes
    remove_waiting(s, queue.blocks, rank)
    if room is not None:
        remove_from_kind(room, rank)
    if s.by_score or s.n_waiting >= s.depth:
        s.changed = 1
    s.n_free -= nodes
    job.start_s = now
    promised = now + job.requested_s
    k = s.n_running
    while k > 0 and running[k - 1].end_s > promised:
        running[k].end_s = running[k - 1].end_s
        running[k].nodes = running[k - 1].nodes
        running[k].rank = running[k - 1].rank
        k -= 1
    running[k].end_s = promised
    running[k].nodes = nodes
    running[k].rank = rank
    needed = job.work_s
    if now + needed > promised:
        job.late = 1
        if s.cuts:
            needed = delay(now, promised)
    # Of jobs that end at one time the one that started first ends first.
    heap_push(queue.ends, s.n_running, now + needed, s.n_events)
    s.n_running += 1
    note_event(s, queue, rank, 1)


@njit(**INNER_KERNEL)
def rank_by_score(s: State, listed: Rows, ranked: Rows) -> None:
    """Make a heap of those that wait: by score, then by job index."""
    for k in range(s.n_listed):
        ranked[k].key = -listed[k].score
        ranked[k].tie = listed[k].rank
    order_ranked(s, ranked, s.n_listed)


@njit(**INNER_KERNEL)
def order_ranked(s: State, ranked: Rows, size: int) -> None:
    """Make a heap of the first pairs of ``ranked``."""
    s.n_ranked = size
    for i in range((size >> 1) - 1, -1, -1):
        heap_sift(ranked, size, i)


@njit(**INNER_KERNEL)
def pop_ranked(s: State, ranked: Rows) -> int:
    """Remove and return the first of those that wait by score."""
    rank = ranked[0].tie
    heap_pop(ranked, s.n_ranked)
    s.n_ranked -= 1
    return rank


@njit(**INNER_KERNEL)
def note_blocked(s: State) -> None:
    """Record when a head first could not start after time 0."""
    if np.isnan(s.first_blocked_s) and s.now_s > 0:
        s.first_blocked_s = s.now_s


@njit(**MERGED_KERNEL)
def start_heads(s: State, queue: Queue, ranked: Rows | None, room: Room | None) -> int:
    """Start jobs in strict order; the first that cannot be placed, -1 if it is not known."""
    while s.n_waiting > 0:
        if s.n_free == 0:
            note_blocked(s)
            return -1
        if ranked is not None:
            rank = ranked[0].tie
        else:
            rank = first_waiting(s, queue.blocks)
        fits = queue.jobs[rank].nodes <= s.n_free
        if not (fits and try_place(s, room, rank, np.bool_(False))):
            note_blocked(s)
            return rank
        if ranked is not None:
            pop_ranked(s, ranked)
        start_job(s, queue, room, rank)
    return -1


@njit(**INNER_KERNEL)
def easy_pass(s: State, queue: Queue, ranked: Rows | None, room: Room | None) -> None:
    """Run a pass as `queuesim.backfilling.easy.EasyBackfill.run_pass` does."""
    before = s.n_running
    head = start_heads(s, queue, ranked, room)
    if s.n_running > before:
        s.reserved_for = -1
    if head < 0:
        return
    kept = s.reserved_for == head and not s.forecast_broken and not overrun_since_shadow(s, queue)
    if kept and not s.released and not s.changed:
        return
    s.released = 0
    s.changed = 0
    if not kept:
        s.reserved_for = -1
    if ranked is not None:
        try_by_score(s, queue, ranked, head)
    elif room is not None:
        try_by_kind(s, queue, room, head)
    else:
        try_by_rank(s, queue, head)


@njit(**INNER_KERNEL)
def overrun_since_shadow(s: State, queue: Queue) -> bool:
    """Return whether a running job's promised end is after the shadow time, not after now."""
    k = ends_before(s, queue.running, np.nextafter(s.shadow_s, np.inf))
    return k < s.n_running and queue.running[k].end_s <= s.now_s


@njit(**INNER_KERNEL)
def try_by_score(s: State, queue: Queue, ranked: Rows, head: int) -> None:
    """Try the jobs behind the head, the largest score first."""
    jobs = queue.jobs
    pop_ranked(s, ranked)  # the head
    if s.window >= s.n_ranked:
        # Nodes only become fewer in a pass: who finds too few now may be left out.
        size = 0
        for i in range(s.n_ranked):
            if jobs[ranked[i].tie].nodes <= s.n_free:
                ranked[size].key = ranked[i].key
                ranked[size].tie = ranked[i].tie
                size += 1
        order_ranked(s, ranked, size)
    for _ in range(min(s.window, s.n_ranked)):
        if s.n_free == 0:
            return
        try_behind(s, queue, None, pop_ranked(s, ranked), head)


@njit(**INNER_KERNEL)
def try_by_rank(s: State, queue: Queue, head: int) -> None:
    """Try the jobs behind the head in their order, block after block."""
    jobs, blocks, left = queue.jobs, queue.blocks, s.window
    block = head >> 6
    word = blocks[block].bits & ~(((1 << (head & 63)) - 1) | (1 << (head & 63)))
    fewest, shortest = jobs[head].nodes, jobs[head].requested_s  # the head stays in its block
    while s.n_free > 0:
        if word != 0 and may_start(s, blocks[block].fewest, blocks[block].shortest_s):
            while word != 0:
                if left == 0:
                    return
                bit = word & -word
                word ^= bit
                left -= 1
                rank = rank_of(block, bit)
                if not try_behind(s, queue, None, rank, head):
                    fewest = min(fewest, jobs[rank].nodes)
                    shortest = min(shortest, jobs[rank].requested_s)
            blocks[block].fewest = fewest
            blocks[block].shortest_s = shortest
        else:
            left -= popcount(word)
        block += 1
        if left <= 0 or block >= s.end_block:
            return
        word = blocks[block].bits
        fewest, shortest = MANY, np.inf


@njit(**MERGED_KERNEL)
def try_by_kind(s: State, queue: Queue, room: Room, head: int) -> None:
    """Try the jobs behind the head in their order, those of kinds that can perhaps be placed."""
    kinds, order = room.kinds, room.order
    last = last_in_window(s, queue.blocks, head)
    if s.reserved_for < 0:
        # The first job that finds enough nodes makes the reservation; none before it could start.
        if not any_by_count(s, room, head, last):
            return
        reserve(s, queue, room, head)
    size = 0
    for k in range(len(kinds)):
        size = add_kind(s, room, k, head, last, size)
    while size > 0 and not s.stuck:
        k, rank = order[0].tie, int(order[0].key)
        heap_pop(order, size)
        try_behind(s, queue, room, rank, head)
        size = add_kind(s, room, k, rank, last, size - 1)


@njit(**INNER_KERNEL)
def last_in_window(s: State, blocks: Rows, head: int) -> int:
    """Return the rank of the last job that a pass looks at."""
    last, left = len(blocks) << 6, s.window
    if left >= s.n_waiting:
        return last
    block = head >> 6
    word = blocks[block].bits & ~(((1 << (head & 63)) - 1) | (1 << (head & 63)))
    while left > 0:
        while popcount(word) < left:
            left -= popcount(word)
            block += 1
            word = blocks[block].bits
        for _ in range(left - 1):
            word &= word - 1
        last = rank_of(block, word & -word)
        left = 0
    return last if s.window > 0 else head


@njit(**INNER_KERNEL)
def may_start(s: State, nodes: int, requested_s: float) -> bool:
    """Return whether a job of this size and walltime may start behind the head, as far as known."""
    if nodes > s.n_free:
        return False
    if s.reserved_for < 0:
        return True
    return nodes <= s.extra or s.now_s + requested_s <= s.shadow_s


@njit(**HOT_KERNEL)
def try_behind(s: State, queue: Queue, room: Room | None, rank: int, head: int) -> bool:
    """Start a job behind the head if it cannot delay it; whether it did start."""
    nodes = queue.jobs[rank].nodes
    if nodes > s.n_free:
        return False
    if s.reserved_for < 0:
        # The first job that finds enough nodes makes the reservation; none before it could start.
        reserve(s, queue, room, head)
    late = s.now_s + queue.jobs[rank].requested_s > s.shadow_s
    if room is None and late:
        if nodes > s.extra:
            return False
        s.extra -= nodes
    if not try_place(s, room, rank, late):
        return False
    start_job(s, queue, room, rank)
    return True


@njit(**INNER_KERNEL)
def reserve(s: State, queue: Queue, room: Room | None, head: int) -> None:
    """Find the shadow time of the head, and the nodes that it leaves free, or holds, then."""
    running, needed = queue.running, queue.jobs[head].nodes
    free, shadow, k = s.n_free, s.now_s, 0
    while k < s.n_running:
        end = running[k].end_s
        if end > shadow:
            if free >= needed:
                break
            shadow = end
        free += running[k].nodes
        k += 1
    s.forecast_broken = 0
    s.reserved_for = head
    if room is not None:
        shadow = hold_room(s, running, room, head, k, shadow)
        s.stuck = np.isnan(shadow)
    s.shadow_s = shadow
    s.extra = free - needed
    if np.isnan(queue.jobs[head].promised_s) and shadow < np.inf:
        queue.jobs[head].promised_s = shadow


@njit(**INNER_KERNEL)
def conservative_pass(s: State, queue: Queue, ranked: Rows | None, plan: Plan) -> None:
    """Run a pass of `queuesim.backfilling.conservative`."""
    if not (s.released or s.changed or s.due_s <= s.now_s):
        return
    s.released = 0
    s.changed = 0
    s.n_passes += 1
    now, steps = s.now_s, plan.steps
    read_front(s, queue, ranked)
    keep_reservations(s, queue, plan)
    s.due_s = np.inf
    n_blocked = 0
    for i in range(s.n_listed):
        rank = queue.listed[i].rank
        job = queue.jobs[rank]
        nodes, requested = job.nodes, job.requested_s
        if job.reserved_in == s.n_passes:
            take(s, steps, -nodes, job.reserved_s, requested)
        start = earliest(s, steps, nodes, requested, now)
        if start <= now:
            # Invariant: the profile never has more nodes free at this instant than there are.
            take(s, steps, nodes, start, requested)
            start_job(s, queue, None, rank)
            continue
        note_blocked(s)
        n_blocked += 1
        if n_blocked > s.reservations or start == np.inf:
            continue  # inf: it waits for a job without a limit
        take(s, steps, nodes, start, requested)
        job.reserved_s = start
        job.reserved_in = s.n_passes
        s.due_s = min(s.due_s, start)
        if np.isnan(job.promised_s):
            job.promised_s = start


@njit(**INNER_KERNEL)
def read_front(s: State, queue: Queue, ranked: Rows | None) -> None:
    """List the jobs that a pass can read, in their order."""
    if ranked is not None:
        s.n_listed = min(s.depth, s.n_waiting)
        for i in range(s.n_listed):
            queue.listed[i].rank = pop_ranked(s, ranked)
    else:
        s.n_listed = list_waiting(s, queue.blocks, queue.listed, s.depth)


@njit(**INNER_KERNEL)
def keep_reservations(s: State, queue: Queue, plan: Plan) -> None:
    """Begin a profile with the running jobs, and move reservations back only where they must."""
    running, steps, kept = queue.running, plan.steps, plan.kept
    steps[0].time_s = s.now_s
    steps[0].free = s.n_free
    s.n_steps = 1
    # A job past its walltime is expected to end in no time, but it has not ended now.
    soon = np.nextafter(s.now_s, np.inf)
    for k in range(s.n_running):
        release_later(s, steps, max(running[k].end_s, soon), running[k].nodes)
    n_kept = 0
    for i in range(min(s.n_listed, s.reservations)):
        job = queue.jobs[queue.listed[i].rank]
        if job.reserved_in == s.n_passes - 1:
            heap_push(kept, n_kept, job.reserved_s, job.index)
            n_kept += 1
    for left in range(n_kept, 0, -1):
        job = queue.jobs[queue.arrivals[kept[0].tie].rank]
        from_s = max(kept[0].key, s.now_s)
        heap_pop(kept, left)
        start = earliest(s, steps, job.nodes, job.requested_s, from_s)
        if start < np.inf:
            take(s, steps, job.nodes, start, job.requested_s)
            job.reserved_s = start
            job.reserved_in = s.n_passes
