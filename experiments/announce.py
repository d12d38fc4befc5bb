"""A word to the user before a first run that compiles."""

from __future__ import annotations

import sys

from experiments.mpi import launched_rank
from netsim.kernel_cache import use_kernel_cache


def announce_compilation() -> bool:
    """Say on stderr that kernels will be compiled, if none of this version are cached.

    Returns
    -------
    bool
        Whether it was said.
    """
    folder = use_kernel_cache()
    if folder.is_dir() and any(folder.rglob("*.nbi")):
        return False
    if launched_rank() == 0:
        print(
            "netcosim: first use of this version: compiling kernels, under a minute, once "
            f"(netcosim warmup does it ahead); kept in {folder}",
            file=sys.stderr,
        )
    return True
