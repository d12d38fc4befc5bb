"""A real log with real walltimes through the queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from queue_helpers import Mask

from queuesim.metrics import summarise, wait_s
from queuesim.queue import simulate_queue
from queuesim.result import QueueResult
from workloads.job import Workload
from workloads.swf import read_swf
from workloads.transform import from_zero

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def kth(shared_dir: Path) -> Workload:
    """KTH SP2, 100 nodes, with jobs cut at their walltime, as the machine cut them."""
    log = from_zero(read_swf(shared_dir / "traces" / "KTH-SP2-1996-2.1-cln.swf.gz"))
    return replace(log, run_time_s=np.minimum(log.run_time_s, log.requested_s))


def schedule(workload: Workload, backfill: str, **choices: int) -> QueueResult:
    return simulate_queue(
        workload, Mask(100), backfill=backfill, rng=np.random.default_rng(0), **choices
    )


def test_easy_keeps_every_promise_on_a_real_log(kth: Workload) -> None:
    result = schedule(kth, "easy")
    reserved = ~np.isnan(result.promised_s)
    assert reserved.sum() > 1000
    assert np.all(result.start_s[reserved] <= result.promised_s[reserved])
    assert np.array_equal(result.end_s - result.start_s, kth.run_time_s)
    assert result.busy_nodes()[1].max() <= 100
    # A real scheduler with the same walltimes: backfilling must beat strict order by far,
    # and lands on the better side of the logged mean wait (4.2 h).
    strict = schedule(kth, "none")
    assert wait_s(result).mean() < np.nanmean(kth.wait_s) < wait_s(strict).mean()


def test_window_of_zero_is_strict_order(kth: Workload) -> None:
    short = replace(kth, **{name: getattr(kth, name)[:3000] for name in _columns(kth)})
    easy, strict = schedule(short, "easy", window=0), schedule(short, "none")
    assert np.array_equal(easy.start_s, strict.start_s)
    assert summarise(easy).loss_of_capacity == summarise(strict).loss_of_capacity


def _columns(workload: Workload) -> list[str]:
    return [k for k, v in vars(workload).items() if isinstance(v, np.ndarray)]
