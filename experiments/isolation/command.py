"""Would isolation pay on your own log and fat-tree? A verdict within a time budget.

  netcosim isolation-gain CONFIG.toml --minutes 10 --jobs 2
  netcosim isolation-gain CONFIG.toml --predict          no packets, seconds; with its error
  netcosim isolation-gain CONFIG.toml --map --minutes 15 over load and share

The first policy of the config (or reference.policy) is what runs today; each other one that
isolates is compared with it. Queue runs yield the break-even gain; packet simulations, at one
instant after another, measure the gain. A run that was stopped, or whose time was used
before it could decide, continues with the same command.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

from netcosim.commands import add_options
from netsim.errors import NetcosimError

HELP = "would isolation pay on your own log and fat-tree?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim isolation-gain``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default netcosim-gain-CONFIG here"
    )
    add_options(parser, "jobs", "summary", "json", "quiet")
    parser.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        metavar="M",
        help="time budget in minutes (default 10)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--predict", action="store_true", help="estimate the gain without packets, in seconds"
    )
    what.add_argument(
        "--map",
        action="store_true",
        help="answer for four loads of the queue and three shares of communication",
    )


def run(args: argparse.Namespace) -> int:
    """Compute and report."""
    from dataclasses import replace

    from experiments.isolation.gain.config import load_gain_config
    from netcosim.announce import prepare_run

    if not (math.isfinite(args.minutes) and args.minutes > 0):
        raise NetcosimError(f"--minutes {args.minutes:g}; must be above 0")
    path = Path(args.config)
    requested = load_gain_config(path)
    for note in requested.notes:
        print(f"netcosim: {note}", file=sys.stderr)
    with requested.config.plugged():
        out = Path(args.out or f"netcosim-gain-{path.stem}")
        config = prepare_run(requested.config, out, args.jobs)
        # what they import takes a while and must not come before a word on compiling
        from experiments.isolation.gain.phase_map import IsolationMap
        from experiments.isolation.gain.study import IsolationGain
        from experiments.kit.study import run_study
        from experiments.kit.study_config import TimeBudget

        budget = TimeBudget(time.time(), args.minutes, args.jobs)
        requested = replace(requested, config=config)
        gain = IsolationGain(requested, budget, args.predict)
        study = IsolationMap(requested, budget) if args.map else gain
        options = {"summary": args.summary, "shown": not args.quiet, "as_json": args.as_json}
        run_study(study, out, args.jobs, **options)
    return 0
