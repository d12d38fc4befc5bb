"""Write a commented config, with prompts for machine, log and policies on a terminal.

  netcosim init
  netcosim init --machine topology.conf --log jobs.swf --policies slurm-tree,random --out mine.toml

There is no prompt for what an option gives, and none away from a terminal. The schema with which
editors complete keys is written beside the config (netcosim schema).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from netcosim.commands import names_in
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError

HELP = "write a commented config for a machine, a log and policies"
MACHINE, POLICIES = "dragonfly-272", "random,slurm-tree"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim init``."""
    parser.add_argument(
        "--machine",
        metavar="FILE",
        help="a preset's name, a .toml with [machine], or a file that describes the machine: "
        f"topology.conf, ibnetdiscover output, ... (default {MACHINE})",
    )
    parser.add_argument("--log", metavar="FILE", help="a job log; by default generated jobs")
    parser.add_argument(
        "--policies", metavar="A,B,...", help=f"the first is the reference (default {POLICIES})"
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--out", default="netcosim.toml", metavar="FILE.toml")


def run(args: argparse.Namespace) -> int:
    """Prompt for what is missing, check the config, write it."""
    from netcosim.config.load import config_from, errors_name, parse_toml
    from netcosim.config.machine import build_machine
    from netcosim.config.schema import schema_text
    from netcosim.config.toml_text import toml_text
    from netcosim.demo_config import SCHEMA_FILE, config_text, log_keys, read_demo_log
    from netcosim.machine_file import machine_of
    from netsim.atomic_files import write_text_atomically

    out = Path(args.out)
    if out.exists():
        raise NetcosimError(f"{out}: exists already; give another name with --out")
    need_folder(out.parent)
    machine = args.machine or _prompt("machine (a preset or a file)", MACHINE)
    section = toml_text(machine_of(machine)).strip()
    log = args.log or _prompt("job log (a file; empty for generated jobs)", "")
    policies = args.policies or _prompt("policies (the first is the reference)", POLICIES)
    names = list(names_in(policies))
    log_read = read_demo_log(Path(log)) if log else None
    jobs = _generated(1) if log_read is None else log_keys(log_read)
    largest = 1 if log_read is None else int(log_read.jobs.n_nodes.max())
    text = config_text(section, jobs, largest, names, args.seed)
    with errors_name(out):
        config = config_from(parse_toml(text, out))
        nodes = build_machine(config.machine).topology.n_nodes
    if log_read is None:
        text = config_text(section, _generated(max(1, nodes // 20)), nodes, names, args.seed)
    write_text_atomically(out, text)
    write_text_atomically(out.with_name(SCHEMA_FILE), schema_text())
    print(f"{out}: {nodes:,} nodes, policies {', '.join(names)}; run it: netcosim run {out}")
    return 0


def _prompt(what: str, default: str) -> str:
    """Return the answer on a terminal, else the default."""
    if not sys.stdin.isatty():
        return default
    try:
        return input(f"{what} [{default}]: ").strip() or default
    except EOFError:
        return default


def _generated(mean_nodes: int) -> str:
    return (
        'larger_jobs = "drop"\n\n[workload.synthetic]\nn_jobs = 600\n'
        f"mean_nodes = {mean_nodes}\nload = 0.95\nrequested_factor = [1.0, 3.0]"
    )
