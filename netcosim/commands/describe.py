"""Describe a name: parameters and defaults, sizes, where it works.

netcosim describe jigsaw
netcosim describe queue.window
netcosim describe topology.conf
netcosim describe training --ranks 512 --set tp=8 --set pp=8 --set model=gpt3-175b
netcosim describe training-file w.0.et --ranks 8 --set gpu=h100 --machine machine.toml
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from netcosim.commands import assignments
from netsim.errors import NetcosimError

HELP = "describe one name: parameters, defaults, sizes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim describe``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="a name that netcosim list shows, a config's key, or a machine's file",
    )
    what.add_argument("--all", action="store_true", help="every name with its keys, as Markdown")
    what.add_argument("--config", action="store_true", help="every key of a config, as Markdown")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the file of a pattern that is read from one"
    )
    parser.add_argument(
        "--ranks",
        type=int,
        metavar="N",
        help="bytes and times of the pattern on so many ranks (default with FILE: its own)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="a parameter of the pattern, for --ranks",
    )
    parser.add_argument(
        "--bandwidth",
        metavar="SPEED",
        help="bus bandwidth of a rank, for --ranks (default: the machine's, or 400 Gbit/s)",
    )
    parser.add_argument(
        "--machine",
        metavar="FILE",
        help="a machine whose packets time the pattern, for --ranks: a preset, a .toml with "
        "[machine], or a machine's file",
    )


def run(args: argparse.Namespace) -> int:
    """Print the entries of the name under every kind that has it, or the whole reference."""
    from netcosim.catalogue import reference
    from netcosim.config.reference import config_page

    summed = args.ranks is not None or args.file is not None
    for option, given in (("--set", args.settings), ("--machine", args.machine)):
        if given and not summed:
            raise NetcosimError(f"{option} needs --ranks")
    if summed:
        settings = [*args.settings, *([] if args.file is None else [f"file={args.file}"])]
        lines = summary_of(args.name or "", args.ranks, args.bandwidth, settings, args.machine)
        print("\n".join(lines))
    elif args.all:
        print("\n".join(reference()))
    elif args.config:
        print("\n".join(config_page()))
    else:
        print("\n".join(lines_of(args.name)))
    return 0


def summary_of(
    name: str,
    n_ranks: int | None,
    bandwidth: str | None,
    settings: Sequence[str],
    machine: str | None = None,
) -> list[str]:
    """Return bytes and times of a pattern that describes itself; by default on its fewest ranks."""
    from netsim.units import parse_quantity
    from patterns.registry import PATTERNS

    describing = [key for key, pattern in PATTERNS.items() if pattern.summary is not None]
    summary = PATTERNS[name].summary if name in PATTERNS else None
    if summary is None:
        raise NetcosimError(f"--ranks: for {', '.join(describing)} only, not {name!r}")
    if n_ranks is not None and n_ranks < 1:
        raise NetcosimError(f"--ranks {n_ranks}; it must be at least 1")
    given = {k: toml_value(value) for k, value in assignments("--set", settings).items()}
    arguments = PATTERNS[name].arguments(given)
    n_ranks = n_ranks or PATTERNS[name].least_ranks(given)
    PATTERNS[name].check_ranks(n_ranks, given)
    if machine is None:
        speed = float(parse_quantity(bandwidth or "400 Gbit/s", "bandwidth"))
        packets = []
    else:
        from netcosim.machine_step import built_machine, nic_bandwidth, packet_lines

        built = built_machine(machine)
        speed = nic_bandwidth(built.topology)
        if bandwidth is not None:
            speed = float(parse_quantity(bandwidth, "bandwidth"))
        packets = packet_lines(name, n_ranks, built, given)
    if speed <= 0:
        raise NetcosimError(f"--bandwidth {bandwidth}; it must be above 0")
    return [*summary(n_ranks, speed, **arguments), *packets]


def toml_value(text: str) -> object:
    """Return a number or truth value as TOML spells it, or the text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def lines_of(name: str) -> list[str]:
    """Describe a name, a machine's file, or else a config's key."""
    from netcosim.catalogue import describe, entries, kinds
    from netcosim.config.reference import config_keys, describe_key
    from netsim.errors import meant

    # registries that do not have the name need not be imported
    having = [kind for kind in kinds() if name in entries(kind)]
    path = Path(name)
    if path.is_file():
        from netcosim.machine_file import describe_file, describe_machine
        from netcosim.machine_step import built_machine

        if path.suffix == ".toml":
            topology = built_machine(name).topology
            lines = [f"{path} (a machine's file)", *describe_machine(topology)]
        else:
            lines = describe_file(path)
        return [*describe(name, having), "", *lines] if having else lines
    if having:
        return describe(name, having)
    of_key = describe_key(name) if name else None
    if of_key is not None:
        return of_key
    if "." not in name:
        return describe(name)
    raise NetcosimError(
        f"no config has a key {name!r}{meant(name, config_keys(), 3)} (see docs/config.md)"
    )
