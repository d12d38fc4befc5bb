"""What numbers are relative to: a reference of its own at every point, or one for all."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_words import words

from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.store import Store
from netsim.errors import NetcosimError

pytestmark = pytest.mark.usefixtures("undrawn")

CONTENT: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 4, "g": 5, "routing": "minimal"},
    "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 8, "load": 1.2}},
    "queue": {"policies": ["simple", "rdn"], "run_time_model": "measured"},
    "communication": {
        "mix": [
            {"pattern": "all-to-all", "message_bytes": 20_000, "communication_fraction": 0.8},
        ]
    },
    "run": {"snapshots": 3},
}
MINIMAL = {"policy": "rdn", "machine.routing": "minimal"}


def content(routing: str = "minimal", **sections: Any) -> dict[str, Any]:
    made = copy.deepcopy(CONTENT)
    made["machine"]["routing"] = routing
    for name, values in sections.items():
        made[name] = made.get(name, {}) | values
    return made


def policies(raw: dict[str, Any]) -> dict[str, dict[str, object]]:
    return {
        str(row["policy"]): dict(row)
        for row in result_tables(run_cosim(config_from(raw)))["policies"]
    }


def test_without_a_reference_every_point_has_its_own() -> None:
    """The first policy waits the same under every routing: by construction, and so it is told."""
    rows = [policies(content(routing)) for routing in ("minimal", "valiant")]
    assert rows[0]["simple"]["mean_wait_s"] == rows[1]["simple"]["mean_wait_s"]
    assert rows[0]["rdn"]["mean_wait_s"] != rows[1]["rdn"]["mean_wait_s"]
    for row in rows:
        assert row["simple"]["wait_ratio"] == row["simple"]["communication_ratio"] == 1
        assert row["rdn"]["relative_to"] == "simple at the same point"


def test_one_reference_for_all_points() -> None:
    """Under RDN and minimal routing jobs run as logged, whatever the point; RDN under Valiant has
    a ratio of its own, and times of both are divided by the same yardsticks."""
    here, there = (
        run_cosim(config_from(content(r, reference=MINIMAL))) for r in ("minimal", "valiant")
    )
    np.testing.assert_array_equal(here.reference_schedule.end_s, there.reference_schedule.end_s)
    assert here.reference.elsewhere is None
    assert there.reference.elsewhere is not None
    own = here.schedules["rdn"]
    np.testing.assert_allclose(own.end_s - own.start_s, here.workload.run_time_s)
    away = there.schedules["rdn"]
    talks = there.workload.n_nodes > 1
    factor = (away.end_s - away.start_s) / there.workload.run_time_s
    assert there.ratios["rdn"].ratio != pytest.approx(1, abs=0.01)
    assert (factor[talks] != 1).any()
    # the ratio by hand: mean times over the reference's yardsticks, on both sides
    reference = here.measured["rdn"]
    mine = there.measured["rdn"]
    yardstick_s = dict(zip(reference.job.tolist(), reference.baseline_s.tolist(), strict=True))
    shared = [k for k, job in enumerate(mine.job.tolist()) if job in yardstick_s]
    assert shared
    assert [mine.baseline_s[k] for k in shared] == [yardstick_s[mine.job[k]] for k in shared]
    assert there.ratios["rdn"].ratio == pytest.approx(
        mine.communicating.stretch.mean() / reference.communicating.stretch.mean()
    )
    row = result_tables(there)["policies"][1]
    assert row["relative_to"] == "rdn with machine.routing = minimal"
    assert row["wait_ratio"] == pytest.approx(
        np.mean(away.start_s - there.workload.submit_s)
        / np.mean(own.start_s - here.workload.submit_s)
    )


def test_a_reference_changes_nothing_but_what_is_compared() -> None:
    """Schedules with logged times and packets are those of the run without a reference.

    By share jobs compute as long as their yardsticks on the reference's network, so their packets
    may come at other times.
    """
    mix = CONTENT["communication"]["mix"]
    plain, told = (
        run_cosim(
            config_from(
                content("valiant", communication={"together": "always", "mix": mix}, **more)
            )
        )
        for more in ({}, {"reference": MINIMAL})
    )
    for name in ("simple", "rdn"):
        np.testing.assert_array_equal(plain.logged[name].start_s, told.logged[name].start_s)
        np.testing.assert_array_equal(plain.measured[name].time_s, told.measured[name].time_s)


def test_a_reference_policy_that_is_not_the_first() -> None:
    rows = policies(content(reference={"policy": "rdn"}))
    assert rows["rdn"]["wait_ratio"] == rows["rdn"]["communication_ratio"] == 1
    assert rows["simple"]["relative_to"] == "rdn at the same point"
    assert rows["simple"]["communication_ratio"] != 1


def test_contended_baseline_is_the_reference_elsewhere() -> None:
    """RDN's stretches under minimal routing are what the log is taken for, also at a point under
    Valiant: at the reference RDN's jobs run about as logged."""
    coupled = {
        "run_time_model": "coupled-flow",
        "coupled-flow": {"runtime_reference": "contended-baseline"},
    }
    there = run_cosim(
        config_from(content("valiant", queue=coupled, reference=MINIMAL, run={"snapshots": 0}))
    )
    home = there.reference_schedule
    factor = (home.end_s - home.start_s) / there.workload.run_time_s
    assert factor.mean() == pytest.approx(1, abs=0.05)
    away = there.schedules["rdn"]
    assert (away.end_s - away.start_s).mean() != pytest.approx((home.end_s - home.start_s).mean())


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ({"run.seed": 3}, r"key reference\.run\.seed: the reference takes policy, machine\.KEY"),
        ({"queue.policies": ["rdn"]}, r"key reference\.queue\.policies: the reference takes"),
        ({"machine.preset": "cab"}, "the reference has the run's network family"),
        ({"machine": {"routing": "d-mod-k"}}, r"key reference\.machine\.routing: unknown routing"),
        ({"machine.rooting": "minimal"}, r"key reference\.machine\.rooting: unknown key"),
        ({"queue.order": "lifo"}, r"key reference\.queue\.order: unknown order 'lifo'"),
        ({"policy": "jigsaw"}, r"key reference\.policy: unknown allocation policy"),
        (
            {"machine": {"packet": {"packet_bytes": "0 B"}}},
            r"reference\.machine\.packet\.packet_bytes",
        ),
        ({"queue": {"measured": {"table": "t.csv"}}}, "the reference reads the run's files"),
        ("rdn", "key reference"),
    ],
)
def test_mistakes_in_a_reference_are_one_line(reference: Any, told: str) -> None:
    raw = content()
    raw["reference"] = reference
    with pytest.raises(NetcosimError, match=told) as caught:
        config_from(raw)
    assert "\n" not in str(caught.value)


def test_a_reference_may_differ_in_any_key_of_machine_and_queue() -> None:
    """Spelled as a file spells it, over what the run spells its own way."""
    raw = content(reference={"machine": {"global_bandwidth": "2 GB/s"}, "queue": {"order": "wfp"}})
    raw["machine"]["global_bandwidth_Bps"] = 10**9
    config = config_from(raw)
    assert config_from(config.resolved()) == config
    found = config.relative_to
    assert found.elsewhere is not None
    assert found.elsewhere.machine.parameters["global_bandwidth_Bps"] == 2 * 10**9
    assert found.elsewhere.queue.order == "wfp"
    assert found.elsewhere.queue.policies == ("simple",)
    assert found.label == "simple with machine.global_bandwidth = 2 GB/s, queue.order = wfp"


SWEEP = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 5
routing = ["minimal", "valiant"]
[workload.synthetic]
n_jobs = 30
mean_nodes = 8
load = 1.2
[queue]
policies = ["rdn"]
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "20 KB"
communication_fraction = 0.8
[run]
snapshots = 2
"""


def test_pages_say_what_numbers_are_relative_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, reference, told in (
        (
            "own",
            "",
            "change in percent from rdn at the same point. Each point then has a separate",
        ),
        (
            "all",
            '[reference]\nmachine.routing = "minimal"\n',
            "change in percent from rdn with machine.routing = minimal.",
        ),
    ):
        path = tmp_path / f"{name}.toml"
        path.write_text(SWEEP + reference)
        store = tmp_path / f"{name}.db"
        assert main(["sweep", str(path), "--out", str(store), "--quiet"]) == 0
        assert main(["report", str(store), "--export", "csv"]) == 0
        page = store.with_suffix(".html").read_text(encoding="utf-8")
        assert told in words(page)
        header = (tmp_path / f"{name}-csv" / "policies.csv").read_text().splitlines()[0]
        assert "relative_to" in header
        with Store(store, "read") as opened:
            frame = opened.frame("policies").set_index("machine.routing")
        waits = frame["mean_wait_s"]
        assert (waits["minimal"] == waits["valiant"]) == (name == "own")
    one = tmp_path / "run.toml"
    one.write_text(
        SWEEP.replace('["minimal", "valiant"]', '"valiant"')
        + '[reference]\nmachine.routing = "minimal"\n'
    )
    capsys.readouterr()
    assert main(["run", str(one), "--out", str(tmp_path / "out")]) == 0
    told = "relative to rdn with machine.routing = minimal"
    assert f"communication_time is {told}" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert told in page
    assert "<h2>The reference</h2>" in page
