"""The walltime-aware allocation paper: months, gains and shares by hand, a tiny log end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from alloc.bluegene.loops import machine_for
from experiments.kit.blue_gene import blue_gene
from experiments.kit.papers import Options, load_paper
from experiments.kit.points import observe
from experiments.walltime.figures import (
    ORDERS,
    day_gain,
    fig9_analyse,
    gains_table,
    levels_table,
    printed,
)
from experiments.walltime.logs import CASES, LARGEST_NODES, chosen, notes
from experiments.walltime.paper import SCHEMES
from netcosim.config.config import WorkloadSection
from netcosim.config.content import checked_config
from netcosim.config.machine import build_machine
from netcosim.runs.schedules import Queues, queues_of
from netsim.errors import NetcosimError
from netsim.topologies.torus import torus
from queuesim.capacity import loss_of_capacity, lost_nodes
from queuesim.metrics import bounded_slowdown, wait_s
from workloads.source import month_window

OCTOBER_UNIX_S = 1_538_352_000  # 2018-10-01 00:00 UTC
DAY_S = 86_400


def write_log(folder: Path, n: int = 120, longest_s: int = 400_000) -> Path:
    """Jobs from 10 September to the middle of October, two of them as large as Mira."""
    rng = np.random.default_rng(4)
    start = OCTOBER_UNIX_S - 20 * DAY_S
    submit = np.sort(rng.integers(0, 35 * DAY_S, n))
    nodes = 512 * 2 ** rng.integers(0, 7, n)
    nodes[[n // 2, n - 3]] = 49_152
    requested = rng.integers(600, longest_s, n)
    run = np.maximum(1, requested * rng.uniform(0.1, 1.0, n)).astype(int)
    lines = [f"; UnixStartTime: {start}"]
    lines += [
        f"{i + 1} {submit[i]} 0 {run[i]} {nodes[i]} -1 -1 {nodes[i]} {requested[i]} -1 1 "
        f"{i % 5} {i % 3} -1 -1 -1 -1 -1"
        for i in range(n)
    ]
    path = folder / "ALCF-Mira-2018.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def options_for(folder: Path, **settings: str) -> Options:
    return Options(scale="quick", settings={"logs": str(folder), **settings})


def test_printed_tables_agree_with_the_text() -> None:
    # V-D.1. The text's upper end of FCFS slowdowns, 10.1, is August's; June has 13.4.
    ranges = {
        (order, metric): (min(row), max(row))
        for order, rows in printed["table_2"].items()
        for metric, row in rows.items()
    }
    assert ranges[("fcfs", "loss_of_capacity")] == (0.124, 0.212)
    assert ranges[("wfp", "loss_of_capacity")] == (0.129, 0.174)
    assert tuple(round(v) for v in ranges[("fcfs", "wait_min")]) == (58, 173)
    assert tuple(round(v) for v in ranges[("wfp", "wait_min")]) == (47, 143)
    assert ranges[("wfp", "bounded_slowdown")] == (3.22, 8.54)


def test_months() -> None:
    begin, end = month_window("2018-10", OCTOBER_UNIX_S - DAY_S)
    assert (begin, end) == (DAY_S, 32 * DAY_S)
    begin, end = month_window("2018-12", OCTOBER_UNIX_S)
    assert (begin, end) == (61 * DAY_S, 92 * DAY_S)
    assert month_window("2008-02", 0)[1] - month_window("2008-02", 0)[0] == 29 * DAY_S


def point_of(folder: Path, scheme: str, order: str = "fcfs") -> dict[str, Any]:
    """A scheme's point of October."""
    points = load_paper("walltime").figure("fig6").points(options_for(folder))
    [found] = [
        p for p in points if (p["labels"]["scheme"], p["labels"]["order"]) == (scheme, order)
    ]
    return found


def queues_at(point: dict[str, Any]) -> Queues:
    """The queue of a point."""
    config = checked_config(point["config"])
    return queues_of(config, build_machine(config.machine).topology)


def test_month_of_a_log(tmp_path: Path) -> None:
    write_log(tmp_path)
    point = point_of(tmp_path, "Base")
    config = checked_config(point["config"])
    jobs, history = queues_at(point).jobs, config.workload.source().history()
    assert history is not None
    assert jobs.n_nodes.max() < 49_152
    inside = 120 - len(history) - jobs.dropped["more than 32768 nodes"]
    # September's last jobs may still run on the first of October: not yet known.
    assert len(jobs) <= inside <= len(jobs) + 5
    assert jobs.submit_s[0] == 0
    assert (history.submit_s + history.run_time_s <= 20 * DAY_S).all()
    december = {**config.resolved()["workload"], "month": "2018-12"}
    with pytest.raises(NetcosimError, match=r"all 118 jobs are left out \(submitted outside"):
        queues_at({"config": {**config.resolved(), "workload": december}})


def test_jobs_as_large_as_the_machine_teach_the_estimates(tmp_path: Path) -> None:
    """They are not simulated, but they had run before the month."""
    path = tmp_path / "jobs.swf"
    lines = [f"; UnixStartTime: {OCTOBER_UNIX_S - DAY_S}"]
    lines += [
        f"{i + 1} {3600 * (1 + 24 * i)} 0 600 {nodes} -1 -1 {nodes} 6000 -1 1 1 1 -1 -1 -1 -1 -1"
        for i, nodes in enumerate((49_152, 512))
    ]
    path.write_text("\n".join(lines) + "\n")
    section = WorkloadSection(log=str(path), max_nodes=32_768, month="2018-10")
    history = section.source().history()
    assert history is not None
    assert history.n_nodes.tolist() == [49_152]


def test_estimates_of_schemes(tmp_path: Path) -> None:
    write_log(tmp_path)
    queues = {scheme: queues_at(point_of(tmp_path, scheme)) for scheme in SCHEMES}
    jobs = queues["Base"].jobs
    told = {s: q.estimates.prepare(jobs).walltime_s(3) for s, q in queues.items()}
    assert all(told[s] == jobs.requested_s[3] for s in ("Base", "SL", "PF", "Combo"))
    assert told["ActRun"] == jobs.run_time_s[3]
    assert told["AdjEst"] < jobs.requested_s[3]


@pytest.mark.parametrize("order", ORDERS)
def test_point_agrees_with_its_schedule(tmp_path: Path, order: str) -> None:
    write_log(tmp_path)
    point = point_of(tmp_path, "Combo", order)
    tables, result = observe(point), queues_at(point).under("cobalt-combo")
    [run] = tables["runs"]
    assert (run["case"], run["month"], run["scheme"]) == ("mira", "2018-10", "Combo")
    assert run["mean_wait_s"] == pytest.approx(wait_s(result).mean())
    days = pd.DataFrame(tables["days"])
    assert days["jobs"].sum() == len(result)
    assert days["wait_min"].sum() == pytest.approx(wait_s(result).sum() / 60)
    assert days["bounded_slowdown"].sum() == pytest.approx(bounded_slowdown(result).sum())
    assert days["loss_of_capacity"].sum() == pytest.approx(loss_of_capacity(result))
    times, lost = lost_nodes(result)
    for i in np.random.default_rng(1).integers(0, len(times) - 1, 30):
        middle = (times[i] + times[i + 1]) / 2
        running = (result.start_s <= middle) & (middle < result.end_s)
        idle = result.machine_nodes - result.allocated_nodes[running].sum()
        waiting = (result.workload.submit_s <= middle) & (middle < result.start_s)
        smaller = (result.workload.n_nodes[waiting] < idle).any()
        assert lost[i] == (idle if smaller else 0)
    classes = pd.DataFrame(tables["classes"])
    assert classes["jobs"].sum() == len(result)


def test_a_machine_given_by_its_dimensions_has_the_menu_of_its_name() -> None:
    for case in CASES.values():
        machine = blue_gene("intrepid" if case.log.name.endswith("intrepid") else "mira")
        dims, concentration = case.log.machine["dims"], case.log.machine["concentration"]
        assert (
            machine_for(torus(dims, concentration=concentration)).partitions == machine.partitions
        )
        sizes = sorted({len(p.midplanes) * machine.midplane_nodes for p in machine.partitions})
        assert sizes[-2] == LARGEST_NODES


def frames_by_hand() -> dict[str, pd.DataFrame]:
    """Two months; gains in wait of SL 50 % and -10 %, other metrics unchanged."""
    runs, days = [], []
    for month, waits in (("m1", (100.0, 50.0)), ("m2", (100.0, 110.0))):
        for scheme, wait in zip(("Base", "SL"), waits, strict=True):
            keys = {"case": "mira", "order": "fcfs", "month": month, "scheme": scheme}
            rest = {"loss_of_capacity": 0.2, "bounded_slowdown": 5.0}
            means = {"mean_wait_s": 60 * wait, "mean_bounded_slowdown": 5.0}
            runs.append({**keys, **means, "loss_of_capacity": 0.2})
            days += [
                {**keys, "day": d, "jobs": 10, "wait_min": wait * d, **rest}
                for d in (1, 2, 3, 1, 2, 3)
            ]
    return {"runs": pd.DataFrame(runs), "days": pd.DataFrame(days)}


def test_gains_by_hand(tmp_path: Path) -> None:
    write_log(tmp_path)
    options = options_for(tmp_path)
    table = gains_table(frames_by_hand(), options)
    waits = table[table["metric"] == "wait_min"].set_index("month")
    assert waits["gain"].tolist() == pytest.approx([0.5, -0.1])
    # Every day has the same gain, so drawing days anew changes nothing.
    assert waits["low"].tolist() == pytest.approx([0.5, -0.1])
    assert waits["high"].tolist() == pytest.approx([0.5, -0.1])
    claims = fig9_analyse(frames_by_hand(), options).claims.set_index("claim")["simulated"]
    assert claims["average wait: gain above 20%: share of 2 cases"] == 0.5
    assert claims["loss of capacity: gain above 0%: share of 2 cases"] == 0.0
    assert claims["wait shorter by 10 to 66 min: share of 2 cases"] == 0.5
    assert claims["any metric: gain above 0: share of 6 cases"] == pytest.approx(1 / 6)


def test_levels_by_hand(tmp_path: Path) -> None:
    # The means over jobs of six days with 10 jobs each: waits of 100, 200, 300 in all, twice.
    frames = frames_by_hand()
    frames["runs"].loc[0, "mean_wait_s"] = 1200.0
    table = levels_table(frames, options_for(tmp_path))
    row = table[(table["scheme"] == "Base") & (table["metric"] == "wait_min")].iloc[0]
    assert (row["month"], row["value"]) == ("m1", 20.0)
    assert 10.0 <= row["low"] < 20.0 < row["high"] <= 30.0
    lost = table[table["metric"] == "loss_of_capacity"].iloc[0]
    # Six days of 0.2 each: the shares of a schedule add up.
    assert (lost["low"], lost["high"]) == (pytest.approx(1.2), pytest.approx(1.2))


def test_day_gain_pads_the_shorter_schedule() -> None:
    base = pd.DataFrame({"wait_min": [4.0] * 6})
    new = pd.DataFrame({"wait_min": [3.0] * 4})
    found = day_gain(new, base, "wait_min", np.random.default_rng(1))
    assert found.value == pytest.approx(0.5)
    assert found.low < 0.5 < found.high


@pytest.mark.full
@pytest.mark.parametrize("longest_s", [1000, 400_000])
def test_figures_end_to_end(tmp_path: Path, reproduced: Any, longest_s: int) -> None:
    # With short jobs nobody waits: no loss, no gain, and no division by it.
    write_log(tmp_path, longest_s=longest_s)
    options = options_for(tmp_path)
    paper = load_paper("walltime")
    assert list(paper.figures) == ["table2", "levels", *(f"fig{k}" for k in range(6, 14))]
    assert len(paper.figure("fig6").points(options)) == len(ORDERS) * len(SCHEMES)
    full = Options(settings={"logs": str(tmp_path)})
    assert len(paper.figure("fig7").points(full)) == 2 * 4 * len(ORDERS) * len(SCHEMES)
    computed = {}
    for name in paper.figures:
        done = reproduced("walltime", name, options)
        assert any(f.suffix == ".png" for f in done.files) == name.startswith("fig")
        assert "Intrepid 2009" in done.analysis.notes[0]
        computed[name] = done.computed
    # All figures share one point a combination.
    assert sum(computed.values()) == len(ORDERS) * len(SCHEMES)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"none of the job logs.*ANL-Intrepid-2009-1.swf.gz"):
        chosen(options_for(tmp_path))
    write_log(tmp_path)
    with pytest.raises(NetcosimError, match="unknown case 'mire'"):
        chosen(options_for(tmp_path, case="mire"))
    assert chosen(options_for(tmp_path, case="mira-on-intrepid"))[0][0].log.machine["dims"] == [
        5,
        4,
        4,
    ]
    check = load_paper("walltime").check
    with pytest.raises(NetcosimError, match="no routing to choose"):
        check(Options(routings=("minimal",)))
    with pytest.raises(NetcosimError, match="unknown setting 'cases'"):
        check(Options(settings={"cases": "mira"}))
    (tmp_path / "ANL-Intrepid-2009-1.swf").write_text("; UnixStartTime: 1\n")
    assert [case.log.name for case, _ in chosen(Options(settings={"logs": str(tmp_path)}))] == [
        "intrepid"
    ]
    assert notes(options_for(tmp_path)) == ()
