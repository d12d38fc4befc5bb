"""Measure what can be checked, here and now: one page, one table, a verdict for every row.

  netcosim validate                      all of our own groups
  netcosim validate --only flows,shapes
  netcosim validate ns3                  beside ns-3 (pip install "netcosim[ns3]")
  netcosim validate simgrid              beside SimGrid (Debian: python3-simgrid)

Writes validation.html, validation.csv and validation.json. The exit status is 1 if a row fails.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from netcosim.commands import add_options, names_in
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError

HELP = "measure closed forms, both engines and published numbers again, and judge them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim validate``."""
    parser.add_argument(
        "peer", nargs="?", metavar="PEER", help="another simulator to compare with: ns3, simgrid"
    )
    parser.add_argument(
        "--only", default="", metavar="GROUP,...", help="groups of rows; by default all"
    )
    parser.add_argument(
        "--scale",
        choices=("quick", "full"),
        default="full",
        help="quick: a few seconds; full: under two minutes (default)",
    )
    parser.add_argument(
        "--cases",
        type=int,
        default=100,
        metavar="N",
        help="random cases a family for the two engines; quick takes 5 at most (default: 100)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--python",
        default="",
        metavar="FILE",
        help="the interpreter that has the peer's package; by default looked for",
    )
    parser.add_argument("--out", default="netcosim-validate", metavar="FOLDER")
    add_options(parser, "format", "quiet", format="svg")


def run(args: argparse.Namespace) -> int:
    """Measure, write, print; status 1 if a row fails."""
    from experiments.validation.registry import chosen_groups
    from experiments.validation.row import Setting
    from netcosim.announce import compile_kernels
    from netcosim.kernel_parts import CROSSBARS, FLOWS, JOB_FLOWS, PACKETS

    for key, least, most in (("cases", 1, 100_000), ("seed", 0, 2**32 - 1)):
        if not least <= getattr(args, key) <= most:
            raise NetcosimError(f"--{key} {getattr(args, key)}; allowed: {least} to {most:,}")
    if args.python and args.peer is None:
        raise NetcosimError("--python is the interpreter of a peer; name one: ns3 or simgrid")
    groups = chosen_groups(args.peer, names_in(args.only))
    out = Path(args.out)
    need_folder(out)
    setting = Setting(scale=args.scale, seed=args.seed, cases=args.cases, python=args.python)
    for group in groups:
        group.need(setting)
    compile_kernels((*PACKETS.values(), CROSSBARS, JOB_FLOWS, FLOWS))
    # what it imports takes a while and must not come before a word on compiling
    from experiments.validation.page import lines_of, measure_groups, write_validation
    from experiments.validation.row import failed

    found, seconds = measure_groups(groups, setting, shown=not args.quiet)
    again = {"--seed": args.seed, "--scale": args.scale, "--cases": args.cases}
    written = write_validation(out, found, again, args.format)
    print("\n".join(lines_of(found, seconds)))
    print("\n".join(f"wrote {path}" for path in written))
    return 1 if failed(found) else 0
