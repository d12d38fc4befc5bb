# mypy: allow-untyped-defs, allow-untyped-calls
"""One run on several threads: each a domain, window after window (docs/speed.md, "Threads").

A window is as long as the *lookahead*: what one domain does in it reaches another only after it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.kernels_run import run as run_crossbars
from netsim.packet.kernels_atomics import release, wait_for
from netsim.packet.kernels_engine import DONE, ENDED, GROW, PAUSE, run
from netsim.packet.kernels_links import return_space
from netsim.packet.kernels_outbox import (
    AFTER,
    BACK_WIDTH,
    CREDIT_BYTES,
    CREDIT_Q,
    EARLIEST,
    LISTS,
    MAIL_WAITS,
    MAIL_WIDTH,
    N_BACK,
    N_MAIL,
    PACKET,
    PARITY,
    TICK,
    TURN,
    UNFINISHED,
    WINDOW_END,
    box_of,
    empty_outbox,
    words_of,
)
from netsim.packet.kernels_wheel import NONE, add_arrival, new_packet, next_event
from netsim.packet.tables import (
    CH_WIDTH,
    CR_WIDTH,
    HOLDS,
    N_CR,
    N_FAR,
    N_PK,
    N_TIMERS,
    N_TRIES,
    PK_BITS,
    PK_WIDTH,
    VSHIFT,
)

ABORTED = PAUSE + 1
"""Why `run_windows` came back: another thread gave up."""

STATE_WORDS, NEXT_TICK, MUST_STOP, STATE_TURN = 8, 0, 1, 2
"""State that a domain publishes: its next tick, whether it must stop, and the turn."""

ENDLESS = 1 << 61


@njit(**INNER_KERNEL)
def room_for_mail(border, a, parity):
    """Return whether the pools can take in all that came with a parity."""
    n_mail = 0
    n_back = 0
    for other in range(border.n):
        if other != border.me:
            box = box_of(border, other, parity)
            n_mail += border.words[box + N_MAIL]
            n_back += border.words[box + N_BACK]
    return (
        a.sc[N_PK] + n_mail <= len(a.packets) // PK_WIDTH
        and a.sc[N_CR] + n_back <= len(a.credits) // CR_WIDTH
        and a.sc[N_TRIES] + n_back <= len(a.events.tries) // CH_WIDTH
        and a.sc[N_FAR] + n_mail + n_back <= len(a.events.far)
    )


@njit(**INNER_KERNEL)
def receive_mail(border, a, parity):
    """Process what the other domains have sent with a parity."""
    sc = a.sc
    packets = a.packets
    back = border.back
    for other in range(border.n):
        if other == border.me:
            continue
        box = box_of(border, other, parity)
        first = (2 * other + parity) * border.capacity
        k = border.words[box + LISTS + border.me]
        while k >= 0:
            row = (first + k) * MAIL_WIDTH
            p = new_packet(sc, a.events.chain)
            packet = np.uint64(p) << PK_BITS
            for i in range(PK_WIDTH):
                packets[packet + np.uint64(i)] = border.mail[row + PACKET + i]
            link = packets[packet + HOLDS] >> sc[VSHIFT]
            add_arrival(sc, a.events, p, link, border.mail[row + TICK])
            k = border.mail[row + AFTER]
        k = border.words[box + LISTS + border.n + border.me]
        while k >= 0:
            row = (first + k) * BACK_WIDTH
            return_space(a, back[row + CREDIT_Q], back[row + TICK], back[row + CREDIT_BYTES])
            k = back[row + AFTER]


@njit(**PLAIN_KERNEL)
def run_window(border, x, in_parts, a, rt):
    """Run a domain to the end of its window; a tick before which nothing of it happens next.

    Includes what it has sent. Its words state whether it has finished.
    """
    own = border.me * words_of(border.n)
    words = border.words
    parity = words[own + PARITY]
    last = words[own + WINDOW_END] - 1
    finished = True
    if words[own + MAIL_WAITS] != 0:
        finished = room_for_mail(border, a, 1 - parity)
        if finished:
            receive_mail(border, a, 1 - parity)
            words[own + MAIL_WAITS] = 0
    if finished:
        if x is None:
            finished = run(border, None, in_parts, a, rt, last, ENDLESS) != GROW
        else:
            finished = run_crossbars(border, x, in_parts, a, rt, last, ENDLESS) != GROW
    words[own + UNFINISHED] = not finished
    if not finished:
        return NONE
    timer = a.timers[0, 0] if a.sc[N_TIMERS] > 0 else NONE
    first = next_event(a.sc, a.links, a.packets, a.events, timer, last)
    return min(first, words[box_of(border, border.me, parity) + EARLIEST])


@njit(**PLAIN_KERNEL)
def open_window(border, end):
    """Begin a domain's next window, which lasts to ``end``: the others' mail waits for it."""
    own = border.me * words_of(border.n)
    border.words[own + WINDOW_END] = end
    border.words[own + PARITY] = 1 - border.words[own + PARITY]
    border.words[own + MAIL_WAITS] = 1
    empty_outbox(border)


@njit(**(PLAIN_KERNEL | {"nogil": True}))
def run_windows(border, x, in_parts, a, rt, states, stop, lookahead, until, n_windows):
    """Run a domain for ``n_windows`` windows, side by side with all others.

    All come back for the same reason: nothing is left (DONE) before ``until`` (ENDED), a pool or
    an outbox of one of them is full (GROW), the windows are over (PAUSE), or another gave up.

    Parameters
    ----------
    border : Border
    x : Crossbar or None
        None where routers are output-queued.
    in_parts, a, rt
        As for `kernels_engine.run`, of this domain.
    states : (2 * n * STATE_WORDS,) int64
        State of every domain at the end of a window, double-buffered. No domain continues before
        all have written their state, so none is more than one window ahead.
    stop : (1,) int64
        Not 0 when a thread has given up.
    lookahead, until, n_windows : int64
    """
    # Invariant: mail of a window arrives after its end, since packets and credits are in flight
    # between domains for at least the lookahead. So a domain needs nothing that the others do in
    # the same window, and the result does not depend on which thread is faster.
    own = border.me * words_of(border.n)
    words = border.words
    for _ in range(n_windows):
        first = run_window(border, x, in_parts, a, rt)
        turn = words[own + TURN] + 1
        words[own + TURN] = turn
        # two sets of lines in turn: a domain that is ahead must not write what others still read
        rows = (turn & 1) * border.n * STATE_WORDS
        mine = rows + border.me * STATE_WORDS
        states[mine + NEXT_TICK] = first
        states[mine + MUST_STOP] = words[own + UNFINISHED]
        release(states, mine + STATE_TURN, turn)
        must_stop = False
        for k in range(border.n):
            row = rows + k * STATE_WORDS
            if not wait_for(states, row + STATE_TURN, turn, stop):
                return ABORTED
            must_stop |= states[row + MUST_STOP] != 0
            first = min(first, states[row + NEXT_TICK])
        if must_stop:
            return GROW
        if first == NONE:
            return DONE
        if first > until:
            return ENDED
        open_window(border, min(first + lookahead, until + 1))
    return PAUSE
