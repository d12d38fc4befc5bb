"""Write ``packet-errors.csv``: the judgement of `coupled-packets` beside longer loops of the jobs.

    python experiments/calibration/tables/packet_errors.py MINUTES

Mixes of ``netcosim reproduce calibration flow`` of a seed and messages of their own are judged
together as the queue does, and from other random starts for 32 periods. Rows are added mix by mix,
all networks in turn (the largest after each fourth mix), until the minutes are over; what is there
is not computed again.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from cosim.network.isolated_loops import loop_together
from cosim.network.job_network import JobLoads
from cosim.parameters import PacketBudget
from cosim.run_times.packet_judge import PacketJudge, PacketRecord
from experiments.calibration.flow_levels import MACHINES, mix_of, sharing

TABLE = Path(__file__).resolve().parent / "packet-errors.csv"
PAGE = Path(__file__).resolve().parents[1] / "coupled.md"
BEGIN, END = "<!-- packet errors -->\n", "<!-- end of packet errors -->"
HEAD = "| machine | routing | jobs | error | mean | extra time |\n|---|---|---|---|---|---|\n"
COLUMNS = ("machine", "routing", "mix", "n_nodes", "judged", "long")
NETWORKS = {
    "fat-tree 10": ("d-mod-k", "adaptive"),
    "dragonfly 72": ("minimal", "ugal-l"),
    "dragonfly 272": ("minimal", "ugal-l"),
    "torus 6x5x4": ("dimension-order", "minimal-adaptive"),
    "dragonfly 1056": ("minimal", "ugal-l"),
}
LARGEST = "dragonfly 1056"
SEED, MESSAGE_BYTES, PERIODS, DRAW, MIXES = 46, 30_000, 32, 8, 12
"""PERIODS, DRAW: Of the longer loops; the queue's draws are 0 to 3."""


def rows_of(machine: str, routing: str, mix: int) -> list[dict[str, object]]:
    """Return a row for each job of a mix that shares links."""
    config = {"machine": machine, "routing": routing, "mix": mix, "seed": SEED}
    config |= {"message_bytes": MESSAGE_BYTES, "policy": MACHINES[machine]["policies"][mix % 2]}
    network, jobs = mix_of(config)
    loads = JobLoads(network)
    judged = PacketJudge(loads, PacketBudget(), PacketRecord()).judge(jobs)
    sent = [(job, loop) for job in jobs if (loop := loads.isolated.of(job, 1.0)) is not None]
    loops = [loop for _, loop in sent]
    period_s, _ = loop_together(network.shared, loops, PERIODS, draw=DRAW, stream=DRAW)
    long = {
        job: 1 + job.fraction * max(0.0, (period - loop.period_s) / loop.comm_s)
        for (job, loop), period in zip(sent, period_s.tolist(), strict=True)
    }
    shares = sharing([loads.load(job).links for job in jobs])
    return [
        dict(zip(COLUMNS, (machine, routing, mix, job.n_nodes, found, long[job]), strict=True))
        for job, found, shared in zip(jobs, judged, shares.tolist(), strict=True)
        if shared
    ]


def page_rows(jobs: pd.DataFrame) -> str:
    """Return the rows of coupled.md: one a network, and one of all."""
    parts = [
        (
            f"{machine} | {routing}",
            jobs[(jobs["machine"] == machine) & (jobs["routing"] == routing)],
        )
        for machine, routings in NETWORKS.items()
        for routing in routings
    ]
    return "".join(page_row(*part) for part in [*parts, ("all | all", jobs)] if len(part[1]))


def page_row(name: str, jobs: pd.DataFrame) -> str:
    """Return a row: jobs, quantiles of the error in percent, its mean, and the extra time."""
    error = 100 * (jobs["judged"] / jobs["long"] - 1)
    quantiles = ", ".join(f"{q:.1f}" for q in np.quantile(error.abs(), (0.5, 0.9, 0.99)))
    judged, long = (float((jobs[column] - 1).sum()) for column in ("judged", "long"))
    extra = f"{judged / long:.2f}" if long > 0 else "none"
    return f"| {name} | {len(jobs)} | {quantiles} | {error.mean():+.1f} | {extra} |\n"


def write_page() -> None:
    """Write the stored rows into coupled.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = before + BEGIN + HEAD + page_rows(pd.read_csv(TABLE)) + END + rest.partition(END)[2]
    PAGE.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Compute what is not in the table, for so many minutes of CPU time."""
    if not TABLE.exists():
        TABLE.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    with TABLE.open(encoding="utf-8") as file:
        known = {(row["machine"], row["routing"], int(row["mix"])) for row in csv.DictReader(file)}
    for mix in range(MIXES):
        for machine, routings in NETWORKS.items():
            for routing in routings:
                if (machine, routing, mix) in known or (machine == LARGEST and mix % 4 != 3):
                    continue
                if time.process_time() > 60 * float(arguments[0]):
                    return
                rows: list[Mapping[str, object]] = list(rows_of(machine, routing, mix))
                with TABLE.open("a", encoding="utf-8") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
    write_page()
