"""Run one config: the queue under each policy, packets measured, the queue again; then a report.

  netcosim run CONFIG.toml --out FOLDER --jobs 2
  mpiexec -n 8 netcosim run CONFIG.toml
  netcosim run CONFIG.toml --executor dask:tcp://HOST:8786

A run that was stopped, however, goes on from the tasks that it has done: the same command again.
The results do not depend on the number of processes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.commands import add_options, check_resamples, processes_beside

if TYPE_CHECKING:
    from netcosim.config.config import Config

HELP = "run one config and write its report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim run``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default netcosim-CONFIG in this folder"
    )
    add_options(parser, "jobs", "executor", "json", "quiet", "resamples")
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the number of queues and estimated time"
    )


def run(args: argparse.Namespace) -> int:
    """Run and report."""
    from netcosim.config.load import load_config_text

    path = Path(args.config)
    config, text = load_config_text(path)
    with config.plugged():
        return _run(config, text, path, args)


def _run(config: Config, text: str, path: Path, args: argparse.Namespace) -> int:
    from netcosim.announce import prepare_run

    check_resamples(config, args.resamples)
    out = Path(args.out or f"netcosim-{path.stem}")
    config = prepare_run(config, out, processes_beside(args), args.resamples)
    # what it imports takes a while and must not come before a word on compiling
    if args.dry_run:
        from netcosim.executors.registry import open_workers
        from netcosim.runs.run_plan import plan_run

        with open_workers(args.executor, args.jobs) as workers:
            if workers is not None:
                print(plan_run(config, out, workers.count).lines())
        return 0
    from netcosim.runs.run_output import run_and_report

    run_and_report(
        config,
        text,
        out,
        title=config.run.name or path.stem,
        jobs=args.jobs,
        executor=args.executor,
        resamples=args.resamples,
        progress=not args.quiet,
        as_json=args.as_json,
    )
    return 0
