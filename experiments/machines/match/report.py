"""What ``netcosim match`` prints and writes: the answer, the rows, a machine file, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.machines.match.fit import Fitted
from experiments.machines.match.rows import format_bytes
from experiments.machines.match.tests import Matched
from netcosim.config.toml_text import toml_text
from netcosim.report.effect import counted
from netcosim.report.page import Section, long_table, render_page
from netcosim.report.policies import print_table
from netcosim.report.recommendation import Recommendation
from netsim.units import short_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NEAR = 1.1
"""Median factor up to which a machine is as described."""
CONDITION = (
    "The benchmarks had the network for themselves; an algorithm that neither their outputs nor "
    "--algorithm name is MPICH's."
)
Explained = tuple[Fitted, float, float] | None
"""See `experiments.machines.match.fit.explaining`."""


def judged(matched: Sequence[Matched]) -> list[Matched]:
    """Return the rows that were simulated and that nothing was fitted on."""
    return [one for one in matched if one.ratio == one.ratio and not one.fitted]


def recommend(
    matched: Sequence[Matched], fitted: Sequence[Fitted], explained: Explained
) -> Recommendation:
    """Return how far the machine is from its description, what explains it, and what to do next."""
    if not judged(matched):
        sentence = "No row was left to judge the machine by: all were fitted on, or not simulated."
        step = "Add outputs of other tests, such as collectives."
    else:
        sentence, step = _sentence(matched, fitted, explained), _next_step(fitted, explained)
    return Recommendation(sentence, (), CONDITION, step)


def _sentence(matched: Sequence[Matched], fitted: Sequence[Fitted], explained: Explained) -> str:
    times = [1 / one.ratio for one in judged(matched)]
    middle = float(np.median(times))
    subject = "After the fit, the machine" if fitted else "The machine"
    unused = " that the fit did not use" if fitted else ""
    near = "is as described: it " if 1 / NEAR <= middle <= NEAR else ""
    how = f"{near}takes {middle:.2f} times as long as simulated"
    if explained is not None:
        one, before, after = explained
        how += (
            f", which {one.parameter.name} explains most: {format_value(one, one.after)} instead "
            f"of {format_value(one, one.before)}"
            if after < before
            else ", which no parameter of the end points explains by itself"
        )
    return f"{subject} {how} (median of {counted(len(times), 'row')}{unused})."


def _next_step(fitted: Sequence[Fitted], explained: Explained) -> str:
    if fitted:
        return "Simulate with the fitted machine, which --output FILE.toml writes."
    if explained is None:
        return "Add osu_latency and osu_bw of one pair: they show which parameter differs."
    _, before, after = explained
    if after < before:
        off = f"rows are off by a factor of {after:.2f} instead of {before:.2f} (median)"
        return f"Add --fit: with that value {off}."
    return "Check links, buffers and routing under [machine], beginning with the row below."


def details(matched: Sequence[Matched]) -> list[str]:
    """Return which row differs most, and why rows were not simulated."""
    lines = []
    if rows := judged(matched):
        worst = max(rows, key=lambda one: abs(float(np.log(one.ratio))))
        takes = f"takes {1 / worst.ratio:.2f} times as long as simulated"
        lines.append(f"The row that differs most, {worst.row.label}, {takes}.")
    if skipped := [one for one in matched if one.ratio != one.ratio]:
        reasons = [*dict.fromkeys(one.reason for one in skipped)][:4]
        lines.append(f"Not simulated, {counted(len(skipped), 'row')}: {'; '.join(reasons)}.")
    return lines


def format_value(one: Fitted, value: float | None) -> str:
    """Return a value of a parameter with its unit."""
    if value is None:
        return "none"
    unit = one.parameter.unit
    if unit == "B/s":
        return f"{value / 1e9:.4g} GB/s"
    if unit == "B":
        return format_bytes(int(value))
    return f"{value * 1e9:.4g} n{unit}" if unit.startswith("s") else f"{value:.4g}"


def frame_of(matched: Sequence[Matched]) -> pd.DataFrame:
    """Return measured and simulated values side by side."""
    import pandas as pd

    return pd.DataFrame(
        {
            "test": one.row.test,
            "algorithm": one.algorithm,
            "bytes": one.row.bytes,
            "nodes": one.row.nodes,
            "ranks": one.row.ranks,
            "statistic": one.row.statistic,
            "measured": one.row.value,
            "simulated": one.simulated,
            "unit": one.row.unit,
            "ratio": one.ratio,
            "fitted": one.fitted,
            "note": one.reason,
        }
        for one in matched
    )


def row_table(matched: Sequence[Matched]) -> str:
    """Return measured, simulated and ratio by row; ratio is of times, above 1 too slow."""
    frame = frame_of(matched)
    parts = frame[["test", "algorithm", "statistic"]].to_numpy().tolist()
    names = [" ".join(filter(None, part)) for part in parts]
    columns = ["bytes", "ranks", "measured", "simulated", "unit", "ratio", "fitted"]
    return print_table(frame[columns].assign(test=names)[["test", *columns]])


def fitted_lines(fitted: Sequence[Fitted]) -> list[str]:
    """Return each fitted parameter with what it was fitted from."""
    return [
        f"{one.parameter.name}: {format_value(one, one.after)} (described: "
        f"{format_value(one, one.before)}), from {one.source}"
        for one in fitted
    ]


def machine_text(raw: Mapping[str, Any], fitted: Sequence[Fitted], lead: str) -> str:
    """Return the machine's file with the fitted values, and what each was fitted from."""
    content = deepcopy(dict(raw))
    notes = content.setdefault("match", {}).setdefault("fitted", {})
    for one in fitted:
        for path in (one.path, *(tuple(dotted.split(".")) for dotted in one.parameter.alike)):
            # family parameters are keys of [machine] itself
            level = content
            for part in path[:-1]:
                level = level if part == "parameters" else level.setdefault(part, {})
            name = path[-1]
            for key in [key for key in level if short_name(key) == short_name(name)]:
                del level[key]
            if one.after is not None:
                is_whole = one.parameter.unit.startswith("B")
                level[name] = round(one.after) if is_whole else float(f"{one.after:.4g}")
            notes[short_name(name)] = one.source
    return (
        f"# {lead}\n# Fitted by netcosim match; [match.fitted] lists from which rows.\n\n"
        + toml_text(content)
    )


def draw(matched: Sequence[Matched], title: str) -> Figure:
    """Draw the ratio of each row over its bytes."""
    from netcosim.report.figures.style import colour, grid, literal, marker, new_figure

    figure, [axis] = new_figure(8.0, 4.2)
    compared = [one for one in matched if one.ratio == one.ratio]
    for i, test in enumerate(dict.fromkeys(one.row.test for one in compared)):
        part = [one for one in compared if one.row.test == test]
        axis.plot(
            [max(1, one.row.bytes) for one in part],
            [one.ratio for one in part],
            marker(i),
            linestyle="",
            color=colour(i),
            label=literal(test),
        )
    axis.axhline(1.0, color="0.6", linewidth=0.8)
    axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="bytes", ylabel="simulated time / measured time", title=title)
    grid(axis, "both")
    if compared:
        axis.legend(fontsize=8, frameon=False)
    return figure


def page_text(
    title: str,
    answer: Recommendation,
    matched: Sequence[Matched],
    fitted: Sequence[Fitted],
    *,
    command: str,
    config: str,
    inputs: Mapping[str, str],
) -> str:
    """Return the page: the recommendation, the figure, what was fitted, all rows, the command."""
    ratios = "Ratios are of times: above 1 the simulation is slower."
    listed = {"Results": details(matched), "Fitted": fitted_lines(fitted)}
    sections = [
        answer.section(),
        *(Section(name, sentences=lines) for name, lines in listed.items() if lines),
        Section(
            "Ratios",
            figure=draw(matched, title),
            caption="Simulated over measured time of each row.",
        ),
        long_table("Rows", frame_of(matched), ratios),
    ]
    return render_page(title, "", sections, command=command, config=config, inputs=inputs)
