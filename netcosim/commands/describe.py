"""Tell all that is known of a name: parameters and defaults, sizes, where it works."""

from __future__ import annotations

import argparse

HELP = "tell all about one name: parameters, defaults, sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim describe``."""
    parser.add_argument("name", metavar="NAME", help="a name that netcosim list shows")


def run(args: argparse.Namespace) -> int:
    """Print the entries of the name under every kind that has it."""
    from experiments.catalogue import describe

    print("\n".join(describe(args.name)))
    return 0
