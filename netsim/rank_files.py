"""Files that belong together: one a rank, with what is beside them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from netsim.errors import NetcosimError

_RANK_FILE = re.compile(r"(?P<prefix>.+)\.(?P<rank>[0-9]+)\.(?P<end>et|json)")


def ranks_of(path: str | Path) -> list[Path]:
    """Return the files that differ from this one in the number of their rank, in order.

    ``w.0.et``, ``w.1.et``, ... A file of another name, or without others, is alone.

    Raises
    ------
    NetcosimError
        A rank is missing between others.
    """
    path = Path(path)
    own = _RANK_FILE.fullmatch(path.name)
    if own is None or not path.parent.is_dir():
        return [path]
    found = {}
    for name in os.listdir(path.parent) if os.access(path.parent, os.R_OK) else ():
        match = _RANK_FILE.fullmatch(name)
        if match and (match["prefix"], match["end"]) == (own["prefix"], own["end"]):
            found[int(match["rank"])] = path.parent / name
    if len(found) <= 1:
        return [path]
    missing = next(rank for rank in range(len(found) + 1) if rank not in found)
    if missing < len(found):
        raise NetcosimError(
            f"{path}: {len(found)} ranks' files are beside it, without that of rank {missing}"
        )
    return [found[rank] for rank in range(len(found))]


def companions(path: str | Path) -> list[Path]:
    """Return all files that are read with a rank's file: those of all ranks, and of the groups.

    The members of process groups are in ``PREFIX.json``, or else in the only file of the folder
    whose name begins with ``comm_group``, or in the one of these that ends as the prefix.
    """
    path = Path(path)
    own = _RANK_FILE.fullmatch(path.name)
    if own is None and path.suffix != ".et":
        return [path]
    try:
        ranks = ranks_of(path)
    except NetcosimError:  # other files that have numbers in their names
        return [path]
    prefix = own["prefix"] if own else path.stem
    named = path.parent / f"{prefix}.json"
    if named.is_file() and named not in ranks:
        return [*ranks, named]
    groups = sorted(path.parent.glob("comm_group*.json"))
    if len(groups) > 1:
        ends = (prefix[k:] for k in range(len(prefix)) if not prefix[k].isalnum())
        fitting = {f"comm_group{end}.json" for end in ends}
        groups = [one for one in groups if one.name in fitting]
    return [*ranks, *groups[:1]]
