"""What a command does before its work: check its folder, compile kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.executors.mpi import launched_rank
from netcosim.kernel_parts import (
    CROSSBAR_THREADS,
    CROSSBARS,
    JOB_FLOWS,
    PACKET_THREADS,
    PACKETS,
    PARTS,
    PLACED,
    QUEUES,
    WALKS,
    mark_of,
    usual_times_s,
)
from netcosim.runs.progress import progress
from netsim.atomic_files import need_folder
from netsim.kernel_cache import cache_folder, is_writable
from netsim.units import format_quantity

if TYPE_CHECKING:
    from alloc.policy import Policy
    from netcosim.config.config import Config
    from queuesim.runtime import RunTimeModel


def parts_of(config: Config, resamples: int | None = 0) -> tuple[str, ...]:
    """Return the parts that a run of this config uses, with queues on so many other logs.

    `WALKS` and `PACKETS` are left out where they are compiled.
    """
    from alloc.registry import POLICIES
    from cosim.registry import RUNTIME_MODELS
    from netcosim.config.machine import build_machine
    from netsim.packet.model import INPUT_QUEUED
    from netsim.packet.routing_tables import tables_class

    # threads are the packet engine's: a model that reads their number sends packets
    with config.plugged():
        model = RUNTIME_MODELS[config.queue.run_time_model]
        policies = [POLICIES[name] for name in config.queue.policies]
        parts = _queue_parts(config, resamples, policies, model)
        # only the built machine shows it, and building takes longer than a look at the cache
        sends = bool(config.run.snapshots) or "run.threads" in model.reads
        unknown = [WALKS] if model.solves_flows == JOB_FLOWS else []
        unknown += PACKETS.values() if sends else []
        if not all(mark_of(cache_folder(), part).exists() for part in unknown):
            machine = build_machine(config.machine)
            if WALKS in unknown:
                parts += [] if machine.routing.is_single_path else [WALKS]
            if sends:
                parts.append(PACKETS[tables_class(machine.routing, machine.packets).__name__])
    if sends:
        crossbars = config.machine.packet.router == INPUT_QUEUED
        if crossbars:
            parts.append(CROSSBARS)
        if config.run.threads != 1:
            parts.append(CROSSBAR_THREADS if crossbars else PACKET_THREADS)
    parts += [model.solves_flows, *(policy.kernels for policy in policies)]
    return tuple(part for part in PARTS if part in parts)


def _queue_parts(
    config: Config,
    resamples: int | None,
    policies: Sequence[type[Policy]],
    model: type[RunTimeModel],
) -> list[str]:
    """Return the parts that compile a run's queues."""
    from queuesim.compiled.choice import why_by_events
    from queuesim.setup import setup_of

    section, synthetic = config.queue, config.workload.synthetic
    if section.decider is not None:
        return []
    n_jobs = _most_jobs(config) if synthetic is None else synthetic.n_jobs
    order, rules = setup_of(section, lambda: None)

    def compiled(repeats: int) -> list[bool]:
        rest = (order, section.backfill, rules, model)
        return [not why_by_events(n_jobs, policy, *rest, repeats=repeats) for policy in policies]

    if resamples is None:
        from netcosim.runs.queue_intervals import RESAMPLES

        needed = any(compiled(1)) or all(compiled(RESAMPLES))
    else:
        needed = any(compiled(max(1, resamples)))
    part = QUEUES[order.static_key is None, section.backfill == "conservative"]
    placed = [
        PLACED[policy.kernels]
        for policy, is_compiled in zip(policies, compiled(1), strict=True)
        if is_compiled and not policy.counts_only
    ]
    counted = any(policy.counts_only for policy in policies)
    return [part] * (needed and counted) + placed


def _most_jobs(config: Config) -> int:
    """Return about how many jobs a log, not yet read, has at most: packed ones take 12 bytes."""
    from queuesim.compiled.choice import LEAST_JOBS

    log = getattr(config.workload, "log", None)
    # reading it compares its content, and says so if it has gone
    path = None if log is None else Path(log.file)
    return path.stat().st_size // 12 if path is not None and path.is_file() else LEAST_JOBS


def prepare_run(config: Config, out: Path, jobs: int, resamples: int | None = 0) -> Config:
    """Check the folder, compile what a config needs, and return it with threads that fit."""
    fitting, line = with_threads_that_fit(config, jobs)
    if line is not None and launched_rank() == 0:
        print(f"netcosim: {line}", file=sys.stderr)
    need_folder(out)
    compile_kernels(parts_of(fitting, resamples))
    return fitting


def with_threads_that_fit(config: Config, processes: int) -> tuple[Config, str | None]:
    """Return the config with no more threads than ``processes`` of it leave cores for, and a note.

    With several processes "auto" is one thread: parallel points use the cores better.
    """
    from netcosim.config.content import checked_config
    from netcosim.runs.points import replaced
    from netsim.packet.thread_count import AUTO, available_cores

    requested, cores = config.run.threads, available_cores()
    most = max(1, cores // processes)
    if requested == AUTO and processes > 1:
        most, line = 1, None
    elif requested == AUTO or int(requested) <= most:
        return config, None
    else:
        beside = f"{processes} processes on {cores} cores" if processes > 1 else f"{cores} cores"
        line = f"run.threads = {requested} is too many for {beside}: {most} (same results)"
    return checked_config(replaced(config.resolved(), {"run.threads": most})), line


def compile_kernels(parts: Iterable[str] = tuple(PARTS)) -> list[str]:
    """Compile those parts of `PARTS` that the cache of this version lacks; return and print which.

    A separate bar shows how far it is. It must come before the bar of a run, whose estimate would
    count the compilation. Under MPI rank 0 compiles; the others get their first point after it has.
    What is compiled is used from the first queue on, however few jobs it has.
    """
    from queuesim.compiled.choice import LEAST_JOBS, queued_jobs

    queued_jobs.update({(*kind, ""): LEAST_JOBS for kind, part in QUEUES.items() if part in parts})
    folder = cache_folder()
    missing = [part for part in PARTS if part in parts and not mark_of(folder, part).exists()]
    if not missing or launched_rank() != 0:
        return []
    usual_s, once = usual_times_s(missing), f"once; kept in {folder}"
    if not is_writable(folder):
        once = f"in each run: {folder} cannot be written; set NETCOSIM_CACHE_DIR"
    print(
        f"netcosim: compiling kernels ({', '.join(missing)}) on the first use of this version, "
        f"about {format_quantity(sum(usual_s), 'time', 2)}, {once}",
        file=sys.stderr,
        flush=True,
    )
    with progress(100, "%") as show:

        def show_part(done: int) -> None:
            if done < len(missing):
                about = format_quantity(usual_s[done], "time", 2)
                what = f"compiling kernels: {missing[done]}, about {about}"
                show.at(100 * sum(usual_s[:done]) / sum(usual_s), what)

        show_part(0)
        # imports numba and much else, so the line is printed before
        from netcosim.warmup import warm_up

        for done, _ in enumerate(warm_up(missing), start=1):
            show_part(done)
    return missing
