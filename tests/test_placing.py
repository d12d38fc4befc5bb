"""Jobs of an instant placed anew: on an empty machine, in the order of the log or small first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alloc.policy import Request
from cosim.measuring.snapshots import Study
from cosim.parameters import LOG_ORDER, QUEUE, SMALL_FIRST
from netcosim.archive.extract import archive_of
from netcosim.archive.values import ArchivedMeasured
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import replaced
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError

DRAGONFLY = {
    "machine": {"family": "dragonfly", "p": 2, "a": 4, "g": 9, "routing": "minimal"},
    "workload": {"synthetic": {"n_jobs": 80, "mean_nodes": 8}, "all_at_zero": True},
    "queue": {"policies": ["rdn", "level-spread"], "run_time_model": "as-logged"},
    "communication": {
        "mix": [{"pattern": "pairs", "node_bytes": 4096, "communication_fraction": 0.5}],
        "task_mapping": "in-order",
    },
    "run": {
        "snapshots": 3,
        "measure": "steady",
        "steady": {"least_iterations": 8, "most_iterations": 8},
    },
}
ON_THE_RING = {0: 10.0, 2: 10.0, 1: 30.0, 3: 30.0}
"""When single nodes of a ring of routers with two nodes come free: two jobs of two nodes get 0, 2
and 1, 3, and share the cable between the first routers."""


def ring(tmp_path: Path) -> dict[str, Any]:
    lines = ["job,nodes,arrival_s,run_s"]
    lines += [f"{node + 1},1,0,{ON_THE_RING.get(node, 5000.0)}" for node in range(8)]
    path = tmp_path / "two.csv"
    path.write_text("\n".join([*lines, "101,2,20,4000", "102,2,40,4000"]) + "\n")
    swap = {
        "pattern": "bisection-pairing",
        "node_bytes": 100_000,
        "communication_fraction": 1.0,
        "parameters": {"rounds": 1, "warmup_rounds": 0},
    }
    torus = {"dims": [4], "concentration": 2, "link_bandwidth_Bps": 1e9, "node_bandwidth_Bps": 1e9}
    return {
        "machine": {"family": "torus", **torus},
        "workload": {"log": str(path)},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "communication": {"mix": [swap], "task_mapping": "in-order"},
        "run": {"snapshots": 1, "measure": "steady"},
    }


def placed(content: Mapping[str, Any], where: str, **more: object) -> CosimResult:
    return run_cosim(config_from(replaced(content, {"run.placed": where, **more})))


def study_of(content: Mapping[str, Any]) -> Study:
    bench = run_context(config_from(content))
    names = bench.config.queue.policies
    return bench.study(bench.sides({n: bench.queues.under(n) for n in names}), names[0])


@pytest.mark.parametrize(("where", "shared"), [(QUEUE, True), (LOG_ORDER, False)])
def test_jobs_that_share_a_cable_in_the_queue_have_a_router_each_on_the_empty_machine(
    tmp_path: Path, where: str, shared: bool
) -> None:
    [found] = placed(ring(tmp_path), where).measured.values()
    assert found.alone_s is not None
    assert len(found.time_s) == 2
    if shared:
        assert found.time_s == pytest.approx(2 * found.alone_s, rel=0.03)
    else:
        assert np.array_equal(found.time_s, found.alone_s)


@pytest.mark.parametrize("where", [LOG_ORDER, SMALL_FIRST])
def test_a_policy_places_the_jobs_of_the_instant_one_by_one(where: str) -> None:
    study = study_of(replaced(DRAGONFLY, {"run.placed": where}))
    queue = study_of(DRAGONFLY)
    assert queue.at(1) is queue
    schedule = queue.sides["rdn"].schedule
    running = schedule.running_at(float(queue.instants_s("rdn")[1])).tolist()
    sizes = schedule.workload.n_nodes
    order = running if where == LOG_ORDER else sorted(running, key=lambda job: (sizes[job], job))
    assert order != sorted(running) or where == LOG_ORDER
    for name, side in study.at(1).sides.items():
        assert np.array_equal(side.schedule.start_s, schedule.start_s)
        assert study.sides[name].empty is not None
        policy = study.sides[name].empty(1)
        for job in order:
            place = policy.allocate(Request(job, int(sizes[job])))
            assert place is not None
            assert side.placement(job).nodes.tolist() == place.nodes.tolist()
    first, again, other = (
        study.at(number).sides["rdn"].schedule.placements.nodes.tolist() for number in (1, 1, 2)
    )
    assert first == again
    empty = study.sides["rdn"].empty
    assert empty is not None
    draws = [empty(number).allocate(Request(0, 20)) for number in (1, 2)]
    assert draws[0].nodes.tolist() != draws[1].nodes.tolist(), "each snapshot has its own draws"
    assert other != first


def test_where_jobs_sit_is_all_that_changes() -> None:
    plain, named = config_from(DRAGONFLY), config_from(replaced(DRAGONFLY, {"run.placed": QUEUE}))
    assert plain.resolved() == named.resolved()
    assert "placed" not in plain.resolved()["run"]
    queue, empty = placed(DRAGONFLY, QUEUE), placed(DRAGONFLY, SMALL_FIRST)
    there, here = (result_tables(run)["pairs"] for run in (queue, empty))
    for column in ("snapshot", "job_id", "n_nodes", "pattern"):
        assert [row[column] for row in there] == [row[column] for row in here]
    assert [row["policy_s"] for row in there] != [row["policy_s"] for row in here]
    for name, schedule in queue.schedules.items():
        assert np.array_equal(schedule.placements.nodes, empty.schedules[name].placements.nodes)


def nodes_of(measured: ArchivedMeasured, row: int) -> list[int]:
    mine = slice(measured.range_ptr[row], measured.range_ptr[row + 1])
    ranges = zip(measured.range_first[mine], measured.range_length[mine], strict=True)
    return [node for first, length in ranges for node in range(first, first + length)]


def test_what_is_kept_has_the_nodes_that_were_measured() -> None:
    result = placed(DRAGONFLY, SMALL_FIRST, **{"run.keep": "all"})
    kept, study = archive_of(result), result.study
    assert study is not None
    for name, one in kept.schedules.items():
        measured = one.measured
        assert measured is not None
        assert len(measured.job) > 0
        for row, (number, job) in enumerate(zip(measured.snapshot, measured.job, strict=True)):
            want = study.at(int(number)).sides[name].placement(int(job)).nodes
            assert nodes_of(measured, row) == want.tolist()


def test_a_policy_that_has_no_place_says_so_in_a_line() -> None:
    whole = {"pattern": "pairs", "node_bytes": 4096, "communication_fraction": 0.5}
    content = replaced(
        DRAGONFLY,
        {
            "machine": {"family": "fattree", "radix": 4},
            "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 4}, "larger_jobs": "drop"},
            "queue.policies": ["baseline", "jigsaw"],
            "communication.mix": [whole],
        },
    )
    with pytest.raises(NetcosimError, match=r"jigsaw has no place for job \d+ \(\d+ nodes\) on an"):
        placed(content, LOG_ORDER)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"run.measure": "paired"}, 'placed = "empty" needs measure = "steady"; got "paired"'),
        ({"queue.policies": ["rdn", "replay"]}, "does not go with replay"),
        (
            {"queue.partitions": [{"name": "a", "nodes": "0-71"}]},
            "does not go with queue.partitions",
        ),
    ],
)
def test_what_does_not_go_with_an_empty_machine(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcosimError, match=told):
        config_from(replaced(DRAGONFLY, {"run.placed": "empty", **changes}))
