"""Check that an external scheduler keeps to the protocol.

netcosim check-scheduler ./my-scheduler
netcosim check-scheduler --time-limit 1 python3 easy.py --option
"""

from __future__ import annotations

import argparse

from netsim.errors import NetcosimError

HELP = "run an external scheduler on small queues and report the first violation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim check-scheduler``."""
    limit = "for each answer (default: 10)"
    parser.add_argument("--time-limit", type=float, default=10.0, metavar="SECONDS", help=limit)
    parser.add_argument("program", metavar="COMMAND", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Print one line: the version, the number of decisions and their time."""
    from queuesim.external.check import check_scheduler

    if not args.time_limit > 0:
        raise NetcosimError(f"--time-limit {args.time_limit:g}; must be above 0")
    print(check_scheduler([args.program, *args.arguments], args.time_limit))
    return 0
