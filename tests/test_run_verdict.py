"""The verdict of a run in words: what is told, what cannot be, and that no more is said."""

from __future__ import annotations

from typing import Any

import pytest

from netcosim.report.verdict import (
    REDRAWN,
    SAMPLING_VARIATION,
    SILENT,
    findings,
    limits,
)


def run_verdict(tables: dict[str, Any]) -> list[str]:
    """All sentences of a run."""
    return [*findings(tables), *limits(tables)]


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


def told(*rows: Any) -> list[str]:
    return findings({"policies": [RDN, *rows]})


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (
            row("simple", 0.65, (0.58, 0.72), 40.8),
            "simple shortens communication by 35 % (28 to 42) against rdn; it shortens mean waits "
            "by 32 %, from 1 min to 41 s.",
        ),
        (
            row("bad", 1.25, (1.1, 1.4), 90),
            "bad lengthens communication by 25 % (10 to 40) against rdn; it lengthens mean waits "
            "by 50 %, from 1 min to 1.5 min.",
        ),
        (
            row("level-spread", 0.97, (0.87, 1.07)),
            "level-spread is not significantly different from rdn in communication (0.87 to 1.07); "
            "it leaves mean waits as they are.",
        ),
        (
            row("same", 1.0, (1.0, 1.0)),
            "same does not change communication under rdn; it leaves mean waits as they are.",
        ),
        (
            row("once", 0.8),
            "once: communication is 20 % shorter than under rdn (no interval: fewer than 5 "
            "snapshots or jobs); it leaves mean waits as they are.",
        ),
        (
            row("none"),
            "none: no job that communicates was seen at its snapshots; it leaves mean waits as "
            "they are.",
        ),
    ],
)
def test_what_is_told_of_a_policy(other: Any, expected: str) -> None:
    assert told(other) == [expected]


def test_an_interval_that_ends_at_one_tells_nothing() -> None:
    assert "is not significantly different" in told(row("a", 0.9, (0.8, 1.0)))[0]
    assert "is not significantly different" in told(row("a", 1.1, (1.0, 1.2)))[0]
    assert "shortens" in told(row("a", 0.9, (0.8, 0.999)))[0]


def test_the_largest_gain_comes_first_and_what_is_not_significant_last() -> None:
    lines = told(
        row("luck", 0.5, (0.2, 1.2)), row("small", 0.9, (0.85, 0.95)), row("large", 0.6, (0.5, 0.7))
    )
    assert [line.split()[0] for line in lines] == ["large", "small", "luck"]


def test_without_packets_nothing_is_said_of_communication() -> None:
    queue = [
        {k: v for k, v in r.items() if "communication" not in k} for r in (RDN, row("a", wait=30))
    ]
    lines = run_verdict({"policies": queue})
    assert lines == [
        "a shortens mean waits by 50 % against rdn, from 1 min to 30 s.",
        SILENT,
        SAMPLING_VARIATION,
    ]


def test_where_nobody_waits_there_is_no_percentage() -> None:
    base = RDN | {"mean_wait_s": 0.0, "wait_ratio": None}
    waits = row("a", 0.5, (0.4, 0.6), 30) | {"wait_ratio": None}
    idle = row("b", 0.5, (0.4, 0.6), 0) | {"wait_ratio": None}
    lines = findings({"policies": [base, waits, idle]})
    assert lines[0].endswith("; it lets jobs wait 30 s in the mean where none waits under rdn.")
    assert lines[1].endswith("; it has no waiting jobs, as rdn.")


def test_waits_never_have_an_interval_and_communication_has_one_from_five_snapshots_on() -> None:
    several = limits({"policies": [RDN, row("a", 0.9, (0.8, 0.95))]})
    assert several[-1] == SAMPLING_VARIATION
    assert "interval of communication" in several[0]
    [single, luck] = limits({"policies": [RDN, row("a", 0.9)]})
    assert "needs at least 5 snapshots (run.snapshots) and jobs" in single
    assert luck == SAMPLING_VARIATION


@pytest.mark.parametrize(
    ("ratio", "ends", "expected"),
    [
        (0.5, (0.4, 0.625), "shortens mean waits by 50 % (38 to 60) against rdn, from 1 min "),
        (1.5, (1.2, 1.8), "lengthens mean waits by 50 % (20 to 80) against rdn, from 1 min "),
        (0.5, (0.2, 1.3), "does not change mean waits significantly (ratio 0.20 to 1.30) "),
    ],
)
def test_waits_have_the_interval_of_redrawn_queues(
    ratio: float, ends: tuple[float, float], expected: str
) -> None:
    low, high = ends
    other = row("a", wait=60 * ratio) | {"wait_ratio_low": low, "wait_ratio_high": high}
    queue = [{k: v for k, v in r.items() if "communication" not in k} for r in (RDN, other)]
    drawn = [{"resamples": 200, "jobs": "logs drawn from blocks of this one"}]
    lines = run_verdict({"policies": queue, "queue_intervals": drawn})
    assert lines[0].startswith(f"a {expected}")
    assert lines[1:] == [SILENT, REDRAWN.format(**drawn[0])]


def test_one_policy_is_compared_with_nothing() -> None:
    assert run_verdict({"policies": [RDN]}) == [
        "rdn is the only policy: there is nothing to compare it with."
    ]


def test_a_reference_elsewhere_is_named_as_it_is_and_every_policy_is_compared() -> None:
    rows = [
        row(name, 0.8, (0.7, 0.9), 30) | {"relative_to": "rdn with machine.routing = minimal"}
        for name in ("rdn", "simple")
    ]
    lines = findings({"policies": rows, "reference": [{"mean_wait_s": 60.0}]})
    assert len(lines) == 2
    assert lines[0].startswith("rdn shortens communication by 20 % (10 to 30) against rdn with ")
    assert "from 1 min to 30 s" in lines[0]
