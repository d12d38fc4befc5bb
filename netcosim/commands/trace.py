"""Look at job logs, import those of schedulers, convert them and make synthetic ones.

netcosim trace info LOG
zcat LOG.gz | netcosim trace info -
netcosim trace import sacct sacct.txt --out jobs.csv --timezone Europe/Berlin
netcosim trace convert LOG --out OUT.swf.gz --first-jobs 1000 --size-factor 0.5
netcosim trace convert ARCHIVE/traces.otf2 --out FILE.goal
netcosim trace generate --out OUT.swf --n-jobs 1000 --mean-nodes 16 --seed 1
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.job import Workload

from netsim.errors import NetcosimError

HELP = "look at, import, convert or generate a job log"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim trace``."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="sizes, times and what was left out")
    _add_reading(info)
    imports = actions.add_parser(
        "import", help="make a table of a scheduler's log (netcosim list importers)"
    )
    imports.add_argument("kind", metavar="KIND", help="sacct, pbs, ...: netcosim list importers")
    imports.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="FILE [--out JOBS.csv] ...",
        help="netcosim trace import KIND --help lists the options of a kind",
    )
    convert = actions.add_parser(
        "convert", help="read, filter, scale and write; a recorded MPI run (OTF2) to GOAL"
    )
    _add_reading(convert)
    convert.add_argument(
        "--out", required=True, metavar="FILE", help="OUT.swf[.gz]; OUT.goal of a recorded MPI run"
    )
    convert.add_argument("--first-jobs", type=int, metavar="N", help="keep the first N jobs")
    convert.add_argument("--arrival-factor", type=float, default=1.0, metavar="X")
    convert.add_argument("--size-factor", type=float, default=1.0, metavar="X")
    convert.add_argument("--all-at-zero", action="store_true", help="submit all jobs at time 0")
    recorded = convert.add_argument_group("of convert ARCHIVE/traces.otf2")
    compute = recorded.add_mutually_exclusive_group()
    compute.add_argument(
        "--no-compute", action="store_true", help="without the time between MPI calls"
    )
    compute.add_argument(
        "--compute-scale", type=float, metavar="X", help="with that time X times as long"
    )
    recorded.add_argument(
        "--leave-out", metavar="A,B", help="collectives that cannot be converted and may be missing"
    )
    generate = actions.add_parser("generate", help="synthetic jobs as in the LaaS paper")
    generate.add_argument("--out", required=True, metavar="OUT.swf[.gz]")
    generate.add_argument("--n-jobs", type=int, default=1000, metavar="N")
    generate.add_argument("--mean-nodes", type=float, default=16.0, metavar="X")
    generate.add_argument("--load", type=float, metavar="X", help="arrivals for this utilisation")
    generate.add_argument("--machine-nodes", type=int, metavar="N", help="goes with --load")
    generate.add_argument("--seed", type=int, default=1, metavar="N")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "log",
        metavar="LOG",
        help="an SWF file, a table (.csv), or a scheduler's; gzipped or not; - for a pipe",
    )
    parser.add_argument("--known-log", metavar="NAME", help="a name of netcosim list logs")
    parser.add_argument(
        "--processors-per-node",
        type=int,
        metavar="N",
        help="1 where the log counts nodes; by default from the known log or the header",
    )
    parser.add_argument("--max-nodes", type=int, metavar="N", help="leave larger jobs out")


_OF_LOGS = {
    "known_log": None,
    "processors_per_node": None,
    "max_nodes": None,
    "first_jobs": None,
    "arrival_factor": 1.0,
    "size_factor": 1.0,
    "all_at_zero": False,
}
_OF_RECORDED = {"no_compute": False, "compute_scale": None, "leave_out": None}


def _refuse(args: argparse.Namespace, others: Mapping[str, object], what: str) -> None:
    """Raise where an option of the other kind of conversion is given."""
    for name, default in others.items():
        if getattr(args, name) != default:
            option = name.replace("_", "-")
            raise NetcosimError(f"--{option}: trace convert has no such option for {what}")


def run(args: argparse.Namespace) -> int:
    """Run the action."""
    if args.action == "import":
        from netcosim.trace_import import run_import

        return run_import(args.kind, args.rest)
    if args.action == "convert" and args.log.endswith(".otf2"):
        return _convert_otf2(args)
    if args.action == "convert":
        _refuse(args, _OF_RECORDED, "a job log")
    if args.action == "generate":
        return _generate(args)
    from netcosim.log_input import log_file

    with log_file(args.log) as log:
        if args.action == "info":
            return _info(args, log)
        return _write(_jobs(args, log, (*_READING, *_CHANGING)), args.out)


def _convert_otf2(args: argparse.Namespace) -> int:
    """Write a recorded MPI run as a schedule; print what it contains and what it lacks."""
    from math import isfinite

    from netsim.files import write_text
    from netsim.optional import optional_module

    _refuse(args, _OF_LOGS, "a recorded MPI run")
    reader = optional_module("patterns.importers.otf2_archive")
    if reader is None:
        raise NetcosimError("trace convert of OTF2: the folder patterns/importers has been deleted")
    scale = 1.0 if args.compute_scale is None else args.compute_scale
    if not (isfinite(scale) and scale >= 0):
        raise NetcosimError(f"--compute-scale {scale}; it must be a number of 0 or more")
    left_out = (name.strip().lower() for name in (args.leave_out or "").split(","))
    names = tuple(name for name in left_out if name)
    schedule = reader.otf2_goal(args.log, 0.0 if args.no_compute else scale, names)
    write_text(args.out, schedule.text)
    print(
        f"{args.out}: {schedule.n_ranks:,} ranks, {schedule.n_messages:,} messages, "
        f"{schedule.n_bytes:,} bytes"
    )
    print(f"  {schedule.compute_ns * 1e-9:.6g} s of computing on all ranks together")
    kinds = ", ".join(f"{name} {n:,}" for name, n in sorted(schedule.collectives.items()))
    print(f"  collectives in these messages: {kinds or 'none'}")
    for reason, n in sorted(schedule.left_out.items()):
        print(f"  left out: {n:,} {reason}")
    return 0


def _generate(args: argparse.Namespace) -> int:
    from netcosim.runs.points import point_rng
    from workloads.synthetic import job_count_error, laas_workload

    if args.seed < 0:
        raise NetcosimError(f"--seed {args.seed}; it must be 0 or more")
    wrong = job_count_error(args.n_jobs)
    if wrong is not None:
        raise NetcosimError(f"--n-jobs {wrong}")
    rng = point_rng({"seed": args.seed}, "workload")
    return _write(
        laas_workload(
            args.n_jobs, args.mean_nodes, rng, load=args.load, machine_nodes=args.machine_nodes
        ),
        args.out,
    )


def _info(args: argparse.Namespace, log: str) -> int:
    from netcosim.log_summary import summary_lines

    jobs = _jobs(args, log, _READING)
    print("\n".join([*summary_lines(jobs), *header_lines(log)]))
    return 0


_READING = ("known_log", "processors_per_node", "max_nodes")
_CHANGING = ("first_jobs", "arrival_factor", "size_factor", "all_at_zero")


def _jobs(args: argparse.Namespace, log: str, names: Sequence[str]) -> Workload:
    """Read the log's jobs with the options of these names.

    It avoids the config's checks, which take longer to import than a small log to read.
    """
    import numpy as np

    from workloads.source import JobSource

    given = {name: getattr(args, name) for name in names}
    given = {name: value for name, value in given.items() if value != _OF_LOGS[name]}
    if given:
        from netsim.parameters import checked

        checked(f"trace {args.action}", JobSource, given)
    source = JobSource(log=log, **given)
    return source.jobs(int(np.iinfo(np.int32).max), np.random.default_rng(0))


def _write(jobs: Workload, out: str) -> int:
    from netcosim.log_summary import left_out_and_notes
    from workloads.swf import write_swf

    write_swf(jobs, out)
    print(f"{out}: {len(jobs):,} jobs written")
    print("".join(f"  {line}\n" for line in left_out_and_notes(jobs)), end="")
    return 0


def header_lines(log: str) -> list[str]:
    """Describe the machine by the header of a log in SWF; nothing for a table."""
    from workloads.formats import format_of
    from workloads.swf import read_swf_header

    if not format_of(log).counts_processors:
        return []
    header = read_swf_header(log)
    numbers = {"MaxNodes": header.max_nodes, "MaxProcs": header.max_procs}
    values = ", ".join(f"{k} {'not given' if v is None else v}" for k, v in numbers.items())
    return [f"  header: {values}"]
