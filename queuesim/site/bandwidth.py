"""Bandwidth that jobs need, for policies that place by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from queuesim.draws import draw_key, uniform_per_job
from workloads.job import Workload


def bandwidth_needs(
    workload: Workload, classes_Bps: Sequence[float], rng: np.random.Generator
) -> NDArray[np.float64] | None:
    """Return the bandwidth that each job needs: as the log has it, else one of the classes; None if
    neither has a value.
    """
    known = workload.details.bytes_per_node_s
    drawn = bandwidth_by_class(workload, classes_Bps, rng) if classes_Bps else None
    if known is None:
        return drawn
    missing = np.isnan(known)
    if drawn is None and missing.any():
        raise NetcosimError(
            f"{workload.name}: {int(missing.sum()):,} of {len(workload):,} jobs have no "
            "bytes_per_node_s; queue.bandwidth_need defines their classes"
        )
    return known if drawn is None else np.where(missing, drawn, known)


def bandwidth_by_class(
    workload: Workload, classes_Bps: Sequence[float], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw the bandwidth that each job needs: one of some classes, all equally likely.

    The draw belongs to the job, so it is the same under every policy (Smith and Lowenthal,
    "Jigsaw", HPDC 2021, 5.4.2, draw one of four classes for LC+S).
    """
    u = uniform_per_job(draw_key(rng), 0, workload.job_id)
    return np.asarray(classes_Bps, dtype=np.float64)[(u * len(classes_Bps)).astype(np.int64)]
