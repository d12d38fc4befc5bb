"""Workers of a Dask scheduler, or of a cluster of local processes."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from netcosim.executors.workers import Workers, not_installed
from netsim.errors import NetcosimError

_AHEAD = 1000
CONNECT_S, _FIRST_WORKER_S = 30, 600


def check_address(argument: str) -> None:
    """Raise NetcosimError unless an argument is an address, a scheduler's file or empty."""
    if not re.fullmatch(r"|[a-z]+://[^\s/]+:[0-9]+|.*\.json", argument):
        raise NetcosimError(
            f"--executor dask:{argument}; must be an address (dask:tcp://host:8786), a scheduler's "
            "file (dask:scheduler.json), or dask alone for local processes"
        )


@contextmanager
def open_client(argument: str, jobs: int) -> Iterator[Workers]:
    try:
        from distributed import Client, LocalCluster
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise not_installed("dask") from None

    # it reports a lost scheduler by tracebacks
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as held:
        try:
            last_s = time.monotonic() + CONNECT_S
            while argument.endswith(".json") and not Path(argument).exists():
                if time.monotonic() > last_s:
                    raise OSError("no such file")
                time.sleep(0.1)
            where = {"scheduler_file" if argument.endswith(".json") else "address": argument}
            if not argument:
                local = LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=":0")
                where = {"address": held.enter_context(local)}
            client = Client(**where, timeout=CONNECT_S, set_as_default=False)
            held.callback(client.close, timeout=CONNECT_S)
            client.wait_for_workers(1, timeout=_FIRST_WORKER_S)
            threads = client.nthreads().values()
        except (OSError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise NetcosimError(
                f"--executor dask:{argument}: no scheduler with a worker answers ({reason})"
            ) from None
        if max(threads) > 1:
            raise NetcosimError(
                f"--executor dask:{argument}: a worker has {max(threads)} threads, but a process "
                "computes one task at a time; start workers with --nthreads 1"
            )
        executor = client.get_executor(pure=False)
        yield Workers(len(threads), executor, ahead=_AHEAD, lost=(KilledWorker,))
