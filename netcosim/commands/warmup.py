"""Compile the kernels ahead of use, into the on-disk cache that every later run loads.

  netcosim warmup --jobs 2

Run it before an MPI job, whose ranks would otherwise all compile at once. More than two processes
are of no use: packet kernels need each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Sequence

from netcosim.commands import add_options

HELP = "compile the kernels ahead of use"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim warmup``."""
    add_options(parser, "jobs")


def run(args: argparse.Namespace) -> int:
    """Run every kernel once on a tiny case."""
    import time

    from netcosim.kernel_parts import PARTS
    from netsim.kernel_cache import cache_folder
    from netsim.units import format_quantity

    about = format_quantity(sum(part.usual_s for part in PARTS.values()), "time", 2)
    print(f"compiling, about {about} on one core where nothing is cached", flush=True)
    started = time.perf_counter()
    for what, seconds in _compiled(PARTS) if args.jobs == 1 else compiled_on_two(PARTS):
        print(f"{what}: {seconds:.1f} s", flush=True)
    print(f"ready in {time.perf_counter() - started:.1f} s; kept in {cache_folder()}")
    return 0


def _compiled(parts: Iterable[str]) -> Iterator[tuple[str, float]]:
    from netcosim.warmup import warm_up

    return warm_up(parts)


def compiled_on_two(parts: Collection[str]) -> Iterator[tuple[str, float]]:
    """Compile packet kernels in one process and all others in another."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from netcosim.kernel_parts import PARTS

    packets = [part for part in parts if PARTS[part].called.startswith("netsim/packet")]
    groups = (packets, [part for part in parts if part not in packets])
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(_all_of, groups):
            yield from found


def _all_of(parts: Sequence[str]) -> list[tuple[str, float]]:
    return list(_compiled(parts))
