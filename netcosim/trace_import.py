"""``netcosim trace import KIND FILE``: a scheduler's log made into a table of jobs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcosim.cli import Parser
from netsim.errors import NetcosimError, need_name

if TYPE_CHECKING:
    from netsim.parameters import Parameter
    from workloads.importers.entry import Importer


def import_parser(importer: Importer) -> argparse.ArgumentParser:
    """Build the command line of one kind from what its reader declares."""
    parser = Parser(prog=f"netcosim trace import {importer.name}", description=importer.description)
    parser.add_argument("file", metavar="FILE", help="gzipped or not; - for a pipe, with --out")
    parser.add_argument(
        "--out", metavar="JOBS.csv", help="the table; FILE with the ending .csv by default"
    )
    for parameter in importer.parameters.values():
        parser.add_argument(
            f"--{parameter.name.replace('_', '-')}",
            metavar="A=B,..." if parameter.is_list else "VALUE",
            help=parameter.help_text.replace("%", "%%"),
        )
    return parser


def given_parameters(
    given: Mapping[str, str | None], known: Mapping[str, Parameter]
) -> dict[str, Any]:
    """Convert words of the command line to values of their kinds; non-numbers stay words."""
    found: dict[str, Any] = {}
    for name, parameter in known.items():
        word = given[name]
        if word is None:
            continue
        if parameter.is_list:
            found[name] = [part.strip() for part in word.split(",")]
        elif parameter.kind is str:
            found[name] = word
        else:
            found[name] = _plain(word)
    return found


def _plain(word: str) -> object:
    """Convert a number or a truth value."""
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def run_import(kind: str, rest: Sequence[str]) -> int:
    """Read the log, write the table, print what was left out."""
    from netcosim.log_input import STDIN, log_file
    from netcosim.log_summary import summary_lines
    from workloads.csv_jobs import write_csv
    from workloads.formats import is_csv
    from workloads.importers.registry import IMPORTERS, import_log

    need_name("importer", kind, IMPORTERS)
    importer = IMPORTERS[kind]
    args = import_parser(importer).parse_args(list(rest))
    if args.file == STDIN and args.out is None:
        raise NetcosimError("--out JOBS.csv is needed where the log comes through a pipe")
    out = args.out or _beside(args.file)
    if not is_csv(out):
        raise NetcosimError(f"--out {out}; the table's name must end in .csv or .csv.gz")
    if args.file != STDIN and Path(out).exists() and Path(out).samefile(args.file):
        raise NetcosimError(f"--out {out} is the log itself; give another name")
    with log_file(args.file) as log:
        jobs = import_log(kind, log, given_parameters(vars(args), importer.parameters))
    write_csv(jobs, out)
    print(f"{out}: {len(jobs):,} jobs written")
    print("\n".join(summary_lines(jobs)))
    return 0


def _beside(file: str) -> str:
    """Return the table's default name: jobs.csv for jobs.txt and for jobs.csv.gz."""
    name = file.removesuffix(".gz")
    stem = Path(name).stem if Path(name).suffix else name
    return str(Path(name).with_name(f"{Path(stem).name}.csv"))
