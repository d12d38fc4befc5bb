"""Write ``loop-errors.csv``: ``python docs/loop_errors.py CONFIG.toml JOBS``.

Runs the exact loop of ``coupled-packets`` over the first jobs of a config's first point and policy,
and replays its judgements under budgets (`queuesim.kept_stretches.replayed`): how many groups each
judges, and how far off the stretches are that it works with. The budget that queue.md names was
chosen on the judgements of the first half of the run; those of the second half are held out.
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
from queuesim.kept_stretches import Judgement, replayed

TABLE = Path(__file__).resolve().parent / "loop-errors.csv"
BUDGETS = tuple((t, s) for s in (0.0, 0.15, 0.2, 0.25, 0.3, 0.4) for t in (0.0, 0.05, 0.1, 0.2))


def exact_journal(path: str, n_jobs: int) -> list[Judgement]:
    """Every judgement of the exact loop over the first jobs."""
    point = load_sweep(path).points[0].resolved()
    bench = bench_of(config_from(replaced(point, {"workload.first_jobs": n_jobs})))
    journal: list[Judgement] = []
    model = CoupledPackets(bench.network, PacketBudget(), journal=journal)
    bench.queues.under(bench.config.queue.policies[0], model)
    return journal


def rows(journal: Sequence[Judgement]) -> Iterator[dict[str, object]]:
    """One a budget, and the flow level alone as if nothing were ever judged."""
    for tolerance, share in (*BUDGETS, (1e9, 0.5)):
        found = replayed(journal, tolerance, share)
        early = found.judgement < len(journal) // 2
        (chosen_p50, chosen_p90), (held_p50, held_p90) = found.errors(early), found.errors(~early)
        yield {
            "tolerance": tolerance,
            "stale_share": share,
            "groups": found.n_groups,
            "judged": found.n_judged,
            "chosen_jobs": int(early.sum()),
            "chosen_p50": round(chosen_p50, 4),
            "chosen_p90": round(chosen_p90, 4),
            "held_out_jobs": int((~early).sum()),
            "held_out_p50": round(held_p50, 4),
            "held_out_p90": round(held_p90, 4),
        }


def main(arguments: Sequence[str]) -> None:
    """Run, replay, write and print."""
    found = list(rows(exact_journal(arguments[0], int(arguments[1]))))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    for row in found:
        print(*row.values())


if __name__ == "__main__":
    main(sys.argv[1:])
