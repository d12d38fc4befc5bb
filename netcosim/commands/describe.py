"""Tell all that is known of a name: parameters and defaults, sizes, where it works."""

from __future__ import annotations

import argparse

HELP = "tell all about one name: parameters, defaults, sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim describe``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("name", metavar="NAME", nargs="?", help="a name that netcosim list shows")
    what.add_argument("--all", action="store_true", help="every name with its keys, as Markdown")


def run(args: argparse.Namespace) -> int:
    """Print the entries of the name under every kind that has it, or the whole reference."""
    from netcosim.catalogue import describe, reference
    from netcosim.kept_names import kept_names

    # registries that do not have the name need not be imported
    having = [kind for kind, names in kept_names().items() if args.name in names]
    print("\n".join(reference() if args.all else describe(args.name, having or None)))
    return 0
