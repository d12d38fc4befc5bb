"""A sweep: points that are not stored yet are computed, on whatever processes there are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from netcosim.executors.executor import KILLED, PointFunction, compute, function_path, run_tasks
from netcosim.executors.registry import open_workers
from netcosim.executors.workers import Workers
from netcosim.runs.outcome import Outcome
from netcosim.runs.points import point_key
from netcosim.runs.progress import progress as show_progress
from netcosim.runs.store import Store
from netsim.fingerprint import code_fingerprint
from netsim.inputs import refuse_bare_paths
from netsim.kinds import FUNCTION, need_kinds
from netsim.short_repr import short_repr
from netsim.units import format_quantity

Point = TypeVar("Point", bound=Mapping[str, object])
SHOWN_FAILURES = 5


@short_repr()
@dataclass(frozen=True)
class SweepSummary:
    """What a sweep did."""

    total: int
    """Different requested points."""
    already: int
    """Of them, stored before (failed ones among them, unless they were tried again)."""
    computed: int
    """Done now."""
    failed: tuple[tuple[str, str], ...]
    """Key and error of the points that failed now."""
    seconds: float
    """From start to end."""
    other_code: int
    """Of the points stored before, computed by sources that have changed since."""


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep would do."""

    total: int
    already: int
    to_do: int
    """total, already, to_do: Different points; stored; left."""
    seconds_per_point: float
    """Mean of the stored points, or of a trial; nan if unknown."""
    workers: int

    def lines(self) -> str:
        """Return the plan as two lines."""
        counts = f"{self.total:,} points, {self.already:,} stored, {self.to_do:,} to compute\n"
        if math.isnan(self.seconds_per_point) and self.to_do:
            return f"{counts}estimate: unknown until a point is stored"
        a_point = format_quantity(self.seconds_per_point, "time", 3)
        return (
            f"{counts}estimate: {format_quantity(self.estimated_s, 'time', 3)} on {self.workers} "
            f"process{'es' if self.workers > 1 else ''} ({a_point} a point)"
        )

    @property
    def estimated_s(self) -> float:
        """Time that the points left will take; nan if unknown."""
        if self.to_do == 0:
            return 0.0
        return self.seconds_per_point * math.ceil(self.to_do / self.workers)


def keyed(points: Sequence[Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
    """Return points by key, in order; equal ones once."""
    by_key: dict[str, Mapping[str, object]] = {}
    for point in points:
        refuse_bare_paths(point)
        by_key.setdefault(point_key(point), point)
    return by_key


def sliced(points: Sequence[Point], which: int, count: int) -> list[Point]:
    """Return one slice (``which`` from 1) of ``count``: disjoint, sizes that differ by at most 1.

    Slices follow from the points' keys, which are as good as random: no slice has all points of
    one value, so none is slow because of a slow value.
    """
    by_key = {point_key(point): point for point in points}
    chosen = set(sorted(by_key)[which - 1 :: count])
    # in their order: neighbours share results in a process
    return [point for key, point in by_key.items() if key in chosen]


def run_points(
    function: str | PointFunction,
    points: Sequence[Mapping[str, object]],
    store: str | Path,
    *,
    jobs: int = 1,
    retry_failed: bool = False,
    progress: bool = True,
    meta: Mapping[str, object] | None = None,
    executor: str = "",
) -> SweepSummary | None:
    """Compute the points that the store does not contain; store each when it is done.

    This process distributes points and writes the store. The results are the same bit for bit
    wherever they are computed, since a point's seed follows from its content.

    A point that fails raises nothing: it is recorded, and the others go on. MPI ranks other than 0
    get None.

    Parameters
    ----------
    function : str or callable
        ``"module:name"``, or a function that has such a name; takes a point's config, returns
        its tables.
    points, store
        Resolved configs, equal ones computed once, and the file of their results.
    jobs, executor
        Local processes, or workers as ``--executor`` names them (`netcosim.executors.registry`);
        by default the other ranks under an MPI launcher.
    retry_failed, progress : bool
        Whether to compute failed points again, and to show the progress on stderr.
    meta : mapping, optional
        Entries that belong to the store, not to a point.

    Examples
    --------
    >>> import netcosim as nc
    >>> content = {
    ...     "machine": {"family": "torus", "dims": [8, 8]},
    ...     "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 4}},
    ...     "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
    ...     "run": {"snapshots": 0},
    ... }
    >>> points = [nc.config_from(content).resolved()]
    >>> first = nc.run_points("netcosim.runs.cosim:cosim_point", points, "b.db", progress=False)
    >>> again = nc.run_points("netcosim.runs.cosim:cosim_point", points, "b.db", progress=False)
    >>> first.computed, again.computed
    (1, 0)
    """
    need_kinds("run_points", {"points": (points, Sequence), "executor": (executor, str)})
    need_kinds("run_points", {"function": (function, (str, FUNCTION))})
    for number, point in enumerate(points):
        need_kinds("run_points", {f"points[{number}]": (point, Mapping)})
    # the store inside, so that the other ranks end, too, where it cannot be used
    with open_workers(executor, jobs) as workers:
        if workers is None:
            return None
        compute_point = partial(compute, function_path(function))
        with Store(store, "write") as opened:
            return _manage(compute_point, points, opened, workers, retry_failed, progress, meta)


def _manage(
    compute_point: Callable[[Mapping[str, object]], Outcome],
    points: Sequence[Mapping[str, object]],
    store: Store,
    workers: Workers,
    retry_failed: bool,
    progress: bool,
    meta: Mapping[str, object] | None,
) -> SweepSummary:
    started = time.perf_counter()
    by_key = keyed(points)
    code = code_fingerprint()
    if meta:
        store.put_meta(meta)
    held = {
        p.key: p.code
        for p in store.points()
        if p.key in by_key and not (retry_failed and p.status == "failed")
    }
    other_code = sum(other != code for other in held.values())
    tasks = {key: config for key, config in by_key.items() if key not in held}
    failed: list[tuple[str, str]] = []
    with show_progress(len(by_key), "points", begun=len(held), shown=progress) as show:
        done = len(held)

        def finish(outcomes: Sequence[tuple[str, Outcome]]) -> None:
            nonlocal done
            with store.together():
                for key, outcome in outcomes:
                    store.put(key, by_key[key], outcome, code)
            failed.extend((key, one.error) for key, one in outcomes if one.error is not None)
            done += len(outcomes)
            show.at(done, f"{len(failed):,} failed" if failed else "")

        killed = run_tasks(compute_point, tasks, finish, workers)
        finish([(key, Outcome(None, KILLED, 0.0)) for key in killed])
    return SweepSummary(
        total=len(by_key),
        already=len(held),
        computed=len(tasks) - len(failed),
        failed=tuple(failed),
        seconds=time.perf_counter() - started,
        other_code=other_code,
    )


TRIAL_S, ESTIMATED = 5.0, 8
"""No point is computed to find out if one of about so many is estimated to take longer."""


def plan_points(
    function: str | PointFunction,
    points: Sequence[Mapping[str, object]],
    store: str | Path,
    *,
    workers: int = 1,
    trial: bool = True,
    estimate: Callable[[Mapping[str, object]], float] | None = None,
) -> SweepPlan:
    """Estimate how many points of `run_points` are left and how long they take; write nothing.

    With ``trial`` one point, in the middle of the list, is computed where none is stored whose time
    could be taken (twice, the first time for compilation), unless ``estimate`` gives a point more
    than `TRIAL_S`.
    """
    by_key = keyed(points)
    times: list[float] = []
    held: set[str] = set()
    if Path(store).exists():
        with Store(store, "read") as opened:
            stored = opened.points()
        held = {p.key for p in stored if p.key in by_key}
        times = [p.seconds for p in stored if p.status == "done" and p.key in by_key]
    left = [config for key, config in by_key.items() if key not in held]
    if not times and left and trial:
        path, middle = function_path(function), left[len(left) // 2]
        if estimate is not None:
            times = [estimate(config) for config in left[:: max(1, len(left) // ESTIMATED)]]
        if max(times, default=0.0) <= TRIAL_S:
            compute(path, middle)
            times = [compute(path, middle).seconds]
    return SweepPlan(
        total=len(by_key),
        already=len(held),
        to_do=len(left),
        seconds_per_point=sum(times) / len(times) if times else math.nan,
        workers=workers,
    )


def failure_lines(summary: SweepSummary) -> list[str]:
    """Return a line for each of the first points that failed."""
    return [f"failed: point {key[:12]}: {error}" for key, error in summary.failed[:SHOWN_FAILURES]]
