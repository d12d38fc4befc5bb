"""Check that the packages that netcosim imports are its own.

Projects called alloc, netsim, patterns and workloads exist elsewhere too: one installed into the
same environment, or a folder of that name where Python was started, can take a package's place.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGES = ("netsim", "patterns", "workloads", "alloc", "queuesim", "cosim")
STUDIES = ("experiments",)
"""Checked when a study is loaded: the other packages do without it."""
_ROOT = Path(__file__).resolve().parent.parent


def foreign_package(packages: Sequence[str] = PACKAGES) -> str | None:
    """Return a message if a package is another project's; None if all are netcosim's.

    It checks where each package is found and the first line of its ``__init__.py``, which
    names netcosim in its own packages, and imports none.
    """
    for name in packages:
        spec = find_spec(name)
        origin = None if spec is None else spec.origin
        if origin is None:
            return _foreign(name, "it is missing here")
        found = Path(origin).resolve()
        if found != _ROOT / name / "__init__.py":
            return _foreign(name, f"Python finds {found.parent}")
        with found.open(encoding="utf-8", errors="replace") as file:
            if "netcosim" not in file.readline():
                return _foreign(name, f"another project has written over {found}")
    return None


def has_study(name: str) -> bool:
    """Return whether the folder of this study is there; a folder that is deleted is no mistake."""
    return (_ROOT / "experiments" / name / "__init__.py").is_file()


def study_module(name: str) -> ModuleType:
    """Import a module of a study, such as "experiments.validation.command".

    It is refused with one line where Python finds another project's package of that name.
    """
    foreign = foreign_package(STUDIES)
    if foreign is not None:
        from netsim.errors import NetcosimError

        raise NetcosimError(foreign)
    return importlib.import_module(name)


def _foreign(name: str, what: str) -> str:
    return (
        f"the package {name!r} is not netcosim's ({what}; it belongs in {_ROOT / name}): "
        "install netcosim into a fresh virtual environment, and run it from another folder if "
        "this one holds a folder of that name"
    )


def sources_hash(root: Path = _ROOT) -> str:
    """Return a digest of every source file, because any of them may have computed a part."""
    digest = hashlib.sha256()
    for package in (*PACKAGES, *STUDIES, "netcosim"):
        for path in sorted((root / package).rglob("*.py")):
            source = path.read_bytes()
            digest.update(f"{path.relative_to(root)} {len(source)} ".encode() + source)
    return digest.hexdigest()
