"""``netcosim match``: outputs of benchmarks beside simulations of the same tests."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.commands import assignments
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError

if TYPE_CHECKING:
    from experiments.machines.match.rows import Row

HELP = "compare a machine's description with outputs of OSU, GPCNeT, nccl-tests, mpiGraph; fit it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim match``."""
    parser.add_argument("machine", metavar="MACHINE.toml", help="with a section [machine]")
    parser.add_argument("files", metavar="FILE", nargs="+", help="what a benchmark printed, or CSV")
    parser.add_argument("--nodes", type=int, metavar="N", help="of outputs that do not print them")
    parser.add_argument("--ranks", type=int, metavar="N", help="the same; by default one a node")
    parser.add_argument(
        "--where", action="append", default=[], metavar="COLUMN=TEXT",
        help="only rows of CSV with this text; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--algorithm", action="append", default=[], metavar="OPERATION=NAME",
        help="where outputs name none; by default as MPICH chooses; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--fit", action="store_true",
        help="fit the end points on rows of one pair and judge by the other rows",
    )  # fmt: skip
    parser.add_argument("--output", metavar="FILE.toml", help="with --fit: the fitted machine")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default match-MACHINE in this folder"
    )


def run(args: argparse.Namespace) -> int:
    """Read, simulate, fit, print and write."""
    from experiments.machines.match.fit import explaining, fit, match_all
    from experiments.machines.match.machine import load_match
    from experiments.machines.match.report import (
        details,
        fitted_lines,
        frame_of,
        judged,
        machine_text,
        page_text,
        recommend,
        row_table,
    )
    from netcosim.announce import compile_kernels
    from netcosim.kernel_parts import PACKETS
    from netcosim.report.page import write_page
    from netcosim.runs.points import PAGE_FILE
    from netsim.atomic_files import write_text_atomically
    from netsim.files import read_text
    from netsim.inputs import file_digest
    from netsim.packet.routing_tables import tables_class

    if args.output and not args.fit:
        raise NetcosimError("--output is the fitted machine; add --fit")
    algorithms = _algorithms(args)
    path = Path(args.machine)
    described, raw = load_match(path)
    out = Path(args.out or f"match-{path.stem}")
    need_folder(out)
    rows = _rows(args)
    compile_kernels([PACKETS[tables_class(described.routing, described.packets()).__name__]])
    machine, fitted = fit(described, rows) if args.fit else (described, [])
    if args.fit and not fitted:
        raise NetcosimError(
            "--fit needs rows of one pair (osu_latency, osu_bw, osu_bibw), or collectives that "
            "name their algorithm: linear, ring or recursive_doubling"
        )
    matched = match_all(rows, machine, algorithms, fitted)
    judging = judged(matched) and not args.fit
    explained = explaining(machine, matched, algorithms) if judging else None
    answer = recommend(matched, fitted, explained)
    lines = [*answer.lines(), *details(matched), *fitted_lines(fitted), row_table(matched)]
    print("\n".join(lines))
    if args.output:
        write_text_atomically(Path(args.output), machine_text(raw, fitted, answer.sentence))
    page = page_text(
        f"{path.stem}: measured and simulated", answer, matched, fitted, command=_command(args),
        config=read_text(path), inputs={file: file_digest(file) for file in args.files},
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    write_text_atomically(out / "rows.csv", frame_of(matched).to_csv(index=False))
    written = write_page(out / PAGE_FILE, page)
    print(f"page: {written}; rows.csv{f'; {args.output}' if args.output else ''}")
    return 0


def _command(args: argparse.Namespace) -> str:
    """Return the command with the options that it was given."""
    words = ["netcosim", "match", args.machine, *args.files]
    for name in ("nodes", "ranks", "where", "algorithm", "output", "out"):
        value = getattr(args, name)
        values = value if isinstance(value, list) else [value]
        words += [word for one in values if one is not None for word in (f"--{name}", str(one))]
    return shlex.join([*words, *(["--fit"] if args.fit else [])])


def _algorithms(args: argparse.Namespace) -> dict[str, str]:
    """Return the algorithm of each operation that ``--algorithm`` names."""
    from patterns.collectives.library import LIBRARY

    algorithms = assignments("--algorithm", args.algorithm)
    for operation, name in algorithms.items():
        if name not in LIBRARY.get(operation, ()):
            known = ", ".join(LIBRARY.get(operation, LIBRARY))
            raise NetcosimError(f"--algorithm {operation}={name}: unknown; there are {known}")
    return algorithms


def _rows(args: argparse.Namespace) -> list[Row]:
    """Read the rows of all files; an option that no row reads is an error."""
    from experiments.machines.match.outputs import read_output

    options = {"nodes": args.nodes, "ranks": args.ranks}
    for option, value in options.items():
        if value is not None and value < 1:
            raise NetcosimError(f"--{option} {value}; must be at least 1")
    nodes, ranks = (value or 0 for value in options.values())
    where = assignments("--where", args.where)
    rows = [row for file in args.files for row in read_output(file, nodes, ranks, where)]
    for option, value in options.items():
        if value is not None and all(getattr(row, option) != value for row in rows):
            raise NetcosimError(
                f"--{option} {value}: no row reads it; they are of one pair, or the files print it"
            )
    return rows
