"""``run.threads`` in a config: who gets how many, and that nothing else depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from netcosim.announce import parts_of, with_threads_that_fit
from netcosim.config.load import config_from
from netcosim.kernel_parts import CROSSBAR_THREADS, PACKET_THREADS
from netcosim.report.about import notes_of
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.draws import Draws
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError
from netsim.packet import thread_count


def config(threads: object = None, routing: str = "ugal-l", router: str = "output-queued"):
    run = {"snapshots": 2} | ({} if threads is None else {"threads": threads})
    return config_from(
        {
            "machine": {
                "family": "dragonfly",
                "p": 2,
                "a": 2,
                "g": 5,
                "routing": routing,
                "packet": {"router": router},
            },
            "workload": {"synthetic": {"n_jobs": 20, "mean_nodes": 6}},
            "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
            "run": run,
        }
    )


def test_a_points_key_and_draws_do_not_know_of_threads() -> None:
    plain = config().resolved()
    assert "threads" not in plain["run"]
    assert config(1).resolved() == plain
    for threads in (2, "auto"):
        content = config(threads).resolved()
        assert content["run"]["threads"] == threads
        assert config_from(content).run.threads == threads
        assert point_key(content) == point_key(plain)
        for purpose in ("workload", "packets"):
            drawn = [Draws(c).rng(purpose).integers(0, 2**60) for c in (plain, content)]
            assert drawn[0] == drawn[1]


def test_a_run_on_two_threads_has_the_same_tables_and_says_so() -> None:
    one, two = run_cosim(config()), run_cosim(config(2))
    assert result_tables(one) == result_tables(two)
    assert not [note for note in notes_of(one) if "thread" in note]
    assert "packets were simulated on 2 threads" in notes_of(two)


def test_a_run_that_cannot_be_split_says_why() -> None:
    notes = notes_of(run_cosim(config(2, "ugal-g")))
    told = "packets were simulated on one thread: routing ugal-g"
    assert any(note.startswith(told) for note in notes)
    # 20 nodes are too few
    assert "packets were simulated on 1 thread" in notes_of(run_cosim(config("auto")))


@pytest.mark.parametrize(
    ("asked", "processes", "got", "told"),
    [
        (1, 8, 1, None),
        (4, 1, 4, None),
        (4, 2, 4, None),
        (4, 3, 2, "run.threads = 4 is too many for 3 processes on 8 cores: 2"),
        (4, 16, 1, "run.threads = 4 is too many for 16 processes on 8 cores: 1"),
        (9, 1, 8, "run.threads = 9 is too many for 8 cores: 8"),
        ("auto", 1, "auto", None),
        ("auto", 2, 1, None),
    ],
)
def test_processes_and_threads_share_the_cores(monkeypatch, asked, processes, got, told) -> None:
    monkeypatch.setattr(thread_count, "available_cores", lambda: 8)
    fitting, line = with_threads_that_fit(config(asked), processes)
    assert fitting.run.threads == got
    assert line == (None if told is None else f"{told} (same results)")
    assert point_key(fitting.resolved()) == point_key(config().resolved())


def test_kernels_of_threads_are_compiled_if_they_are_asked_for() -> None:
    assert PACKET_THREADS not in parts_of(config())
    assert PACKET_THREADS in parts_of(config("auto"))
    assert CROSSBAR_THREADS in parts_of(config(2, router="input-queued"))


@pytest.mark.parametrize("threads", [0, -3, 1.5, "many", True, 10**6, [2], np.nan])
def test_a_number_of_threads_that_is_none_is_refused_in_one_line(threads: object) -> None:
    with pytest.raises(NetcosimError, match=r"run\.threads") as caught:
        config(threads)
    assert "\n" not in str(caught.value)
