"""One packet simulation on several threads, each a domain of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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

    ``arrays``, of an empty network, is used up; ``until`` is a tick.
    """
    from netsim.packet.kernels_engine import GROW, PAUSE
    from netsim.packet.kernels_threads import STATE_WORDS, run_windows

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
            why = _run_all(run, n, pool, stop)
            if why == GROW:
                mail = with_room(parts, mail, crossbar is not None)
            elif why != PAUSE:
                break
            else:
                if progress is not None:
                    now = max(int(part.sc[0].now) for part in parts)
                    progress(now * clock.tick_ps / PS_PER_S)
                n_windows = _windows_after(n_windows, time.perf_counter() - began)
    return joined_arrays(parts, domains)


def _run_all(
    run: Callable[[int], int], n: int, pool: ThreadPoolExecutor, stop: NDArray[np.int64]
) -> int:
    """Run each domain until all stop, the first on this thread; return why they did."""
    from netsim.packet.kernels_threads import ABORTED

    try:
        others = [pool.submit(run, d) for d in range(1, n)]
        whys = [run(0), *(other.result() for other in others)]
    except BaseException:
        stop[0] = 1  # lets those go that wait for this thread
        raise
    assert whys[0] != ABORTED
    assert whys == [whys[0]] * n
    return whys[0]


def _windows_after(n_windows: int, took_s: float) -> int:
    """Return the windows until the next pause, after so many took that time."""
    if took_s < PAUSE_S / 2:
        return 2 * n_windows
    return n_windows // 2 if took_s > 2 * PAUSE_S and n_windows > 1 else n_windows
