"""Schedules measured again: against runs that do each step by hand, and ratios by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cosim.measuring.measured import SpeedupTable
from cosim.measuring.rounds import ALONE, isolated_speedups, round_rows
from cosim.measuring.snapshots import Measurement, Ratio
from cosim.measuring.tasks import Columns, PrefixedRunner, SerialExecutor
from cosim.run_times.measured_times import Measured
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import replaced
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError

CONTENT: dict[str, Any] = {
    "machine": {"family": "fattree", "radix": 4, "bandwidth": "5 GB/s"},
    "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 5}, "larger_jobs": "drop"},
    "queue": {"policies": ["random", "jigsaw"], "run_time_model": "measured"},
    "communication": {
        "mix": [{"pattern": "all-to-all", "node_bytes": 16384, "communication_fraction": 0.5}]
    },
    "run": {
        "snapshots": 4,
        "measure": "steady",
        "steady": {"precision": 0.5, "least_iterations": 8, "most_iterations": 8},
    },
}


def run(changes: dict[str, Any], runner: Any = None) -> CosimResult:
    return run_cosim(config_from(replaced(CONTENT, changes)), runner=runner)


def rounds(number: int, **more: Any) -> CosimResult:
    return run({"queue.measured": {"rounds": number, **more}})


class Seen(SerialExecutor):
    """Notes the names of tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def each(self, compute: Any, tasks: Any, *more: Any) -> list[tuple[Any, ...]]:
        self.names += tasks
        return super().each(compute, tasks, *more)


def test_each_round_is_what_the_run_before_gave() -> None:
    """Two rounds by hand: the table of one round, its schedules, and those measured again."""
    one, two = rounds(1), rounds(2)
    rows = result_tables(two)["rounds"]
    after_one = [row["makespan_s"] for row in rows if row["round"] == 1]
    assert after_one == [s.makespan_s for s in one.summaries().values()]
    # the schedules with the first table, measured; a model of that table has them as its own
    assert one.measurement is not None
    assert two.measurement is not None
    assert two.study is not None
    for name, side in two.study.sides.items():
        np.testing.assert_array_equal(side.schedule.start_s, one.schedules[name].start_s)
        mine, found = side.schedule.placements, one.schedules[name].placements
        assert mine is not None
        assert found is not None
        np.testing.assert_array_equal(mine.nodes, found.nodes)
    # and the last queues run with what was measured of these
    bench = run_context(two.config)
    again = bench.queues.under("jigsaw", Measured(two.table, bench.mix, "mean"))
    np.testing.assert_array_equal(again.start_s, two.schedules["jigsaw"].start_s)
    assert two.table != one.table


def test_a_log_under_the_reference_keeps_its_schedule_and_one_alone_does_not() -> None:
    """What can answer: with times under the reference its own schedule is the log's."""
    contended, alone = rounds(2), rounds(2, runtime_reference="isolated")
    jobs = contended.workload
    for result, same in ((contended, True), (alone, False)):
        ran = result.schedules["random"].end_s - result.schedules["random"].start_s
        assert np.allclose(ran, jobs.run_time_s) is same
    ran = alone.schedules["random"].end_s - alone.schedules["random"].start_s
    several = jobs.n_nodes > 1
    # held up by others, by what was measured, and nothing else
    assert (ran[several] >= 0.999 * jobs.run_time_s[several]).all()
    assert alone.schedules["random"].end_s.max() > contended.schedules["random"].end_s.max()
    np.testing.assert_allclose(ran[~several], jobs.run_time_s[~several])


def test_keys_at_their_defaults_change_nothing() -> None:
    plain = config_from(CONTENT).resolved()
    given = {"rounds": 1, "runtime_reference": "contended-baseline"}
    assert plain["queue"]["measured"] == {"table": None, "bound": "mean", **given}
    assert config_from(replaced(CONTENT, {"queue.measured": given})).resolved() == plain
    seen = Seen()
    run({}, seen)
    assert not any(name.startswith("round") for name in seen.names)


def test_parts_of_every_round_have_names_of_their_own() -> None:
    """A stopped run finds its parts by name."""
    seen = Seen()
    run({"queue.measured": {"rounds": 3}}, seen)
    assert len(set(seen.names)) == len(seen.names)
    assert sum(name.startswith("round 3, ") for name in seen.names) == 2 + 4


def pair(policy: str, there: float, reference_s: float, alone_s: float) -> dict[str, object]:
    named = {"policy": policy, "pattern": "all-to-all", "n_nodes": 4, "policy_s": there}
    return {**named, "reference_s": reference_s, "reference_alone_s": alone_s}


def test_ratios_over_times_alone_by_hand() -> None:
    """Alone 10; under the reference 12 and 14, under the policy 11 and 9: 1.3 and 1.0."""
    result = rounds(1)
    assert result.study is not None
    assert result.measurement is not None
    rows = [
        {**pair("jigsaw", 11.0, 12.0, 10.0), "snapshot": 0, "job_id": 0},
        {**pair("jigsaw", 9.0, 14.0, 10.0), "snapshot": 1, "job_id": 1},
    ]
    table = SpeedupTable("random", (), of_run_times=True)
    found = Measurement({}, {}, table, {"pairs": rows})
    made = isolated_speedups(found, result.study, lambda: np.random.default_rng(1))
    assert made.reference_policy == ALONE
    assert made.of_run_times
    ratio = {row.policy: row.ratio for row in made.rows}
    assert ratio == pytest.approx({"random": 1.3, "jigsaw": 1.0})


def test_settled_means_inside_of_the_interval_before() -> None:
    result = rounds(1)
    assert result.measurement is not None
    schedules = result.schedules

    def measured(off: float) -> Measurement:
        told = {"policy": "jigsaw", "taken_off_percent": off}
        told |= {"taken_off_percent_low": off - 1, "taken_off_percent_high": off + 1}
        ratios = {"jigsaw": Ratio(0.9, None, None, 3)}
        return Measurement({}, ratios, result.table, {"steady": [told]})

    asked = [(measured(off), schedules) for off in (5.0, 5.9, 7.1)]
    rows = [row for row in round_rows(asked, "random") if row["policy"] == "jigsaw"]
    assert [row["settled"] for row in rows] == [None, True, False]
    base = schedules["random"].end_s.max()
    assert rows[0]["makespan_ratio"] == pytest.approx(schedules["jigsaw"].end_s.max() / base)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"queue.measured": {"rounds": 2, "table": "t.csv"}}, "queue.measured.rounds"),
        (
            {
                "queue.measured": {"runtime_reference": "isolated"},
                "run.measure": "stretch",
                "run.steady": {},
            },
            "needs whole runs",
        ),
        (
            {
                "queue.measured": {"runtime_reference": "isolated"},
                "reference": {"policy": "baseline"},
            },
            r"\[reference\] names another",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    changes: dict[str, Any], told: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x\n")
    with pytest.raises(NetcosimError, match=told):
        run(changes)


def test_tasks_are_renamed_alone() -> None:
    """Their digests go with them: an equal one is not computed again."""
    seen, computed = Seen(), list[int]()
    seen._most = 2

    def compute(number: int, report: Any) -> Columns:
        computed.append(number)
        return {"a": np.array(number)}

    second = PrefixedRunner(seen, "round 2, ")
    for runner in (seen, second):
        [(number, columns)] = runner.each(compute, {"x": (7,)}, None, {"x": "digest"})
        assert (number, int(columns["a"])) == (7, 7)
    assert seen.names == ["x", "round 2, x"]
    assert computed == [7]
