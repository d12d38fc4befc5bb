"""A fixed benchmark for agents that learn to schedule where jobs share a network.

  netcosim bench-rl --scale quick
  netcosim bench-rl --jobs 2
  netcosim bench-rl --machine torus-128 --workload batch --seed 2 --out seed2

Machines and workloads, cut into training weeks and weeks that are held out. Hand rules, random
choices and a learned agent play them with contention; the agent trained without a network is
judged with one. A clairvoyant search shows how much there is to find. Results stay in OUT: what is
there is not computed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from netcosim.commands import add_options
from netsim.atomic_files import need_folder
from netsim.errors import NetcosimError, need_name, unknown_name

HELP = "a fixed benchmark for agents that learn to schedule on a shared network"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim bench-rl``."""
    parser.add_argument(
        "--scale", default="full", metavar="SCALE", help="full (default), or quick: seconds"
    )
    for what in ("machine", "workload"):
        parser.add_argument(
            f"--{what}",
            action="append",
            default=[],
            metavar="NAME",
            dest=f"{what}s",
            help=f"this {what} of the benchmark alone; may be given several times",
        )
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="NAME",
        help='"ppo": MaskablePPO beside the agent of evolution strategies, where it is installed',
    )
    parser.add_argument(
        "--reward",
        default="bounded-stretch",
        metavar="NAME",
        help="what is trained and judged: bounded-stretch (default), bounded-slowdown, "
        "turnaround or communication",
    )
    parser.add_argument("--held-out", type=int, metavar="N", help="weeks, instead of the scale's")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the training")
    add_options(parser, "jobs", "executor")
    parser.add_argument("--out", default="bench-rl", metavar="DIR", help="default: bench-rl")
    add_options(parser, "format", "quiet")


def run(args: argparse.Namespace) -> int:
    """Play, compare, write; status 1 if points failed."""
    from netcosim.announce import compile_kernels
    from netcosim.kernel_parts import JOB_FLOWS

    for name in args.agent:
        if name != "ppo":
            raise unknown_name("agent", name, ("ppo",))
    if args.seed < 0:
        raise NetcosimError(f"--seed {args.seed}; must be at least 0")
    need_folder(Path(args.out))
    compile_kernels([JOB_FLOWS])
    # what they import takes a while and must not come before a word on compiling
    from experiments.learning.cells import SCALES, chosen
    from experiments.learning.output import play_and_write
    from experiments.learning.play import METRICS
    from experiments.learning.points import Training

    need_name("reward", args.reward, METRICS)
    cells = chosen(args.scale, args.machines, args.workloads, held_out=args.held_out)
    played = play_and_write(
        cells,
        Training(SCALES[args.scale], args.reward, args.seed),
        Path(args.out),
        jobs=args.jobs,
        executor=args.executor,
        ppo=bool(args.agent),
        form=args.format,
        progress=not args.quiet,
    )
    if played is None:
        return 0
    summary, lines = played
    print("\n".join(lines))
    return 1 if summary.failed else 0
