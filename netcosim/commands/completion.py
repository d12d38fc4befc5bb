"""Print the completion of commands, options, names and files for a shell.

  netcosim completion bash > ~/.local/share/bash-completion/completions/netcosim
  netcosim completion zsh > ~/.zfunc/_netcosim          fpath+=~/.zfunc before compinit in ~/.zshrc
  netcosim completion fish > ~/.config/fish/completions/netcosim.fish

Start a new shell afterwards. Print it again after an update, and with --plugin FILE for names of
your own.
"""

from __future__ import annotations

import argparse
from typing import Any

from netsim.errors import NetcosimError

HELP = "print the completion for bash, zsh or fish"
SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "LOG", ".toml", ".db", ".csv", ".json", ".html", ".swf")
_NAMES = {
    ("list", "kind"): "",
    ("reproduce", "paper"): "papers",
    ("judge", "order"): "orders",
    ("judge", "backfill"): "backfills",
    ("trace", "kind"): "importers",
    ("trace", "known_log"): "logs",
}
"""Kind of the names that an argument takes, by command and argument; none: the kinds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim completion``."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise NetcosimError("completion: pip install 'netcosim[completion]'") from None

    from netcosim.cli import build_parser

    parser = build_parser()
    for command, sub in _subparsers(parser):
        _complete(command, sub)
    print(shtab.complete(parser, args.shell))
    return 0


def _subparsers(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    tables = [a.choices for a in parser._actions if isinstance(a.choices, dict)]
    return [pair for table in tables for pair in table.items()]


def _complete(command: str, parser: argparse.ArgumentParser) -> None:
    """Mark what takes files, folders or names; parts of the parser that only shtab reads."""
    import shtab

    from netcosim.catalogue import entries, kinds

    names = {kind: entries(kind) for kind in kinds()}
    for _, inner in _subparsers(parser):
        _complete(command, inner)
    for action in parser._actions:
        if action.choices is not None or action.metavar is None:
            continue
        marked: Any = action
        kind = _NAMES.get((command, action.dest))
        if kind is not None:
            action.choices = list(names[kind] if kind else names)
        elif (command, action.dest) == ("describe", "name"):
            action.choices = sorted({name for found in names.values() for name in found})
        elif any(word in str(action.metavar) for word in _FILES):
            marked.complete = shtab.FILE
        elif action.metavar in ("FOLDER", "DIR"):
            marked.complete = shtab.DIRECTORY
