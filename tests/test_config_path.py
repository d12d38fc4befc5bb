"""How many files a config passes through: those with a function that gets it, or a section of it.

A config becomes a machine, jobs, rules and a mix in one place (`netcosim.runs.run_context`); what
computes gets these. A file more on the way is one more to read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import netcosim as nc
from netcosim.config.fields import Section

ROOT = Path(__file__).resolve().parent.parent
CONFIG = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    "workload": {"synthetic": {"n_jobs": 20, "mean_nodes": 4}, "larger_jobs": "drop"},
    "queue": {"policies": ["rdn", "simple"], "run_time_model": "as-logged"},
    "run": {"snapshots": 1},
}


def files_with_sections(call: Callable[[], object]) -> set[str]:
    """Return the files of the functions that were called with a config or a section."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if event == "call" and any(isinstance(frame.f_locals.get(n), Section) for n in names):
            found.add(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    # an environment may be installed inside the tree
    return {
        name
        for name in found
        if Path(name).is_relative_to(ROOT) and "site-packages" not in Path(name).parts
    }


def test_a_run_hands_its_config_through_few_files() -> None:
    reference = {"policy": "rdn", "machine": {"routing": "valiant"}}
    config = nc.config_from(CONFIG | {"reference": reference})
    found = files_with_sections(lambda: nc.run_cosim(config))
    assert len(found) <= 11, sorted(found)


def test_an_environment_hands_its_config_through_few_files() -> None:
    pytest.importorskip("gymnasium")
    from netcosim.gym.environments import CoSchedule

    config = nc.config_from(CONFIG)
    found = files_with_sections(lambda: CoSchedule(config, n_jobs=10).reset(seed=1))
    assert len(found) <= 15, sorted(found)
