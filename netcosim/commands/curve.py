"""Latency and accepted load of the network alone against offered load: one curve a routing.

  netcosim curve CONFIG.toml --jobs 2
  mpiexec -n 8 netcosim curve CONFIG.toml

The config has [machine] and [curve]; sections of other commands may stand beside them. Points that
the folder's store holds are not computed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, cast

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
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="local processes")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(args: argparse.Namespace) -> int:
    """Compute the points, write tables and figure; 1 if a point failed."""
    from experiments.executor import check_jobs
    from netcosim.announce import report_unread
    from netcosim.curve.config import load_curve
    from netsim.plugins import pinned_plugin, using

    check_jobs(args.jobs)
    path = Path(args.config)
    config = load_curve(path)
    report_unread(path, [config])
    with using(map(pinned_plugin, config.plugins)):
        return _run(config, path, args)


def _run(config: CurveConfig, path: Path, args: argparse.Namespace) -> int:
    import sys

    import numpy as np

    from experiments.build import build_machine
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
    from experiments.points import point_key
    from experiments.store import Store
    from experiments.sweep import run_points
    from netcosim.curve.output import summary, told, write
    from netcosim.curve.point import FUNCTION, node_bandwidth, sources

    node_bandwidth(machine.topology)
    for point in points:  # a mistake is told now
        sources(
            machine.topology, cast("dict[str, object]", point["curve"]), np.random.default_rng(0)
        )
    warning = buffer_warning(machine.topology, machine.packets)
    if warning is not None and launched_rank() == 0:
        print(f"netcosim: warning: {warning}", file=sys.stderr)
    out.mkdir(parents=True, exist_ok=True)
    store = out / STORE
    progress = not args.quiet
    done = run_points(FUNCTION, points, store, jobs=args.jobs, progress=progress)
    if done is None:
        return 0
    with Store(store, "read") as kept:
        found = {p.key for p in kept.points() if p.status == "done"}
        keys = [key for key in dict.fromkeys(map(point_key, points)) if key in found]
        rows = [row for key in keys for row in kept.rows(key, "curve")]
    for key, error in done.failed[:5]:
        print(f"failed: point {key[:12]}: {error}")
    if rows:
        import pandas as pd

        frame, bounds = pd.DataFrame(rows), _bounds(machine.topology)
        uniform = set(config.curve.traffic) <= {"uniform", "uniform-random"}
        ceiling = bounds.uniform_load if bounds is not None and uniform else None
        figure = write(out, "curve", frame, machine.topology.name, ceiling)
        print("\n".join([*told(summary(frame)), *(bounds.told() if bounds else ())]))
        print(f"{done.computed} points computed, {done.already} were stored; {figure}, curve.csv")
    return 1 if done.failed or len(keys) < len(points) else 0


def _bounds(topology: Topology) -> Bounds | None:
    """What its halves let through, where that can be worked out."""
    from netsim.analysis.bounds import bounds_of
    from netsim.errors import NetcosimError

    try:
        return bounds_of(topology)
    except NetcosimError:
        return None
