"""Pages that the system clears for an array, with memory that is kept and without."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from netcosim.runs import freed_memory
from netcosim.runs.freed_memory import keep_freed_memory, return_freed_memory


def page_faults() -> int:
    """Return those of filling 96 MB, which are 40 large pages at least."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(freed_memory._glibc() is None, reason="needs glibc")
def test_an_array_takes_the_pages_of_the_one_before() -> None:
    return_freed_memory()
    page_faults()
    assert page_faults() >= 40
    keep_freed_memory()
    try:
        page_faults()
        assert page_faults() < 20
    finally:
        return_freed_memory()
    assert page_faults() >= 40


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert freed_memory._glibc() is None
    keep_freed_memory()
    return_freed_memory()
