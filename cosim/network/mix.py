"""Communication of the jobs of a log: a mix of patterns, drawn per job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from queuesim.draws import draw_key, uniform_per_job
from workloads.details import Labels
from workloads.job import Workload

if TYPE_CHECKING:
    from workloads.shares.law import FractionLaw

FloatArray = NDArray[np.float64]
Drawn = tuple[NDArray[np.int64], FloatArray]
"""Of each job its communication, as an index, and its communication share."""


MAX_WEIGHT = 1e12
"""Beyond, a weight of 1 beside it is no longer drawn."""


@dataclass(frozen=True)
class PatternShare:
    """A pattern's part of a mix."""

    pattern: str
    weight: float
    """Share of jobs, up to a common factor."""
    fraction_low: float
    fraction_high: float
    """fraction_low, fraction_high: The job's communication share of its run time is uniform between
    the two."""
    min_nodes: int = 1
    max_nodes: int | None = None
    """Jobs that it is for, both ends included."""
    ranks: Callable[[int], tuple[int, int]] | None = field(default=None, compare=False)
    """Of a job of so many nodes, the ranks that take part, 0 where the pattern cannot be on so
    many, and all; None: all on any number."""

    def used(self, n_nodes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the ranks that take part, and all, in jobs of these sizes, (n, 2)."""
        if self.ranks is None:
            return np.stack([n_nodes, n_nodes], axis=1).astype(np.int64)
        sizes, which = np.unique(n_nodes, return_inverse=True)
        found = [self.ranks(size) for size in sizes.tolist()]
        return np.array(found, dtype=np.int64).reshape(-1, 2)[which]

    def suits(self, n_nodes: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether the entry is for jobs of these sizes, (n,)."""
        most = MAX_INDEX if self.max_nodes is None else self.max_nodes
        return np.asarray((n_nodes >= self.min_nodes) & (n_nodes <= most))


@dataclass(frozen=True)
class CommunicationMix:
    """Patterns and communication fractions of jobs, drawn per job."""

    shares: tuple[PatternShare, ...]
    law: FractionLaw | None
    """Distribution of all communication shares, for any pattern; None: those of the patterns."""

    def __init__(self, shares: Iterable[PatternShare], law: FractionLaw | None = None) -> None:
        object.__setattr__(self, "shares", tuple(shares))
        object.__setattr__(self, "law", law)
        if not self.shares:
            raise NetcosimError("communication mix: it needs at least one pattern")
        for share in self.shares:
            if not 0 < share.weight <= MAX_WEIGHT:
                raise NetcosimError(
                    f"communication mix, {share.pattern}: weight {share.weight}; it must be above "
                    f"0 and at most {MAX_WEIGHT:g}"
                )
            if not 0 <= share.fraction_low <= share.fraction_high <= 1:
                raise NetcosimError(
                    f"communication mix, {share.pattern}: fraction {share.fraction_low} to "
                    f"{share.fraction_high}; need 0 <= low <= high <= 1"
                )

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the last draw, which has all jobs of a log."""
        return {"shares": self.shares, "law": self.law}

    def draw(self, workload: Workload, rng: np.random.Generator) -> Drawn:
        """Draw the pattern and communication share of every job from the entries for its size.

        A job whose entries cannot be on its ranks has a fraction of 0: it only computes. Values in
        the log (`workloads.details`) replace draws: a job's pattern where an entry of that name is
        for its size, the first one, and its communication share. Returns the index into ``shares``
        and the fraction of each job; those of the last draw are kept for the next policy.
        """
        key = draw_key(rng)
        if key not in self._last or self._last[key][0] is not workload:
            drawn = self._draw(workload, key)
            self._last.clear()
            self._last[key] = workload, drawn
        return self._last[key][1]

    @cached_property
    def _last(self) -> dict[int, tuple[Workload, Drawn]]:
        """The last draw by its key, with its jobs."""
        return {}

    def _draw(self, workload: Workload, key: int) -> Drawn:
        suits, runs = self._suits(workload)
        without = np.flatnonzero(~suits.any(axis=1))
        if len(without):
            job = without[0]
            raise NetcosimError(
                f"communication mix: no entry is for job {workload.job_id[job]} of "
                f"{workload.n_nodes[job]} nodes ({len(without):,} such jobs); add one for jobs of "
                "any size"
            )
        silent = np.asarray(~runs.any(axis=1))
        weights = np.array([share.weight for share in self.shares])
        edges = np.cumsum(np.where(runs, weights, 0.0), axis=1)
        u = uniform_per_job(key, 0, workload.job_id) * edges[:, -1]
        which = (edges <= u[:, None]).sum(axis=1)
        which = np.minimum(which, len(self.shares) - 1 - runs[:, ::-1].argmax(axis=1))
        logged = self._logged_pattern(workload, runs)
        which = np.where(logged >= 0, logged, which)
        u = uniform_per_job(key, 1, workload.job_id)
        if self.law is None:
            low = np.array([share.fraction_low for share in self.shares])[which]
            high = np.array([share.fraction_high for share in self.shares])[which]
            fraction = low + (high - low) * u
        else:
            ties = uniform_per_job(key, 2, workload.job_id)
            fraction = self.law.draw(u, ties, workload.n_nodes)
        known = workload.details.communication_fraction
        fraction = fraction if known is None else np.where(np.isnan(known), fraction, known)
        return which, np.where(silent, 0.0, fraction)

    def _suits(self, workload: Workload) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which entries are for each job, and of these which can be on its ranks, (n, k)."""
        suits = np.stack([share.suits(workload.n_nodes) for share in self.shares], axis=1)
        if all(share.ranks is None for share in self.shares):
            return suits, suits
        used = np.stack([share.used(workload.n_nodes)[:, 0] for share in self.shares], axis=1)
        return suits, suits & (used > 0)

    def silent(self, workload: Workload) -> NDArray[np.bool_]:
        """Return the jobs that send nothing, as no pattern that is for them can be on their
        ranks."""
        return np.asarray(~self._suits(workload)[1].any(axis=1))

    def with_traffic(self, workload: Workload, rng: np.random.Generator) -> Workload:
        """Return the jobs with what `draw` gives each as if it were in the log."""
        which, fraction = self.draw(workload, rng)
        names = tuple(share.pattern for share in self.shares)
        details = replace(
            workload.details,
            pattern=Labels(which.astype(np.int32), names),
            communication_fraction=fraction,
        )
        return replace(workload, details=details)

    def _logged_pattern(self, workload: Workload, suits: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the (n,) entries of the logged patterns; -1 where there is none."""
        labels, found = workload.details.pattern, np.full(len(workload), -1)
        if labels is not None:
            for k, share in reversed(list(enumerate(self.shares))):
                if share.pattern in labels.names:
                    mine = labels.code == labels.names.index(share.pattern)
                    found[mine & suits[:, k]] = k
        return found

    def _rank_notes(self, workload: Workload) -> list[str]:
        """Return notes on jobs that only compute, and on ranks that are idle."""
        notes, sizes = [], workload.n_nodes
        suits, runs = self._suits(workload)
        if (silent := suits.any(axis=1) & ~runs.any(axis=1)).any():
            names = ", ".join(dict.fromkeys(share.pattern for share in self.shares))
            low, high = int(sizes[silent].min()), int(sizes[silent].max())
            notes.append(
                f"{int(silent.sum()):,} jobs of {low:,} to {high:,} nodes send nothing: "
                f"communication.mix ({names}) has no pattern for their number of ranks"
            )
        for k, share in enumerate(self.shares):
            used, ranks = share.used(sizes).T
            if (partly := runs[:, k] & (used < ranks)).any():
                most = int(used[partly].max())
                notes.append(
                    f"{share.pattern} uses {most:,} ranks at most: in {int(partly.sum()):,} jobs "
                    "that may have it, others are idle"
                )
        return notes

    def noted(self, workload: Workload) -> Workload:
        """Return the jobs with notes on how many have logged patterns, and which of these are not
        in the mix."""
        details, notes = workload.details, []
        if details.pattern is not None and (named := details.pattern.known).any():
            suits = self._suits(workload)[1]
            taken = self._logged_pattern(workload, suits) >= 0
            notes.append(f"the log has the pattern of {int(taken.sum()):,} jobs")
            missing = sorted({str(details.pattern[int(i)]) for i in np.flatnonzero(named & ~taken)})
            if missing:
                notes.append(
                    f"patterns of {int((named & ~taken).sum()):,} jobs are drawn, as no entry of "
                    f"communication.mix that is for them is called {', '.join(missing[:5])}"
                )
        fraction = details.communication_fraction
        if fraction is not None and (logged := ~np.isnan(fraction)).any():
            rest = int((~logged).sum())
            notes.append(
                f"the log has the communication share of {int(logged.sum()):,} jobs"
                + (f"; that of {rest:,} is drawn" if rest else "")
            )
        notes += self._rank_notes(workload)
        if self.law is not None:
            notes.append(self.law.describe(workload.n_nodes))
        if not notes:
            return workload
        return replace(workload, notes=tuple(dict.fromkeys((*workload.notes, *notes))))
