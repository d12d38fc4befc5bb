"""Run times by the bisection of a job's partition: by hand, and in a queue on Mira."""

from __future__ import annotations

import numpy as np
import pytest

from alloc.bluegene.geometries import partition_bisection
from alloc.policy import Placement
from alloc.registry import make_policy
from experiments.kit.papers import Options
from experiments.kit.points import observe
from experiments.partitions.paper import PAPER
from experiments.partitions.queue import POLICIES, months_table
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.schedules import queues_of
from netsim.errors import NetcosimError
from netsim.topologies.dragonfly import dragonfly
from netsim.topologies.registry import preset
from netsim.topologies.torus import torus
from queuesim.bluegene.partition_bisection import PartitionBisection, contention, extents_of
from queuesim.metrics import turnaround_s
from queuesim.observables.registry import OBSERVABLES
from queuesim.queue import simulate_queue
from workloads.job import Workload


def jobs(n_nodes, run_s=1000.0, gap_s=0.0):
    n = len(n_nodes)
    return Workload(
        name="by hand",
        job_id=np.arange(n, dtype=np.int64),
        submit_s=gap_s * np.arange(n, dtype=float),
        run_time_s=np.full(n, run_s),
        n_nodes=np.array(n_nodes, dtype=np.int32),
        requested_s=np.full(n, run_s),
        user=np.full(n, -1, dtype=np.int32),
        project=np.full(n, -1, dtype=np.int32),
        wait_s=np.full(n, np.nan),
    )


def model(bound=1.0, communication=0.4):
    return PartitionBisection(bound, communication)


def run(workload, name, bandwidth=None, bound=1.0):
    return simulate_queue(
        workload,
        make_policy(preset("mira-midplanes"), name, np.random.default_rng(0)),
        run_time_model=model(bound),
        rng=np.random.default_rng(0),
        bandwidth_Bps=bandwidth,
    )


def test_contention_is_the_inverse_of_the_bisection_a_node():
    for geometry in ((1, 1, 1, 1), (4, 1, 1, 1), (2, 1, 2, 1), (3, 2, 2, 2), (4, 3, 2, 1)):
        nodes = 512 * int(np.prod(geometry))
        half = nodes / 2 * 1e9 / (partition_bisection(sorted(geometry, reverse=True)) * 2e9)
        assert contention(geometry) == pytest.approx(half)


def test_a_better_partition_shortens_communication_alone():
    # 4 midplanes: logged on a line of 4; a square halves 40 % of 1000 s.
    for policy, expected in (("menu", 1000.0), ("menu-proposed", 800.0), ("cuboid-best", 800.0)):
        result = run(jobs([4]), policy)
        assert (result.end_s - result.start_s)[0] == pytest.approx(expected)
        assert (run(jobs([4]), policy, bound=0.0).end_s)[0] == pytest.approx(1000.0)
    # 24 midplanes: 3/4 of the communication time, not 2/3.
    assert run(jobs([24]), "menu-proposed").end_s[0] == pytest.approx(900.0)
    # Logged on 4 x 1 x 1 x 1 (the menu has no 3), now on a line of 3.
    assert run(jobs([3]), "cuboid-best").end_s[0] == pytest.approx(900.0)


def test_the_hint_decides_who_gets_the_square():
    workload = jobs([4, 4])
    need = np.array([0.0, np.inf])
    result = run(workload, "contention-aware", need)
    assert (result.end_s - result.start_s).tolist() == pytest.approx([1000.0, 800.0])


def test_extents_of_a_wrapped_cuboid():
    topology = torus((4, 3), concentration=2)
    nodes = [2 * (3 * x + y) + i for x in (3, 0) for y in (1,) for i in (0, 1)]
    placement = Placement(1, np.array(nodes, dtype=np.int32))
    assert extents_of(topology.shape, placement) == (2, 1)


def point(share, options=None):
    """The paper's point with this share of bound jobs, in the first month."""
    points = PAPER.figures["queue"].points(options or Options(scale="quick"))
    return next(p for p in points if p["labels"]["bound_jobs"] == share)


def queues_at(point):
    config = checked_config(point["config"])
    return queues_of(config, build_machine(config.machine).topology)


def test_every_policy_runs_the_same_jobs():
    pd = pytest.importorskip("pandas")
    tables = observe(point(0.5))
    frame = months_table({name: pd.DataFrame(rows) for name, rows in tables.items()})
    rows = frame.set_index("policy").loc[list(POLICIES)]
    assert rows["jobs"].nunique() == 1
    # Best cuboids for all, or for the bound ones: equal run times, least of all.
    least = rows["bound_run_s"]["cuboid-best"]
    assert least == pytest.approx(rows["bound_run_s"]["contention-aware"])
    assert least == pytest.approx(rows["bound_run_s"]["menu-proposed"])
    assert least < rows["bound_run_s"]["menu"]


def test_what_is_told_of_bound_jobs_is_of_the_jobs_that_the_model_bounds():
    queues = queues_at(point(0.25))
    bound = PartitionBisection(0.25, 0.3).bound(queues.jobs, queues.draws.rng("jobs"))
    result = queues.under("menu", PartitionBisection(0.25, 0.3))
    rows = {row["need"]: row for row in OBSERVABLES["needs"].rows(result)}
    assert rows["inf"]["jobs"] == bound.sum()
    assert rows["0"]["jobs"] == (~bound).sum()
    assert rows["inf"]["mean_turnaround_s"] == pytest.approx(turnaround_s(result)[bound].mean())
    # Nobody is bound: nobody's run time changes.
    free = queues.under("cuboid-best", PartitionBisection(0.0, 0.3))
    assert free.end_s - free.start_s == pytest.approx(queues.jobs.run_time_s)
    assert queues.jobs.notes == ()
    [row] = OBSERVABLES["needs"].rows(queues.under("menu"))
    assert (row["need"], row["jobs"]) == ("unknown", len(bound))


def test_made_workload_has_sizes_of_the_menu():
    workload = queues_at(point(0.0)).jobs
    assert set(workload.n_nodes.tolist()) <= {1, 2, 4, 8, 16, 24, 32, 48, 64, 96}
    assert (np.diff(workload.submit_s) >= 0).all()
    assert (workload.requested_s >= workload.run_time_s).all()


def test_the_log_by_months(shared_dir):
    log = shared_dir / "traces" / "ALCF-Mira-2018.swf.gz"
    if not log.is_file():
        pytest.skip("Mira's log is not here")
    points = PAPER.figures["queue"].points(Options(settings={"log": str(log)}))
    found = [queues_at(p).jobs for p in points if p["labels"]["bound_jobs"] == 0]
    assert len(found) == 5
    assert sum(map(len, found)) > 22_000
    assert all(w.submit_s[0] == 0 for w in found)
    assert all(set(w.n_nodes.tolist()) <= {1, 2, 4, 8, 16, 24, 32, 48, 64, 96} for w in found)


def test_mistakes_are_told():
    with pytest.raises(NetcosimError, match=r"communication = 1\.5; it must be at most 1"):
        model(communication=1.5)
    policy = make_policy(dragonfly(1, 2, 3), "baseline", np.random.default_rng(0))
    with pytest.raises(NetcosimError, match="is for tori"):
        model().prepare(jobs([1]), policy, np.random.default_rng(0))
