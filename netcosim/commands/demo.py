"""The full loop on a dragonfly: one job log, several placement policies, packets measured.

  netcosim demo
  netcosim demo --log KTH-SP2-1996-2.1-cln.swf.gz

Without a log it uses a generated one. The config that it runs is written beside the report, as
a start for your own.
"""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path

from netcosim.commands import add_options, check_resamples, names_in
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError

HELP = "simulate queue and network in a minute or two, with a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim demo``."""
    parser.add_argument("--log", metavar="FILE", help="a job log (SWF or CSV, may be gzipped)")
    parser.add_argument(
        "--processors-per-node",
        type=int,
        metavar="N",
        help="1 where the log counts nodes; by default from a known log or the log's header",
    )
    parser.add_argument(
        "--first-jobs", type=int, metavar="N", help="use the log's first N jobs only"
    )
    parser.add_argument(
        "--policies",
        default="rdn,rdg,simple,level-spread",
        help="policies to compare, the first is the reference (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    add_options(parser, "resamples")
    parser.add_argument("--out", default="netcosim-demo", metavar="FOLDER")
    add_options(parser, "jobs", "quiet", jobs=min(2, os.cpu_count() or 1))


def run(args: argparse.Namespace) -> int:
    """Make the config, run it, report."""
    from netcosim.announce import prepare_run
    from netcosim.config.load import load_config
    from netcosim.demo_config import demo_config_text, read_demo_log
    from netcosim.log_summary import left_out_and_notes
    from netsim.atomic_files import make_folder, write_text_atomically

    if args.first_jobs is not None and args.first_jobs < 1:
        raise NetcosimError(f"--first-jobs {args.first_jobs}; it must be at least 1")
    if args.log is None and args.processors_per_node is not None:
        raise NetcosimError("--processors-per-node is for reading a log; add --log")
    log = None if args.log is None else read_demo_log(Path(args.log), args.processors_per_node)
    if log is not None:
        read_as = f", read as the known log {log.known}" if log.known else ""
        print(f"{log.path.name}{read_as}: {log.nodes:,} nodes, {log.nodes_from}")
        print("".join(f"  {line}\n" for line in left_out_and_notes(log.jobs)), end="", flush=True)
    policies = list(names_in(args.policies))
    text = demo_config_text(log, args.first_jobs, policies, args.seed)
    out = Path(args.out)
    need_folder(out)
    is_new = not out.exists()
    make_folder(out)
    path = out / "demo.toml"
    before = set(out.iterdir())
    try:
        write_text_atomically(path, text)
        config = load_config(path)
        check_resamples(config, args.resamples)
        config = prepare_run(config, out, args.jobs, args.resamples)
        # what it imports takes a while and must not come before a word on compiling
        from netcosim.runs.run_output import run_and_report

        page = run_and_report(
            config,
            text,
            out,
            title="netcosim demo",
            jobs=args.jobs,
            resamples=args.resamples,
            progress=not args.quiet,
        )
    except NetcosimError:
        # The config alone is no result. Whatever else is new was computed: it stays, and the
        # error that ended the run is the one that is printed.
        with suppress(OSError):
            if set(out.iterdir()) - before == {path}:
                path.unlink()
                if is_new:
                    out.rmdir()
        raise
    print(f"open {page} in a browser; {path} is the config that made it")
    return 0
