"""One module a subcommand: ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``.

A module is a subcommand by being here; the command's name is the module's, with dashes. Its
top level imports nothing heavy, since ``netcosim --help`` loads them all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from netsim.errors import NetcosimError
from netsim.text_numbers import whole_number

if TYPE_CHECKING:
    from netcosim.config.config import Config

Value = TypeVar("Value")
FORMATS = ("png", "svg", "pdf")


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


def number_of_processes(text: str) -> int:
    """Return a number of local processes that this machine bears."""
    from netcosim.executors.workers import check_jobs

    number = whole_number(text.removeprefix("-"))
    if number is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; must be a whole number")
    return _checked(-number if text.startswith("-") else number, check_jobs)


_RESAMPLES = (
    "logs that the queues are simulated on for intervals of waits; 0: none (default 200, or as "
    "many as have ten million jobs under all policies, but at least 20, or batch means of a long "
    "log; 0 where the queues are not compiled)"
)
_SUMMARY = "one page to forward, .pdf or .png: recommendation, main figure and table"
_OPTIONS: dict[str, dict[str, Any]] = {
    "jobs": {
        "type": number_of_processes,
        "default": 1,
        "metavar": "N",
        "help": "local processes (default %(default)s); they change no result",
    },
    "executor": {"type": valid_executor, "default": "", "metavar": "NAME[:ARGUMENT]"},
    "quiet": {"action": "store_true", "help": "no progress on stderr"},
    "json": {
        "action": "store_true",
        "dest": "as_json",
        "help": "print the recommendation and its effects as JSON (docs/results.md)",
    },
    "format": {
        "choices": FORMATS,
        "default": FORMATS[0],
        "help": "of the figures (default %(default)s)",
    },
    "summary": {"metavar": "FILE", "type": _summary_file, "help": _SUMMARY},
    "resamples": {"type": int, "metavar": "N", "help": _RESAMPLES},
}
"""Options that several commands have."""


def add_options(parser: argparse.ArgumentParser, *names: str, **defaults: object) -> None:
    """Add options of several commands by name, "jobs", ...; ``defaults`` replace the usual ones."""
    for name in names:
        option = {**_OPTIONS[name], **({"default": defaults[name]} if name in defaults else {})}
        if name == "executor":
            from netcosim.executors.registry import EXECUTORS

            ways = "; ".join(f"{way}: {entry.description}" for way, entry in EXECUTORS.items())
            option["help"] = f"who computes ({ways})"
        parser.add_argument(f"--{name}", **option)


def processes_beside(args: argparse.Namespace) -> int:
    """Return ``--jobs``, or 2 at least where others compute: points then use one thread."""
    from netcosim.executors.mpi import launched_by_mpi

    elsewhere = launched_by_mpi() or args.executor not in ("", "processes")
    return max(2, args.jobs) if elsewhere else int(args.jobs)


def names_in(text: str | None) -> tuple[str, ...]:
    """Return the parts of a list with commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


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


def check_resamples(config: Config, resamples: int | None) -> None:
    """Refuse a number of logs for a run whose queues cannot be simulated without its network."""
    from cosim.registry import RUNTIME_MODELS

    name = config.queue.run_time_model
    if resamples is not None and resamples < 0:
        raise NetcosimError(f"--resamples {resamples}; must be at least 0")
    if resamples and not RUNTIME_MODELS[name].fixed:
        fixed = ", ".join(n for n, model in RUNTIME_MODELS.items() if model.fixed)
        raise NetcosimError(
            f"--resamples {resamples}: run times change while jobs run under "
            f'queue.run_time_model = "{name}"; intervals of waits need one of {fixed}'
        )
