"""The page's sentences and tables, from the stored ones.

    python experiments/ai_clusters/conclusions.py

rewrites the blocks of the page. Each sentence is an `Effect`, with its interval and sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.ai_clusters.cells import CONTROL, TODAY, USUAL
from experiments.kit.frames import cells
from netcosim.report.effect import TURNAROUND, Effect, counted, number, sentence, signed
from queuesim.statistics import ENDS

STUDY = Path(__file__).resolve().parent
PAGE = STUDY / "README.md"
JOBS = {"kalos": "Kalos' jobs", "frontier": "jobs of 64 to 512 GPUs", "philly": "Philly's kind"}
BOUGHT = {
    "few switches": "Slurm's tree rule",
    "segments": "Slurm's segments of 64 GPUs",
    "cells": "HiveD's cells",
    "spines": "a 1:1 fabric",
    "4 queue pairs": "hashing over 4 queue pairs",
    "spraying": "spraying",
}
EXPERTS, OVERLAPPED, SHUFFLED = "experts on 512 GPUs", "overlapped steps", "random rank order"
NETWORK = "a network without bottlenecks"
Tables = Mapping[str, pd.DataFrame]


def stored() -> Tables:
    """Return the stored tables by name."""
    names = ("costs", "purchases", "packets")
    return {name: pd.read_csv(STUDY / "tables" / f"{name}.csv") for name in names}


def row(table: pd.DataFrame, **levels: object) -> dict[str, Any]:
    """Return the one row of a cell; what is not named is as usual, with one queue pair."""
    for name, level in {**USUAL, **levels}.items():
        table = table[table[name] == level]
    [found] = table.to_dict("records")
    return {str(name): value for name, value in found.items()}


def cost(tables: Tables, **levels: object) -> Effect:
    """Return what contention does to mean turnaround in a cell."""
    found = row(tables["costs"], **levels)
    return _effect(found, "contention", NETWORK)


def purchase(tables: Tables, **levels: object) -> Effect:
    """Return what a purchase does to mean turnaround from a cell of today."""
    found = row(tables["purchases"], **levels)
    return _effect(found, BOUGHT[found["purchase"]], TODAY[found["placement"]])


def _effect(found: Mapping[str, Any], subject: str, against: str) -> Effect:
    value, low, high = (float(found[f"change_percent{end}"]) for end in ENDS)
    return Effect(
        *(subject, TURNAROUND, against, value, low, high, found["sample"], int(found["samples"])),
        method="block bootstrap" if found["sample"] == "block of the log" else "Student's t",
        part=f"at {found['oversubscription']}:1",
    )


def sampled(effects: Sequence[Effect]) -> str:
    """Return sentences of effects, one a subject, with the sample of all."""
    [(sample, samples)] = {(effect.sample, effect.samples) for effect in effects}
    subjects = dict.fromkeys((effect.subject, effect.against) for effect in effects)
    text = " ".join(
        _capital(sentence([e for e in effects if (e.subject, e.against) == subject]))
        for subject in subjects
    )
    return f"{text} ({counted(samples, sample)})"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def conclusions(tables: Tables) -> Iterator[str]:
    """Yield the lines of what the study concludes."""
    for log, jobs in JOBS.items():
        if log == CONTROL:
            continue
        at = {"log": log, "placement": "baseline"}
        today = [cost(tables, **at, oversubscription=over) for over in OVER]
        rule = purchase(tables, **at, purchase="few switches")
        yield f"- **{_capital(jobs)}, lowest-numbered servers.** {sampled([*today, rule])}"
        spread = [cost(tables, log=log, placement="random", oversubscription=over) for over in OVER]
        bought = [
            purchase(tables, log=log, placement="random", purchase=name)
            for name in ("few switches", "spines")
        ]
        yield f"- **{_capital(jobs)}, random servers.** {sampled([*spread, *bought])}"
    for log, jobs in JOBS.items():
        if log != CONTROL:
            experts = [
                cost(tables, log=log, placement="slurm-tree", variant=EXPERTS),
                purchase(
                    tables, log=log, placement="slurm-tree", variant=EXPERTS, purchase="spines"
                ),
            ]
            yield f"- **Experts on up to 512 GPUs, few switches, {jobs}.** {sampled(experts)}"


OVER = (7, 2, 1)


def shown(effect: Effect) -> str:
    """Return the cell of a table: a change in percent with its interval."""
    value, low, high = (signed(end) for end in (effect.value, effect.low, effect.high))
    return f"{value} ({low} .. {high})" if effect.has_interval else value


def cost_table(tables: Tables) -> Iterator[str]:
    """Yield the table of what contention adds, by placement and oversubscription."""
    yield "| jobs | traffic | servers | 1:1 | 2:1 | 7:1 | 7:1: iterations, alone, others |"
    yield "|---|---|---|---|---|---|---|"
    kinds = {"usual": "usual", OVERLAPPED: OVERLAPPED, EXPERTS: "experts on 512 GPUs"}
    kinds |= {SHUFFLED: "ranks in random order"}
    for variant, kind in kinds.items():
        for log in JOBS:
            for placement in ("baseline", "random", "slurm-tree", "hived"):
                if variant == SHUFFLED and placement != "random":
                    continue
                found = []
                at = {"log": log, "placement": placement, "variant": variant}
                for over in (1, 2, 7):
                    try:
                        found.append(shown(cost(tables, **at, oversubscription=over)))
                    except ValueError:
                        found.append("")
                if not found[-1]:
                    continue
                last = row(tables["costs"], **at)
                alone = last["longer_alone_percent"]
                parts = f"{signed(alone)}, {signed(last['longer_percent'] - alone)}"
                where = TODAY.get(placement, f"`{placement}`")
                yield f"| {log} | {kind} | {where} | {' | '.join(found)} | {parts} |"


def purchase_table(tables: Tables) -> Iterator[str]:
    """Yield the table of what each purchase changes at 7:1, by today's placement."""
    froms = [
        (log, placement, variant)
        for variant in ("usual", EXPERTS)
        for log in ("kalos", "frontier")
        for placement in (TODAY if variant == "usual" else ("slurm-tree",))
    ]
    heads = [
        f"{log}, {TODAY[placement]}{'' if variant == 'usual' else ', experts on 512 GPUs'}"
        for log, placement, variant in froms
    ]
    yield f"| | {' | '.join(heads)} |"
    yield "|---" * (1 + len(froms)) + "|"
    for name in BOUGHT:
        found = []
        for log, placement, variant in froms:
            at = {"log": log, "placement": placement, "variant": variant, "purchase": name}
            try:
                found.append(shown(purchase(tables, **at)))
            except ValueError:
                found.append("")
        yield f"| {_capital(BOUGHT[name])} | {' | '.join(found)} |"


def packet_table(tables: Tables) -> Iterator[str]:
    """Yield iterations by packets and by fluid, means over jobs by GPUs."""
    yield "| jobs | traffic | | servers | jobs seen | alone: packets, fluid | among others |"
    yield "|---|---|---|---|---|---|---|"
    for cell, part in cells(tables["packets"], "log", "variant", "oversubscription", "placement"):
        mean = {
            name: number(100 * np.average(part[name], weights=part["n_nodes"]) - 100)
            for name in ("packets_alone", "fluid_alone", "packets", "fluid")
        }
        yield (
            f"| {cell['log']} | {cell['variant']} | {cell['oversubscription']}:1 "
            f"| {TODAY[cell['placement']]} | {len(part)} "
            f"| {mean['packets_alone']}, {mean['fluid_alone']} "
            f"| {mean['packets']}, {mean['fluid']} |"
        )


BLOCKS = {
    "conclusions": conclusions,
    "costs": cost_table,
    "purchases": purchase_table,
    "packets": packet_table,
}
"""By the name of the comment before them in the page."""


def with_blocks(page: str, tables: Tables) -> str:
    """Return the page with its blocks from the tables."""
    for name, lines in BLOCKS.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        page = "".join([before, begin, *(f"{line}\n" for line in lines(tables)), end])
        page += rest.partition(end)[2]
    return page


if __name__ == "__main__":
    PAGE.write_text(with_blocks(PAGE.read_text("utf-8"), stored()), encoding="utf-8")
