"""Findings of a run: what effects its tables have, their sentences, and what is not covered."""

from __future__ import annotations

from typing import Any

import pytest

from netcosim.report.policies import policy_rows
from netcosim.report.verdict import (
    FEW,
    OTHER_BLOCKS,
    OTHER_JOBS,
    SAMPLING_VARIATION,
    SILENT,
    effects_of,
    findings,
    limits,
    run_recommendation,
)


def row(policy: str, ratio: Any = None, ends: Any = (None, None), wait: float = 60.0) -> Any:
    """A row of the table of policies; the reference waits a minute."""
    return {
        "policy": policy,
        "relative_to": "rdn at the same point",
        "communication_ratio": ratio,
        "communication_ratio_low": ends[0],
        "communication_ratio_high": ends[1],
        "mean_wait_s": wait,
        "wait_ratio": wait / 60,
    }


RDN = row("rdn", 1.0, (1.0, 1.0))


def tables_of(*rows: Any, snapshots: int = 20, **others: Any) -> dict[str, Any]:
    """Tables in which each policy has so many snapshots, each with a job of its own."""
    seen = [
        {"policy": one["policy"], "snapshot": k, "job_id": k}
        for one in rows
        for k in range(snapshots)
    ]
    return {"policies": [RDN, *rows], "measured_jobs": seen, **others}


def config(snapshots: int, over_log: bool = False) -> dict[str, Any]:
    return {"run": {"snapshots": snapshots}, "workload": {"log": "a.swf" if over_log else None}}


UNCHANGED = "leaves mean wait unchanged"
ONE = "no interval: 1 sequence of jobs"


@pytest.mark.parametrize(
    ("other", "snapshots", "expected"),
    [
        (
            row("simple", 0.65, (0.58, 0.72), 40.8),
            20,
            "simple shortens communication time by 35 % (28 to 42) compared with rdn; changes mean "
            f"wait by -32 % ({ONE}), from 1 min to 41 s.",
        ),
        (
            row("bad", 1.25, (1.1, 1.4), 90),
            20,
            "bad lengthens communication time by 25 % (10 to 40) compared with rdn; changes mean "
            f"wait by +50 % ({ONE}), from 1 min to 1.5 min.",
        ),
        (
            row("level-spread", 0.97, (0.87, 1.07)),
            20,
            "level-spread does not change communication time significantly (-3.0 %, -13 to +7.0) "
            f"compared with rdn; {UNCHANGED}.",
        ),
        (
            row("same", 1.0, (1.0, 1.0)),
            20,
            f"same leaves communication time unchanged compared with rdn; {UNCHANGED}.",
        ),
        (
            row("once", 0.8),
            3,
            "once changes communication time by -20 % (no interval: 3 snapshots) compared with "
            f"rdn; {UNCHANGED}.",
        ),
        # ends that come from one sample are no interval
        (
            row("one", 0.8, (0.8, 0.8)),
            1,
            "one changes communication time by -20 % (no interval: 1 snapshot) compared with "
            f"rdn; {UNCHANGED}.",
        ),
        (row("none"), 20, f"none {UNCHANGED} compared with rdn."),
    ],
)
def test_the_sentence_of_a_policy(other: Any, snapshots: int, expected: str) -> None:
    tables = tables_of(other, snapshots=snapshots)
    assert findings(tables) == [expected]
    unseen = "No job that communicates was measured under none."
    assert (unseen in limits(tables)) == (other["policy"] == "none")


def test_a_change_of_less_than_a_thousandth_is_none() -> None:
    for ratio, ends in ((0.9, (0.8, 1.0)), (1.1, (1.0, 1.2)), (0.9, (0.8, 0.9995))):
        assert "does not change" in findings(tables_of(row("a", ratio, ends)))[0]
    assert "shortens" in findings(tables_of(row("a", 0.9, (0.8, 0.998))))[0]


def test_the_largest_gain_comes_first_and_what_is_not_significant_last() -> None:
    rows = (
        row("luck", 0.5, (0.2, 1.2)),
        row("small", 0.9, (0.85, 0.95)),
        row("large", 0.6, (0.5, 0.7)),
    )
    assert [*effects_of(tables_of(*rows))] == ["large", "small", "luck"]


def silent(*rows: Any) -> list[Any]:
    return [{k: v for k, v in r.items() if "communication" not in k} for r in rows]


def test_without_packets_nothing_is_said_of_communication() -> None:
    tables = {"policies": silent(RDN, row("a", wait=30))}
    assert findings(tables) == [
        f"a changes mean wait by -50 % ({ONE}), from 1 min to 30 s compared with rdn."
    ]
    assert limits(tables) == [SILENT, SAMPLING_VARIATION]


def test_where_nobody_waits_there_is_no_percentage() -> None:
    base = RDN | {"mean_wait_s": 0.0, "wait_ratio": None}
    waits = row("a", 0.5, (0.4, 0.6), 30) | {"wait_ratio": None}
    idle = row("b", 0.5, (0.4, 0.6), 0) | {"wait_ratio": None}
    lines = findings({**tables_of(waits, idle), "policies": [base, waits, idle]})
    assert lines[0].endswith("; has mean wait of 30 s.")
    assert lines[1].endswith(f"; {UNCHANGED}.")


def test_few_snapshots_are_rated_before_the_sentence() -> None:
    few = run_recommendation(tables_of(row("a", 0.9), snapshots=3), config(3), 60.0)
    assert few.head == (FEW, findings(tables_of(row("a", 0.9), snapshots=3))[0])
    assert SAMPLING_VARIATION in few.condition
    assert few.next_step.startswith("Write snapshots = 10 ")
    many = run_recommendation(tables_of(row("a", 0.9, (0.8, 0.95))), config(20), 60.0)
    assert many.reliable
    assert many.interval == "20 snapshots. Intervals at 95 %."


@pytest.mark.parametrize(
    ("ratio", "ends", "expected"),
    [
        (0.5, (0.4, 0.625), "shortens mean wait by 50 % (38 to 60), from 1 min to 30 s "),
        (1.5, (1.2, 1.8), "lengthens mean wait by 50 % (20 to 80), from 1 min to 1.5 min "),
        (0.5, (0.2, 1.3), "does not change mean wait significantly (-50 %, -80 to +30), from "),
    ],
)
def test_waits_have_the_interval_of_redrawn_queues(
    ratio: float, ends: tuple[float, float], expected: str
) -> None:
    low, high = ends
    other = row("a", wait=60 * ratio) | {"wait_ratio_low": low, "wait_ratio_high": high}
    drawn = [{"resamples": 200, "sample": "block of the log", "samples": 10}]
    tables = {"policies": silent(RDN, other), "queue_intervals": drawn}
    assert findings(tables)[0].startswith(f"a {expected}")
    assert limits(tables) == [SILENT]
    interval = run_recommendation(tables, config(0, over_log=True), 1.0).interval
    assert interval == "10 blocks of the log. Intervals at 95 %."


def test_one_policy_is_compared_with_nothing() -> None:
    assert findings({"policies": [RDN]}) == [
        "rdn is the only policy: there is nothing to compare it with."
    ]
    assert limits({"policies": [RDN]}) == []


def test_a_reference_elsewhere_is_named_as_it_is_and_every_policy_is_compared() -> None:
    rows = [
        row(name, 0.8, (0.7, 0.9), 30) | {"relative_to": "rdn with machine.routing = minimal"}
        for name in ("rdn", "simple")
    ]
    tables = tables_of(*rows, reference=[{"mean_wait_s": 60.0}]) | {"policies": rows}
    lines = findings(tables)
    assert len(lines) == 2
    shortens = "rdn shortens communication time by 20 % (10 to 30) compared with rdn with "
    assert lines[0].startswith(shortens)
    assert "from 1 min to 30 s" in lines[0]


def test_the_advice_follows_what_the_jobs_are() -> None:
    """Five seeds over a log are one log: it is redrawn in repetitions."""
    for over_log, expected, other in (
        (True, OTHER_BLOCKS, OTHER_JOBS),
        (False, OTHER_JOBS, OTHER_BLOCKS),
    ):
        tables = tables_of(row("a", 0.8, (0.7, 0.9)))
        step = run_recommendation(tables, config(20, over_log), 1.0).next_step
        assert expected in step
        assert other not in step


def test_the_table_of_policies_has_the_numbers_of_the_sentences() -> None:
    tables = tables_of(row("a", 0.65, (0.58, 0.72)), row("b", 0.8), row("c"))
    more = {"mean_turnaround_s": 1.0, "mean_bounded_slowdown": 1.0, "utilisation": 0.5}
    rows = [one | more | {"makespan_s": 3600.0} for one in tables["policies"]]
    shown = [one["communication_time"] for one in policy_rows({"policies": rows})]
    assert shown == ["0 % (0)", "-35 % (-42 to -28)", "-20 % (no interval)", "-"]
