"""The packet simulations on which the run times of jobs rest: how old they are, and of whom."""

from __future__ import annotations

from collections.abc import Mapping

from netsim.units import format_quantity

AGES_S = {"to_10_min": 600.0, "to_1_h": 3600.0, "older": float("inf")}
"""Classes of the age of a situation, by the most seconds since it ceased to be the present one."""


class PacketAges:
    """Job time by the age of the situation that packets have simulated.

    A job's situation is present until jobs that share links with it start or end; from then on it
    ages until the job is judged again.

    Examples
    --------
    Two jobs run for 100 s, one of which is not judged again after 40 s:

    >>> ages = PacketAges()
    >>> for now_s, waiting in ((0.0, {}), (40.0, {7: True}), (100.0, {})):
    ...     ages.pass_time(now_s, n_jobs=2)
    ...     ages.wait(now_s, waiting)
    >>> ages.summary()
    {'present': 0.7, 'to_10_min': 0.3, 'to_1_h': 0.0, 'older': 0.0, 'none': 0.0}
    """

    def __init__(self) -> None:
        self.job_s = 0.0
        self.aged_s = dict.fromkeys([*AGES_S, "none"], 0.0)
        self._now_s: float | None = None
        self._since_s: dict[int, float] = {}
        self._judged: dict[int, bool] = {}

    def pass_time(self, now_s: float, n_jobs: int) -> None:
        """Count the time since the last instant, in which so many jobs ran."""
        if self._now_s is not None:
            self.job_s += n_jobs * (now_s - self._now_s)
            for job, since_s in self._since_s.items():
                self._count(self._now_s - since_s, now_s - since_s, self._judged[job])
        self._now_s = now_s

    def _count(self, begin_s: float, end_s: float, judged: bool) -> None:
        """Count the time in which a situation ages from ``begin_s`` to ``end_s``."""
        if not judged:
            self.aged_s["none"] += end_s - begin_s
            return
        low_s = 0.0
        for name, high_s in AGES_S.items():
            self.aged_s[name] += max(0.0, min(end_s, high_s) - max(begin_s, low_s))
            low_s = high_s

    def wait(self, now_s: float, waiting: Mapping[int, bool]) -> None:
        """Note the jobs that wait for a judgement from now on, and whether they have had one."""
        self._since_s = {job: self._since_s.get(job, now_s) for job in waiting}
        self._judged = dict(waiting)

    def summary(self) -> dict[str, float]:
        """Return the share of job time by class; the rest of it is "present"."""
        total_s = max(self.job_s, 1e-300)
        shares = {name: aged_s / total_s for name, aged_s in self.aged_s.items()}
        return {"present": 1.0 - sum(shares.values()), **shares}


_WORDS = {
    "present": "packets of the present situation",
    "to_10_min": "packets of one up to 10 min old",
    "to_1_h": "up to 1 h",
    "older": "older",
    "none": "no packets",
}


def describe_ages(row: Mapping[str, float]) -> str:
    """Describe a row of "packet_ages" in a line."""
    shares = ", ".join(
        f"{100 * row[name]:.3g} % on {words}" for name, words in _WORDS.items() if row[name] > 0
    )
    return f"of job time rest {shares} ({_cost(row, 'coupled-packets')})"


_SOURCES = {
    "simulated": "simulated",
    "equal_jobs": "known from equal jobs",
    "like_jobs": "estimated from like jobs",
}


def describe_localities(row: Mapping[str, float], model: str) -> str:
    """Describe a row of "localities", of a run-time model, in a line."""
    counts = ", ".join(
        f"of {row[name]:,.0f} {words}" for name, words in _SOURCES.items() if row[name]
    )
    return f"locality of jobs: {counts or 'none sends'} ({_cost(row, model)})"


def _cost(row: Mapping[str, float], model: str) -> str:
    spent, budget = (format_quantity(row[name], "time", 2) for name in ("cpu_s", "budget_s"))
    return f"CPU time {spent} of {budget}, queue.{model}.budget"
