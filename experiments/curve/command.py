"""Latency and accepted load of the network alone against offered load: one curve a routing.

  netcosim curve CONFIG.toml --jobs 2
  netcosim curve CONFIG.toml --adaptive
  mpiexec -n 8 netcosim curve CONFIG.toml
  netcosim curve CONFIG.toml --collective all-reduce --measured nccl-tests.log

The config has [machine] and [curve]; it may have sections of other commands. With --collective
the curve is that of bus bandwidth against bytes, as in nccl-tests, and [collective] is read
in place of [curve]. Points that the folder's store holds are not computed again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.kit.options import numbers_in
from netcosim.commands import add_options
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from experiments.curve.config import CurveConfig
    from experiments.kit.results import Tables
    from netcosim.runs.sweep import SweepSummary
    from netsim.topology import Topology

HELP = "load-latency and throughput curves of a machine; bus bandwidths of collectives"
STORE = "curve.db"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim curve``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default curve-CONFIG in this folder"
    )
    parser.add_argument(
        "--collective", metavar="OPERATION", help="bus bandwidth of all-reduce, all-gather, ..."
    )
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="FILE",
        help="log of nccl-tests, or CSV, to compare with; may be repeated",
    )
    loads = parser.add_mutually_exclusive_group()
    loads.add_argument("--loads", metavar="L,L,...", help="instead of those of the config")
    loads.add_argument(
        "--adaptive",
        action="store_true",
        help="choose loads: few where the curve is flat, more where it rises and saturates",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the number of points and estimated time"
    )
    add_options(parser, "jobs", "executor", "summary", "format", "json", "quiet")


def run(args: argparse.Namespace) -> int:
    """Compute the points, write tables and figure; 1 if a point failed."""
    from experiments.curve.config import load_curve
    from netsim.plugins import pinned_plugin, using

    path = Path(args.config)
    config = load_curve(path, _loads(args))
    with using(map(pinned_plugin, config.plugins)):
        return _run(config, path, args)


def _loads(args: argparse.Namespace) -> Sequence[float]:
    """Return the loads that options give; none for those of the config."""
    if args.collective is not None and (args.loads is not None or args.adaptive):
        raise NetcosimError("--loads and --adaptive are for latencies, not for --collective")
    if args.adaptive:
        from experiments.curve.adaptive import FIRST_LOADS

        return FIRST_LOADS
    return numbers_in("--loads", args.loads)


def _run(config: CurveConfig, path: Path, args: argparse.Namespace) -> int:
    from netcosim.announce import compile_kernels
    from netcosim.config.machine import build_machine
    from netcosim.kernel_parts import CROSSBARS, PACKETS
    from netsim.packet.credit import warn_of_buffers
    from netsim.packet.routing_tables import tables_class

    if args.measured and args.collective is None:
        raise NetcosimError("--measured is compared with a collective; add --collective all-reduce")
    out = Path(args.out or f"curve-{path.stem}")
    need_folder(out)
    machine = build_machine(config.machine)
    part = PACKETS[tables_class(machine.routing, machine.packets).__name__]
    compile_kernels([part, *([CROSSBARS] if machine.packets.input_queued else [])])
    warn_of_buffers(machine.topology, machine.packets)
    curve = _bandwidth if args.collective is not None else _latency
    return curve(config, machine.topology, out, args)


def _latency(config: CurveConfig, topology: Topology, out: Path, args: argparse.Namespace) -> int:
    """Compute latencies and accepted loads over offered loads."""
    import numpy as np

    from experiments.curve.output import LINKS, draw, draw_links, summary
    from experiments.curve.page import publish, recommend_routing
    from experiments.curve.point import FUNCTION, node_bandwidth, sources
    from experiments.kit.results import computing_s, read_tables
    from netcosim.report.page import Section
    from netcosim.report.policies import print_table
    from netcosim.report.recommendation import listed, print_answer

    # what they import takes a while and must not come before a word on compiling
    from netcosim.runs.frames import frames_of
    from netsim.analysis.bounds import bounds_of

    points = config.points()
    node_bandwidth(topology)
    for point in points:  # a mistake in one is reported before the first is computed
        sources(topology, point["curve"], np.random.default_rng(0))
    if args.dry_run:
        return _planned(FUNCTION, points, out, args)
    bounds = None
    with suppress(NetcosimError):  # some cannot be computed
        bounds = bounds_of(topology)
    uniform = set(config.curve.traffic) <= {"uniform", "uniform-random"}
    ceiling = bounds.uniform_load if bounds is not None and uniform else None

    def written(tables: Tables, more: str) -> None:
        frames = frames_of(tables)
        frame, title = frames["curve"], f"What {topology.name} carries"
        saturation = frames["saturation"] = summary(frame)
        answer = recommend_routing(frame, config, computing_s(out / STORE, points) / len(frame))
        sections = [Section("Saturation", "", saturation), Section("Points", "", frame)]
        if "links" in frames:
            links = frames["links"]
            sections.insert(1, Section("Links", LINKS, links, draw_links(links), "Load of links."))
        drawn = draw(frame, topology.name, ceiling)
        files = publish(args, out, config, answer, title, drawn, sections, frames)
        rows = [{str(k): v for k, v in row.items()} for row in saturation.to_dict("records")]
        lines = ["", print_table(rows)]
        lines += bounds.describe() if bounds else ()
        print_answer(answer, [*lines, f"{more}; {listed(files)}"], files, args.as_json)

    try:
        done, new = _computed_in_rounds(points, out, args)
    except KeyboardInterrupt:
        stored = read_tables(out / STORE, points) if (out / STORE).exists() else {}
        if stored:
            written(stored, f"{len(stored['curve'])} of {len(points)} points are stored")
        raise
    if done is None:
        return 0
    computed, tables = done
    rows = tables.get("curve", ())
    if rows:
        written(tables, f"{new} points computed, {len(rows) - new} were stored")
    return 1 if computed.failed or len(rows) < len(points) else 0


def _computed_in_rounds(
    points: list[dict[str, Any]], out: Path, args: argparse.Namespace
) -> tuple[tuple[SweepSummary, Tables] | None, int]:
    """Compute the points, to which ``--adaptive`` adds in rounds; also return how many were new."""
    from experiments.curve.adaptive import ROUNDS, refined
    from experiments.curve.point import FUNCTION
    from netcosim.runs.frames import frames_of

    done = _computed(FUNCTION, points, out, args)
    new = 0 if done is None else done[0].computed
    # MPI ranks other than 0 take part in each round, with the points that they know
    for _ in range(ROUNDS if args.adaptive else 0):
        if done is not None and "curve" in done[1]:
            points += refined(points, frames_of(done[1])["curve"])
        done = _computed(FUNCTION, points, out, args)
        new += 0 if done is None else done[0].computed
    return done, new


def _bandwidth(config: CurveConfig, topology: Topology, out: Path, args: argparse.Namespace) -> int:
    """Compute bus bandwidths over sizes, beside measured ones."""
    import pandas as pd

    from experiments.curve.bandwidth import compared, draw, format_rows, matching
    from experiments.curve.collective import FUNCTION, points
    from experiments.curve.page import publish, recommend_algorithm
    from experiments.kit.measured import COLUMNS, read_measured
    from experiments.kit.results import computing_s
    from netcosim.report.page import Section
    from netcosim.report.recommendation import listed, print_answer
    from netcosim.runs.frames import frames_of

    gpus = config.collective.gpus or topology.n_nodes
    read = [matching(read_measured(file), args.collective, gpus) for file in args.measured]
    measured = pd.concat(read) if read else pd.DataFrame(columns=COLUMNS)
    sizes = sorted(set(measured["bytes"].tolist()))
    chosen = points(config, topology, args.collective, sizes)
    if args.dry_run:
        return _planned(FUNCTION, chosen, out, args)
    done = _computed(FUNCTION, chosen, out, args)
    if done is None:
        return 0
    computed, tables = done
    rows = tables.get("collective", ())
    if rows:
        frames = frames_of(tables)
        frame, title = frames["collective"], f"{args.collective} on {topology.name}"
        pairs = compared(frame, measured)
        frames |= {"measured": pairs} if len(measured) else {}
        answer = recommend_algorithm(frame, pairs, computing_s(out / STORE, chosen) / len(chosen))
        shown = [Section("Bus bandwidth", "", frame)]
        drawn = draw(frame, measured, title)
        files = publish(args, out, config, answer, title, drawn, shown, frames)
        counts = f"{computed.computed} points computed, {computed.already} were stored"
        lines = [*format_rows(frame, pairs), f"{counts}; {listed(files)}"]
        print_answer(answer, lines, files, args.as_json)
    return 1 if computed.failed or len(rows) < len(chosen) else 0


def _planned(
    function: str, points: list[dict[str, Any]], out: Path, args: argparse.Namespace
) -> int:
    from netcosim.executors.registry import open_workers
    from netcosim.runs.sweep import plan_points

    with open_workers(args.executor, args.jobs) as workers:
        if workers is not None:
            print(plan_points(function, points, out / STORE, workers=workers.count).lines())
            if args.adaptive:
                print("only the first loads; which others follow depends on their results")
    return 0


def _computed(
    function: str, points: list[dict[str, Any]], out: Path, args: argparse.Namespace
) -> tuple[SweepSummary, Tables] | None:
    from experiments.kit.results import compute_points
    from netcosim.runs.sweep import failure_lines

    done = compute_points(
        function,
        points,
        out / STORE,
        jobs=args.jobs,
        executor=args.executor,
        progress=not args.quiet,
    )
    if done is not None:
        lines = "".join(f"{line}\n" for line in failure_lines(done[0]))
        print(lines, end="", file=sys.stderr if args.as_json else sys.stdout)
    return done
