"""Latency and accepted load of the network alone against offered load: one curve a routing.

  netcosim curve CONFIG.toml --jobs 2
  mpiexec -n 8 netcosim curve CONFIG.toml

The config has [machine] and [curve]; it may have sections of other commands. Points that
the folder's store holds are not computed again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.commands import add_jobs
from netcosim.folders import need_folder

if TYPE_CHECKING:
    from netcosim.curve.config import CurveConfig
    from netsim.analysis.bounds import Bounds
    from netsim.topology import Topology

HELP = "load-latency and throughput curves of a machine"
STORE = "curve.db"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim curve``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default curve-CONFIG in this folder"
    )
    add_jobs(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Compute the points, write tables and figure; 1 if a point failed."""
    from netcosim.announce import report_unread
    from netcosim.curve.config import load_curve
    from netsim.plugins import pinned_plugin, using

    path = Path(args.config)
    config = load_curve(path)
    report_unread(path, [config])
    with using(map(pinned_plugin, config.plugins)):
        return _run(config, path, args)


def _run(config: CurveConfig, path: Path, args: argparse.Namespace) -> int:
    import numpy as np

    from experiments.config_machine import build_machine
    from experiments.mpi import launched_rank
    from netcosim.announce import compile_kernels
    from netcosim.kernel_parts import CROSSBARS, PACKETS
    from netsim.packet.credit import buffer_warning
    from netsim.packet.model import INPUT_QUEUED

    out = Path(args.out or f"curve-{path.stem}")
    need_folder(out)
    machine = build_machine(config.machine)
    points = config.points()
    crossbars = config.machine.packet.router == INPUT_QUEUED
    compile_kernels([PACKETS, *([CROSSBARS] if crossbars else [])])
    # what they import takes a while and must not come before a word on compiling
    from netcosim.curve.output import format_curves, summary, write
    from netcosim.curve.point import FUNCTION, node_bandwidth, sources
    from netcosim.study.points import compute_points, failure_lines
    from netcosim.study.results import frames_of

    node_bandwidth(machine.topology)
    for point in points:  # a mistake in one is reported before the first is computed
        sources(machine.topology, point["curve"], np.random.default_rng(0))
    warning = buffer_warning(machine.topology, machine.packets)
    if warning is not None and launched_rank() == 0:
        print(f"netcosim: warning: {warning}", file=sys.stderr)
    done = compute_points(FUNCTION, points, out / STORE, jobs=args.jobs, progress=not args.quiet)
    if done is None:
        return 0
    computed, tables = done
    print("".join(f"{line}\n" for line in failure_lines(computed)), end="")
    rows = tables.get("curve", ())
    if rows:
        frame, bounds = frames_of(tables)["curve"], _bounds(machine.topology)
        uniform = set(config.curve.traffic) <= {"uniform", "uniform-random"}
        ceiling = bounds.uniform_load if bounds is not None and uniform else None
        figure = write(out, frame, machine.topology.name, ceiling)
        print("\n".join([*format_curves(summary(frame)), *(bounds.describe() if bounds else ())]))
        stored = f"{computed.computed} points computed, {computed.already} were stored"
        print(f"{stored}; {figure}, curve.csv")
    return 1 if computed.failed or len(rows) < len(points) else 0


def _bounds(topology: Topology) -> Bounds | None:
    """What its halves let through, where that can be worked out."""
    from netsim.analysis.bounds import bounds_of
    from netsim.errors import NetcosimError

    try:
        return bounds_of(topology)
    except NetcosimError:
        return None
