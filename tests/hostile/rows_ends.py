"""Outputs that are no regular files, plug-ins that end it all, and runs that never end."""

from __future__ import annotations

import os
from pathlib import Path

from hostile.row import RUN, Make, Row, all_of, config_row, config_text, written
from hostile.rows_store import run_store

HUGE = f"1{'0' * 30}"


# netcosim report --export


def report(title: str, told: str, *words: str, make: Make = run_store) -> Row:
    return Row(f"report: {title}", ("report", "r.db", *words), told, make)


def pipe(name: str) -> Make:
    """A pipe of this name."""

    def make(folder: Path) -> None:
        os.mkfifo(folder / name)

    return make


OUTPUTS = [
    report("a pipe", "pipe", make=pipe("r.db")),
    report("a device for the page", "device", "--out", "/dev/full"),
    Row(
        "sweep into a pipe",
        ("sweep", "c.toml", "--out", "s.db", "--quiet"),
        "pipe",
        all_of(written("c.toml", config_text({})), pipe("s.db")),
    ),
    Row(
        "trace generate to a link",
        ("trace", "generate", "--out", "j.swf"),
        "link",
        lambda folder: (folder / "j.swf").symlink_to("/dev/null"),
    ),
]


# Plug-ins that raise what is no Exception; a schedule whose ranks wait for each other

OWN_ERROR = (
    "from alloc.nodes import NodePolicy\nclass Odd(BaseException): pass\n"
    "class Mine(NodePolicy):\n    name = 'mine'\n    description = 'x'\n    counts_only = True\n"
    "    def _select(self, n): raise Odd('odd')\nPLUGIN = [Mine]\n"
)
STUCK = """num_ranks 2
rank 0 {
r: recv 8b from 1 tag 1
s: send 8b to 1 tag 2
s requires r
}
rank 1 {
r: recv 8b from 0 tag 2
s: send 8b to 0 tag 1
s requires r
}
"""


def plugged(title: str, told: str, text: str, *words: str) -> Row:
    command = words or ("list", "policies", "--plugin", "mine.py")
    config = written("c.toml", config_text({"queue.policies": '["mine"]'}))
    return Row(f"plug-in: {title}", command, told, all_of(config, written("mine.py", text)))


ENDS = [
    plugged(
        "BaseException as it is read",
        "mine.py, line 1: BaseException: x",
        "raise BaseException('x')",
    ),
    plugged(
        "its own error as it runs",
        "mine.py, line 7: Odd: odd",
        OWN_ERROR,
        *RUN,
        "--plugin",
        "mine.py",
    ),
    Row(
        "a GOAL schedule in a circle",
        RUN,
        "wait for each other",
        all_of(
            written("g.goal", STUCK),
            written(
                "c.toml",
                config_text(
                    {
                        "mix.pattern": '"goal"',
                        "mix.message_bytes": None,
                        "mix.file": '"g.goal"',
                        "workload.synthetic.sizes": "[2]",
                        "workload.synthetic.mean_nodes": None,
                    }
                ),
            ),
        ),
    ),
]

ROWS = [
    *OUTPUTS,
    *ENDS,
    config_row(
        "10^30 iterations of the measure steady",
        {
            "run.measure": '"steady"',
            "run.steady.least_iterations": HUGE,
            "run.steady.most_iterations": HUGE,
        },
        "packet hops",
    ),
]
"""All rows, table after table."""
