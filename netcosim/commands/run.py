"""Run one config: the queue under each policy, packets measured, the queue again; then a report.

netcosim run CONFIG.toml --out FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from netcosim.folders import need_folder

if TYPE_CHECKING:
    from experiments.config import Config

HELP = "run one config and write its report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim run``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default netcosim-CONFIG in this folder"
    )


def run(args: argparse.Namespace) -> int:
    """Run and report."""
    from experiments.config_load import load_config_text

    path = Path(args.config)
    config, text = load_config_text(path)
    with config.plugged():
        return _run(config, text, path, args)


def _run(config: Config, text: str, path: Path, args: argparse.Namespace) -> int:
    from netcosim.announce import compile_kernels, parts_of
    from netcosim.thread_share import with_threads_that_fit

    config, line = with_threads_that_fit(config, 1)
    if line is not None:
        print(f"netcosim: {line}", file=sys.stderr)
    out = Path(args.out or f"netcosim-{path.stem}")
    need_folder(out)
    compile_kernels(parts_of(config))
    # what it imports takes a while and must not come before a word on compiling
    from netcosim.run_output import run_and_report

    run_and_report(config, text, out, title=config.run.name or path.stem)
    return 0
