"""Table II and Figs. 6 to 9: levels under Base, and relative gains of the other schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.papers.kit.claims import Claim, claims_frame
from experiments.papers.kit.frames import groups
from experiments.papers.paper import Analysis, Options, Point
from experiments.papers.walltime import printed
from experiments.papers.walltime.logs import CASES, chosen, notes
from experiments.papers.walltime.point import ORDERS, SCHEMES, month_point
from experiments.points import point_rng
from queuesim.statistics import Interval, bootstrap_mean, bootstrap_ratio

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("case", "order", "month")
COUNTED = SCHEMES[1:5]
"""The schemes of the paper's 48 cases: all but Base and the ideal ActRun."""


def points_of(*schemes: str) -> Callable[[Options], list[Point]]:
    """Points of these schemes for every case, month and order; quick: the middle month."""

    def points(options: Options) -> list[Point]:
        return [
            month_point(case.name, path, month, order, scheme, options.seed)
            for case, path in chosen(options)
            for month in ((case.middle,) if options.quick else case.months)
            for order in ORDERS
            for scheme in schemes
        ]

    return points


def _rng(options: Options, *what: str) -> np.random.Generator:
    return point_rng({"bootstrap": ",".join(what), "seed": options.seed}, "bootstrap")


def day_gain(
    days: pd.DataFrame, base: pd.DataFrame, metric: str, rng: np.random.Generator
) -> Interval:
    """Relative gain with its interval from resampled days, the same days of both schedules.

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
    """(V_base - V_new) / V_base of every metric, case, month, order and scheme.

    Columns: case, order, month, scheme, metric, base, value, gain, low, high.
    """
    import pandas as pd

    rows = []
    days = dict(groups(frames["days"], *KEYS, "scheme"))
    for keys, part in groups(frames["runs"], *KEYS):
        by_scheme = part.set_index("scheme")
        if "Base" not in by_scheme.index:
            continue
        for scheme in by_scheme.index:
            if scheme == "Base":
                continue
            for metric in printed.METRICS:
                base, value = (float(by_scheme.loc[s, metric]) for s in ("Base", scheme))
                drawn = day_gain(
                    days[(*keys, scheme)],
                    days[(*keys, "Base")],
                    metric,
                    _rng(options, *map(str, keys), str(scheme), metric),
                )
                rows.append(
                    {
                        **dict(zip(KEYS, keys, strict=True)),
                        "scheme": scheme,
                        "metric": metric,
                        "base": base,
                        "value": value,
                        "gain": (base - value) / base if base > 0 else float("nan"),
                        "low": drawn.low,
                        "high": drawn.high,
                    }
                )
    return pd.DataFrame(rows)


def levels_table(frames: Mapping[str, pd.DataFrame], options: Options) -> pd.DataFrame:
    """Every metric of every combination with its interval from resampled days.

    Columns: case, order, month, scheme, metric, value, low, high.
    """
    import pandas as pd

    rows = []
    days = dict(groups(frames["days"], *KEYS, "scheme"))
    for keys, part in groups(frames["runs"], *KEYS, "scheme"):
        mine = days[keys]
        for metric in printed.METRICS:
            rng = _rng(options, "level", *map(str, keys), metric)
            # Shares of capacity add up over the days; waits and slowdowns are means over jobs.
            loss = metric == "loss_of_capacity"
            weights = np.full(len(mine), 1 / len(mine)) if loss else mine["jobs"].to_numpy()
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = bootstrap_ratio(mine[metric].to_numpy(), weights, rng)
            rows.append(
                {
                    **dict(zip((*KEYS, "scheme"), keys, strict=True)),
                    "metric": metric,
                    "value": float(part[metric].iloc[0]),
                    "low": drawn.low,
                    "high": drawn.high,
                }
            )
    return pd.DataFrame(rows)


def levels_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """All schemes, orders and months, with intervals; nothing in the paper to compare with."""
    return Analysis(
        claims_frame([]),
        {"levels": levels_table(frames, options), "timing": frames["timing"]},
        notes(options),
    )


def table2_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """Base by month: cell by cell on Intrepid, else the mean beside the paper's range."""
    runs, claims = frames["runs"], []
    for (case, order), part in groups(runs, "case", "order"):
        for metric in printed.METRICS:
            paper = printed.TABLE_II[(order, metric)]
            ours = part.set_index("month")[metric]
            name = f"{order.upper()}, {printed.METRIC_NAMES[metric]}"
            if CASES[case].log == "intrepid":
                claims += [
                    Claim(
                        f"{name}, {month}",
                        "Table II",
                        abs(float(ours[month]) / cell - 1) <= 0.25,
                        "within 25 %",
                        case,
                        cell,
                        float(ours[month]),
                    )
                    for month, cell in zip(printed.MONTHS, paper, strict=True)
                    if month in ours.index
                ]
                continue
            mean = bootstrap_mean(ours.to_numpy(), _rng(options, case, order, metric))
            claims.append(
                Claim(
                    f"{name}: mean of the months",
                    "Table II",
                    min(paper) <= mean.value <= max(paper),
                    f"in the range of the paper's months, {min(paper):g} to {max(paper):g}",
                    case,
                    float(np.mean(paper)),
                    *mean,
                )
            )
    claims += _wfp_against_fcfs(runs)
    return Analysis(claims_frame(claims), {"runs": runs}, notes(options))


def _wfp_against_fcfs(runs: pd.DataFrame) -> list[Claim]:
    claims = []
    for (case,), part in groups(runs, "case"):
        for metric in printed.METRICS:
            paper = [np.mean(printed.TABLE_II[(order, metric)]) for order in ORDERS]
            ours = [float(part[part["order"] == order][metric].mean()) for order in ORDERS]
            claims.append(
                Claim(
                    f"WFP over FCFS, {printed.METRIC_NAMES[metric]}",
                    "V-D.1, Table II",
                    ours[1] < ours[0],
                    "WFP is lower",
                    case,
                    float(paper[1] / paper[0]),
                    ours[1] / ours[0] if ours[0] > 0 else None,
                )
            )
    return claims


def gains_analyse(metric: str, figure: str) -> Callable[..., Analysis]:
    """Figs. 6, 7 and 8: gains of one metric by month and scheme, and their averages."""

    def analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
        table = gains_table(frames, options)
        mine = table[table["metric"] == metric].reset_index(drop=True)
        claims = []
        for (case, order), part in groups(mine, "case", "order"):
            where, condition = f"Fig. {figure}", f"{case}, {order.upper()}"
            means = _means(part, options)
            if not means:
                continue
            claims += [
                Claim(
                    f"{scheme}: average gain over the months",
                    where,
                    mean.low > 0,
                    "the whole interval is above 0",
                    condition,
                    None,
                    *mean,
                )
                for scheme, mean in means.items()
            ]
            best = max(mean.value for mean in means.values())
            said = printed.GAINS[(metric, order)]
            paper_mean = printed.WFP_LOC_MEAN if said is None else said.most_mean
            claims.append(
                Claim(
                    "average gains are up to",
                    where,
                    best >= paper_mean / 2,
                    "at least half of the paper's",
                    condition,
                    paper_mean,
                    best,
                )
            )
            claims += _extremes(part, said, where, condition)
        if metric == "loss_of_capacity":
            claims += _estimates_matter(mine)
        elif metric == "wait_min":
            claims += _actrun_is_best(mine)
        averages = mine.groupby(["case", "order", "scheme"], sort=False)["gain"].mean()
        return Analysis(
            claims_frame(claims),
            {"gains": mine, "averages": averages.reset_index()},
            notes(options),
        )

    return analyse


def _means(part: pd.DataFrame, options: Options) -> dict[str, Interval]:
    """Average gain of each scheme with an interval from resampled months.

    Months in which Base has nothing to lose have no gain and are left out. A single month
    has the interval of its days.
    """
    found = {}
    for (scheme,), rows in groups(part[part["gain"].notna()], "scheme"):
        if len(rows) == 1:
            [row] = rows.to_dict("records")
            found[scheme] = Interval(row["gain"], row["low"], row["high"])
        else:
            gains = rows["gain"].to_numpy()
            found[scheme] = bootstrap_mean(gains, _rng(options, "mean", str(scheme)))
    return found


def _extremes(
    part: pd.DataFrame, said: printed.Gains | None, where: str, condition: str
) -> list[Claim]:
    if said is None:
        return []
    gains = part[part["scheme"] != "ActRun"]["gain"]
    claims = [
        Claim(
            "largest gain of any month without ActRun",
            where,
            float(gains.max()) >= said.most / 2,
            "at least half of the paper's",
            condition,
            said.most,
            float(gains.max()),
        )
    ]
    if said.least is not None:
        claims.append(
            Claim(
                "smallest gain of any month without ActRun",
                where,
                float(gains.min()) >= said.least,
                "not below the paper's",
                condition,
                said.least,
                float(gains.min()),
            )
        )
    return claims


def _share_best(mine: pd.DataFrame, scheme: str, others: tuple[str, ...]) -> dict[str, float]:
    """By case: share of months and orders in which a scheme gains more than the others."""
    wide = mine.pivot(index=list(KEYS), columns="scheme", values="gain").reset_index()
    better = wide[scheme] > wide[list(others)].max(axis=1)
    return {str(case): float(better[wide["case"] == case].mean()) for case in wide["case"].unique()}


def _estimates_matter(mine: pd.DataFrame) -> list[Claim]:
    claims = []
    for scheme, others, paper in (
        ("AdjEst", ("SL", "PF", "Combo"), printed.ADJEST_BEST),
        ("ActRun", ("SL", "PF", "Combo", "AdjEst"), printed.ACTRUN_BEST),
    ):
        for case, share in _share_best(mine, scheme, others).items():
            claims.append(
                Claim(
                    f"{scheme} gains more than {', '.join(others)}: share of months and orders",
                    "V-D.2",
                    share >= 0.5,
                    "in at least half",
                    case,
                    paper,
                    share,
                )
            )
    return claims


def _actrun_is_best(mine: pd.DataFrame) -> list[Claim]:
    return [
        Claim(
            "ActRun gains most in wait: share of months and orders",
            "V-D.2",
            share >= 0.75,
            "in at least three of four",
            case,
            1.0,
            share,
        )
        for case, share in _share_best(mine, "ActRun", COUNTED).items()
    ]


def fig9_analyse(frames: Mapping[str, pd.DataFrame], options: Options) -> Analysis:
    """How often gains are above a threshold, over SL, PF, Combo and AdjEst (48 cases there)."""
    table = gains_table(frames, options)
    table = table[table["scheme"].isin(COUNTED)].reset_index(drop=True)
    claims = []
    for (case,), part in groups(table, "case"):
        by = {metric: rows for (metric,), rows in groups(part, "metric")}
        checks = [
            (f"{printed.METRIC_NAMES[m]}: gain above {t:.0%}", by[m]["gain"] > t)
            for m, t, _ in printed.FIG9
        ]
        low, high, wait_share = printed.FIG9_WAIT_CUT
        cut = by["wait_min"]["base"] - by["wait_min"]["value"]
        checks.append((f"wait shorter by {low:g} to {high:g} min", cut.between(low, high)))
        least, slowdown_share = printed.FIG9_SLOWDOWN_CUT
        cut = by["bounded_slowdown"]["base"] - by["bounded_slowdown"]["value"]
        checks.append((f"bounded slowdown lower by {least:g}", cut >= least))
        checks.append(("any metric: gain above 0", part["gain"] > 0))
        shares = [share for _, _, share in printed.FIG9]
        papers = [*shares, wait_share, slowdown_share, printed.FIG9_ANY]
        for paper, (text, hit) in zip(papers, checks, strict=True):
            found = bootstrap_mean(hit.to_numpy(dtype=float), _rng(options, case, text))
            claims.append(
                Claim(
                    f"{text}: share of {len(hit)} cases",
                    "V-D.3, Fig. 9",
                    abs(found.value - paper) <= 0.15,
                    "within 15 percentage points",
                    case,
                    paper,
                    *found,
                )
            )
    return Analysis(claims_frame(claims), {"gains": table}, notes(options))
