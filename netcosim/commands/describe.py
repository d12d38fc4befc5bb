"""Describe a name: parameters and defaults, sizes, where it works.

netcosim describe jigsaw
netcosim describe queue.window
netcosim describe topology.conf
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "describe one name: parameters, defaults, sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim describe``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="a name that netcosim list shows, a config's key, or a machine's file",
    )
    what.add_argument("--all", action="store_true", help="every name with its keys, as Markdown")
    what.add_argument("--config", action="store_true", help="every key of a config, as Markdown")


def run(args: argparse.Namespace) -> int:
    """Print the entries of the name under every kind that has it, or the whole reference."""
    from netcosim.catalogue import reference
    from netcosim.config_reference import config_page

    if args.all:
        print("\n".join(reference()))
    elif args.config:
        print("\n".join(config_page()))
    else:
        print("\n".join(lines_of(args.name)))
    return 0


def lines_of(name: str) -> list[str]:
    """What is known of a name, of a machine's file, or else of a config's key.

    Raises
    ------
    NetcosimError
        None of them; near ones are listed. A file that cannot be read.
    """
    from netcosim.cached_names import cached_names
    from netcosim.catalogue import describe
    from netcosim.config_reference import config_keys, describe_key
    from netsim.errors import NetcosimError

    # registries that do not have the name need not be imported
    having = [kind for kind, names in cached_names().items() if name in names]
    path = Path(name)
    if path.is_file():
        from netcosim.machine_file import describe_file

        lines = describe_file(path)
        return [*describe(name, having), "", *lines] if having else lines
    if having:
        return describe(name, having)
    found = describe_key(name) if name else None
    if found is not None:
        return found
    if "." not in name:
        return describe(name)
    from difflib import get_close_matches

    close = get_close_matches(name, config_keys(), n=3, cutoff=0.6)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    raise NetcosimError(f"no config has a key {name!r}{meant} (see docs/config.md)")
