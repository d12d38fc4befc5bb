"""One packet simulation on several threads, each a domain of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from netsim.packet import tables as t
from netsim.packet.build import PacketClock
from netsim.packet.build_domains import (
    domain_arrays,
    domain_crossbars,
    empty_mail,
    joined_arrays,
    lookahead,
    with_room,
)
from netsim.packet.domains import Domains
from netsim.packet.model import PS_PER_S
from netsim.packet.tables import Arrays
from netsim.routing.base import Routing
from netsim.routing.tables import RouteTables
from netsim.traffic import Traffic

if TYPE_CHECKING:
    from netsim.packet.crossbar.tables import Crossbar

PAUSE_S = 0.5
"""Between two looks at the caller (progress, Ctrl-C), about."""
_FIRST_WINDOWS = 64


def run_in_domains(
    domains: Domains,
    arrays: Arrays,
    crossbar: Crossbar | None,
    tables: RouteTables,
    routing: Routing,
    traffic: Traffic,
    clock: PacketClock,
    until: int,
    progress: Callable[[float], None] | None,
) -> Arrays:
    """Run all domains to the end, each on a thread, and return the joined arrays.

    Parameters
    ----------
    arrays : Arrays
        Of an empty network; used up.
    routing, traffic, clock
        What they were built from.
    until : int
        Tick.
    progress : callable or None
        See `netsim.packet.engine.simulate_packets`.
    """
    from netsim.packet.kernels_engine import GROW, PAUSE
    from netsim.packet.kernels_threads import ABORTED, STATE_WORDS, run_windows

    n = domains.n
    mail = empty_mail(domains)
    crossbars = domain_crossbars(crossbar, n)
    ahead = lookahead(domains, routing.topology, arrays, crossbar)
    in_parts = int(arrays.sc[0].n_messages) or None
    stop = np.zeros(1, dtype=np.int64)
    states = t.aligned_zeros(2 * n * STATE_WORDS, np.dtype(np.int64))
    n_windows = _FIRST_WINDOWS

    def run(d: int) -> int:
        try:
            return int(
                run_windows(
                    borders[d], crossbars[d], in_parts, parts[d], tables, states, stop,
                    ahead, until, n_windows,
                )
            )  # fmt: skip
        except BaseException:
            stop[0] = 1
            raise

    with ThreadPoolExecutor(n - 1, thread_name_prefix="netcosim-domain") as pool:
        parts = domain_arrays(arrays, domains, routing.topology, traffic, pool)
        while True:
            borders = [mail._replace(me=d) for d in range(n)]
            began = time.perf_counter()
            try:
                others = [pool.submit(run, d) for d in range(1, n)]
                whys = [run(0), *(other.result() for other in others)]
            except BaseException:
                stop[0] = 1  # lets those go that wait for this thread
                raise
            why = whys[0]
            assert why != ABORTED
            assert whys == [why] * n
            if why == GROW:
                mail = with_room(parts, mail, crossbar is not None)
            elif why != PAUSE:
                break
            else:
                if progress is not None:
                    now = max(int(part.sc[0].now) for part in parts)
                    progress(now * clock.tick_ps / PS_PER_S)
                took = time.perf_counter() - began
                if took < PAUSE_S / 2:
                    n_windows *= 2
                elif took > 2 * PAUSE_S and n_windows > 1:
                    n_windows //= 2
    return joined_arrays(parts, domains)
