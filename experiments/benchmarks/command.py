"""Measure how fast this machine runs packets, flows, queues and all around them.

  netcosim bench
  netcosim bench --full --out speed.json

Every measurement is repeated; the table has the best round, the median above it, and the CPU
time. Below the table are ratios to other simulators, whose rates were recorded on a machine like
that of docs/speed.md. An idle machine gives the best answers.
"""

from __future__ import annotations

import argparse

from netcosim.commands import add_options
from netsim.errors import NetcosimError

HELP = "measure how fast this machine runs all of it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim bench``."""
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--quick", action="store_true", help="under a minute (this is the default)")
    much.add_argument("--full", action="store_true", help="all of it, some ten minutes")
    parser.add_argument(
        "--only", metavar="NAME", help="one measurement or part: size, tick, flows, loop, ..."
    )
    parser.add_argument("--out", metavar="FILE.json", help="write all that was measured here, too")
    add_options(parser, "quiet")


def run(args: argparse.Namespace) -> int:
    """Measure, print, and store if requested; 1 if something could not be measured."""
    import json
    import sys
    from functools import partial
    from pathlib import Path

    from experiments.benchmarks.case import FULL, QUICK, measure
    from experiments.benchmarks.fork import in_fork
    from experiments.benchmarks.host import this_host
    from experiments.benchmarks.registry import chosen
    from experiments.benchmarks.table import head, line, report, summary
    from netcosim.announce import compile_kernels
    from netsim.atomic_files import make_folder, need_folder, need_regular, write_text_atomically

    target = None if args.out is None else Path(args.out)
    if target is not None:
        need_regular(target)
        need_folder(target.parent)
    cases = chosen(args.full, args.only)
    # in another process, whose memory does not count
    in_fork(compile_kernels)
    host, patience = this_host(), FULL if args.full else QUICK
    print("\n".join([*host.lines(), "", head()]), flush=True)
    readings = []
    for number, case in enumerate(cases, start=1):
        if not args.quiet:
            print(f"netcosim: {number} of {len(cases)}: {case.name}", file=sys.stderr, flush=True)
        try:
            readings.append((case, in_fork(partial(measure, case, patience))))
        except NetcosimError as error:
            # report the others
            print(f"{case.name}: {error}", flush=True)
            continue
        print(line(*readings[-1]), flush=True)
    print("\n".join(["", *summary(readings)]))
    if target is not None:
        make_folder(target.parent)
        write_text_atomically(target, f"{json.dumps(report(host, readings), indent=1)}\n")
    return 0 if len(readings) == len(cases) else 1
