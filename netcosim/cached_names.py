"""The names of everything, kept from one command to the next.

The registries know their entries' descriptions by importing them, kernels and all, which takes a
second; a list of names should not. So the first ``netcosim list`` of a version writes down what
it found beside the compiled kernels.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from netcosim.package_check import PACKAGES, STUDIES
from netsim.atomic_files import make_folder, write_text_atomically
from netsim.errors import NetcosimError, need_name
from netsim.kernel_cache import cache_folder
from netsim.plugins import plugins_in_use
from netsim.registry import IN_USE

Names = dict[str, dict[str, str]]
"""Kinds to names to descriptions."""

_ROOT = Path(__file__).resolve().parent.parent


def sources_hash(root: Path = _ROOT) -> str:
    """Return a digest of every source file, because a name may come from any of them."""
    digest = hashlib.sha256()
    for package in (*PACKAGES, *STUDIES, "netcosim"):
        for path in sorted((root / package).rglob("*.py")):
            source = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(source)} ".encode() + source)
    return digest.hexdigest()


def cached_names(folder: Path | None = None) -> Names:
    """Return every kind with its names and descriptions, as `netcosim.catalogue.entries` does.

    Parameters
    ----------
    folder : Path, optional
        Folder of the cache; by default that of the kernels.
    """
    names = _own_names(folder)
    if plugins_in_use():
        from netcosim.catalogue import entries

        return {kind: entries(kind) for kind in names}
    return names


def _own_names(folder: Path | None) -> Names:
    kept = (folder or cache_folder()) / f"names-{sources_hash()}.json"
    with suppress(OSError, ValueError):
        found: Names = json.loads(kept.read_text(encoding="utf-8"))
        return found
    from netcosim.catalogue import entries, kinds

    token = IN_USE.set(())
    names = {kind: entries(kind) for kind in kinds()}
    IN_USE.reset(token)
    with suppress(NetcosimError):
        make_folder(kept.parent)
        write_text_atomically(kept, json.dumps(names))
    return names


def names_of(kind: str) -> dict[str, str]:
    """Return the names of a kind, with one line of description each.

    Raises
    ------
    NetcosimError
        An unknown kind.
    """
    names = cached_names()
    need_name("kind", kind, names)
    return names[kind]
