"""Compile the kernels ahead of use, into the on-disk cache that every later run loads.

Run it before an MPI job, whose ranks would otherwise all compile at once.
"""

from __future__ import annotations

import argparse

HELP = "compile the kernels ahead of use"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``netcosim warmup`` takes no arguments."""


def run(args: argparse.Namespace) -> int:
    """Run every kernel once on a tiny case."""
    import time

    from netcosim.kernel_parts import USUAL_S
    from netcosim.warmup import warm_up
    from netsim.kernel_cache import use_kernel_cache

    usual_s = sum(USUAL_S.values())
    print(f"compiling, usually {usual_s:.0f} s where nothing is cached", flush=True)
    started = time.perf_counter()
    for what, seconds in warm_up():
        print(f"{what}: {seconds:.1f} s", flush=True)
    print(f"ready in {time.perf_counter() - started:.1f} s; kept in {use_kernel_cache()}")
    return 0
