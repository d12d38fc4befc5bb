"""One module a subcommand: ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``.

A module is a subcommand by being here; the command's name is the module's, with dashes. Its
top level imports nothing heavy, since ``netcosim --help`` loads them all.
"""

from __future__ import annotations

import argparse


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, the number of local processes."""
    parser.add_argument(
        "--jobs", type=number_of_processes, default=1, metavar="N", help="local processes"
    )


def number_of_processes(text: str) -> int:
    """Return a number of local processes that this machine bears."""
    from experiments.executor import check_jobs
    from netsim.errors import NetcosimError

    try:
        check_jobs(int(text))
    except NetcosimError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return int(text)


def add_resamples(parser: argparse.ArgumentParser) -> None:
    """Add ``--resamples``."""
    parser.add_argument(
        "--resamples",
        type=int,
        metavar="N",
        help="logs that the queues are simulated on for intervals of waits; 0: none (default 200 "
        "where the queues are compiled, else 0)",
    )
