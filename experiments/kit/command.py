"""Reproduce a published figure: with the paper's numbers, a verdict and a drawing.

  netcosim reproduce level-spread                     list the paper's figures
  netcosim reproduce calibration                      all that it has
  netcosim reproduce calibration easy --logs ~/joblogs
  netcosim reproduce level-spread fig2 --format svg
  netcosim reproduce level-spread fig10 --jobs 8 --routing minimal
  netcosim reproduce level-spread fig4 --scale quick --set endpoint=firefly
  netcosim reproduce jigsaw fig6 --logs ~/joblogs --jobs 2

Where a paper leaves two readings, a figure is computed under both, and the first line states which
one fits which claims; --routing runs one alone. Results stay in OUT/PAPER.sqlite: what is there is
not computed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.commands import add_options, assignments
from netsim.atomic_files import need_folder

if TYPE_CHECKING:
    from experiments.kit.papers import Reproduction

HELP = "reproduce a published figure, next to the paper's numbers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim reproduce``."""
    parser.add_argument("paper", metavar="PAPER", help="see netcosim list papers")
    parser.add_argument(
        "figure",
        metavar="FIGURE",
        nargs="?",
        help='or "all"; left out: the paper\'s default, or a list',
    )
    add_options(parser, "jobs", "executor")
    parser.add_argument(
        "--scale", default="full", metavar="SCALE", help="full (default), or quick: a small part"
    )
    add_options(parser, "format", "quiet")
    parser.add_argument("--out", default="results", metavar="DIR", help="default: results")
    parser.add_argument(
        "--routing",
        action="append",
        default=[],
        metavar="NAME",
        help="instead of the figure's own, one reading of the paper; may be given several times",
    )
    parser.add_argument(
        "--measure", default="", metavar="NAME", help="which communication time to compare"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument(
        "--logs",
        default="",
        metavar="DIR",
        help="folder with job logs, for the papers that need them (or NETCOSIM_LOGS)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="another setting of the paper's machine",
    )


def run(args: argparse.Namespace) -> int:
    """Compute, compare, write; status 1 if points failed (not if a verdict is "differs")."""
    from experiments.kit.papers import Options, load_paper

    paper = load_paper(args.paper)
    wanted = args.figure or paper.default
    if not wanted:
        print(paper.title)
        for name, figure in paper.figures.items():
            print(f"  {name:<10} {figure.description}")
        return 0
    settings = assignments("--set", args.settings)
    if args.logs:
        settings["logs"] = args.logs
    options = Options(
        scale=args.scale,
        routings=tuple(args.routing),
        measure=args.measure,
        seed=args.seed,
        settings=settings,
    )
    names = list(paper.figures) if wanted == "all" else [paper.figure(wanted).name]
    paper.check(options)
    need_folder(Path(args.out))
    # only now, since it imports much and the arguments may be wrong
    from experiments.kit.reproduce import reproduce

    failed = False
    for name in names:
        done = reproduce(
            args.paper,
            name,
            out_dir=args.out,
            jobs=args.jobs,
            executor=args.executor,
            options=options,
            progress=not args.quiet,
            form=args.format,
        )
        if done is not None:
            print("\n".join(lines_of(args.paper, done)))
            failed |= bool(done.failed)
    return 1 if failed else 0


def lines_of(paper: str, done: Reproduction) -> list[str]:
    """Return which claims hold under which reading, the claims as a table, and the files."""
    from experiments.kit.readings import side_by_side, which_fits
    from netcosim.report.table import aligned

    claims = side_by_side(done.analysis.claims, done.figure.readings)
    fits = which_fits(claims, done.figure.readings)
    lines = [
        f"{paper} {done.figure.name}: {fits}",
        f"  {done.figure.description}; {done.computed} points computed in {done.seconds:.0f} s",
    ]
    readings = list(dict.fromkeys(name for claim in claims for name in claim.rows))
    lines += [f"  {r.name}: {r.description}" for r in done.figure.readings if r.name in readings]
    expected = any(_known(row["expected"]) for claim in claims for row in claim.rows.values())
    head = ["", "", "", "paper", *(["expected"] if expected else [])]
    for name in readings:
        head += [name or "netcosim", "verdict"]
    table = [head]
    for claim in claims:
        first = next(iter(claim.rows.values()))
        row = [
            f"{claim.number}",
            claim.claim,
            claim.condition,
            _range(first, "paper", "paper_high"),
        ]
        row += [_number(first["expected"])] if expected else []
        for name in readings:
            row_of_reading = claim.rows.get(name)
            row += (
                ["-", "-"]
                if row_of_reading is None
                else [_with_ends(row_of_reading), row_of_reading["verdict"]]
            )
        table.append(row)
    lines += [f"  {line}" for line in aligned(table, left=len(head)) if claims]
    lines += [f"  {note}" for note in done.analysis.notes]
    lines += [f"  failed: {key[:12]}: {error}" for key, error in done.failed]
    lines += [f"  wrote {path}" for path in done.files]
    return lines


def _range(row: Mapping[str, object], low: str, high: str) -> str:
    ends = f" .. {_number(row[high])}" if _known(row[high]) else ""
    return _number(row[low]) + ends


def _with_ends(row: Mapping[str, object]) -> str:
    """Return netcosim's number with its 95 % interval where it has one."""
    value = _number(row["simulated"])
    return f"{value} ({_range(row, 'low', 'high')})" if _known(row["low"]) else value


def _known(value: object) -> bool:
    return isinstance(value, (int, float)) and value == value


def _number(value: object) -> str:
    if not isinstance(value, (int, float)) or value != value:
        return "-"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
