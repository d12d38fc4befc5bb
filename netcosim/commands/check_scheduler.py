"""Check that an external scheduler keeps to the protocol.

netcosim check-scheduler ./my-scheduler
netcosim check-scheduler --time-limit "1 s" python3 easy.py --option
"""

from __future__ import annotations

import argparse

HELP = "run an external scheduler on small queues and report the first violation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim check-scheduler``."""
    limit = "for each answer (default: 10 s)"
    parser.add_argument("--time-limit", default="10 s", metavar="TIME", help=limit)
    parser.add_argument("program", metavar="COMMAND", help="the program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Print one line: the version, the number of decisions and their time."""
    from netsim.errors import NetcosimError
    from netsim.units import parse_quantity
    from queuesim.external.check import check_scheduler

    try:
        limit_s = parse_quantity(args.time_limit, "time")
    except NetcosimError as error:
        raise NetcosimError(f"--time-limit: {error}") from None
    if not limit_s > 0:
        raise NetcosimError(f"--time-limit {args.time_limit}; must be above 0")
    print(check_scheduler([args.program, *args.arguments], limit_s))
    return 0
