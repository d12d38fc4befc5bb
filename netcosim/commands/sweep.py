"""Compute every point of a config in which parameters may be lists or ranges.

  netcosim sweep CONFIG.toml --jobs 2
  mpiexec -n 8 netcosim sweep CONFIG.toml
  netcosim sweep CONFIG.toml --executor dask:tcp://HOST:8786
  netcosim sweep CONFIG.toml --slice 3/100      (a task of a job array; then netcosim merge)

Points that the results file holds are not computed again, so a sweep that was stopped goes on
where it was. The results do not depend on how many processes computed them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcosim.commands import add_options, processes_beside
from netsim.errors import NetcosimError
from netsim.text_numbers import whole_number

if TYPE_CHECKING:
    from netcosim.runs.sweep import SweepSummary

HELP = "compute all points of a config with lists or ranges"
POINT_FUNCTION = "netcosim.runs.cosim:cosim_point"
MOST_POINTS = 5_000
"""Of more points the tables take too long to read for a line on the screen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim sweep``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out",
        metavar="FILE.db",
        help="results file; by default CONFIG.db in this folder, CONFIG-I-of-N.db of a slice",
    )
    add_options(parser, "jobs", "executor")
    parser.add_argument(
        "--slice",
        default="1/1",
        metavar="I/N",
        help="only the points of slice I of N, 1 to N: disjoint, of equal size, drawn by key",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the number of points and estimated time"
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="compute points again that failed before"
    )
    add_options(parser, "json", "quiet", "summary")


def run(args: argparse.Namespace) -> int:
    """Expand the config and compute what is not stored; 1 if a point failed."""
    from netcosim.announce import compile_kernels, parts_of, with_threads_that_fit
    from netcosim.config.load import load_sweep
    from netcosim.config.unread import as_read
    from netcosim.executors.mpi import launched_rank

    sweep = load_sweep(args.config)
    fitting = [with_threads_that_fit(point, processes_beside(args)) for point in sweep.points]
    if launched_rank() == 0:
        for line in dict.fromkeys(line for _, line in fitting if line is not None):
            print(f"netcosim: {line}", file=sys.stderr)
    points = [as_read(point).resolved() for point, _ in fitting]
    which, count = slice_of(args.slice)
    of_slice = f"-{which}-of-{count}" if count > 1 else ""
    store = Path(args.out or f"{sweep.path.stem}{of_slice}.db")
    n_points = len(sweep.points)  # small queues add up
    compile_kernels(sorted({part for one in sweep.points for part in parts_of(one, n_points)}))
    # what it imports takes a while and must not come before a word on compiling
    from netcosim.executors.registry import open_workers
    from netcosim.runs.sweep import plan_points, run_points, sliced

    points = sliced(points, which, count)
    if args.dry_run:
        with open_workers(args.executor, args.jobs) as workers:
            if workers is None:
                return 0
            trial, n = not _starts_program(sweep.points), workers.count
            plan = plan_points(
                POINT_FUNCTION, points, store, workers=n, trial=trial, estimate=_estimate_s
            )
            print(plan.lines())
        return 0
    summary = run_points(
        POINT_FUNCTION,
        points,
        store,
        jobs=args.jobs,
        executor=args.executor,
        retry_failed=args.retry_failed,
        progress=not args.quiet,
        meta={"config_file": str(sweep.path), "config_text": sweep.text},
    )
    if summary is None:
        return 0
    quiet = count > 1 or summary.total > MOST_POINTS
    _print_answer(store, quiet, args.summary, as_json=args.as_json)
    if not args.as_json:
        _print_counts(store, summary)
    return 1 if summary.failed else 0


def slice_of(text: str) -> tuple[int, int]:
    """Return I and N of ``--slice I/N``."""
    which, _, count = text.partition("/")
    parts = whole_number(count, 1)
    part = None if parts is None else whole_number(which, 1, parts)
    if parts is None or part is None:
        raise NetcosimError(f"--slice {text[:40]}; must be I/N with I from 1 to N, such as 3/100")
    return part, parts


def _print_answer(store: Path, quiet: bool, page: Path | None, *, as_json: bool) -> None:
    """Print what the sweep's page begins with, and write the summary if one is wanted."""
    from netcosim.report.recommendation import Recommendation, print_answer
    from netcosim.report.summary import write_summary
    from netcosim.report.sweep_page import sweep_answer, sweep_title
    from netcosim.runs.store import Store

    if quiet and page is None and not as_json:
        return
    with Store(store, "read") as opened:
        answer, sections = sweep_answer(opened) or (None, [])
        title = sweep_title(opened.points(), store)
    files, lines = {"results": store}, []
    if answer is not None and page is not None:
        files["summary"] = write_summary(page, title, answer, sections)
        lines.append(f"summary: {page}")
    elif answer is None:
        answer = Recommendation("No point has a table of policies.", (), "", "")
        lines += [] if page is None else [f"summary: {page} is not written"]
    if as_json or lines or sections:
        print_answer(answer, lines, files, as_json)


def _print_counts(store: Path, summary: SweepSummary) -> None:
    from netcosim.runs.sweep import SHOWN_FAILURES, failure_lines
    from netsim.units import format_quantity

    print(
        f"{store}: {summary.total:,} points; {summary.already:,} were stored, "
        f"{summary.computed:,} computed, {len(summary.failed):,} failed, in "
        f"{format_quantity(summary.seconds, 'time', 3)}"
    )
    if summary.other_code:
        print(f"note: {summary.other_code:,} stored points were computed by other model sources")
    print("".join(f"{line}\n" for line in failure_lines(summary)), end="")
    if (more := len(summary.failed) - SHOWN_FAILURES) > 0:
        print(f"failed: and {more:,} more; see netcosim report {store}")


def _estimate_s(content: Mapping[str, object]) -> float:
    """Estimate the time of a point on one process."""
    from netcosim.config.content import checked_config
    from netcosim.runs.run_plan import plan_run

    config = checked_config(dict(content))
    with config.plugged():
        return plan_run(config, None, 1).estimated_s


def _starts_program(points: Iterable[Any]) -> bool:
    """Return whether a point starts a program of the user's, which no dry run does."""
    from netcosim.config.decider import DeciderProgram

    return any(isinstance(point.queue.decider, DeciderProgram) for point in points)
