"""One module a subcommand: ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``.

A module is a subcommand by being here; the command's name is the module's, with dashes. Its
top level imports nothing heavy, since ``netcosim --help`` loads them all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from netsim.errors import NetcosimError
from netsim.text_numbers import number_of, whole_number

Value = TypeVar("Value")
FORMATS = ("png", "svg", "pdf")


def add_jobs(parser: argparse.ArgumentParser, default: int = 1) -> None:
    """Add ``--jobs``, the number of local processes."""
    parser.add_argument(
        "--jobs",
        type=number_of_processes,
        default=default,
        metavar="N",
        help=f"local processes (default {default}); they change no result",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add ``--quiet``."""
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json",
        action="store_true",
        dest="as_json",
        help="print the recommendation and its effects as JSON (docs/results.md)",
    )


def add_format(parser: argparse.ArgumentParser, default: str = FORMATS[0]) -> None:
    """Add ``--format``, the kind of figure files."""
    parser.add_argument(
        "--format", choices=FORMATS, default=default, help=f"of the figures (default {default})"
    )


def add_summary(parser: argparse.ArgumentParser) -> None:
    """Add ``--summary``."""
    parser.add_argument(
        "--summary",
        metavar="FILE",
        type=_summary_file,
        help="one page to forward, .pdf or .png: recommendation, main figure and table",
    )


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, and ``--executor`` for workers elsewhere."""
    from netcosim.executors.registry import EXECUTORS

    add_jobs(parser)
    described = "; ".join(f"{entry.name}: {entry.description}" for entry in EXECUTORS.values())
    parser.add_argument(
        "--executor",
        type=valid_executor,
        default="",
        metavar="NAME[:ARGUMENT]",
        help=f"who computes ({described})",
    )


def processes_beside(args: argparse.Namespace) -> int:
    """Return ``--jobs``, or 2 at least where others compute: points then use one thread."""
    from netcosim.executors.mpi import launched_by_mpi

    elsewhere = launched_by_mpi() or args.executor not in ("", "processes")
    return max(2, args.jobs) if elsewhere else int(args.jobs)


def _checked(value: Value, check: Callable[[Value], object]) -> Value:
    """Return an option's value if it passes a check, before anything is computed."""
    try:
        check(value)
    except NetcosimError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return value


def valid_executor(text: str) -> str:
    """Return the value of ``--executor`` if it is one."""
    from netcosim.executors.registry import executor_entry

    return _checked(text, executor_entry) if text else text


def _summary_file(text: str) -> Path:
    from netcosim.report.summary import check_summary

    return _checked(Path(text), check_summary)


def names_in(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list with commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def numbers_in(option: str, text: str | None) -> tuple[float, ...]:
    """Return the numbers that an option was given; none if it was not."""
    numbers = tuple(n for n in map(number_of, (text or "").split(",")) if n is not None)
    if text is not None and len(numbers) <= text.count(","):
        raise NetcosimError(f"{option} {text}; must be numbers, 0.1,0.5")
    return numbers


def assignments(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return what an option of the form KEY=VALUE that may be repeated was given."""
    given = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise NetcosimError(f"{option} {text}: KEY=VALUE is needed")
        if key in given:
            raise NetcosimError(f"{option} {text}: {key} is given twice; give it once")
        given[key] = value
    return given


def number_of_processes(text: str) -> int:
    """Return a number of local processes that this machine bears."""
    from netcosim.executors.processes import check_jobs

    number = whole_number(text.removeprefix("-"))
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; must be a whole number")
    return _checked(-number if text.startswith("-") else number, check_jobs)


def add_resamples(parser: argparse.ArgumentParser) -> None:
    """Add ``--resamples``."""
    parser.add_argument(
        "--resamples",
        type=int,
        metavar="N",
        help="logs that the queues are simulated on for intervals of waits; 0: none (default 200, "
        "or as many as have ten million jobs under all policies, but at least 20; 0 where the "
        "queues are not compiled)",
    )
