"""The verdict: effects, and sentences that are made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any

from cosim.parameters import SHARES
from experiments.isolation.gain.verdict import PAPERS_PERCENT, QUANTITIES, overall
from experiments.isolation.phases import NOT, PAYS, UNKNOWN
from experiments.kit.quantities import node_hours
from netcosim.report.effect import Effect, change_of, joined_ends, sentence, signed
from netcosim.report.recommendation import Recommendation, format_more
from netsim.units import format_quantity
from queuesim.statistics import LEAST_SAMPLES, Interval

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def verdicts(tables: Tables) -> dict[str, str]:
    """Return one word a policy."""
    return {
        str(row["policy"]): overall(
            [m["verdict"] for m in tables["metrics"] if m["policy"] == row["policy"]]
        )
        for row in tables["gains"]
    }


def gain_effects(tables: Tables) -> dict[str, list[Effect]]:
    """Return what isolation changes in run times, by policy."""
    [about], found = tables["rests_on"], {}
    for row in tables["gains"]:
        own: dict[str, Any] = {
            "subject": str(row["policy"]),
            "against": str(about["reference"]),
            "sample": "snapshot",
            "samples": min(int(row["snapshots"]), int(row["jobs"])),
            "method": "predictor" if row["why"] == "predicted" else "Student's t over snapshots",
        }
        found[own["subject"]] = [
            Effect(quantity=QUANTITIES[name], **change_of(row, name)._asdict(), **own)
            for name in ("gain_percent", "by_job_percent")
        ]
    return found


def queue_effects(tables: Tables) -> dict[str, list[Effect]]:
    """Return what isolation changes in the queue, by policy: all metrics side by side."""
    [about] = tables["rests_on"]
    found: dict[str, list[Effect]] = {str(row["policy"]): [] for row in tables["gains"]}
    for row in (*tables["metrics"], *tables["node_hours"]):
        of_queue = "metric" in row
        quantity = QUANTITIES[row["metric"]] if of_queue else node_hours()
        [gain] = [one for one in tables["gains"] if one["policy"] == row["policy"]]
        effect = Effect.of_row(
            row,
            "ratio",
            subject=str(row["policy"]),
            quantity=quantity,
            against=str(about["reference"]),
            sample="bootstrap log" if of_queue else "snapshot",
            samples=int(about["drawn_logs"] if of_queue else gain["snapshots"]),
            method="queues at the ends of the gain, with the scatter of bootstrap logs",
        )
        if effect is not None:
            found[effect.subject].append(effect)
    return found


def recommend(tables: Tables) -> Recommendation:
    """Return whether to isolate jobs, by the policy with the best verdict and turnaround."""
    [about] = tables["rests_on"]
    reference, words = str(about["reference"]), verdicts(tables)
    of_queue, of_runs = queue_effects(tables), gain_effects(tables)
    metrics = {name: [m for m in tables["metrics"] if m["policy"] == name] for name in words}
    order = (PAYS, UNKNOWN, NOT)
    best = min(words, key=lambda n: (order.index(words[n]), sum(m["ratio"] for m in metrics[n])))
    shown = [effect for effect in of_queue[best] if effect.quantity in QUANTITIES.values()]
    lead = {PAYS: f"Isolate jobs with {best}", NOT: f"Keep {reference}"}.get(words[best])
    if lead is None:
        open_ = not any(row["verdict"] != UNKNOWN for row in metrics[best])
        lead = f"Keep {reference} for now" if open_ else f"{best} is a trade-off"
    [gain] = [row for row in tables["gains"] if row["policy"] == best]
    outside, logs = about.get("outside"), int(about["drawn_logs"])
    share = f"{100 * about['fraction']:.0f} % of their time (share: {about['share']})"
    sends = "Set what your jobs send under [communication] in the config, and run it again."
    if gain["why"] == "predicted":
        sends = "Leave out --predict: packets then measure the gain."
    beyond = f"WARNING, outside of what the predictor was fitted on: {outside}. " if outside else ""
    every = [effect for name in words for effect in (*of_queue[name], *of_runs[name])]
    changes = sentence(shown)
    if words[best] == PAYS:
        changes = f"it {changes.removeprefix(best).lstrip()}"
    return Recommendation(
        f"{lead}: {changes}",
        tuple(shown),
        f"Jobs that communicate do so for {share}; more or less of it changes the answer.",
        _as_sentence(decides(gain)) or sends,
        beyond + _scheduling_noise(logs),
        reliable=not outside and logs >= LEAST_SAMPLES,
        others=tuple(effect for effect in every if effect not in shown),
        level=float(gain["level"]),
    )


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def decides(gain: Row) -> str:
    """Return what would decide on a policy; empty where it is decided, or for a prediction."""
    more, seconds = gain.get("more_snapshots"), gain.get("more_s")
    if more is None:
        return ""
    if seconds is not None:
        if not more:
            about = f"about {format_quantity(float(seconds), 'time', 1)}"
            return f"drawing the logs that an interval needs takes {about}"
        effect = "would give an interval" if gain["gain_percent_low"] is None else "would decide"
        return format_more(more, "snapshot", float(seconds), effect)
    if isinf(more):
        return "more snapshots would not decide: scheduling noise is larger than the effect"
    return f"about {more:.0f} more snapshots would decide, more than are looked at"


def lines_of(tables: Tables) -> list[str]:
    """Return the terminal's lines below the recommendation: one screen for one or two policies."""
    [about] = tables["rests_on"]
    jobs = f"{about['jobs']:,} jobs on {about['machine']}, {about['nodes']:,} nodes"
    lines, words = ["", f"{about['log']}: {jobs}"], verdicts(tables)
    of_queue, of_runs = queue_effects(tables), gain_effects(tables)
    for gain in tables["gains"]:
        name = str(gain["policy"])
        metrics = [row for row in tables["metrics"] if row["policy"] == name]
        lines.append(f"{name}, isolation {words[name]}:")
        lines.append(f"  {'; '.join(e.interval() for e in of_runs[name])}: {_source(gain)}")
        for effect in of_queue[name]:
            row = next((m for m in metrics if QUANTITIES[m["metric"]] == effect.quantity), None)
            lines.append(f"  {effect.interval()}{'' if row is None else _break_even(row)}")
        shares = [row for row in tables["shares"] if row["policy"] == gain["policy"]]
        if shares:
            parts = [
                f"{_factor(row['factor'])}: {signed(-row['gain_percent'])} %, {row['verdict']}"
                for row in shares
                if row["factor"] != 1
            ]
            lines.append(f"  run time by the predictor, at {'; at '.join(parts)}")
    return [*lines, "", rests_on(tables)]


def _factor(factor: float) -> str:
    return {0.5: "half the share", 2.0: "double the share"}.get(factor, f"{factor:g} x the share")


def _source(row: Row) -> str:
    """Describe what the reduction of run times was measured from."""
    level = f"{100 * row['level']:g} %"
    if row["why"] == "predicted":
        return f"PREDICTED without packets ({level} interval)"
    return f"packets of {row['jobs']} jobs ({level} interval; {row['why']})"


def _break_even(row: Row) -> str:
    """Format a metric's verdict, the run time from which it would be even, and papers' gains."""
    even = row["break_even_percent"]
    high = row["break_even_percent_high"]
    if even is None or even != even:
        broken = "run times hardly change it"
    elif high is not None and high <= 0:
        broken = "even without shorter run times"
    else:
        ends = change_of(row, "break_even_percent")
        broken = f"even from run times of {_percent(ends)}"
    papers = ", ".join(
        f"{signed(100 * (row[f'at_{gain:g}_percent'] - 1))} % at -{gain:g} %"
        for gain in PAPERS_PERCENT
    )
    return f", {row['verdict']}; {broken}; {papers}"


def _percent(found: Interval) -> str:
    """Format a change in percent with its ends, if it has some."""
    ends = "no interval" if found.low != found.low else joined_ends(*map(signed, found[1:]))
    return f"{signed(found.value)} % ({ends})"


def rests_on(tables: Tables) -> str:
    """Describe the data and assumptions of the answer."""
    [about] = tables["rests_on"]
    seen = ""
    if about.get("share_drive") is not None:
        seen = (
            f"; it came out as {about['share_contended']:.2f} among the others and "
            f"{about['share_drive']:.2f} of the node's link"
        )
    return (
        f"Setup: f = {about['fraction']:.2f} ({SHARES[about['share']]}){seen}; "
        f"{about['communicating_node_hours_percent']:.0f} % of the node-hours communicate; "
        f"nodes as {about['reference']} chooses them; {about['routing']}; node links of "
        f"{format_quantity(about['node_Bps'], 'bandwidth')}, the fabric's "
        f"{format_quantity(about['fabric_Bps'], 'bandwidth')}."
    )


def _scheduling_noise(logs: int) -> str:
    if logs < LEAST_SAMPLES:
        return f"Scheduling noise not estimated ({logs} of {LEAST_SAMPLES} bootstrap logs drawn)."
    return f"Scheduling noise estimated from {logs} bootstrap logs, drawn from blocks of this one."
