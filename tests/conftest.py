"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with papers, job logs and machines; tests that need it skip without it."""
    given = os.environ.get("NETCOSIM_SHARED")
    path = Path(given) if given else Path(__file__).resolve().parents[2] / "shared"
    if not path.is_dir():
        pytest.skip(f"the reference data folder {path.name}/ is not here")
    return path
