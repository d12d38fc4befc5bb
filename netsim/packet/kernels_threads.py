# mypy: allow-untyped-defs, allow-untyped-calls
"""One run on several threads: each a domain, window after window (docs/speed.md, "Threads").

A window is as long as the *lookahead*: what one domain does in it reaches another only after it.
"""

from __future__ import annotations

from numba import njit

from netsim.kernels_options import INNER_KERNEL, PLAIN_KERNEL
from netsim.packet.crossbar.kernels_run import run as run_crossbars
from netsim.packet.kernels_atomics import release, wait_for
from netsim.packet.kernels_engine import DONE, ENDED, GROW, PAUSE, run
from netsim.packet.kernels_links import return_space
from netsim.packet.kernels_memory import row_of
from netsim.packet.kernels_outbox import copy_packet, empty_outbox, own_box
from netsim.packet.kernels_wheel import NONE, add_arrival, new_packet, next_event

ABORTED = PAUSE + 1
"""Why `run_windows` came back: another thread gave up."""

STATE_WORDS, NEXT_TICK, MUST_STOP, STATE_TURN = 8, 0, 1, 2
"""State that a domain publishes: its next tick, whether it must stop, and the turn."""

ENDLESS = 1 << 61


@njit(**INNER_KERNEL)
def room_for_mail(border, a, parity):
    """Return whether the pools can take in all that came with a parity."""
    sc = a.sc[0]
    n_packets = 0
    n_credits = 0
    for other in range(border.n):
        if other != border.me:
            box = row_of(border.boxes, 2 * other + parity)
            n_packets += box.n_packets
            n_credits += box.n_credits
    return (
        sc.n_packets + n_packets <= len(a.packets)
        and sc.n_credits + n_credits <= len(a.credits)
        and sc.n_tries + n_credits <= len(a.events.tries)
        and sc.n_far + n_packets + n_credits <= len(a.events.far)
    )


@njit(**INNER_KERNEL)
def receive_mail(border, a, parity):
    """Process what the other domains have sent with a parity."""
    sc = a.sc[0]
    for other in range(border.n):
        if other == border.me:
            continue
        number = 2 * other + parity
        first = number * border.capacity
        k = border.first_packet[number, border.me]
        while k >= 0:
            mail = row_of(border.mail, first + k)
            p = new_packet(sc, a.events.chain)
            copy_packet(row_of(a.packets, p), mail)
            add_arrival(sc, a.events, p, mail.holds >> sc.vshift, mail.tick)
            k = mail.after
        k = border.first_credit[number, border.me]
        while k >= 0:
            credit = row_of(border.back, first + k)
            return_space(a, credit.channel, credit.tick, credit.bytes)
            k = credit.after


@njit(**INNER_KERNEL)
def run_window(border, x, in_parts, a, rt):
    """Run a domain to the end of its window; a tick before which nothing of it happens next.

    Includes what it has sent. Its row states whether it has finished.
    """
    sc = a.sc[0]
    domain = row_of(border.domains, border.me)
    last = domain.window_end - 1
    finished = True
    if domain.mail_waits != 0:
        finished = room_for_mail(border, a, 1 - domain.parity)
        if finished:
            receive_mail(border, a, 1 - domain.parity)
            domain.mail_waits = 0
    if finished:
        if x is None:
            finished = run(border, None, in_parts, a, rt, last, ENDLESS) != GROW
        else:
            finished = run_crossbars(border, x, in_parts, a, rt, last, ENDLESS) != GROW
    domain.unfinished = not finished
    if not finished:
        return NONE
    timer = row_of(a.timers, 0).tick if sc.n_timers > 0 else NONE
    first = next_event(sc, a.links, a.channels, a.packets, a.events, timer, last)
    return min(first, row_of(border.boxes, own_box(border)).earliest)


@njit(**INNER_KERNEL)
def open_window(border, end):
    """Begin a domain's next window, which lasts to ``end``: the others' mail waits for it."""
    domain = row_of(border.domains, border.me)
    domain.window_end = end
    domain.parity = 1 - domain.parity
    domain.mail_waits = 1
    empty_outbox(border)


@njit(**(PLAIN_KERNEL | {"nogil": True}))
def run_windows(border, x, in_parts, a, rt, states, stop, lookahead, until, n_windows):
    """Run a domain for ``n_windows`` windows, side by side with all others.

    All come back for the same reason: nothing is left (DONE) before ``until`` (ENDED), a pool or an
    outbox of one of them is full (GROW), the windows are over (PAUSE), or another gave up: then
    ``stop`` is not 0. ``x`` is None where routers are output-queued; see `kernels_engine.run` for
    what it gets of this domain. ``states`` are those of every domain at the end of a window,
    double-buffered. No domain continues before all have written their state, so none is more than
    one window ahead.
    """
    # Invariant: mail of a window arrives after its end, since packets and credits are in flight
    # between domains for at least the lookahead. So a domain needs nothing that the others do in
    # the same window, and the result does not depend on which thread is faster.
    domain = row_of(border.domains, border.me)
    for _ in range(n_windows):
        first = run_window(border, x, in_parts, a, rt)
        turn = domain.turn + 1
        domain.turn = turn
        # two sets of lines in turn: a domain that is ahead must not write what others still read
        rows = (turn & 1) * border.n * STATE_WORDS
        own_row = rows + border.me * STATE_WORDS
        states[own_row + NEXT_TICK] = first
        states[own_row + MUST_STOP] = domain.unfinished
        release(states, own_row + STATE_TURN, turn)
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
