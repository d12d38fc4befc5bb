"""The command ``netcosim``: finds subcommands, runs one, reports errors in one line."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import re
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, TextIO

from netcosim import __version__
from netcosim.package_check import foreign_package, has_study, study_module
from netsim.errors import NetcosimError

_FOREIGN = foreign_package()
if _FOREIGN is not None:
    # before their first import, which would end in a traceback
    print(f"netcosim: error: {_FOREIGN}", file=sys.stderr)
    sys.exit(2)

from netcosim.executors.mpi import launched_rank  # noqa: E402
from netcosim.stopping import Stopped, close_pipes, open_streams, stoppable  # noqa: E402
from netsim.errors import ModelWarning, one_line, warning_once  # noqa: E402
from netsim.limits import memory_bytes, shown_bytes  # noqa: E402

PROGRAM = "netcosim"
_KEEPS_POINTS = ("bench-rl", "curve", "judge", "sweep", "reproduce")
_ROOT = Path(__file__).resolve().parents[1]
# Studies that are commands of their own; a folder that is deleted is a command less.
_STUDIES = {
    "bench": "benchmarks",
    "bench-rl": "learning",
    "curve": "curve",
    "isolation-gain": "isolation",
    "judge": "judge",
    "match": "machines",
    "reproduce": "kit",
    "validate": "validation",
}

# Shown first in the help, in this order; others follow by name.
_FIRST = (
    *("demo", "judge", "run", "sweep", "reproduce", "curve", "list", "describe", "trace"),
    *("merge", "report", "validate", "bench", "bench-rl", "warmup"),
)


def command_names() -> list[str]:
    """Return every subcommand, in the order of the help."""
    commands = _ROOT / "netcosim" / "commands"
    found = {p.stem.replace("_", "-") for p in commands.glob("[a-z]*.py")}
    found |= {command for command, study in _STUDIES.items() if has_study(study)}
    return [n for n in _FIRST if n in found] + sorted(found - set(_FIRST))


def build_parser(
    commands: Sequence[str] | None = None, *, options: bool = True
) -> argparse.ArgumentParser:
    """Return the parser with these subcommands, or all, with their options or their names alone.

    Importing a command and building its options takes time.
    """
    parser = Parser(
        prog=PROGRAM,
        description="Job logs, placement policies and packet-level network contention in one loop.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in command_names() if commands is None else commands:
        module = command(name)
        sub = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if not options:
            continue
        module.add_arguments(sub)
        sub.add_argument(
            "--plugin",
            action="append",
            default=[],
            metavar="FILE",
            help="a Python file or module with user-defined entries; may be given several times",
        )
        sub.set_defaults(run=module.run)
    return parser


def command(name: str) -> ModuleType:
    """Import the module of a subcommand."""
    if name in _STUDIES:
        return study_module(f"experiments.{_STUDIES[name]}.command")
    return importlib.import_module(f"netcosim.commands.{name.replace('-', '_')}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    0 for success, 1 for a run that found failures, 2 for a user's mistake, 130 for Ctrl-C, 143
    for SIGTERM, 141 for a closed pipe. Under MPI only rank 0 prints.
    """
    open_streams()
    # what is imported stays: looking through it for garbage takes a tenth of a short run, and once
    # more at its end
    gc.set_threshold(200_000, 20, 20)
    atexit.register(gc.freeze)
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        with stoppable():
            return _run(given)
    except Stopped as stop:
        stored = given[:1] and given[0] in _KEEPS_POINTS
        what = "; what was computed is stored, the same command goes on from there"
        _say(f"{stop.word}{what if stored else ''}")
        return stop.status
    except BrokenPipeError:
        close_pipes()
        return 141


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning: netcosim's as one line."""
    text = warnings.formatwarning(message, category, filename, lineno, line)
    shown = f"{PROGRAM}: warning: {message}\n" if issubclass(category, ModelWarning) else text
    (file or sys.stderr).write(shown)


def _run(given: Sequence[str]) -> int:
    try:
        _check_environment()
        plugin = Parser(prog=PROGRAM, add_help=False)  # anywhere in a command line
        plugin.add_argument("--plugin", action="append", default=[])
        named, rest = plugin.parse_known_args(given)
        names_alone = rest[:1] in (["--help"], ["-h"])
        args = build_parser(_needed_commands(rest), options=not names_alone).parse_args(rest)
        # after the parser: --help and --version do without it
        from netcosim.executors.mpi import launched_rank
        from netsim.plugins import installed_plugins, load_plugin, using

        plugins = (*installed_plugins(), *map(load_plugin, named.plugin))
        with using(plugins), warning_once(), warnings.catch_warnings():
            warnings.simplefilter("ignore" if launched_rank() else "always", ModelWarning)
            warnings.showwarning = _show_warning
            status: int = args.run(args)
        # Here, so that a closed pipe is noticed where it is handled.
        sys.stdout.flush()
    except NetcosimError as error:
        return _fail(str(error))
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        return _fail(
            f"out of memory{detail}: this needs more than the {shown_bytes(memory_bytes())} that "
            "are here; a smaller machine, fewer jobs, ranks or bytes help"
        )
    except RecursionError:
        return _fail("the input is nested too deeply")
    except (BrokenPipeError, Stopped):
        raise
    except RuntimeError as error:
        # A deadlocked network is the model's finding; a program that waits for ever is a mistake
        # in its schedule. Known by module and name: too heavy to import for this.
        if type(error).__module__ != "netsim.packet.model":
            raise
        if type(error).__name__ == "ProgramStuckError":
            return _fail(str(error))
        _say("error: " + " ".join(str(error).split()))
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    return status


def _needed_commands(given: Sequence[str]) -> Sequence[str] | None:
    """Return the subcommands that a command line needs parsers for; None for all."""
    if given[:1] == ["--version"]:
        return []
    return given[:1] if given[:1] and given[0] in command_names() else None


def _check_environment() -> None:
    """Raise NetcosimError for a variable on which Numba's import would end in a traceback."""
    given = os.environ.get("NUMBA_NUM_THREADS")
    if given is not None and not re.fullmatch("0*[1-9][0-9]{0,5}", given.strip()):
        raise NetcosimError(
            f"environment variable NUMBA_NUM_THREADS = {given!r}; it must be a whole number from "
            "1 to 999999, or unset"
        )


def _fail(message: str) -> int:
    # line breaks and escape sequences of foreign files do not reach the terminal
    _say(f"error: {one_line(message, 1000)}")
    return 2


def _say(message: str) -> None:
    if launched_rank() == 0:
        try:
            print(f"{PROGRAM}: {message}", file=sys.stderr, flush=True)
        except BrokenPipeError:
            close_pipes()


RENAMED = {
    "--figures": "--format",
    "--first": "--first-jobs",
    "--folder": "--out",
    "--html": "--out",
    "--jobs": "--n-jobs",
    "--json": "--out",
    "--store": "--out",
}
"""Options of earlier versions, and their names today."""

_UNKNOWN = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)")


def _plain_number(kind: type, text: str) -> Any:
    """Return the number that a word is; no thousands by underscore, no digits of other scripts."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return kind(text)


class Parser(argparse.ArgumentParser):
    """A parser that raises NetcosimError, and takes options by their full names alone."""

    def __init__(self, **settings: Any) -> None:
        # argparse makes subparsers itself, of this class and with settings of its own
        super().__init__(**{"allow_abbrev": False, **settings})
        for kind in (int, float):
            self.register("type", kind, partial(_plain_number, kind))

    def error(self, message: str) -> NoReturn:
        """Raise NetcosimError instead of printing the usage."""
        subs = self._subcommands()
        prog = subs[0].prog if len(subs) == 1 else self.prog
        raise NetcosimError(f"{message}{self._hint(message)} (see {prog} --help)")

    def options(self) -> list[str]:
        """Return the options of this parser and of its subcommands."""
        mine = [name for action in self._actions for name in action.option_strings]
        return [*mine, *(name for sub in self._subcommands() for name in sub.options())]

    def _subcommands(self) -> list[Parser]:
        tables = [a.choices for a in self._actions if isinstance(a.choices, dict)]
        return [sub for table in tables for sub in table.values()]

    def _hint(self, message: str) -> str:
        """Return a suggestion for a word that the parser does not know."""
        from netsim.errors import meant

        unknown = _UNKNOWN.search(message)
        if unknown is not None:
            return meant(unknown[1], re.findall(r"[\w-]+", unknown[2]))
        options = self.options()
        if not message.startswith("unrecognized arguments:"):
            return ""
        for word in message.split()[2:]:
            option = word.partition("=")[0]
            if RENAMED.get(option) in options:
                return f"; {option} is now {RENAMED[option]}"
            if option.startswith("--"):
                names = {name.lstrip("-") for name in options}
                return meant(option.lstrip("-"), names).replace("mean ", "mean --")
        return ""
