"""Tables of a co-simulation run, for the store, the page and the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from cosim.measuring.speedup_file import speedup_rows
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.run_context import run_context
from netcosim.runs.store import Rows
from netsim.kinds import need_kinds
from netsim.packet.model import PS_PER_S
from queuesim.metrics import QueueSummary, summarise
from queuesim.observables.registry import observed
from queuesim.parameters import Power

if TYPE_CHECKING:
    from queuesim.energy import Energy


_QUEUE_COLUMNS = (
    *("mean_wait_s", "mean_turnaround_s", "mean_bounded_slowdown"),
    *("utilisation", "steady_utilisation", "makespan_s"),
)


def result_tables(result: CosimResult) -> dict[str, Rows]:
    """Return the tables of a run, for the store.

    With ``[machine.power]`` "energy" has one row a policy, and "energy_jobs" some jobs of each.
    "policies" has one row a policy; ratios there are relative to ``relative_to``, which
    has a separate table "reference" where it is not one of the policies. If packets were sent,
    "speedups" (columns of `cosim.measuring.speedup_file`), "measured_jobs" and "links" follow,
    what the measure reports, what the run-time model reports, and what
    ``run.observables`` requests; and "bounds" of the machine, if ``analysis.bounds`` requests them.

    Parameters
    ----------
    result : CosimResult
        From `run_cosim`.

    Examples
    --------
    >>> import netcosim as nc
    >>> config = nc.config_from(
    ...     {
    ...         "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    ...         "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...         "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
    ...         "run": {"snapshots": 0},
    ...     }
    ... )
    >>> tables = nc.result_tables(nc.run_cosim(config))
    >>> [(row["policy"], row["jobs"]) for row in tables["policies"]]
    [('rdn', 30), ('simple', 30)]
    """
    need_kinds("result_tables", {"result": (result, CosimResult)})
    elsewhere = result.reference.elsewhere is not None
    summaries = {name: summarise(run, lost=False) for name, run in result.schedules.items()}
    reference = (
        summarise(result.reference_schedule, lost=False)
        if elsewhere
        else summaries[result.reference.policy]
    )
    tables: dict[str, Rows] = {
        "policies": [
            _policy_row(result, name, summary, reference) for name, summary in summaries.items()
        ]
    }
    if elsewhere:
        tables["reference"] = [{"reference": result.reference.label, **_queue_row(reference)}]
    tables |= _energy_tables(energies_of(result), result)
    if result.config.analysis.bounds:
        from netsim.analysis.bounds import bounds_of

        tables["bounds"] = [asdict(bounds_of(result.machine.topology))]
    if result.measurement is not None:
        tables["speedups"] = speedup_rows(result.table)
        tables["measured_jobs"] = _measured_rows(result)
        tables["links"] = _link_rows(result)
        if exposed := _exposed_rows(result):
            tables["exposed"] = exposed
        tables |= result.measurement.tables
    reports: dict[str, list[dict[str, object]]] = {}
    for name, schedule in result.schedules.items():
        for table_name, row in schedule.reports.items():
            reports.setdefault(table_name, []).append({"policy": name, **row})
    observables = observed(result.schedules, result.config.run.observables)
    return tables | reports | observables


def energies_of(result: CosimResult) -> dict[str, Energy]:
    """Return the energy of each policy's schedule; none without ``[machine.power]``."""
    section = result.config.machine.power
    if section is None:
        return {}
    from queuesim.energy import energy_of

    power = Power(**section.model_dump())
    if not power.link_J_per_byte:
        return {name: energy_of(schedule, power) for name, schedule in result.schedules.items()}
    from cosim.network.link_bytes import link_bytes

    with result.config.plugged():
        network = run_context(result.config, result.workload).network
        return {
            name: energy_of(
                schedule, power, link_bytes(schedule, network, result.share, result.fraction)
            )
            for name, schedule in result.schedules.items()
        }


def _energy_tables(energies: Mapping[str, Energy], result: CosimResult) -> dict[str, Rows]:
    if not energies:
        return {}
    from queuesim.energy import job_rows

    jobs = {name: job_rows(result.schedules[name], energy) for name, energy in energies.items()}
    return {
        "energy": [{"policy": name, **energy.row()} for name, energy in energies.items()],
        "energy_jobs": [{"policy": name, **row} for name, rows in jobs.items() for row in rows],
    }


def _policy_row(
    result: CosimResult, name: str, summary: QueueSummary, reference: QueueSummary
) -> dict[str, object]:
    row: dict[str, object] = {"policy": name, "relative_to": result.reference.label_at_point}
    if result.measured:
        ratio = result.ratios.get(name)
        row |= {
            "communication_ratio": None if ratio is None else ratio.ratio,
            "communication_ratio_low": None if ratio is None else ratio.low,
            "communication_ratio_high": None if ratio is None else ratio.high,
            "measured_jobs": 0 if ratio is None else ratio.n_jobs,
        }
    waited = reference.mean_wait_s > 0
    return row | {
        **_queue_row(summary),
        "overrun": result.config.queue.overrun,
        "wait_ratio": summary.mean_wait_s / reference.mean_wait_s if waited else None,
        "turnaround_ratio": summary.mean_turnaround_s / reference.mean_turnaround_s,
        "makespan_ratio": summary.makespan_s / reference.makespan_s,
    }


def _queue_row(summary: QueueSummary) -> dict[str, object]:
    row = {name: getattr(summary, name) for name in _QUEUE_COLUMNS}
    return row | {"jobs": summary.n_jobs, "overran_jobs": summary.n_overran}


def _measured_rows(result: CosimResult) -> Rows:
    mix = result.config.communication.mix
    return [
        {
            "policy": name,
            "snapshot": int(m.snapshot[i]),
            "job_id": int(result.workload.job_id[m.job[i]]),
            "n_nodes": int(m.n_nodes[i]),
            "pattern": mix[int(m.share[i])].pattern,
            "time_s": float(m.time_s[i]),
            "baseline_s": float(m.baseline_s[i]),
        }
        for name, m in result.measured.items()
        for i in range(len(m.job))
    ]


def _exposed_rows(result: CosimResult) -> list[dict[str, object]]:
    """Return exposed communication by kind, averaged over each job's snapshots."""
    rows: list[dict[str, object]] = []
    mix = result.config.communication.mix
    for name, measured in result.measured.items():
        m = measured.communicating
        for job in np.unique(m.job).tolist():
            of_job = m.job == job
            means_s = {kind: float(s[of_job].mean()) for kind, s in m.exposed_s.items()}
            if not any(means_s.values()):
                continue
            first, time_s = int(np.argmax(of_job)), float(m.time_s[of_job].mean())
            row: dict[str, object] = {
                "policy": name,
                "job_id": int(result.workload.job_id[job]),
                "n_nodes": int(m.n_nodes[first]),
                "pattern": mix[int(m.share[first])].pattern,
                "snapshots": int(of_job.sum()),
                "time_s": time_s,
            }
            rows.append(row | {f"exposed_{kind}": s / time_s for kind, s in means_s.items()})
    return rows


def _link_rows(result: CosimResult) -> list[dict[str, object]]:
    """Return sums over all snapshots and quantiles over links, by policy and kind of link."""
    rows: list[dict[str, object]] = []
    topology = result.machine.topology
    quantiles = (0, 25, 50, 75, 100)
    for name, m in result.measured.items():
        if not m.packets:
            continue
        columns = {
            "packets": np.sum([p.link_packets for p in m.packets], axis=0),
            "bytes": np.sum([p.link_bytes for p in m.packets], axis=0),
            "busy_s": np.sum([p.link_busy_ps for p in m.packets], axis=0) / PS_PER_S,
            "stall_s": np.sum([p.link_stall_ps for p in m.packets], axis=0) / PS_PER_S,
        }
        for kind in topology.kinds:
            mask = topology.kind_mask(kind)
            row: dict[str, object] = {"policy": name, "kind": kind, "links": int(mask.sum())}
            for column, values in columns.items():
                row[column] = values[mask].sum().item()
                if mask.any() and column in ("packets", "stall_s"):
                    found = np.percentile(values[mask], quantiles)
                    row |= {
                        f"{column}_p{q}": float(v) for q, v in zip(quantiles, found, strict=True)
                    }
            rows.append(row)
    return rows
