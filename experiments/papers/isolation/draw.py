"""Drawings of the verdict: measured boxes with the scenarios over them; queues beside Baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.figures.panels import Look, boxes, dots, grouped_bars, panels
from experiments.figures.style import INK, SOFT, colour, grid, marker
from experiments.frames import first_seen, groups
from experiments.papers.isolation.cases import AT_ZERO
from experiments.papers.isolation.tables import MAIN_SHARE, QUANTILE_COLUMNS
from queuesim.scenario_fit import ASSUMED
from queuesim.snapshots import SIZE_CLASSES, class_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.papers.paper import Analysis, Options

LINES = {
    "5%": (SOFT, ":"),
    "10%": (SOFT, "--"),
    "20%": (SOFT, "-"),
    "V1": ("#CC79A7", "-"),
    "V2": ("#CC79A7", "--"),
    "Random": ("#E69F00", "-."),
}
LIMITS = (-22, 34)
ALWAYS = "all the time, window cut"
OFF = f"off the run time (%), f = {MAIN_SHARE}"


def draw_verdict(analysis: Analysis, options: Options) -> Figure:
    """A row a log, a column a way to measure; boxes by job size, the scenarios' means as lines."""
    table = analysis.tables["boxes"]
    table = table[table["share"] == MAIN_SHARE]
    wanted = shown_cases(first_seen(table, "case"))
    order = {case: place for place, case in enumerate(wanted)}
    logs = {log: place for place, log in enumerate(first_seen(table, "log"))}
    table = table[table["case"].isin(order)]
    places = table["log"].map(logs) * len(order) + table["case"].map(order)
    table = table.assign(place=places).sort_values("place", kind="stable")

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        boxes(axis, part, "size_class", "policy", quantiles=QUANTILE_COLUMNS, order=SIZES)
        # the mean of each scenario over the jobs of each class, joined by a line
        first = part.drop_duplicates("size_class").sort_values("size_class")
        for name in ASSUMED:
            line, style = LINES[name]
            axis.plot(first["size_class"], first[name], color=line, ls=style, lw=1.2, label=name)
        axis.axhline(0, color=INK, lw=0.8)
        axis.set_ylim(*LIMITS)
        axis.set_xticks(SIZES, [class_name(n) for n in SIZES])
        axis.tick_params(axis="x", labelsize=7.5)

    return panels(
        table,
        ("log", "case"),
        draw,
        columns=len(wanted),
        size_in=(3.6, 2.4),
        ylabel=OFF,
        xlabel="nodes of the job",
        title=lambda log, case: f"{log}: {case if ',' in case else f'{case}, {ALWAYS}'}",
        share=True,
    )


SIZES = tuple(range(len(SIZE_CLASSES)))


def shown_cases(cases: list[str]) -> list[str]:
    """At most three: communicating 30 % of the time, all the time, and the other routing."""
    live = [case for case in cases if "30%" in case]
    always = [case for case in cases if "," not in case]
    return [*live, *always][:3]


def draw_queues(analysis: Analysis, options: Options) -> Figure:
    """A row a log: turnaround and makespan of the fat-trees over the reference's."""
    import pandas as pd

    runs = analysis.tables["queues"]
    runs = runs[(runs["run_times"] != "as logged") & (runs["network"] == "fattree")]
    kinds = first_seen(runs, "run_times")
    scenarios = [kind for kind in kinds if kind in ("none", *ASSUMED)]
    measured = [kind for kind in kinds if kind not in scenarios and not kind.endswith(" end")]
    order, policies = [*scenarios, *measured], first_seen(runs, "policy")
    # policies one below the other; the ends of an interval at the height of its mean
    label = runs["run_times"].str.replace(r", \w+ end$", "", regex=True)
    below = runs["policy"].map(policies.index) - (len(policies) - 1) / 2
    runs = runs.assign(y=label.map(order.index) + 0.2 * below)
    looks = {policy: Look(colour(k), marker(k)) for k, policy in enumerate(policies)}
    words = {"turnaround": "mean_turnaround_s", "makespan": "makespan_s"}
    parts = [
        mine.assign(word=word, ratio=mine[f"{column}_ratio"])
        for (log,), mine in groups(runs, "log")
        for word, column in words.items()
        # where jobs arrive as logged the last arrival sets the makespan: nothing to show
        if word == "turnaround" or log in AT_ZERO
    ]

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        ends = part["run_times"].str.endswith(" end")
        dots(axis, part[~ends], "ratio", "y", "policy", looks=looks, size=26)
        for (policy, _), both in groups(part[ends], "policy", "y"):
            axis.plot(both["ratio"], both["y"], color=looks[policy].colour, lw=1.4)
        axis.axvline(1, color=INK, lw=0.8)
        low, high = axis.get_xlim()
        axis.set_xlim(min(low, 0.95), max(high, 1.05))
        axis.axhline(len(scenarios) - 0.5, color=SOFT, lw=0.8, ls=":")
        axis.set_ylim(len(order) - 0.4, -0.6)
        named = part["word"].iloc[0] == "turnaround"
        axis.set_yticks(range(len(order)), order if named else [""] * len(order), fontsize=7)
        grid(axis, "both")

    def title(log: str, word: str) -> str:
        arrivals = "all arrive at 0" if log in AT_ZERO else "logged arrivals"
        return f"{log} ({arrivals}): {word} / Baseline's"

    size = (4.6, 2.5)
    return panels(pd.concat(parts), ("log", "word"), draw, columns=2, size_in=size, title=title)


def draw_sensitivity(analysis: Analysis, options: Options) -> Figure:
    """A panel a log and share of the time: bars by whose nodes the reference has, over all jobs."""
    table = analysis.tables["off"]
    table = table[table["nodes"] == "all"]
    repeated = zip(table["order"], table["ranks_per_node"], table["length"], strict=True)
    ways = [
        order + f"\n{ranks} ranks" * (ranks > 1) + f"\n{length} x as long" * (length > 1)
        for order, ranks, length in repeated
    ]

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        grouped_bars(axis, part, "way", "policy", "taken_off", ends=("low", "high"))
        axis.tick_params(axis="x", labelsize=7)

    def title(log: str, duty: float) -> str:
        return f"{log}: {f'{duty:.0%} of the time' if duty < 1 else ALWAYS}"

    return panels(
        table.assign(way=ways),
        ("log", "duty"),
        draw,
        columns=2,
        size_in=(4.7, 2.9),
        ylabel=OFF,
        title=title,
    )
