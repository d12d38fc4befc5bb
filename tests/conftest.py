"""Fixtures for all tests, and how Hypothesis draws its examples."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import Phase, settings

# "ci": the same examples on every machine and every day, so that a red run is a changed program.
# "fuzz": other ones each time (`make fuzz`); what fails is printed with the way to repeat it.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=1000, database=None, print_blob=True, deadline=None)
# "mutants": as "ci", but the first failure is enough: no smaller example, no second fault.
settings.register_profile(
    "mutants",
    settings.get_profile("ci"),
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with papers, job logs and machines; tests that need it skip without it."""
    given = os.environ.get("NETCOSIM_SHARED")
    path = Path(given) if given else Path(__file__).resolve().parents[2] / "shared"
    if not path.is_dir():
        pytest.skip(f"the reference data folder {path.name}/ is not here")
    return path
