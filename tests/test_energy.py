"""Energy of schedules: closed forms, a second implementation, and what is conserved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from queue_helpers import Mask, make_workload

from cosim.network.link_bytes import link_bytes
from netcosim.config.load import config_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import energies_of, result_tables
from netcosim.runs.points import point_key
from netcosim.runs.run_context import run_context
from netsim.errors import NetcosimError
from netsim.topologies.presets import PRESETS
from queuesim.energy import J_PER_KWH, Energy, energy_of, job_rows
from queuesim.parameters import Power
from queuesim.queue import simulate_queue
from queuesim.result import NEVER_RUN, QueueResult
from workloads.job import Workload

POWER = Power(node_idle_W=100, node_busy_W=300, switch_W=50, link_W=2, link_J_per_byte=1e-6)


def schedule(workload: Workload, n_nodes: int, **more: Any) -> QueueResult:
    return simulate_queue(workload, Mask(n_nodes), rng=np.random.default_rng(0), **more)


def total_J(energy: Energy) -> float:  # noqa: N802 - the unit keeps its case
    return float(str(energy.row()["total_kWh"])) * J_PER_KWH


def test_energy_is_the_sum_of_its_parts_exactly() -> None:
    """4 nodes for 70 s; 2 of them busy for 30 s, 3 for 40 s; one switch, no cables; bytes."""
    jobs = make_workload([0, 5], [30, 40], [2, 3])
    found = schedule(jobs, 4)
    n_links = found.topology.n_links
    energy = energy_of(found, POWER, np.array([1e6, 2e6]))
    assert found.end_s.tolist() == [30, 70]
    assert energy.nodes_J.tolist() == [2 * 30 * 300, 3 * 40 * 300]
    assert energy.traffic_J.tolist() == pytest.approx([1, 2], rel=1e-15)
    assert energy.idle_J == (4 * 70 - 2 * 30 - 3 * 40) * 100
    assert energy.switches_J == 70 * 50
    assert energy.links_J == n_links * 70 * 2
    idle_always, more_when_busy = 4 * 70 * 100, (2 * 30 + 3 * 40) * (300 - 100)
    whole = idle_always + more_when_busy + 70 * 50 + n_links * 70 * 2 + 3
    assert total_J(energy) == pytest.approx(whole, rel=1e-15)
    assert energy.row()["jobs_change_percent"] == 0


def random_schedule(seed: int, **more: Any) -> QueueResult:
    rng = np.random.default_rng(seed)
    n = 200
    jobs = make_workload(
        np.sort(rng.uniform(3, 5000, n)).tolist(),
        rng.uniform(1, 400, n).tolist(),
        rng.integers(1, 17, n).tolist(),
        rng.uniform(50, 300, n).tolist(),
    )
    return schedule(jobs, 16, **more)


@pytest.mark.parametrize("overrun", ["keep", "cut"])
def test_integral_of_power_over_time_is_the_energy(overrun: str) -> None:
    """Second implementation: the machine's power after each event, times the time to the next."""
    for seed in range(3):
        found = random_schedule(seed, overrun=overrun)
        time_s, busy = found.busy_nodes()
        time_s = np.concatenate([[found.workload.submit_s[0]], time_s])
        busy = np.concatenate([[0], busy])
        constant_W = 50 + 2 * found.topology.n_links
        power_W = 16 * 100 + busy * 200 + constant_W
        energy = energy_of(found, POWER)
        assert total_J(energy) == pytest.approx(np.sum(power_W[:-1] * np.diff(time_s)), rel=1e-12)
        parts_J = energy.nodes_J.sum() + energy.idle_J + energy.switches_J + energy.links_J
        assert total_J(energy) == pytest.approx(parts_J, rel=1e-14)
        # a job that was cut counts as it ran
        assert energy.row()["jobs_change_percent"] == pytest.approx(0, abs=1e-9)


def test_a_job_that_never_ran_takes_nothing() -> None:
    found = random_schedule(2)
    started, last = found.start_s.copy(), len(found) - 1
    keep = found.event_job != last
    never = np.arange(len(found)) == last
    gone = replace(
        found,
        start_s=np.where(never, np.nan, started),
        end_s=np.where(never, np.nan, found.end_s),
        outcome=np.where(never, NEVER_RUN, found.outcome).astype(np.int8),
        allocated_nodes=np.where(never, 0, found.allocated_nodes).astype(np.int32),
        event_s=found.event_s[keep],
        event_job=found.event_job[keep],
        event_is_start=found.event_is_start[keep],
    )
    energy = energy_of(gone, POWER)
    assert np.array_equal(energy.nodes_J[:-1], energy_of(found, POWER).nodes_J[:-1])
    assert (energy.nodes_J[-1], energy.logged_J[-1]) == (0, 0)
    assert np.isfinite(total_J(energy))


def test_longer_runs_take_more_by_their_nodes() -> None:
    found = random_schedule(1)
    longer = schedule(found.workload, 16, run_time_model=a_quarter_longer())
    energy, plain = energy_of(longer, POWER), energy_of(found, POWER)
    assert energy.nodes_J == pytest.approx(1.25 * plain.nodes_J, rel=1e-12)
    assert energy.logged_J == pytest.approx(plain.nodes_J, rel=1e-12)
    assert energy.row()["jobs_change_percent"] == pytest.approx(25, rel=1e-9)
    rows = job_rows(longer, energy)
    assert [row["job_id"] for row in rows] == found.workload.job_id.tolist()
    assert sum(row["energy_kWh"] for row in rows) * J_PER_KWH == pytest.approx(energy.nodes_J.sum())  # type: ignore[misc]


def a_quarter_longer() -> Any:
    from queuesim.runtime import FixedRunTimes, RunTimeModel

    class Longer(RunTimeModel):
        name, description = "longer", "a quarter longer"

        def prepare(self, workload: Workload, *_: object) -> FixedRunTimes:
            return FixedRunTimes(workload.run_time_s * 1.25)

    return Longer()


def content(power: dict[str, float] | None, **queue: Any) -> dict[str, Any]:
    machine: dict[str, Any] = {"family": "dragonfly", "p": 2, "a": 4, "g": 5}
    return {
        "machine": machine if power is None else machine | {"power": power},
        "workload": {"larger_jobs": "drop", "synthetic": {"n_jobs": 60, "mean_nodes": 6}},
        "queue": {"policies": ["rdn", "simple"], "run_time_model": "coupled-flow", **queue},
        "run": {"snapshots": 0},
    }


@pytest.fixture(scope="module")
def run() -> Any:
    return run_cosim(config_from(content({"link_J_per_byte": 1e-9})))


def test_contention_shows_in_the_energy_of_jobs(run: Any) -> None:
    tables = result_tables(run)
    for row, (name, found) in zip(tables["energy"], run.schedules.items(), strict=True):
        ran_s, logged_s = found.end_s - found.start_s, found.workload.run_time_s
        busy_J = 684.26 * float(found.allocated_nodes @ ran_s)
        assert row["policy"] == name
        assert row["jobs_kWh"] == pytest.approx(busy_J / J_PER_KWH)
        contended = float(found.allocated_nodes @ ran_s) / float(found.allocated_nodes @ logged_s)
        assert row["jobs_change_percent"] == pytest.approx(100 * (contended - 1), rel=1e-3)
        assert contended > 1.01
    assert len(tables["energy_jobs"]) == 2 * len(run.workload)


def test_only_jobs_that_send_have_traffic(run: Any) -> None:
    energies: dict[str, Energy] = energies_of(run)
    for energy in energies.values():
        sends = (run.workload.n_nodes > 1) & (run.fraction > 0)
        assert (energy.traffic_J > 0)[~sends].sum() == 0
        assert energy.traffic_J.sum() > 0


def test_a_job_that_never_ran_has_no_traffic(run: Any) -> None:
    """Its slice of the placements is empty, and the nodes behind it are those of the next job."""
    schedule = run.schedules["rdn"]
    job = int(np.flatnonzero((run.workload.n_nodes > 1) & (run.fraction > 0))[0])
    kept = schedule.placements
    begin, end = kept.node_ptr[job : job + 2]
    ptr = kept.node_ptr.copy()
    ptr[job + 1 :] -= end - begin
    outcome = schedule.outcome.copy()
    outcome[job] = NEVER_RUN
    without = replace(
        schedule,
        outcome=outcome,
        placements=replace(kept, nodes=np.delete(kept.nodes, np.s_[begin:end]), node_ptr=ptr),
    )
    network = run_context(run.config, run.workload).network
    before, after = (
        link_bytes(found, network, run.share, run.fraction) for found in (schedule, without)
    )
    assert before[job] > 0
    assert after[job] == 0
    assert np.array_equal(np.delete(before, job), np.delete(after, job))


def test_two_nodes_that_send_all_the_time_fill_both_directions() -> None:
    """Bytes on links are bandwidth times run time times fraction, in both directions."""
    raw = {
        "machine": {
            "family": "torus",
            "dims": [2],
            "wrap": False,
            "link_bandwidth_Bps": 1e9,
            "power": {"link_J_per_byte": 1.0},
        },
        "workload": {"synthetic": {"n_jobs": 3, "sizes": [2]}},
        "communication": {
            "mix": [
                {
                    "pattern": "all-to-all",
                    "node_bytes": 10_000_000,
                    "communication_fraction": 0.5,
                }
            ]
        },
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "run": {"snapshots": 0},
    }
    result = run_cosim(config_from(raw))
    [energy] = energies_of(result).values()
    assert (result.workload.n_nodes == 2).all()
    most = 2 * 1e9 * 0.5 * result.workload.run_time_s
    assert energy.traffic_J == pytest.approx(most, rel=0.05)
    assert (energy.traffic_J <= most * (1 + 1e-9)).all()


def test_power_is_of_the_content_only_where_it_is_given() -> None:
    """Older results keep their keys, and power changes no draw and no schedule."""
    without, empty = config_from(content(None)), config_from(content({}))
    assert "power" not in without.resolved()["machine"]
    assert config_from(empty.resolved()).resolved() == empty.resolved()
    keys = {point_key(one.resolved()) for one in (without, empty)}
    assert len(keys) == 2
    found = [run_cosim(one) for one in (without, empty)]
    for name in ("rdn", "simple"):
        one, other = (r.schedules[name] for r in found)
        assert np.array_equal(one.end_s, other.end_s)
    assert "energy" not in result_tables(found[0])


def test_presets_bring_their_power() -> None:
    """RAPS: a CPU, four GPUs, memory, four NICs and SSDs of a node of Frontier."""
    power = PRESETS["frontier"].power
    assert power["node_idle_W"] == pytest.approx(90 + 4 * 88 + 74.26 + 4 * 20 + 30)
    assert power["node_busy_W"] == pytest.approx(280 + 4 * 560 + 74.26 + 4 * 20 + 30)
    default = Power()
    assert default.node_idle_W == pytest.approx(2 * 90 + 74.26 + 20 + 30)
    assert default.node_busy_W == pytest.approx(2 * 280 + 74.26 + 20 + 30)
    raw = content({"node_busy_W": 3000.0})
    raw["machine"] = {"preset": "frontier", "power": {"node_busy_W": 3000.0}}
    section: Any = config_from(raw).machine.power
    assert (section.node_idle_W, section.node_busy_W) == (power["node_idle_W"], 3000)


@pytest.mark.parametrize(
    ("power", "message"),
    [
        ({"node_idle_W": 500.0, "node_busy_W": 400.0}, "node_busy_W 400 is below node_idle_W 500"),
        ({"switch_W": -1.0}, "machine.power.switch_W"),
        ({"node_W": 1.0}, "machine.power.node_W"),
    ],
)
def test_wrong_power_is_refused_by_its_key(power: dict[str, float], message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        config_from(content(power))
