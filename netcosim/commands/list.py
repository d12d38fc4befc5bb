"""List what a config can name: topologies, machines, routings, policies, patterns, ..."""

from __future__ import annotations

import argparse

HELP = "list topologies, machines, routings, policies, patterns, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim list``."""
    parser.add_argument(
        "kind", metavar="KIND", nargs="?", help="what to list; all kinds if left out"
    )


def run(args: argparse.Namespace) -> int:
    """Print names with one line of description each."""
    from netcosim.catalogue import KINDS, entries, kinds
    from netsim.plugins import source_of

    if args.kind is None:
        for kind in kinds():
            print(f"netcosim list {kind:<16} {len(entries(kind)):>3} entries")
        return 0
    listed = entries(args.kind)
    width = max((len(name) for name in listed), default=0)
    for name, description in listed.items():
        source = source_of(KINDS[args.kind].registry, name)
        print(f"{name:<{width}}  {description}{f' ({source.label})' if source else ''}")
    return 0
