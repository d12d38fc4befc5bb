"""Measures groups one after the other, with a bar on the screen."""

from __future__ import annotations

import time
from collections.abc import Sequence

from experiments.progress import progress
from netcosim.validation.registry import Group
from netcosim.validation.row import Measured, Setting


def measure_groups(
    groups: Sequence[Group], setting: Setting
) -> tuple[dict[str, Measured], dict[str, float]]:
    """What each group finds, and how many seconds it took, by its name.

    Raises
    ------
    NetcosimError
        A peer that is not here, or that ends with an error.
    """
    found, seconds = {}, {}
    with progress(len(groups), "groups") as show:
        for number, group in enumerate(groups):
            show.at(number, group.name)
            started = time.perf_counter()
            found[group.name] = group.measure(setting)
            seconds[group.name] = time.perf_counter() - started
        show.at(len(groups), "done")
    return found, seconds
