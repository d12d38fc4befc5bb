"""A job that says what it sends is taken at its word; the mix says the rest, as it always did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cosim.network.mix import CommunicationMix, PatternShare
from netcosim.config.load import load_config
from netcosim.runs.cosim import run_cosim
from netsim.errors import NetcosimError
from queuesim.site.bandwidth import bandwidth_by_class, bandwidth_needs
from workloads.details import JobDetails, Labels
from workloads.job import Workload, bare_jobs

MIX = CommunicationMix(
    (
        PatternShare("all-to-all", 3.0, 0.1, 0.3),
        PatternShare("halo3d", 1.0, 0.5, 0.5),
        PatternShare("all-to-all", 1.0, 0.6, 0.8),
    )
)

WHICH = [0, 0, 0, 0, 0, 1, 0, 2]
FRACTION = [
    "0x1.2606034c0da4ap-2",
    "0x1.0de30cc73d624p-2",
    "0x1.2888e74a23a86p-3",
    "0x1.d924d03f22b75p-3",
    "0x1.15a52edbb61a1p-2",
    "0x1.0000000000000p-1",
    "0x1.c70c7e55708c6p-3",
    "0x1.80b9775387896p-1",
]


def jobs(n: int, **details: object) -> Workload:
    """Jobs of which only this is known."""
    time_s = np.ones(n)
    made = bare_jobs(
        "made", submit_s=time_s, run_time_s=time_s, n_nodes=np.ones(n, np.int32), requested_s=time_s
    )
    return replace(made, details=JobDetails(**details))  # type: ignore[arg-type]


def draw(workload: Workload) -> tuple[np.ndarray, np.ndarray]:
    return MIX.draw(workload, np.random.default_rng(8))


def test_what_is_drawn_of_jobs_that_say_nothing_is_what_was_always_drawn() -> None:
    """Bits of the draw as they were before logs could say anything."""
    which, fraction = draw(jobs(8))
    assert which.tolist() == WHICH
    assert [value.hex() for value in fraction] == FRACTION


def test_a_log_is_taken_at_its_word_and_moves_no_other_draw() -> None:
    n = 4000
    free_which, free_fraction = draw(jobs(n))
    rng = np.random.default_rng(2)
    words = rng.choice(["", "all-to-all", "halo3d"], n).tolist()
    known = np.where(rng.random(n) < 0.5, np.nan, rng.random(n))
    which, fraction = draw(jobs(n, pattern=Labels.of(words), communication_fraction=known))
    patterns = np.array([share.pattern for share in MIX.shares])
    said = np.array(words)
    assert np.all((said == "") | (patterns[which] == said))
    assert np.array_equal(which[said == ""], free_which[said == ""])
    told = ~np.isnan(known)
    assert np.array_equal(fraction[told], known[told])
    both = ~told & (which == free_which)
    assert np.array_equal(fraction[both], free_fraction[both])
    # of two entries with the pattern the first
    assert np.all(which[said == "all-to-all"] == 0)
    first = ~told & (which == 0)
    assert np.all((fraction[first] >= 0.1) & (fraction[first] < 0.3))


def test_a_pattern_without_an_entry_is_drawn_and_counted() -> None:
    strange = jobs(3, pattern=Labels.of(["fft3d", "halo3d", "fft3d"]))
    free, _ = draw(jobs(3))
    assert draw(strange)[0].tolist() == [free[0], 1, free[2]]
    notes = MIX.noted(strange).notes
    assert notes[0] == "the log has the pattern of 1 jobs"
    assert notes[1].startswith("patterns of 2 jobs are drawn, as no entry")


def test_bandwidth_is_the_logs_and_else_of_a_class() -> None:
    rng = np.random.default_rng
    plain, known = jobs(5), np.array([np.nan, 7.0, np.nan, 0.5, 3.0])
    some = jobs(5, bytes_per_node_s=known)
    classes = (1e6, 2e6)
    assert bandwidth_needs(plain, (), rng(1)) is None
    drawn = bandwidth_by_class(plain, classes, rng(1))
    assert np.array_equal(bandwidth_needs(plain, classes, rng(1)), drawn)  # type: ignore[arg-type]
    filled = bandwidth_needs(some, classes, rng(1))
    assert np.array_equal(filled, np.where(np.isnan(known), drawn, known))  # type: ignore[arg-type]
    with pytest.raises(NetcosimError, match="2 of 5 jobs have no bytes_per_node_s"):
        bandwidth_needs(some, (), rng(1))
    every = jobs(5, bytes_per_node_s=np.arange(5.0))
    assert np.array_equal(bandwidth_needs(every, (), rng(1)), np.arange(5.0))  # type: ignore[arg-type]


CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 2
g = 5
[workload]
log = "jobs.csv"
[queue]
policies = ["simple", "rdn"]
run_time_model = "coupled-flow"
[[communication.mix]]
pattern = "all-to-all"
message_bytes = 1000000
communication_fraction = 1.0
[run]
snapshots = 0
"""
JOBS = "job,nodes,arrival_s,run_s,pattern,communication_fraction\n" + "".join(
    f"{k},4,0,100,{{pattern}},{{fraction}}\n" for k in range(1, 5)
)


def ends(folder: Path, pattern: str, fraction: str) -> list[float]:
    """When the last job ends under each policy."""
    (folder / "jobs.csv").write_text(JOBS.format(pattern=pattern, fraction=fraction))
    (folder / "c.toml").write_text(CONFIG)
    result = run_cosim(load_config(folder / "c.toml"))
    return [float(queue.end_s.max()) for queue in result.schedules.values()]


def test_a_job_that_does_not_communicate_is_not_slowed(tmp_path: Path) -> None:
    """The same config and seed: all the time by the mix, none of it by the log."""
    quiet = ends(tmp_path, "all-to-all", "0")
    loud = ends(tmp_path, "", "")
    assert quiet == [100.0, 100.0]
    assert loud[1] > 101
