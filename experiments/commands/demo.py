"""The whole loop on a dragonfly: one job log, several placement policies, packets measured.

  netcosim demo
  netcosim demo --log KTH-SP2-1996-2.1-cln.swf.gz

Without a log it uses a generated one. The config that it runs is written beside the report, as
a start for your own.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.folders import need_folder

HELP = "the whole loop in a minute or two, with a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``netcosim demo``."""
    parser.add_argument("--log", metavar="FILE", help="a job log (SWF, may be gzipped)")
    parser.add_argument("--first", type=int, metavar="N", help="use the log's first N jobs only")
    parser.add_argument(
        "--policies",
        default="rdn,rdg,simple,level-spread",
        help="policies to compare, the first is the reference (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--out", default="netcosim-demo", metavar="FOLDER")


def run(args: argparse.Namespace) -> int:
    """Make the config, run it, report."""
    from experiments.announce import compile_kernels, parts_of
    from experiments.config_load import load_config
    from experiments.demo_config import demo_config_text
    from netsim.errors import NetcosimError

    log = None if args.log is None else Path(args.log)
    policies = [name.strip() for name in args.policies.split(",") if name.strip()]
    text = demo_config_text(log, args.first, policies, args.seed)
    out = Path(args.out)
    need_folder(out)
    made = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    path = out / "demo.toml"
    path.write_text(text, encoding="utf-8")
    try:
        config = load_config(path)
        compile_kernels(parts_of(config))
        # what it imports takes a while and must not come before a word on compiling
        from experiments.run_output import run_and_report

        page = run_and_report(config, text, out, title="netcosim demo")
    except NetcosimError:
        path.unlink()
        if made:
            out.rmdir()
        raise
    print(f"open {page} in a browser; {path} is the config that made it")
    return 0
