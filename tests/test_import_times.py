"""Times of logs in zones whose clocks change, and jobs that share nodes, by plain definitions."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

from workloads.details import NodeLists
from workloads.importers.dates import LogClock, in_order
from workloads.importers.shared_nodes import overlapping

BERLIN = ZoneInfo("Europe/Berlin")


@examples(200)
@given(
    st.sampled_from([(2024, 3, 31), (2024, 10, 27), (2024, 7, 1)]),
    st.integers(0, 6 * 3600),
    st.integers(0, 5000),
    st.integers(61, 9000),
)
def test_a_zone_gives_the_true_times_around_a_change_of_the_clock(day, second, wait_s, run_s):
    """Against Python's own calendar; a start of the doubled hour is known by the run time."""
    first_s = datetime(*day, tzinfo=BERLIN).timestamp()
    times = first_s + second, first_s + second + wait_s, first_s + second + wait_s + run_s
    clock = LogClock("Europe/Berlin")
    both = []
    for time_s in times:
        told = datetime.fromtimestamp(time_s, BERLIN)
        both.append(clock.both(told.strftime("%Y-%m-%dT%H:%M:%S")))
        assert time_s in both[-1]
    submit_s, start_s, end_s = in_order(both[0], both[1], both[2], run_s)
    assert end_s - start_s == run_s
    # only a job that is inside the doubled hour from its start to its end can be an hour off
    if len(set(both[1])) == 1 or len(set(both[2])) == 1:
        assert (start_s, end_s) == times[1:]
        assert submit_s <= start_s
        assert submit_s in both[0]


@examples(200)
@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 3), max_size=3), st.integers(0, 9), st.integers(1, 5)),
        max_size=8,
    )
)
def test_sharing_is_two_jobs_on_a_node_at_once(jobs: list[tuple[set[int], int, int]]) -> None:
    """Against all pairs of jobs."""
    lists = NodeLists.of([[f"n{k}" for k in sorted(nodes)] for nodes, _, _ in jobs])
    start_s = np.array([float(s) for _, s, _ in jobs])
    end_s = start_s + np.array([float(r) for _, _, r in jobs])
    plain = [
        any(
            k != j and a & b and start_s[k] < end_s[j] and start_s[j] < end_s[k]
            for j, (b, _, _) in enumerate(jobs)
        )
        for k, (a, _, _) in enumerate(jobs)
    ]
    share, pair = overlapping(lists, start_s, end_s)
    assert share.tolist() == plain
    assert (pair is not None) == any(plain)
    if pair is not None:
        node, one, other = pair
        assert node in lists[one]
        assert node in lists[other]
        assert one != other
        assert start_s[other] < end_s[one]
        assert start_s[one] < end_s[other]
