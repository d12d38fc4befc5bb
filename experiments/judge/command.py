"""Does a scheduler's topology setting pay? A log, a machine and policies to one page.

netcosim judge --log sacct.txt --machine topology.conf --policies slurm-tree,random --out judged

A run that was stopped goes on from the parts that it has done: the same command again. The results
do not depend on the number of processes.

The first policy is what the others are compared with: what runs today. First the simulated queue
is compared with the waits of the log; packets measure what placement does to communication, the
queue is run again with what that does to run times, and the number of switches a job, which
operators count, is held against the times that were measured. What jobs send is not in a log: it
is assumed, printed on the page, and can be set in a config. With --gpus-per-node jobs count GPUs,
which are assumed to train models.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.kit.options import numbers_in
from netcosim.commands import add_options, names_in, processes_beside

HELP = "does a topology setting pay? a log, a machine and policies to one page"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim judge``."""
    parser.add_argument("--log", metavar="FILE", help="a job log (netcosim trace reads the same)")
    parser.add_argument(
        "--machine",
        metavar="FILE",
        help="a file that describes it, a .toml with [machine], or a preset's name",
    )
    parser.add_argument(
        "--policies", metavar="A,B,...", help="the first is what the others are compared with"
    )
    parser.add_argument(
        "--config", metavar="CONFIG.toml", help="settings without a flag; flags take precedence"
    )
    parser.add_argument("--out", default="netcosim-judge", metavar="FOLDER")
    add_options(parser, "jobs", "executor", "summary", "json", "quiet")
    parser.add_argument("--bandwidth", metavar="BW", help='of every link, "100 Gbit/s"')
    parser.add_argument(
        "--taper", type=float, help="bandwidth up for what comes from below a switch"
    )
    parser.add_argument(
        "--gpus-per-node", type=int, metavar="G", help="jobs count GPUs; the file's nodes have G"
    )
    parser.add_argument("--first-jobs", type=int, metavar="N", help="only the log's first N jobs")
    parser.add_argument("--days", type=float, metavar="D", help="only the log's first D days")
    parser.add_argument("--month", metavar="YYYY-MM", help="one month of the log (UTC)")
    parser.add_argument("--bad-lines", help="lines of the log that are not sound: refuse or drop")
    parser.add_argument("--order", help="of the queue (netcosim list orders; default fcfs)")
    parser.add_argument("--backfill", help="netcosim list backfills; default easy")
    parser.add_argument("--snapshots", type=int, metavar="N", help="instants measured (default 20)")
    parser.add_argument(
        "--fractions",
        metavar="F,F,...",
        help="shares of the run time in communication at which all is measured again "
        "(default 0.1,0.5)",
    )
    parser.add_argument("--seed", type=int, help="default 1")


def run(args: argparse.Namespace) -> int:
    """Compute and report."""
    from dataclasses import fields, replace

    from experiments.judge.config import Flags, load_judge_config
    from netcosim.announce import prepare_run

    given = {flag.name: getattr(args, flag.name) for flag in fields(Flags)}
    given |= {
        "policies": names_in(args.policies),
        "fractions": numbers_in("--fractions", args.fractions),
    }
    requested = load_judge_config(
        Flags(**given), None if args.config is None else Path(args.config)
    )
    with requested.config.plugged():
        out = Path(args.out)
        config = prepare_run(requested.config, out, processes_beside(args))
        # what they import takes a while and must not come before a word on compiling
        from experiments.judge.study import Judge
        from experiments.kit.study import run_study

        judge = Judge(replace(requested, config=config))
        options = {"summary": args.summary, "shown": not args.quiet, "as_json": args.as_json}
        run_study(judge, out, args.jobs, args.executor, **options)
    return 0
