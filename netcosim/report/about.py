"""Assumptions of a run as text, stored with its results so that any page can print it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alloc.registry import POLICIES
from cosim.registry import MEASURES
from netcosim.archive.values import ArchivedRun
from netcosim.config.config import Config
from netcosim.config.run import MOST_PLACED, keeps_nodes
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.store import Rows
from netcosim.runs.store_format import StoredPoint
from netsim.packet.credit import buffer_warning
from netsim.packet.thread_count import AUTO, threads_used, why_one_thread
from netsim.topologies.registry import FAMILIES
from netsim.units import format_quantity
from queuesim.result import CUT
from workloads.job import Workload
from workloads.registry import MIXES

MOST_LINES = 4
ABOUT = "about"
"""Name of the table: columns ``what`` and ``text``."""
TITLE, CONFIG, MACHINE, JOBS, MEASURED, REFERENCE, WARNING, NOTE = (
    *("title", "config", "machine", "jobs", "measured", "reference", "warning", "note"),
)


def about_rows(result: CosimResult, title: str, config_text: str) -> Rows:
    """Describe a run: machine, jobs, what was measured, notes and warnings."""
    topology = result.machine.topology
    rows: list[tuple[str, str]] = [
        (TITLE, title),
        (CONFIG, config_text),
        (
            MACHINE,
            f"{topology.name}: {topology.n_nodes:,} nodes, {topology.n_routers:,} routers, "
            f"{topology.n_links - topology.first_router_link:,} links between routers, routing "
            f"{result.machine.routing.name}.",
        ),
        *_jobs(result.workload),
        *((NOTE, line) for line in _overran(result)),
    ]
    hops = sum(m.packet_hops for m in result.measured.values())
    if hops:
        snapshots = sum(len(m.packets) for m in result.measured.values())
        measured = sum(len(m.job) for m in result.measured.values())
        rows.append(
            (
                MEASURED,
                f"{measured:,} communicating jobs in {snapshots} snapshots, {hops:,} link "
                "traversals of packets.",
            )
        )
    if result.measured:
        compares = MEASURES[result.config.run.measure].compares
        rows.append((REFERENCE, f"{result.reference.label}: {compares}."))
    warning = buffer_warning(topology, result.machine.packets)
    if warning is not None and (hops or _live_packets(result)):
        rows.append((WARNING, warning))
    if (other := other_share(result.config)) is not None:
        rows.append((WARNING, f"{other[0].upper()}{other[1:]}."))
    if result.config.queue.run_time_model == "coupled-flow":
        from cosim.run_times.flow_errors import class_texts, flow_error_text

        routing = result.machine.routing
        rows.append((NOTE, flow_error_text(routing)))
        rows += [(NOTE, text) for text in class_texts(routing, result.flow_classes)]
    rows += [(NOTE, f"{line}.") for line in _live_packets(result)]
    if (line := _threads_line(result)) is not None:
        rows.append((NOTE, f"{line[0].upper()}{line[1:]}."))
    notes = result.measurement.notes if result.measurement is not None else ()
    rows += [(NOTE, note) for note in notes]
    return [{"what": what, "text": text} for what, text in rows]


def _jobs(jobs: Workload) -> list[tuple[str, str]]:
    dropped = ", ".join(f"{count:,} {why}" for why, count in jobs.dropped.items() if count)
    text = (
        f"{jobs.name}: {len(jobs):,} jobs of {int(jobs.n_nodes.min()):,} to "
        f"{int(jobs.n_nodes.max()):,} nodes" + (f"; left out: {dropped}." if dropped else ".")
    )
    return [(JOBS, text), *((NOTE, note) for note in jobs.notes)]


def jobs_rows(jobs: Workload) -> Rows:
    """Describe which jobs a point has, where some were left out or noted; else nothing."""
    noted = bool(len(jobs)) and (jobs.notes or any(jobs.dropped.values()))
    return [{"what": what, "text": text} for what, text in _jobs(jobs)] if noted else []


def _overran(result: CosimResult) -> Iterable[str]:
    cut = result.config.queue.overrun == "cut"
    overran = {
        name: int(((r.outcome == CUT) if cut else r.overran).sum())
        for name, r in result.schedules.items()
    }
    if any(overran.values()):
        counts = ", ".join(f"{count:,} under {name}" for name, count in overran.items())
        yield f"Jobs {'cut at' if cut else 'that ran on past'} their requested walltime: {counts}."


def notes_on(tables: Mapping[str, Rows], what: str) -> list[str]:
    """Return the texts of one kind; none where a file has no such table."""
    return [str(row.get("text")) for row in tables.get(ABOUT, ()) if row.get("what") == what]


def config_section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a section of a stored config; empty where it has none."""
    found = config.get(name)
    return found if isinstance(found, Mapping) else {}


def is_over_log(config: Mapping[str, Any]) -> bool:
    """Return whether the jobs of a resolved config are those of a log."""
    return config_section(config, "workload").get("log") is not None


Facts = list[tuple[str, Sequence[str]]]


def run_facts(tables: Mapping[str, Rows], kept: ArchivedRun | None, point: StoredPoint) -> Facts:
    """Return the setup of a run: what its file notes, or else what its config and jobs are."""
    policies, run = tables["policies"], config_section(point.config, "run")
    reference = str(policies[0].get("relative_to", "")).removesuffix(" at the same point")
    took = format_quantity(point.seconds, "time", 3)
    found = dict(_config_facts(point.config, kept))
    found["Jobs"] = found.get("Jobs") or [f"{policies[0].get('jobs')} jobs"]
    noted = {"Jobs": JOBS, "Machine": MACHINE, "Reference": REFERENCE}
    found |= {name: texts for name, what in noted.items() if (texts := notes_on(tables, what))}
    return [
        *((name, found[name]) for name in ("Jobs", "Machine", "Queue", "Policies")),
        ("Snapshots", [str(run.get("snapshots")), *notes_on(tables, MEASURED)]),
        ("Reference", found.get("Reference") or [reference]),
        ("Warning", notes_on(tables, WARNING)),
        ("Notes", notes_on(tables, NOTE)),
        ("Computed", [f"{point.finished_utc}, in {took}, by sources {point.code or 'unknown'}"]),
    ]


def sweep_facts(points: Sequence[StoredPoint], kept: Mapping[str, ArchivedRun]) -> Facts:
    """Return the setup of some points: a line for each different one, up to `MOST_LINES`.

    ``kept`` has runs of some of the points, by key; points like them are described by these.
    """
    found: dict[str, dict[str, None]] = {}
    shown = [point for point in points if point.key in kept] or points
    for point in shown:
        for name, lines in _config_facts(point.config, kept.get(point.key)):
            found.setdefault(name, {}).update(dict.fromkeys(lines))
    facts: Facts = []
    for name, different in found.items():
        more = len(different) - MOST_LINES
        end = [f"and {more:,} more"] if more > 0 else []
        facts.append((name, [*different][:MOST_LINES] + end))
    return facts


def _config_facts(config: Mapping[str, Any], kept: ArchivedRun | None) -> Facts:
    machine, queue = (config_section(config, name) for name in ("machine", "queue"))
    sizes = ", ".join(f"{k}={v}" for k, v in config_section(machine, "parameters").items())
    named = f"{machine.get('preset') or machine.get('family')}({sizes})".removesuffix("()")
    known = [name for name in map(str, queue.get("policies") or ()) if name in POLICIES]
    family = FAMILIES.get(str(machine.get("family")))
    routing = machine.get("routing") or (family.default_routing if family else "")
    jobs, rules = [], f"order {queue.get('order')}, backfilling {queue.get('backfill')}"
    if kept is not None:
        jobs = [f"{kept.jobs.log}: {len(kept.jobs):,} jobs."]
        named = f"{kept.machine.name}: {kept.machine.n_nodes:,} nodes"
    return [
        ("Jobs", jobs),
        ("Machine", [f"{named}, routing {routing}." if routing else f"{named}."]),
        ("Queue", [f"{rules}, run-time model {queue.get('run_time_model')}"]),
        ("Policies", [f"{name}: {POLICIES.facts(name).description}" for name in known]),
    ]


def notes_of(result: CosimResult) -> list[str]:
    """Return what a reader of the table of policies has to know, a line each."""
    jobs, lines = result.workload, []
    if result.measured:
        lines.append(f"communication_time is relative to {result.reference.label}")
    else:
        lines.append("no packets were sent (run.snapshots = 0): communication was not measured")
        if result.config.run.keep == "schedules" and not keeps_nodes(result.config.run, len(jobs)):
            lines.append(
                f"nodes of jobs are not stored (more than {MOST_PLACED:,} jobs); "
                'run.keep = "all" stores them'
            )
    if (line := _threads_line(result)) is not None:
        lines.append(line)
    lines += _live_packets(result)
    if (other := other_share(result.config)) is not None:
        lines.append(f"warning: {other}")
    if result.config.analysis.bounds:
        from netsim.analysis.bounds import bounds_of

        lines += bounds_of(result.machine.topology).describe()
    lines += [f"left out: {count:,} ({why})" for why, count in jobs.dropped.items() if count]
    lines += [f"note: {note}" for note in jobs.notes]
    return lines + list(result.measurement.notes if result.measurement is not None else ())


def _live_packets(result: CosimResult) -> list[str]:
    """Describe the packets behind live run times, by policy; none without."""
    schedules = {name: found for name, found in result.schedules.items() if found.reports}
    if not schedules:
        return []
    from cosim.run_times.packet_ages import describe_ages, describe_localities

    model, lines = result.config.queue.run_time_model, []
    for policy, schedule in schedules.items():
        if row := schedule.reports.get("localities"):
            lines.append(f"{policy}: {describe_localities(row, model)}")
        if row := schedule.reports.get("packet_ages"):
            lines.append(f"{policy}: {describe_ages(row)}")
    return lines


def _threads_line(result: CosimResult) -> str | None:
    """Describe the threads that simulated packets; None where the config leaves one."""
    requested = result.config.run.threads
    if requested == 1 or not result.measured:
        return None
    routing, packets = result.machine.routing, result.machine.packets
    why = why_one_thread(routing, packets)
    if why:
        return f"packets were simulated on one thread: {why}"
    used = threads_used(routing, packets, requested)
    most = "up to " if requested == AUTO and used > 1 else ""
    return f"packets were simulated on {most}{used} thread{'s' if used > 1 else ''}"


def other_share(config: Config) -> str | None:
    """Return a warning where the measure takes a named mix for a share of something else.

    None where it is the same, or nothing is measured that knows what it is a share of.
    """
    name, run = config.communication.drawn_from, config.run
    taken = {"steady": run.steady.share, "paired": "alone"}.get(run.measure)
    if name is None or taken is None or run.snapshots == 0 or MIXES[name].share == taken:
        return None
    key = "run.steady.share" if run.measure == "steady" else "run.paired"
    return (
        f'communication.from = "{name}" has shares "{MIXES[name].share}", and {key} takes them for '
        f'shares "{taken}": another quantity'
    )
