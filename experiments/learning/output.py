"""Plays what is not stored, and writes tables, a figure and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.kit.results import compute_points, write_tables
from experiments.learning.cells import MACHINES, PATTERNS, Cell
from experiments.learning.clairvoyant import CLAIRVOYANT
from experiments.learning.figure import held_out_figure
from experiments.learning.play import PPO
from experiments.learning.points import (
    AGENT,
    BLIND,
    FUNCTION,
    HANDS,
    ORDER_ALONE,
    Training,
    points_of,
)
from experiments.learning.tables import between, cell_lines, counted, differences
from netcosim.report.figures.style import save_figure
from netcosim.runs.frames import frames_of
from netcosim.runs.sweep import SweepSummary, failure_lines
from netsim.atomic_files import write_text_atomically
from netsim.errors import NetcosimError

STORE = "bench-rl.db"
DIGITS = "%.6g"


def play_and_write(
    cells: Sequence[Cell],
    training: Training,
    out: Path,
    *,
    jobs: int = 1,
    executor: str = "",
    ppo: bool = False,
    progress: bool = True,
    form: str = "png",
) -> tuple[SweepSummary, list[str]] | None:
    """Play the points that ``out`` does not hold yet, and write what all of them show.

    ``jobs`` and ``executor`` are those of `netcosim.runs.sweep.run_points`; they change no result.
    With ``ppo`` it trains MaskablePPO too. Returned are the summary and lines for the screen; None
    on MPI ranks other than 0.
    """
    points = [point for cell in cells for point in points_of(cell, training, ppo)]
    done = compute_points(
        FUNCTION,
        points,
        out / STORE,
        jobs=jobs,
        executor=executor,
        progress=progress,
        retry_failed=True,
        first=_longest_first,
    )
    if done is None:
        return None
    summary, frames = done[0], frames_of(done[1])
    if "weeks" not in frames or "curve" not in frames:
        first = summary.failed[0][1] if summary.failed else "nothing is stored"
        raise NetcosimError(f"bench-rl: no agent could be trained: {first}")
    lines = _written(frames, training.reward, out, form)
    computed = f"{summary.total} points, {summary.computed} computed in {summary.seconds:.0f} s"
    return summary, [computed, *lines, *failure_lines(summary)]


def _longest_first(point: Mapping[str, Any]) -> int:
    """Return a sort key: agents that play with a network take longest."""
    order, player = (PPO, CLAIRVOYANT, AGENT, BLIND, HANDS), point["bench_rl"]["player"]
    return order.index(player) if player in order else len(order)


def _written(frames: Mapping[str, pd.DataFrame], metric: str, out: Path, form: str) -> list[str]:
    """Write tables, figures and agents; return what they show, and their names."""
    weeks, curve = frames["weeks"], frames["curve"]
    compared = differences(weeks, metric)
    networks = pd.concat(
        [between(weeks, metric, AGENT, other) for other in (BLIND, f"{BLIND}, {ORDER_ALONE}")],
        ignore_index=True,
    )
    tables = {"differences": compared, "networks": networks, "curve": curve, "weeks": weeks}
    files = write_tables(out, tables, DIGITS)
    if len(compared):
        figure = held_out_figure(compared, metric)
        files.append(save_figure(figure, out / f"held-out.{form}", form))
    agents = frames["weights"]
    for (machine, workload, player), mine in agents.groupby(
        ["machine", "workload", "player"], sort=False
    ):
        if player == AGENT:
            files.append(out / f"agent-{machine}-{workload}.py")
            write_text_atomically(
                files[-1], agent_file(str(machine), str(workload), list(mine["weight"]))
            )
    return [
        "mean score on held-out weeks: the best hand rule's, and others beside it:",
        *(f"  {line}" for line in cell_lines(compared)),
        "held-out weeks, beside the hand rule that was best on the training weeks (95 %):",
        *(f"  {line}" for line in counted(compared)),
        "held-out weeks, trained with the network beside trained without:",
        *(f"  {line}" for line in counted(networks, ["player", "other"])),
        *(f"wrote {path}" for path in files),
    ]


def agent_file(machine: str, workload: str, weights: Sequence[float]) -> str:
    """Return a trained agent as a Python file, in which ``Agent`` is a decider."""
    rules = tuple(MACHINES[machine].rules)
    shown = "".join(f"    {weight!r},\n" for weight in map(float, weights))
    return (
        f'"""Trained by netcosim bench-rl on {machine}, {workload}."""\n\n'
        "from experiments.learning.learned import LearnedAgent\n\n"
        f"RULES = {rules!r}\n"
        f"PATTERNS = {tuple(one['pattern'] for one in PATTERNS)!r}\n"
        f"WEIGHTS = (\n{shown})\n\n\n"
        "class Agent(LearnedAgent):\n"
        f'    """Who is next and which rule places it, as learned on {machine}."""\n\n'
        "    def __init__(self):\n"
        "        super().__init__(WEIGHTS, RULES, PATTERNS)\n"
    )
