"""Command-line parsers whose mistakes are one line that names the nearest command or option."""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import Any, NoReturn

from netsim.errors import NetcosimError

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
