"""Schedule, Place and CoSchedule: the queue as Gymnasium environments.

An observation is what `queuesim.learning.episode.View` shows. A reward is what the jobs that ended
since the last step have gained; over an episode they sum to the metric. An action that is masked
starts nothing: it is counted (``info["invalid_actions"]``) and means to wait, or, where nothing
would ever happen then, to start the first job that can; with ``invalid="error"`` it raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from netcosim.config.config import Config
from netcosim.gym.env_factory import EpisodeOptions, config_of, env_factory_from
from netsim.errors import NetcosimError, need_name, unknown_name
from queuesim.decide import Choice
from queuesim.learning.episode import DOMAIN_COLUMNS, JOB_COLUMNS, MACHINE_COLUMNS, Episode
from queuesim.metrics import summarise

Observation = dict[str, NDArray[np.float32]]
INVALID = ("wait", "error")
PLACES = ("rules", "domains")


class SchedulingEnv(gymnasium.Env[Observation, Any]):
    """What the environments share.

    Parameters
    ----------
    contention : str
        A run-time model (`netcosim list runtime-models`); the config's by default.
    rules : sequence of str
        Placement rules of the machine (policies that go by free nodes); the config's policies by
        default, where the agent chooses among them.
    places : str
        "rules": the agent chooses among these. "domains": among the machine's domains at
        ``level``, in one of which the config's first policy then places the job; where it does not
        fit there, on all free nodes of the domain, and on others for the rest.
    invalid : str
        "wait" or "error".
    render_mode : str, optional
        "rgb_array".
    **episodes
        See `netcosim.gym.env_factory.EpisodeOptions`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012
    decides_jobs = True
    decides_rules = True

    def __init__(
        self,
        config: str | Path | Mapping[str, Any] | Config,
        *,
        contention: str = "",
        rules: Sequence[str] = (),
        places: str = "rules",
        invalid: str = "wait",
        render_mode: str | None = None,
        **episodes: Any,
    ) -> None:
        need_name("invalid", invalid, INVALID)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise unknown_name("render_mode", str(render_mode), self.metadata["render_modes"])
        need_name("places", places, PLACES)
        self.in_domains = places == "domains"
        for name, given in (("rules", rules), ("places", self.in_domains)):
            if given and not self.decides_rules:
                raise NetcosimError(f"{name}: this environment does not ask how jobs are placed")
        if rules and self.in_domains:
            raise NetcosimError('rules conflicts with places = "domains"; leave one of them out')
        self.factory = env_factory_from(
            config_of(config, contention),
            decides_jobs=self.decides_jobs,
            decides_rules=self.decides_rules and not self.in_domains,
            rules=rules,
            decides_domains=self.in_domains,
            options=EpisodeOptions(**episodes),
        )
        self.invalid, self.render_mode = invalid, render_mode
        self.depth, self.rules = self.factory.depth, self.factory.rules
        self.n_places = self.factory.domains.n if self.in_domains else len(self.rules)
        self._n_invalid = 0
        self._refused: set[int] = set()
        self._can: tuple[list[bool], int, list[bool]] | None = None
        """Last result of `_startable`, for which fitting jobs and how many refusals."""
        self._episode: Episode | None = None
        shown: Any = spaces.Dict(
            {
                "jobs": spaces.Box(0.0, 1.0, (self.depth, len(JOB_COLUMNS)), np.float32),
                "domains": spaces.Box(
                    0.0, 1.0, (self.factory.domains.n, len(DOMAIN_COLUMNS)), np.float32
                ),
                "machine": spaces.Box(0.0, 1.0, (len(MACHINE_COLUMNS),), np.float32),
            }
        )
        self.observation_space = shown
        choices = [self.depth + 1] * self.decides_jobs + [self.n_places] * self.decides_rules
        self._choices = choices
        self.action_space = (
            spaces.Discrete(choices[0]) if len(choices) == 1 else spaces.MultiDiscrete(choices)
        )

    @property
    def episode(self) -> Episode:
        """The episode that runs."""
        if self._episode is None:
            raise NetcosimError("no episode has begun: call reset() first")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode.

        ``options={"first": job}`` sets the first job; ``options={"as_run": True}`` runs all jobs
        as ``netcosim run`` does.
        """
        super().reset(seed=seed)
        given = options or {}
        for name in given:
            need_name("option of reset", name, ("first", "as_run"))
        self._n_invalid = 0
        self._refused.clear()
        self._episode = self.factory.episode(self.np_random, **given)
        self._episode.forward()
        return self._episode.observation(), self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action and go on to the next decision."""
        episode = self.episode
        if episode.point is None:
            raise NetcosimError("the episode is over: call reset()")
        place, where = self._read(action)
        if place is None or not self._started(place, where) or not self._something_left():
            self._refused.clear()
            episode.forward()
        over = episode.point is None
        return episode.observation(), episode.reward_since_last(), over, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are possible now, one part of the action after the other."""
        jobs = [*self._startable(), self.episode.may_wait] if self.decides_jobs else []
        return np.array([*jobs, *self._possible()], dtype=np.bool_)

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the machine's nodes by job, with the waiting jobs beside them."""
        return picture(self.episode) if self.render_mode == "rgb_array" else None

    def _possible(self) -> list[bool]:
        """Return whether each rule (always) or each domain with a free node is possible."""
        if self.in_domains:
            return [bool(n) for n in self.episode.free_nodes()]
        return [True] * self.n_places

    def _read(self, action: Any) -> tuple[int | None, int]:
        """Return the job's place among those waiting (None: wait), and the rule or domain."""
        plain = isinstance(action, int | np.integer)
        parts = [int(action)] if plain else np.asarray(action).ravel().tolist()
        if len(parts) != len(self._choices) or not all(
            isinstance(part, int) and 0 <= part < n
            for part, n in zip(parts, self._choices, strict=True)
        ):
            raise NetcosimError(f"action {action!r}: it must be one of {self.action_space}")
        possible, where = self._possible(), int(parts[-1])
        is_possible = not self.decides_rules or possible[where]
        can = self._startable() if self.decides_jobs else [True]
        place = int(parts[0]) if self.decides_jobs else 0
        if place < len(can) and can[place] and is_possible:
            return place, where
        if self.decides_jobs and place == self.depth and self.episode.may_wait:
            return None, where
        self._n_invalid += 1
        if self.invalid == "error":
            raise NetcosimError(f"action {action!r} is masked: it starts no job that can start")
        if self.episode.may_wait:
            return None, where
        return can.index(True), where if is_possible else possible.index(True)

    def _startable(self) -> list[bool]:
        """Return, for each place among the waiting jobs, whether the job there may start now."""
        episode, refused = self.episode, self._refused
        if self._can is not None and self._can[0] is episode.fits and self._can[1] == len(refused):
            return self._can[2]
        can = episode.fits + [False] * (self.depth - len(episode.fits))
        if refused:
            for k, job in enumerate(episode.waiting):
                can[k] = can[k] and job not in refused
        self._can = episode.fits, len(refused), can
        return can

    def _started(self, place: int, where: int) -> bool:
        """Start a job; one that cannot be placed is not selected again at this instant."""
        episode = self.episode
        job = episode.waiting[place] if episode.offered is None else episode.offered
        if episode.start(self._choice(job, where)):
            return True
        self._refused.add(job)
        return any(self._startable())

    def _choice(self, job: int, where: int) -> Choice:
        if not self.decides_rules:
            return Choice(job)
        if not self.in_domains:
            return Choice(job, self.rules[where])
        point = self.episode.point
        assert point is not None
        return Choice(job, nodes=point.within(job, self.factory.domains.of == where))

    def _something_left(self) -> bool:
        episode = self.episode
        if not episode.needs_decision():
            return False
        return not self.decides_jobs or any(self._startable())

    def _info(self) -> dict[str, Any]:
        episode = self.episode
        info: dict[str, Any] = {"invalid_actions": self._n_invalid}
        if episode.point is None:
            return info | {"metrics": asdict(summarise(episode.run.result()))}
        return info | {"time_s": episode.point.now_s}


class Schedule(SchedulingEnv):
    """``netcosim/Schedule-v0``: which of the first waiting jobs starts next, or none.

    The config's first policy places it. Actions: a place in the queue, or the last one to wait.
    """

    decides_rules = False


class Place(SchedulingEnv):
    """``netcosim/Place-v0``: which rule places the next job, which the config's queue names.

    Or, with ``places = "domains"``, in which group or pod.
    """

    decides_jobs = False


class CoSchedule(SchedulingEnv):
    """``netcosim/CoSchedule-v0``: both."""


_CELL, _BAR, _GAP = 6, 6, 12
_PAPER, _FREE, _INK = (255, 255, 255), (226, 226, 222), (70, 70, 70)
_COLOURS = (
    *((0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0)),
    *((86, 180, 233), (204, 121, 167), (240, 228, 66), (148, 103, 189)),
)
"""Okabe and Ito's, by job id."""


def picture(episode: Episode) -> NDArray[np.uint8]:
    """Draw the machine and its queue, (height, width, 3) uint8.

    Left: nodes in rows by domain, in the colour of their job, free ones grey. Right: a bar for each
    visible waiting job, whose length is its size, in its own colour.
    """
    view, machine = episode.view, episode.run.machine
    job_id = episode.run.workload.job_id
    rows, n_rows = view.domains.of, view.domains.n
    column = np.empty(len(rows), dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    begins = np.searchsorted(rows[order], np.arange(n_rows))
    column[order] = np.arange(len(rows)) - begins[rows[order]]
    cells = np.full((n_rows, int(column.max()) + 1, 3), _PAPER, dtype=np.uint8)
    cells[rows, column] = _FREE
    for job, placement in machine.placements.items():
        nodes = placement.nodes
        cells[rows[nodes], column[nodes]] = _COLOURS[int(job_id[job]) % len(_COLOURS)]
    nodes_picture = np.kron(cells, np.ones((_CELL, _CELL, 1), dtype=np.uint8))
    height = max(nodes_picture.shape[0], view.depth * _BAR)
    width = nodes_picture.shape[1]
    shown = np.full((height, 2 * width + _GAP, 3), _PAPER, dtype=np.uint8)
    shown[: nodes_picture.shape[0], :width] = nodes_picture
    shown[:, width + _GAP // 2] = _INK
    for k, job in enumerate(episode.waiting):
        long = max(1, round(width * machine.n_nodes[job] / len(rows)))
        colour = _COLOURS[int(job_id[job]) % len(_COLOURS)]
        shown[k * _BAR : (k + 1) * _BAR - 1, width + _GAP : width + _GAP + long] = colour
    return shown
