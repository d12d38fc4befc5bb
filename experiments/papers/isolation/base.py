"""What the studies of isolation share: a log on a machine, its jobs' mix, and how it is measured.

A study varies keys of the config that `study_content` makes: every factor is a key, so whatever a
study found can be asked of another log and machine with ``netcosim run``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.config_load import config_from
from experiments.papers.paper import Point
from experiments.points import replaced

PATTERNS = (
    "all-to-all",
    "sub-a2a",
    "fft3d",
    "halo3d",
    "stencil4d",
    "unstructured-mesh",
    "pairs",
    "bisection-pairing",
)
"""Equally likely; each job has one, drawn by its id."""

LARGE_RANKS = 512
"""Above this an all-to-all of all ranks is no longer what applications do: sub-a2a instead."""

NODE_BYTES = 256 * 1024
"""What a node sends in an iteration, in the mean."""

SHARE = 0.3
"""Communication share of the jobs of Pollard et al. on Cab."""

WINDOW = 50
"""How many jobs behind the head backfilling looks at, as in the Jigsaw paper (5.4.3)."""
ROUTINGS = {"fattree": "d-mod-k", "dragonfly": "ugal-l"}
_MOST_NODES = 10**6


def study_mix(
    share: tuple[float, float] | None = (SHARE, SHARE),
    node_bytes: int = NODE_BYTES,
    ranks_per_node: int = 1,
) -> list[dict[str, Any]]:
    """Entries of ``[[communication.mix]]``: all patterns, equally likely at every size.

    Parameters
    ----------
    share : (float, float) or None
        Ends of what a job's communication fraction is drawn from; None where
        ``[communication.fraction]`` says it for all.
    node_bytes : int
    ranks_per_node : int
        All-to-alls end at `LARGE_RANKS` ranks.
    """
    largest = max(1, LARGE_RANKS // ranks_per_node)
    one_round = {"rounds": 1, "warmup_rounds": 0}
    fraction = {} if share is None else {"communication_fraction": list(share)}
    mix: list[dict[str, Any]] = [
        {
            "pattern": pattern,
            "node_bytes": node_bytes,
            **fraction,
            "parameters": one_round if pattern == "bisection-pairing" else {},
        }
        for pattern in PATTERNS
    ]
    mix[0]["nodes"] = [1, largest]
    return [*mix, {**mix[1], "nodes": [largest + 1, _MOST_NODES]}]


def study_content(
    sections: Mapping[str, Any],
    network: str,
    policies: Sequence[str],
    *,
    snapshots: int,
    seed: int,
    changes: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """A config as in a file: a log under policies, its jobs all in loops at some instants.

    Parameters
    ----------
    sections : mapping
        ``machine`` and ``workload``.
    network : {"fattree", "dragonfly"}
    policies : sequence of str
        The reference first.
    snapshots, seed : int
    changes : mapping of str to object, optional
        Dotted keys that are other than here, such as ``{"machine.taper": 0.5}``.
    """
    content = {
        "machine": {"routing": ROUTINGS[network], **sections["machine"]},
        "workload": dict(sections["workload"]),
        "queue": {"policies": list(policies), "window": WINDOW, "run_time_model": "as-logged"},
        "communication": {"mix": study_mix(), "task_mapping": "in-order"},
        "run": {"seed": seed, "snapshots": snapshots, "measure": "steady", "keep": "tables"},
    }
    return replaced(content, dict(changes or {}))


def study_point(experiment: str, content: Mapping[str, Any], labels: Mapping[str, object]) -> Point:
    """A point of `experiments.papers.kit.points.measured`: a resolved config, and columns."""
    return {
        "experiment": experiment,
        "config": config_from(content).resolved(),
        "labels": dict(labels),
    }
