"""Reproduce a published figure: the paper's numbers beside ours, with a verdict and a drawing.

  netcosim reproduce level-spread                     list the paper's figures
  netcosim reproduce calibration                      all that it has
  netcosim reproduce calibration easy --logs ~/joblogs
  netcosim reproduce level-spread fig2 --format svg
  netcosim reproduce level-spread fig10 --jobs 8 --routing minimal
  netcosim reproduce level-spread fig4 --scale quick --set endpoint=firefly
  netcosim reproduce jigsaw fig6 --logs ~/joblogs --jobs 2

Results stay in OUT/PAPER.sqlite: what is there is not computed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.folders import need_folder

if TYPE_CHECKING:
    from experiments.papers.paper import Reproduction

HELP = "reproduce a published figure, with the paper's numbers beside ours"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim reproduce``."""
    parser.add_argument("paper", metavar="PAPER", help="see netcosim list papers")
    parser.add_argument(
        "figure",
        metavar="FIGURE",
        nargs="?",
        help='or "all"; left out: the paper\'s default, or a list',
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="local processes")
    parser.add_argument(
        "--scale", default="full", metavar="SCALE", help="full (default), or quick: a small part"
    )
    parser.add_argument(
        "--format",
        choices=("png", "svg", "pdf"),
        default="png",
        help="of the drawing (default: png); what is computed is not computed again",
    )
    parser.add_argument("--out", default="results", metavar="DIR", help="default: results")
    parser.add_argument(
        "--routing",
        action="append",
        default=[],
        metavar="NAME",
        help="instead of the figure's own; may be given several times",
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
    from experiments.executor import check_jobs
    from experiments.papers.paper import Options
    from experiments.papers.registry import load_paper
    from netcosim.announce import compile_kernels
    from netsim.errors import NetcosimError

    check_jobs(args.jobs)
    paper = load_paper(args.paper)
    wanted = args.figure or paper.default
    if not wanted:
        print(paper.title)
        for name, figure in paper.figures.items():
            print(f"  {name:<10} {figure.description}")
        return 0
    settings = {}
    for text in args.settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise NetcosimError(f"--set {text}: KEY=VALUE is needed")
        settings[key] = value
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
    compile_kernels()
    # what it imports takes a while and must not come before a word on compiling
    from netcosim.reproduce import reproduce

    failed = False
    for name in names:
        done = reproduce(
            args.paper, name, out_dir=args.out, jobs=args.jobs, options=options, form=args.format
        )
        if done is not None:
            print("\n".join(lines_of(args.paper, done)))
            failed |= bool(done.failed)
    return 1 if failed else 0


def lines_of(paper: str, done: Reproduction) -> list[str]:
    """The claims as a table for the terminal, then the files."""
    lines = [
        f"{paper} {done.figure.name}: {done.figure.description}",
        f"  {done.computed} points computed in {done.seconds:.0f} s",
    ]
    claims = done.analysis.claims
    width, wide = (
        max((len(str(text)) for text in claims[column]), default=0)
        for column in ("claim", "condition")
    )
    lines.append(
        f"  {'':<{width}}  {'':<{wide}} {'paper':>13} {'expected':>8} {'ours':>8}  "
        f"{'95 % interval':<17} verdict"
    )
    for row in claims.itertuples():
        ends = f"{_number(row.low)} .. {_number(row.high)}" if _known(row.low) else ""
        paper = _number(row.paper)
        if _known(row.paper_high):
            paper += f" .. {_number(row.paper_high)}"
        lines.append(
            f"  {row.claim:<{width}}  {row.condition:<{wide}} {paper:>13} "
            f"{_number(row.expected):>8} {_number(row.ours):>8}  {ends:<17} {row.verdict}"
        )
    lines += [f"  {note}" for note in done.analysis.notes]
    lines += [f"  failed: {key[:12]}: {error}" for key, error in done.failed]
    lines += [f"  wrote {path}" for path in done.files]
    return lines


def _known(value: object) -> bool:
    return isinstance(value, (int, float)) and value == value


def _number(value: object) -> str:
    if not isinstance(value, (int, float)) or value != value:
        return "-"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
