"""Run one config: the queue under each policy, packets measured, the queue again; then a report.

netcosim run CONFIG.toml --out FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "run one config and write its report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim run``."""
    parser.add_argument("config", metavar="CONFIG.toml")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write; by default netcosim-CONFIG in this folder"
    )


def run(args: argparse.Namespace) -> int:
    """Run and report."""
    from experiments.announce import announce_compilation
    from experiments.config_load import load_config
    from experiments.run_output import run_and_report

    announce_compilation()
    path = Path(args.config)
    config = load_config(path)
    out = Path(args.out or f"netcosim-{path.stem}")
    run_and_report(
        config, path.read_text(encoding="utf-8"), out, title=config.run.name or path.stem
    )
    return 0
