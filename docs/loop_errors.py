"""Write ``loop-errors.csv``: ``python docs/loop_errors.py CONFIG.toml JOBS HELD_OUT_JOBS``.

Runs the exact loop of ``coupled-packets`` over the first jobs of a config's first point and policy,
and replays its judgements under budgets (`queuesim.kept_slowdowns.replayed`): how many groups each
judges, and how far off the stretches are that it works with. The budget that queue.md names was
chosen on these; the next seed, with which jobs send other things and run elsewhere, is held out.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.bench import bench_of
from experiments.config_load import config_from, load_sweep
from experiments.points import replaced
from queuesim.coupled_packets import CoupledPackets, PacketBudget
from queuesim.kept_slowdowns import Judgement, replayed

TABLE = Path(__file__).resolve().parent / "loop-errors.csv"
FLOWS_ALONE = (1e9, 0.5)
BUDGETS = (
    *((t, s) for s in (0.0, 0.15, 0.2, 0.25, 0.3, 0.4) for t in (0.0, 0.05, 0.1, 0.2)),
    FLOWS_ALONE,
)


def exact_journal(path: str, n_jobs: int, later: int) -> list[Judgement]:
    """Every judgement of the exact loop over the first jobs, with a seed that is so much higher."""
    point = load_sweep(path).points[0].resolved()
    changes = {"workload.first_jobs": n_jobs, "run.seed": point["run"]["seed"] + later}
    bench = bench_of(config_from(replaced(point, changes)))
    journal: list[Judgement] = []
    model = CoupledPackets(bench.network, PacketBudget(), journal=journal)
    bench.queues.under(bench.config.queue.policies[0], model)
    return journal


def rows(chosen: Sequence[Judgement], held_out: Sequence[Judgement]) -> Iterator[dict[str, object]]:
    """One a budget."""
    for tolerance, share in BUDGETS:
        row: dict[str, object] = {"tolerance": tolerance, "stale_share": share}
        for name, journal in (("chosen", chosen), ("held_out", held_out)):
            found = replayed(journal, tolerance, share)
            p50, p90 = found.errors(found.packet > 0)
            row |= {
                f"{name}_groups": found.n_groups,
                f"{name}_judged": found.n_judged,
                f"{name}_stretches": len(found.packet),
                f"{name}_p50": round(p50, 4),
                f"{name}_p90": round(p90, 4),
            }
        yield row


def main(arguments: Sequence[str]) -> None:
    """Run, replay, write and print."""
    path, n_chosen, n_held_out = arguments[0], int(arguments[1]), int(arguments[2])
    found = list(rows(exact_journal(path, n_chosen, 0), exact_journal(path, n_held_out, 1)))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for row in found:
        print(*row.values())


if __name__ == "__main__":
    main(sys.argv[1:])
