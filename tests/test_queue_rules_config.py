"""Rules of the queue from configs, on real policies and with live run times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_helpers import Mask, make_workload
from test_coupled_flow import job_network, one_cable

from alloc.isolation import shared_links
from alloc.nodes import NodePolicy, Nodes
from alloc.registry import POLICIES, make_policy
from cosim.run_times.coupled import CoupledFlow, mean_slowdowns
from netcosim.config.load import config_from
from netcosim.config.unread import as_read
from netcosim.report.policies import policy_table
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import point_key
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from queuesim.metrics import summarise
from queuesim.observables.jobs import interrupted
from queuesim.parameters import Failures, Partition, PreemptionKeys
from queuesim.queue import fitting, simulate_queue
from queuesim.result import CUT, FAILED, NEVER_RUN
from queuesim.site.checkpoints import Checkpoints
from queuesim.site.dependencies import DependencyRule
from queuesim.site.outages import Outage, read_outages
from queuesim.site.partitions import node_mask
from queuesim.site.rules import Rules
from workloads import details
from workloads.details import JobDetails, Labels
from workloads.job import Workload
from workloads.synthetic import laas_workload

CONTENT: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 4, "g": 5},
    "workload": {"synthetic": {"n_jobs": 60, "mean_nodes": 5.0}, "larger_jobs": "drop"},
    "queue": {"policies": ["simple", "rdn"], "run_time_model": "as-logged"},
    "run": {"snapshots": 0},
}


def content(**queue: Any) -> dict[str, Any]:
    return {**CONTENT, "queue": {**CONTENT["queue"], **queue}}


def test_keys_that_are_not_used_change_no_point() -> None:
    plain = config_from(CONTENT)
    spelled = content(
        grace_s=0.0, dependencies="ignore", partitions=[], outages={"after_failure": "end"},
        multifactor={"max_age": "168 h"}, **{"fair-share": {"by": "user"}},
    )  # fmt: skip
    assert config_from(spelled).resolved() == plain.resolved()
    kept = plain.resolved()["queue"]
    assert not {"grace_s", "dependencies", "partitions", "outages", "multifactor"} & set(kept)


def test_every_rule_comes_from_a_config(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text(
        'start_s,end_s,nodes,kind\n# a comment\n100,3000,"0-2,9",failure\n'
        "5000,6000,30-33,reservation\n"
    )
    config = config_from(
        content(
            order="multifactor", overrun="cut", grace="10 s", dependencies="keep",
            partitions=[{"name": "a", "nodes": "0-25", "default": True, "max_nodes": 12},
                        {"name": "b", "nodes": "20-39", "priority": 2, "log_names": "x, y"}],
            outages={"file": "o.csv", "after_failure": "requeue"},
            multifactor={"size_weight": 10, "max_age": "1 h"},
        ),
        tmp_path,
    )  # fmt: skip
    queues = queues_of(config, make_topology("dragonfly", {"p": 2, "a": 4, "g": 5}))
    rules = queues.rules
    assert (rules.grace_s, rules.has_dependencies, rules.requeues) == (10.0, True, True)
    assert [p.names for p in rules.partitions] == [("a",), ("b", "x", "y")]
    assert [(o.kind, o.start_s, o.where[-7:]) for o in rules.outages] == [
        ("failure", 100.0, "o.csv:3"),
        ("reservation", 5000.0, "o.csv:4"),
    ]
    assert queues.jobs.n_nodes.max() <= 12
    assert queues.jobs.dropped["more than 12 nodes, partition a"] > 0
    # a point knows what the file holds
    again = config_from(config.resolved())
    assert again.resolved() == config.resolved()
    before = point_key(config.resolved())
    (tmp_path / "o.csv").write_text("start_s,end_s,nodes,kind\n")
    with pytest.raises(NetcosimError, match="the file has changed"):
        queues_of(config, queues.topology)
    changed = config_from(content(outages={"file": str(tmp_path / "o.csv")}))
    assert point_key(changed.resolved()) != before
    result = queues.under("rdn")
    assert result.order == "multifactor"
    nodes = {int(j): result.placements.placement(int(j), 0).nodes for j in range(len(result))}
    assert max(int(n.max()) for n in nodes.values()) <= 25
    for j, mine in nodes.items():
        if np.isin(mine, [0, 1, 2, 9]).any():
            assert result.end_s[j] <= 100 or result.start_s[j] >= 3000


INTERRUPTED = content(
    order="las", las={"thresholds": ["10 min", "1 h"]},
    preemption={"by": "order", "min_run": "1 min"},
    checkpoint={"interval": "5 min", "write": "5 s", "restart": "30 s"},
    failures={"per_node_day": 1.0, "per_leaf_day": 0.3, "per_link_day": 0.2, "repair": "20 min"},
)  # fmt: skip


def test_what_interrupts_jobs_comes_from_a_config() -> None:
    config = config_from({**INTERRUPTED, "run": {"snapshots": 0, "observables": ["interrupted"]}})
    result = run_cosim(config)
    rules = queues_of(config, make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})).rules
    assert rules.checkpoints == Checkpoints(300.0, 5.0, 30.0)
    assert rules.preemption == PreemptionKeys("order", 60.0)
    assert rules.failures == Failures(1.0, 0.3, 0.2, 1200.0)
    tables = result_tables(result)
    for row in tables["interruptions"]:
        spent = result.schedules[str(row["policy"])].spent
        assert spent is not None  # it has come from a part
        assert row["preemptions"] == spent.preempted.sum() > 0
        assert row["failures"] == spent.failed.sum() > 0
        of_jobs = result.schedules[str(row["policy"])]
        listed = interrupted(of_jobs)
        assert len(listed) == row["interrupted_jobs"] > 0
        lost = sum(float(str(r["lost_s"])) * int(str(r["nodes"])) for r in listed)
        assert row["lost_node_s"] == pytest.approx(lost, abs=0.01)
        assert 0.5 < float(str(row["effective_training_time"])) < 1
        assert mean_slowdowns(of_jobs) == pytest.approx(1.0)
    plan = queues_of(config, make_topology("dragonfly", {"p": 2, "a": 4, "g": 5}))
    assert "failures, preemption, quotas" in plan.why_by_events("simple")
    # a log of users: quotas by them
    quotas = {"by": "user", "nodes": ["1: 8", "2: 4"]}
    assert config_from(content(quotas=quotas)).queue.quotas.nodes == ("1: 8", "2: 4")


@pytest.mark.parametrize("rate", ["per_node_day", "per_leaf_day", "per_link_day"])
def test_the_repair_is_read_with_any_one_rate(rate: str) -> None:
    """One rate alone: 20 minutes are another point than an hour, the default."""
    keys = []
    for repair in ({"repair": "20 min"}, {}):
        config = config_from(content(failures={rate: 1.0, **repair}))
        keys.append(point_key(as_read(config).resolved()))
    assert keys[0] != keys[1]


def test_the_repair_is_not_read_without_a_rate() -> None:
    with pytest.raises(NetcosimError, match=r"a rate of queue\.failures is above 0"):
        config_from(content(failures={"repair": "20 min"}))


def test_the_page_counts_what_the_rules_did(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("start_s,end_s,nodes,kind\n50,60,all,failure\n")
    config = config_from(content(outages={"file": "o.csv"}, overrun="cut", grace="1 s"), tmp_path)
    result = run_cosim(config)
    tables = result_tables(result)
    for row in tables["queue_rules"]:
        schedule = result.schedules[str(row["policy"])]
        hit = (schedule.start_s < 50) & (schedule.end_s == 50)
        assert row["failed_jobs"] == hit.sum() > 0
        assert row["never_run_jobs"] == row["requeued"] == row["cut_jobs"] == 0
        assert np.all(schedule.start_s[schedule.start_s >= 50] >= 60)
    assert policy_table(tables)["cut_jobs"].tolist() == [0, 0]


@pytest.mark.parametrize("name", ["jigsaw", "lc", "slurm-tree", "baseline", "random"])
def test_real_policies_keep_to_partitions_and_isolate(name: str) -> None:
    topology = make_topology("fattree", {"radix": 8})
    rng = np.random.default_rng(5)
    jobs = laas_workload(150, 10.0, rng)
    jobs = replace(jobs, details=JobDetails(partition=Labels.of(rng.choice(["a", "b"], 150))))
    parts = (Partition("a", nodes="0-63"), Partition("b", nodes="48-127", priority=1.0))
    outages = (Outage(500.0, 900.0, "60-70", "reservation"), Outage(50.0, 400.0, "3", "failure"))
    rules = Rules(partitions=parts, outages=outages)
    jobs = fitting(jobs, make_policy(topology, name, np.random.default_rng(0)), rules)
    policy = make_policy(topology, name, np.random.default_rng(0))
    result = simulate_queue(jobs, policy, rules=rules, rng=rng, keep_placements=True)
    assert policy.n_free == topology.n_nodes
    masks = [node_mask(p.nodes, topology, "") for p in parts]
    for j in range(len(jobs)):
        nodes = result.placements.placement(j, 0).nodes
        assert masks["ab".index(str(jobs.details.partition[j]))][nodes].all()
    times = np.random.default_rng(1).choice(result.start_s, 6)
    for snapshot in result.snapshots(times):
        nodes = np.concatenate([p.nodes for p in snapshot.placements])
        assert len(set(nodes.tolist())) == len(nodes)
        if policy.isolates:
            assert shared_links(topology, snapshot.placements) == []


def test_policies_that_cannot_hold_any_nodes_are_refused() -> None:
    refused = sorted(n for n, p in POLICIES.items() if not p.holds_any)
    assert refused == [
        "cobalt", "cobalt-combo", "cobalt-pf", "cobalt-sl", "lc-s", "ta",
        *sorted(n for n in POLICIES if n.startswith("ta-")),
    ]  # fmt: skip


class Ends(NodePolicy):
    """Every job of two nodes gets one node at each end of the cable."""

    name = "ends"
    description = "one node at each router"

    def _select(self, n_nodes: int) -> Nodes | None:
        pairs = np.flatnonzero(self._free.reshape(2, 3).all(axis=0))[:1]
        return np.concatenate([pairs, pairs + 3]) if len(pairs) else None


def test_a_failure_stops_or_sends_back_a_job_that_shares_a_cable() -> None:
    """Two jobs on one cable, f = 1/2, both at the rate 0.8, until a node of the first fails at 6.

    Over: the second has done 4.8 of 20 and has the cable to itself: 21.2. Sent back: the first
    begins anew on the third pair of nodes at once. Both go at 0.8 until its 10 are done, at 18.5;
    the second has done 14.8 then and is alone: 23.7.
    """
    topology = one_cable()
    workload = make_workload([0, 0], [10, 20], [2, 2], [50, 50])
    outage = (Outage(6.0, 8.0, "0", "failure"),)
    for requeues, ends in ((False, [6.0, 21.2]), (True, [18.5, 23.7])):
        model = CoupledFlow(job_network(make_routing(topology), message_bytes=10**8))
        result = simulate_queue(
            workload,
            Ends(topology, np.random.default_rng(0)),
            run_time_model=model,
            rules=Rules(outages=outage, requeues=requeues),
            rng=np.random.default_rng(0),
        )
        assert result.end_s.tolist() == pytest.approx(ends, rel=1e-2)
        assert result.outcome.tolist() == [0 if requeues else FAILED, 0]
        assert len(result.event_s) == (6 if requeues else 4)
        assert np.all(np.diff(result.event_s) >= 0)
        assert result.busy_nodes()[1][-1] == 0
        if not requeues:
            with pytest.raises(NetcosimError, match="stopped by a node that failed"):
                mean_slowdowns(result)


def dependent(pairs: list[list[tuple[str, int]]], run: list[float], asked: list[float]) -> Workload:
    n = len(pairs)
    workload = make_workload([0] * n, run, [1] * n, asked)
    return replace(workload, details=JobDetails(dependency=details.Dependencies.of(pairs)))


def simulate(workload: Workload, rules: Rules, **choices: Any) -> Any:
    return simulate_queue(workload, Mask(8), rules=rules, rng=np.random.default_rng(0), **choices)


def test_hand_worked_chain_with_a_job_that_is_cut() -> None:
    # 1 is cut at 5 with 2 s of grace, so at 7; 2 (afterok) never runs, nor 4 behind it; 3
    # (afternotok) and 5 (afterany 2: it is over at 7) start at 7; 6 waits for a job unknown.
    workload = dependent(
        [[], [("afterok", 1)], [("afternotok", 1)], [("afterok", 2)], [("afterany", 2)],
         [("afterok", 99)]], [10, 1, 1, 1, 1, 6], [5, 9, 9, 9, 9, 5],
    )  # fmt: skip
    result = simulate(workload, Rules(2.0, True), overrun="cut", keep_placements=True)
    assert result.outcome.tolist() == [CUT, NEVER_RUN, 0, NEVER_RUN, 0, 0]
    assert result.overran.tolist() == [True, False, False, False, False, True]
    for times in (result.start_s, result.eligible_s):
        assert np.array_equal(times, [0, np.nan, 7, np.nan, 7, 0], equal_nan=True)
    row = result.reports["queue_rules"]
    assert (row["never_run_jobs"], row["cut_jobs"], row["failed_jobs"]) == (2, 1, 0)
    assert (row["dependent_jobs"], row["dependencies_outside"]) == (5, 1)
    assert (row["mean_wait_s"], row["mean_wait_from_eligible_s"]) == (14 / 4, 0.0)
    ran = result.of_those_that_ran
    assert ran.workload.job_id.tolist() == [1, 3, 5, 6]
    assert ran.event_s.tolist() == [0, 0, 6, 7, 7, 7, 8, 8]
    assert ran.workload.job_id[ran.event_job].tolist() == [1, 6, 6, 1, 3, 5, 3, 5]
    assert [len(s.jobs) for s in ran.snapshots([0.0, 7.0])] == [2, 2]
    assert summarise(result).n_jobs == 4
    assert summarise(result).mean_wait_s == 14 / 4


def test_jobs_start_as_those_before_them_start_or_fail() -> None:
    """Jobs 2 and 4 follow the starts of 1 and 3; jobs 6 and 7 the failures of 5 and 1.

    Jobs 1, 3 and 5 start first, on nodes 0 to 2, of which 0 and 2 fail at 5 s.
    """
    pairs = [[], [("after", 1)], [], [("after", 3)], [], [("afternotok", 5)], [("afternotok", 1)]]
    workload = dependent(pairs, [20.0] * 7, [20.0] * 7)
    rules = Rules(has_dependencies=True, outages=(Outage(5.0, 90.0, "0, 2", "failure"),))
    result = simulate(workload, rules)
    assert result.start_s.tolist() == [0, 0, 0, 0, 0, 5, 5]
    assert result.outcome.tolist() == [FAILED, 0, 0, 0, FAILED, 0, 0]


def test_a_reservation_stops_no_job_that_overruns_its_walltime() -> None:
    """Job 1 requests 5 s and runs 10 on node 0, which is reserved from 6 to 9 s."""
    rules = Rules(outages=(Outage(6.0, 9.0, "0", "reservation"),))
    result = simulate(make_workload([0], [10], [1], [5]), rules)
    assert (result.end_s.tolist(), result.outcome.tolist()) == ([10], [0])


def test_a_log_that_calls_a_job_failed_starts_no_afterok() -> None:
    workload = dependent([[], [("afterok", 1)], [("afternotok", 1)]], [5, 1, 1], [5, 5, 5])
    status = Labels.of(["failed", None, None])
    told = replace(workload, details=replace(workload.details, status=status))
    rules = Rules(has_dependencies=True)
    assert simulate(told, rules).outcome.tolist() == [0, NEVER_RUN, 0]
    assert simulate(workload, rules).outcome.tolist() == [0, 0, NEVER_RUN]


def test_circles_are_one_line() -> None:
    rules = Rules(has_dependencies=True)
    jobs = [
        [],
        [("after", 4)],
        [("afterok", 2)],
        [("afterany", 3), ("afterany", 1)],
        [("after", 2)],
    ]
    with pytest.raises(NetcosimError) as told:
        simulate(dependent(jobs, [1] * 5, [1] * 5), rules)
    assert str(told.value).endswith("wait for each other never start: 2 -> 4 -> 3 -> 2")
    with pytest.raises(NetcosimError, match="wait for each other never start: 1 -> 1"):
        DependencyRule(dependent([[("afterok", 1)]], [1], [1]))


def test_a_file_of_outages_and_who_is_spared(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("start_s,end_s,nodes,kind,account,partition\n5,9,0-5,reservation,ops,\n")
    [outage] = read_outages(str(path))
    assert (outage.account, outage.partition, outage.nodes) == ("ops", "", "0-5")
    # four nodes each for 6 s: only ops may be on the first six from 5 on
    workload = make_workload([0, 0], [6, 6], [4, 4])
    workload = replace(workload, details=JobDetails(account=Labels.of(["phys", "ops"])))
    result = simulate(workload, Rules(outages=(outage,)), keep_placements=True)
    assert result.start_s.tolist() == [9, 0]
    # whom the log does not have
    other = replace(outage, account="oops")
    with pytest.raises(NetcosimError, match=r"o\.csv:2: unknown account 'oops'; did you mean ops"):
        simulate(workload, Rules(outages=(other,)))
    nobodys = replace(workload, details=JobDetails())
    with pytest.raises(NetcosimError, match=r"o\.csv:2: account 'ops'; no job has an account"):
        simulate(nobodys, Rules(outages=(outage,)))
