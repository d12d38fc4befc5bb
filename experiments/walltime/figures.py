"""Table II and Figs. 6 to 13: levels under Base, relative gains of the other schemes, job sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.kit.bootstrap import bootstrap_mean, bootstrap_ratio
from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.data import read_printed
from experiments.kit.frames import groups
from experiments.kit.panels import Heights, curves, grouped_bars, panels
from experiments.kit.papers import Analysis, Options
from experiments.walltime.logs import notes, of_intrepid
from netcosim.report.figures.style import INK, colour
from netcosim.runs.points import point_rng
from queuesim.observables.jobs import CLASSES
from queuesim.statistics import LEAST_WINDOWS, Interval

printed = read_printed("walltime")
METRIC_NAMES = {
    "loss_of_capacity": "loss of capacity",
    "wait_min": "average wait",
    "bounded_slowdown": "average bounded slowdown",
}
KEYS = ("case", "order", "month")
RUN = (*KEYS, "scheme")
ORDERS = ("fcfs", "wfp")
COUNTED = ("SL", "PF", "Combo", "AdjEst")
"""The schemes of the paper's 48 cases: all but Base and the ideal ActRun."""
SHOWN = ("Base", "Combo")
"""Schemes whose distributions are shown."""
LARGE = list(CLASSES)[-1]
LITTLE = 0.9
"""Under WFP the paper sees "little improvement" for the largest jobs."""
DASHES = {"Base": "--", "Combo": "-"}


def _rng(options: Options, *what: object) -> np.random.Generator:
    named = ",".join(map(str, what))
    return point_rng({"bootstrap": named, "seed": options.seed}, "bootstrap")


def _condition(case: str, order: str) -> str:
    return f"{case}, {order.upper()}"


def runs_table(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return every run with the paper's metrics: `METRIC_NAMES`."""
    runs = frames["runs"]
    wait_min, slowdown = runs["mean_wait_s"] / 60, runs["mean_bounded_slowdown"]
    return runs.assign(wait_min=wait_min, bounded_slowdown=slowdown)


def day_gain(
    days: pd.DataFrame, base: pd.DataFrame, metric: str, rng: np.random.Generator
) -> Interval:
    """Return the relative gain with its interval from resampled days, the same of both schedules.

    Jobs of a day wait for the same queue, so days and not jobs are drawn; queues that
    last over days make the interval too narrow. nan where draws of nothing but zeros occur.
    """
    n = max(len(days), len(base))
    new, old = (
        np.pad(frame[metric].to_numpy(dtype=float), (0, n - len(frame))) for frame in (days, base)
    )
    if not old.sum() > 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = bootstrap_ratio(new, old, rng)
    return Interval(1 - ratio.value, 1 - ratio.high, 1 - ratio.low)


def gains_table(frames: Mapping[str, pd.DataFrame], options: Options) -> pd.DataFrame:
    """Return (V_base - V_new) / V_base of every metric, case, month, order and scheme.

    Columns: case, order, month, scheme, metric, base, value, gain, low, high.
    """
    days, rows = dict(groups(frames["days"], *RUN)), []
    for keys, part in groups(runs_table(frames), *KEYS):
        runs = part.set_index("scheme")
        if "Base" not in runs.index:
            continue
        for scheme, metric in product(runs.index.drop("Base"), METRIC_NAMES):
            base, value = (float(runs.loc[s, metric]) for s in ("Base", scheme))
            gain = (base - value) / base if base > 0 else float("nan")
            rng = _rng(options, *keys, scheme, metric)
            drawn = day_gain(days[(*keys, scheme)], days[(*keys, "Base")], metric, rng)
            numbers = (base, value, gain, drawn.low, drawn.high)
            rows.append((*keys, scheme, metric, *numbers))
    columns = [*RUN, "metric", "base", "value", "gain", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def levels_table(frames: Mapping[str, pd.DataFrame], options: Options) -> pd.DataFrame:
    """Return every metric of every combination with its interval from resampled days.

    Columns: case, order, month, scheme, metric, value, low, high.
    """
    days, rows = dict(groups(frames["days"], *RUN)), []
    for keys, part in groups(runs_table(frames), *RUN):
        mine = days[keys]
        for metric in METRIC_NAMES:
            rng = _rng(options, "level", *keys, metric)
            # Shares of capacity add up over the days; waits and slowdowns are means over jobs.
            loss = metric == "loss_of_capacity"
            weights = np.full(len(mine), 1 / len(mine)) if loss else mine["jobs"].to_numpy()
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = bootstrap_ratio(mine[metric].to_numpy(), weights, rng)
            rows.append((*keys, metric, float(part[metric].iloc[0]), drawn.low, drawn.high))
    return pd.DataFrame(rows, columns=[*RUN, "metric", "value", "low", "high"])


def levels_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return all schemes, orders and months with intervals; the paper has no such values."""
    tables = {"levels": levels_table(frames, options), "timing": frames["timing"]}
    return Analysis(claims_frame([]), tables, notes(options))


def table2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Compare Base by month: cell by cell on Intrepid, else the mean with the paper's range."""
    runs = runs_table(frames)
    claims: list[Claim] = []
    for (case, order), part in groups(runs, "case", "order"):
        check = ClaimBuilder("Table II", case)
        for metric in METRIC_NAMES:
            paper = printed["table_2"][order][metric]
            simulated = part.set_index("month")[metric]
            name = f"{order.upper()}, {METRIC_NAMES[metric]}"
            if of_intrepid(case):
                claims += [
                    check.near(
                        f"{name}, {month}", cell, float(simulated[month]), within=25, unit="%"
                    )
                    for month, cell in zip(printed["months"], paper, strict=True)
                    if month in simulated.index
                ]
            else:
                mean = _over_months(simulated, _rng(options, case, order, metric))
                what = f"{name}: mean of the months"
                claims.append(check.between(what, min(paper), max(paper), mean))
    for (case,), part in groups(runs, "case"):
        check = ClaimBuilder("V-D.1, Table II", case)
        for metric in METRIC_NAMES:
            fcfs, wfp = (np.mean(printed["table_2"][order][metric]) for order in ORDERS)
            simulated = [float(part[part["order"] == order][metric].mean()) for order in ORDERS]
            ratio = simulated[1] / simulated[0] if simulated[0] > 0 else float("nan")
            name = f"WFP over FCFS, {METRIC_NAMES[metric]}"
            claims.append(check.below(name, ratio, 1, paper=float(wfp / fcfs)))
    return Analysis(claims_frame(claims), {"runs": runs}, notes(options))


def gains_analyse(metric: str, figure: str) -> Callable[..., Analysis]:
    """Return the analysis of Figs. 6, 7 and 8: gains of one metric by month and scheme."""

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        table = gains_table(frames, options)
        mine = table[table["metric"] == metric].reset_index(drop=True)
        claims: list[Claim] = []
        for (case, order), part in groups(mine, "case", "order"):
            check = ClaimBuilder(f"Fig. {figure}", _condition(case, order))
            means = _means(part, options)
            for scheme, mean in means.items():
                what = f"{scheme}: average gain over the months"
                claims.append(check.surely_above(what, mean, 0))
            if means:
                claims += _up_to(check, part, printed["gains"][order][metric], means)
        claims += _shares_of_the_best(metric, mine)
        averages = mine.groupby(["case", "order", "scheme"], sort=False)["gain"].mean()
        tables = {"gains": mine, "averages": averages.reset_index()}
        return Analysis(claims_frame(claims), tables, notes(options))

    return analyse


def _means(part: pd.DataFrame, options: Options) -> dict[str, Interval]:
    """Average gain of each scheme with an interval from resampled months.

    Months in which Base has nothing to lose have no gain and are left out. A single month
    has the interval of its days.
    """
    found = {}
    for (scheme,), rows in groups(part[part["gain"].notna()], "scheme"):
        if len(rows) == 1:
            found[scheme] = Interval(*rows[["gain", "low", "high"]].to_numpy()[0])
        else:
            found[scheme] = _over_months(rows["gain"], _rng(options, "mean", scheme))
    return found


def _over_months(values: pd.Series[float], rng: np.random.Generator) -> Interval:
    """Return the mean over months: windows of a log."""
    return bootstrap_mean(values.to_numpy(), rng, least_samples=LEAST_WINDOWS)


def _up_to(
    check: ClaimBuilder,
    part: pd.DataFrame,
    most: Mapping[str, float],
    means: Mapping[str, Interval],
) -> list[Claim]:
    """Judge the text's statements on the largest and the smallest gains."""
    gains = part[part["scheme"] != "ActRun"]["gain"]
    best = max(mean.value for mean in means.values())
    claims = [
        check.at_least(what, float(simulated), paper / 2, paper=paper, note="half of the paper's")
        for what, simulated, paper in (
            ("average gains are up to", best, most["most_mean"]),
            ("largest gain of any month without ActRun", gains.max(), most.get("most")),
        )
        if paper is not None
    ]
    if "least" in most:
        what, least = "smallest gain of any month without ActRun", most["least"]
        claims.append(check.at_least(what, float(gains.min()), least, paper=least))
    return claims


def _shares_of_the_best(metric: str, mine: pd.DataFrame) -> list[Claim]:
    """Return the share of months and orders in which a scheme gains most, by case."""
    three, four, best = "SL, PF, Combo", "SL, PF, Combo, AdjEst", printed["best"]
    adjest, actrun = best["adjest_loss_of_capacity"], best["actrun_loss_of_capacity"]
    wide = mine.pivot(index=list(KEYS), columns="scheme", values="gain").reset_index()
    claims = []
    for of, scheme, others, what, paper, least in (
        ("loss_of_capacity", "AdjEst", three, f"more than {three}", adjest, 0.5),
        ("loss_of_capacity", "ActRun", four, f"more than {four}", actrun, 0.5),
        ("wait_min", "ActRun", four, "most in wait", best["actrun_wait"], 0.75),
    ):
        if of == metric:
            better = wide[scheme] > wide[others.split(", ")].max(axis=1)
            text = f"{scheme} gains {what}: share of months and orders"
            for case, share in better.groupby(wide["case"], sort=False).mean().items():
                claims.append(
                    ClaimBuilder("V-D.2", str(case)).at_least(text, share, least, paper=paper)
                )
    return claims


def fig9_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Return how often gains are above a threshold, over SL, PF, Combo, AdjEst (48 cases)."""
    table = gains_table(frames, options)
    table = table[table["scheme"].isin(COUNTED)].reset_index(drop=True)
    claims = []
    for (case,), part in groups(table, "case"):
        check = ClaimBuilder("V-D.3, Fig. 9", case)
        by = {metric: rows for (metric,), rows in groups(part, "metric")}
        wait, slowdown = (
            by[metric]["base"] - by[metric]["value"] for metric in ("wait_min", "bounded_slowdown")
        )
        fig9 = printed["fig9"]
        (low, high), least = fig9["wait_cut_min"], fig9["slowdown_cut"]
        waits, slowdowns = fig9["wait_cut_cases"] / 48, fig9["slowdown_cut_cases"] / 48
        for text, paper, hit in (
            *(
                (f"{METRIC_NAMES[m]}: gain above {t:.0%}", share, by[m]["gain"] > t)
                for m, t, share in fig9["gains"]
            ),
            (f"wait shorter by {low:g} to {high:g} min", waits, wait.between(low, high)),
            (f"bounded slowdown lower by {least:g}", slowdowns, slowdown >= least),
            ("any metric: gain above 0", fig9["any"], part["gain"] > 0),
        ):
            found = bootstrap_mean(hit.to_numpy(dtype=float), _rng(options, case, text))
            what = f"{text}: share of {len(hit)} cases"
            claims.append(check.near(what, paper, found, within=0.15))
    return Analysis(claims_frame(claims), {"gains": table}, notes(options))


def gain_bars(analysis: Analysis, options: Options) -> Figure:
    """Draw Figs. 6 to 8: gains by month, one panel a case and order, intervals from the days."""
    percent = Heights("gain", ends=("low", "high"), scale=100)
    return panels(
        analysis.tables["gains"],
        ("case", "order"),
        lambda axis, part: grouped_bars(axis, part, "month", "scheme", percent),
        ylabel="relative gain (%)",
        title=_condition,
    )


def gain_distribution(analysis: Analysis, options: Options) -> Figure:
    """Draw Fig. 9: share of cases with at least a gain, a curve a metric."""
    table = analysis.tables["gains"]
    by_case = table.groupby(["case", "metric"])["gain"]
    above = by_case.rank(method="first", na_option="bottom") - 1
    share = 100 - 100 * above / by_case.transform("size")
    table = table.assign(share=share, gain=100 * table["gain"])
    name = METRIC_NAMES.__getitem__

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        curves(axis, part, "gain", "share", "metric", name=name, steps=True)
        axis.axvline(0, color=INK, linewidth=0.8)

    return panels(
        table,
        "case",
        draw,
        columns=2,
        size_in=(4.2, 3.0),
        xlabel="relative gain of at least (%)",
        ylabel="share of cases (%)",
    )


def class_analyse(metric: str, order: str, figure: str) -> Callable[..., Analysis]:
    """Return the analysis of what the text reads off the curves, and of Combo in every class."""
    mean, short = {
        "wait_min": ("mean_wait_min", "wait"),
        "bounded_slowdown": ("mean_slowdown", "BSD"),
    }[metric]

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        classes, quantiles = frames["classes"], frames["quantiles"]
        claims: list[Claim] = []
        for (case, name), part in groups(classes, "case", "class"):
            by_scheme = part.set_index("scheme")
            if not set(SHOWN) <= set(by_scheme.index):
                continue
            base, combo = (by_scheme.loc[scheme] for scheme in SHOWN)
            if not float(base[mean]) > 0:
                continue  # no job waits
            check = ClaimBuilder(f"V-D.4, Fig. {figure}", _condition(case, order))
            what = f"{name}: Combo over Base, mean {short}"
            ratio = float(combo[mean]) / float(base[mean])
            if order == "wfp" and name == LARGE:
                claims.append(check.at_least(what, ratio, LITTLE, note="little improvement"))
            else:
                claims.append(check.below(what, ratio, 1))
            if metric == "wait_min":
                claims += _printed_waits(check, name, order, base, combo)
        shown = quantiles[quantiles["metric"] == metric].reset_index(drop=True)
        tables = {"classes": classes, "quantiles": shown}
        return Analysis(claims_frame(claims), tables, notes(options))

    return analyse


def _printed_waits(
    check: ClaimBuilder, name: str, order: str, base: pd.Series, combo: pd.Series
) -> list[Claim]:
    """Judge the shares and medians that the text gives for May 2009."""
    claims = []
    for column, text, known in (
        ("near_zero", "no wait to speak of", printed["near_zero_wait"]),
        ("within_300_min", "a wait within 300 min", printed["within_300_min"]),
    ):
        if order == "fcfs" and name in known:
            for scheme, row, paper in zip(SHOWN, (base, combo), known[name], strict=True):
                what = f"{name}: share with {text}, {scheme}"
                claims.append(check.near(what, paper, float(row[column]), within=0.10))
    if name == LARGE:
        what, paper = f"{name}: median wait in minutes, Base", printed["median_large_min"][order]
        claims.append(check.near(what, paper, float(base["median_wait_min"]), within=25, unit="%"))
    return claims


def class_curves(analysis: Analysis, options: Options) -> Figure:
    """Draw Figs. 10 to 13: cumulative distributions by size class, Combo solid, Base dashed."""
    table = analysis.tables["quantiles"]
    table = table.assign(curve=table["class"] + " " + table["scheme"])
    styles = {f"{c} {s}": (colour(i), DASHES[s]) for i, c in enumerate(CLASSES) for s in SHOWN}
    waits = bool((table["metric"] == "wait_min").any())

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        curves(axis, part, "value", "share", "curve", styles=styles)
        if waits:
            axis.set_xlim(0, max(300.0, float(part[part["share"] <= 0.95]["value"].max())))
        else:
            axis.set_xscale("log")

    return panels(
        table,
        ("case", "month"),
        draw,
        columns=2,
        size_in=(5.5, 3.2),
        xlabel="wait (minutes)" if waits else "bounded slowdown",
        ylabel="fraction of jobs",
    )
