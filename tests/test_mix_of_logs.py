"""A job that says what it sends is taken at its word; the mix says the rest, as it always did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cosim.network.mix import CommunicationMix, PatternShare
from netcosim.config.load import config_from, load_config
from netcosim.runs.cosim import run_cosim
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from patterns.registry import PATTERNS
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


def sized(sizes: list[int]) -> Workload:
    return replace(jobs(len(sizes)), n_nodes=np.array(sizes, dtype=np.int32))


def test_jobs_that_no_pattern_can_be_on_only_compute(tmp_path: Path) -> None:
    """Tensor parallelism of 8: jobs of 1, 2 and 12 GPUs send nothing, those of 8 and 16 do."""
    config = {
        "machine": {"family": "gpu-cluster", "nodes": 4},
        "workload": {"synthetic": {"n_jobs": 4, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "measured"},
        "communication": {"mix": [{"pattern": "training", "parameters": {"tp": 8}}]},
    }
    mix = run_context(config_from(config)).mix
    log = sized([1, 2, 8, 12, 16])
    _, fraction = mix.draw(log, np.random.default_rng(1))
    assert (fraction > 0).tolist() == [False, False, True, False, True]
    assert mix.silent(log).tolist() == [True, True, False, True, False]
    assert mix.noted(log).notes == (
        "3 jobs of 1 to 12 nodes send nothing: communication.mix (training) has no pattern for "
        "their number of ranks",
    )
    # another pattern for small jobs is theirs, and jobs outside of all entries are an error
    config["communication"]["mix"] += [{"pattern": "all-to-all", "nodes": [1, 4]}]  # type: ignore[index]
    mix = run_context(config_from(config)).mix
    which, fraction = mix.draw(log, np.random.default_rng(1))
    assert which[:2].tolist() == [1, 1]
    assert (fraction > 0).tolist() == [True, True, True, False, True]
    config["communication"]["mix"] = [{"pattern": "all-to-all", "nodes": [1, 4]}]  # type: ignore[index]
    with pytest.raises(NetcosimError, match="no entry is for job"):
        run_context(config_from(config)).mix.draw(log, np.random.default_rng(1))


@pytest.mark.parametrize(("dp", "ep", "fits"), [(0, 1, [8, 16]), (2, 1, [16]), (0, 2, [16])])
def test_ranks_that_training_can_be_on(dp: int, ep: int, fits: list[int]) -> None:
    given = {"tp": 8, "dp": dp, "ep": ep}
    sizes = [1, 4, 8, 12, 16]
    assert [n for n in sizes if PATTERNS["training"].ranks_used(n, given)] == fits


def test_ranks_beyond_those_of_a_trace_are_idle_and_noted(tmp_path: Path) -> None:
    """A trace of two ranks, two on each node: jobs of one node are full, others have idle ones."""
    (tmp_path / "two.goal").write_text(
        "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3\n}\nrank 1 {\nl1: recv 8b from 0 tag 3\n}\n"
    )
    config = {
        "machine": {"family": "torus", "dims": [8]},
        "workload": {"synthetic": {"n_jobs": 4, "sizes": [4]}},
        "queue": {"policies": ["baseline"]},
        "communication": {
            "mix": [{"pattern": "goal", "file": str(tmp_path / "two.goal")}],
            "ranks_per_node": 2,
        },
        "run": {"snapshots": 1},
    }
    notes = run_context(config_from(config)).queues.jobs.notes
    assert "goal uses 2 ranks at most: in 4 jobs that may have it, others are idle" in notes
    mix = run_context(config_from(config)).mix
    assert mix.noted(sized([1, 1])).notes == ()
    assert not mix.silent(sized([1, 4])).any()


def test_ranks_of_gpus_are_sorted_by_server_unless_the_config_maps_them() -> None:
    base = {
        "workload": {"synthetic": {"n_jobs": 4, "mean_nodes": 4}},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 1},
    }
    gpus, torus = {"family": "gpu-cluster", "nodes": 4}, {"family": "torus", "dims": [4, 4]}
    one = {**gpus, "gpus_per_node": 1}
    for machine, mapping in ((gpus, "by-domain"), (one, "random"), (torus, "random")):
        resolved = config_from({**base, "machine": machine}).resolved()
        assert resolved["communication"]["task_mapping"] == mapping
    # where nothing is sent there is nothing to map
    queue = config_from({**base, "machine": gpus, "run": {"snapshots": 0}})
    assert queue.communication.task_mapping == "random"
    given = {"communication": {"task_mapping": "random"}}
    own = config_from({**base, **given, "machine": gpus}).resolved()
    assert own["communication"]["task_mapping"] == "random"
    assert config_from(own).resolved() == own
