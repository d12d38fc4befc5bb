"""The command ``netcosim``: finds subcommands, runs one, tells mistakes in one line."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.mpi import launched_rank
from netsim.errors import NetcosimError

PROGRAM = "netcosim"
_COMMANDS = Path(__file__).resolve().parent / "commands"

# Shown first in the help, in this order; others follow by name.
_FIRST = ("demo", "run", "sweep", "reproduce", "list", "describe", "trace", "report", "warmup")


def version() -> str:
    """The installed distribution's version; "unknown" for a source tree that is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(PROGRAM)
    except PackageNotFoundError:
        return "unknown"


def command_names() -> list[str]:
    """Every subcommand, in the order of the help."""
    found = {p.stem.replace("_", "-") for p in _COMMANDS.glob("[a-z]*.py")}
    return [n for n in _FIRST if n in found] + sorted(found - set(_FIRST))


class _Version(argparse.Action):
    """Reads the version only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        print(f"{PROGRAM} {version()}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser with all subcommands."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Job logs, placement policies and packet-level network contention in one loop.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in command_names():
        module = importlib.import_module(f"experiments.commands.{name.replace('-', '_')}")
        sub = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    0 for success, 1 for a run that found failures, 2 for a user's mistake, 130 for Ctrl-C.
    Under MPI only rank 0 prints.
    """
    args = build_parser().parse_args(arguments)
    try:
        status: int = args.run(args)
        # Here, so that a closed pipe is noticed where it is handled.
        sys.stdout.flush()
    except NetcosimError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone; the interpreter must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except RuntimeError as error:
        # A deadlocked network or a stuck program: the model's finding, told in one line. Known
        # by its module, which is too heavy to import for this.
        if type(error).__module__ != "netsim.packet.model":
            raise
        _say("error: " + " ".join(str(error).split()))
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    return status


def _fail(message: str) -> int:
    _say("error: " + " ".join(message.split()))
    return 2


def _say(message: str) -> None:
    if launched_rank() == 0:
        print(f"{PROGRAM}: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
