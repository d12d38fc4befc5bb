"""Programs of whole GOAL traces."""

from __future__ import annotations

from pathlib import Path

from netsim.traffic import Program
from patterns.goal import _parse, read_trace
from patterns.goal_steps import Places, trace_of


def read_goal(path: str | Path) -> Program:
    """Return the program of a GOAL file on as many ranks as it has."""
    trace = read_trace(path)
    return trace.program(trace.n_ranks)


def parse_goal(text: str, name: str = "goal", overlap: str = "streams") -> Program:
    """Return the program of a GOAL text on as many ranks as it has."""
    trace = trace_of(_parse(text, name), Places(name), overlap)
    return trace.program(trace.n_ranks)
