"""``netcosim trace convert otf2 ARCHIVE --out FILE.goal``: a recorded MPI run as a schedule."""

from __future__ import annotations

from math import isfinite

from netsim.errors import NetcosimError


def run_otf2(archive: str, out: str | None, compute_scale: float, leave_out: str | None) -> int:
    """Read the archive, write the schedule, say what is in it and what is not.

    Raises
    ------
    NetcosimError
        No name to write to, a scale that is none, and what `otf2_goal` refuses.
    """
    from netsim.files import write_text
    from netsim.optional import optional_module

    reader = optional_module("patterns.importers.otf2_archive")
    if reader is None:
        raise NetcosimError("trace convert otf2: the folder patterns/importers has been deleted")
    if out is None:
        raise NetcosimError("trace convert otf2: --out FILE.goal says where the schedule goes")
    if not (isfinite(compute_scale) and compute_scale >= 0):
        raise NetcosimError(f"--compute-scale {compute_scale}; it must be a number of 0 or more")
    names = tuple(name.strip().lower() for name in (leave_out or "").split(",") if name.strip())
    made = reader.otf2_goal(archive, compute_scale, names)
    write_text(out, made.text)
    print(f"{out}: {made.n_ranks:,} ranks, {made.n_messages:,} messages, {made.n_bytes:,} bytes")
    print(f"  {made.compute_ns * 1e-9:.6g} s of computing on all ranks together")
    kinds = ", ".join(f"{name} {n:,}" for name, n in sorted(made.collectives.items()))
    print(f"  collectives in these messages: {kinds or 'none'}")
    for reason, n in sorted(made.left_out.items()):
        print(f"  left out: {n:,} {reason}")
    return 0
