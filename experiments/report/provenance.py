"""What a reader needs to get the same numbers again: versions, sources, machine, time."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from experiments.points import MODEL_VERSION, code_fingerprint

_PACKAGES = ("netcosim", "numpy", "numba", "scipy", "simpy", "networkx", "pydantic", "pandas")


def versions() -> dict[str, str]:
    """Versions of the program, its model and what it stands on, by name."""
    found = {"model": f"{MODEL_VERSION} (sources {code_fingerprint()})"}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed as a package"
    return found | {"python": platform.python_version(), "system": platform.platform()}


def now_utc() -> str:
    """Date and time, ISO, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
