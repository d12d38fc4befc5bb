"""Compile the kernels that `make test` needs: all but those that only tests marked `full` run."""

from __future__ import annotations

from netcosim.commands.warmup import compiled_on_two
from netcosim.kernel_parts import CROSSBAR_THREADS, PARTS

if __name__ == "__main__":
    for part, seconds in compiled_on_two([part for part in PARTS if part != CROSSBAR_THREADS]):
        print(f"{part}: {seconds:.1f} s", flush=True)
