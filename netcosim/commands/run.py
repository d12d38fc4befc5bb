"""Run one config: the queue under each policy, packets measured, the queue again; then a report.

netcosim run CONFIG.toml --out FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.folders import need_folder

HELP = "run one config and write its report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim run``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default netcosim-CONFIG in this folder"
    )


def run(args: argparse.Namespace) -> int:
    """Run and report."""
    from experiments.announce import compile_kernels, parts_of
    from experiments.config_load import load_config_text

    path = Path(args.config)
    config, text = load_config_text(path)
    out = Path(args.out or f"netcosim-{path.stem}")
    need_folder(out)
    compile_kernels(parts_of(config))
    # what it imports takes a while and must not come before a word on compiling
    from experiments.run_output import run_and_report

    run_and_report(config, text, out, title=config.run.name or path.stem)
    return 0
