"""Write the tables of ``speed.md`` and draw its figure.

    python experiments/benchmarks/tables/draw_speed.py [--measure [--only NAME ... | --resume]]

``--measure`` first measures all cases of ``netcosim bench`` but those of part "scale", about a
quarter of an hour on two idle cores. Each reading is stored as it comes: ``--resume`` measures what
an interrupted run has left. ``--only`` measures one case or part, such as "scale", and keeps the
other readings. A test holds page and file together.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from experiments.benchmarks.case import FULL, Reading, measure
from experiments.benchmarks.fork import in_fork
from experiments.benchmarks.host import this_host
from experiments.benchmarks.peers import PACKET_PEERS, PEERS, times_faster
from experiments.benchmarks.registry import CASES, chosen
from experiments.benchmarks.table import (
    format_rate,
    line,
    rate_shown,
    ratios,
    record,
    seconds_shown,
)
from netcosim.announce import compile_kernels
from netsim.atomic_files import write_text_atomically
from netsim.errors import NetcosimError

STORED = Path(__file__).resolve().with_name("speed.json")
ROOT = STORED.parents[3]
README, PAGE, FIGURE = ROOT / "README.md", ROOT / "docs/speed.md", ROOT / "docs/images/speed.png"
MARKS = re.compile(r"<!-- (\w+)(?: ([\w ,-]+))? -->\n.*?<!-- end -->", re.S)
RANGE = re.compile(r"\d+ to \d+ million packet hops a second")
COLD_LINES = 6
"""Cache lines that a hop touches and no cache holds where the machine is large; counted once."""

Record = Mapping[str, Any]


def stored() -> dict[str, Any]:
    """Return the stored file."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def reading(stored: Record) -> Reading:
    """Return a stored record as what was measured."""
    return Reading(**{name: stored[name] for name in Reading.__dataclass_fields__})


def when(measured: Record) -> str:
    """Return the version and the day of a record, or of the machine's; empty if it has none."""
    if "measured" not in measured:
        return ""
    return f"netcosim {measured['netcosim']}, {measured['measured'][:10]}"


def rows(found: Mapping[str, Any], parts: str) -> list[str]:
    """Return the readings of some parts as a Markdown table."""
    wanted = parts.split(", ")
    lines = ["| what | best | median | memory |", "|---|---|---|---|"]
    for r in found["readings"]:
        if r["part"] in wanted:
            one = reading(r)
            stalls = r["amounts"].get("stalls")
            what = r["description"] + (f", {stalls:,.0f} stalls" if stalls is not None else "")
            other = f"; {when(r)}" if when(r) != when(found["machine"]) else ""
            what += f" (`{r['name']}`{other})"
            best, memory = format_rate(r["unit"], one), f"{one.memory_bytes / 1e6:,.0f} MB"
            lines.append(f"| {what} | {best} | +{100 * one.spread:.0f} % | {memory} |")
    measured = {r["name"] for r in found["readings"]}
    cases = [case for case in CASES.values() if case.part in wanted and case.part != "threads"]
    if newer := [f"`{case.name}`" for case in cases if case.name not in measured]:
        lines.append(f"| not measured: {', '.join(newer)} | | | |")
    return lines


def peers(found: Mapping[str, Any], _: str) -> list[str]:
    """Return each recorded peer with netcosim's rate."""
    lines = ["| peer | recorded | what was run | netcosim | ratio |", "|---|---|---|---|---|"]
    by_name = {r["name"]: r for r in found["readings"]}
    beside = dict.fromkeys(PACKET_PEERS, by_name["packets-1056"])
    beside |= {peer: r for r in found["readings"] if r["part"] == "flows" for peer in r["peers"]}
    for name, r in beside.items():
        peer = PEERS[name]
        simulated = reading(r).rate(peer.unit)
        recorded = rate_shown(peer.low) + (
            f" to {rate_shown(peer.high)}" if peer.high > peer.low else ""
        )
        lines.append(
            f"| {name} | {recorded} {peer.unit}/s | {peer.how} | {rate_shown(simulated)} "
            f"(`{r['name']}`) | {times_faster(peer, simulated)} |"
        )
    return lines


def machine(found: Mapping[str, Any], _: str) -> list[str]:
    """Return what it was measured on."""
    m = found["machine"]
    version = f"{when(m)}; " if when(m) else ""
    return [
        f"{version}{m['cpu']}, {m['cores']} cores, {m['memory_bytes'] / 1e9:.0f} GB, "
        f"{m['system']}; Python {m['python']}, NumPy {m['numpy']}, Numba {m['numba']}; "
        f"load before the first measurement {m['load']:.2f}."
    ]


def roof_of(found: Mapping[str, Any]) -> dict[int, float]:
    """Return hops a second that cold lines alone allow, by how many are waited for at a time."""
    return {r["chains"]: reading(r).rate("lines") / COLD_LINES for r in of_part(found, "memory")}


def roof(found: Mapping[str, Any], _: str) -> list[str]:
    """Return the time of a line, and the hops a second that follow."""
    lines = ["| lines waited for at a time | a line | roof |", "|---|---|---|"]
    for chains, hops in roof_of(found).items():
        line_s = 1 / (hops * COLD_LINES)
        lines.append(f"| {chains} | {seconds_shown(line_s)} | {rate_shown(hops)} hops/s |")
    return lines


def rates(found: Mapping[str, Any], _: str) -> list[str]:
    """Return the range of the rates at about 1,000 nodes, in best rounds."""
    best = [reading(r).rate("hops") / 1e6 for r in of_part(found, "size")[:2]]
    return [f"**{int(min(best))} to {int(max(best))} million packet hops a second** on one core."]


def pairs(found: Mapping[str, Any], _: str) -> list[str]:
    """Return the ratios of measurements that belong together."""
    return [f"- {one}" for one in ratios([reading(r) for r in found["readings"]])]


TABLES: Mapping[str, Callable[[Mapping[str, Any], str], list[str]]] = {
    "rows": rows,
    "peers": peers,
    "machine": machine,
    "roof": roof,
    "rates": rates,
    "pairs": pairs,
}


def with_tables(page: str, found: Mapping[str, Any]) -> str:
    """Return the page with new tables between its marks."""

    def fresh(mark: re.Match[str]) -> str:
        told = f"{mark[1]} {mark[2]}" if mark[2] else mark[1]
        lines = TABLES[mark[1]](found, mark[2] or "")
        return "\n".join([f"<!-- {told} -->", *lines, "<!-- end -->"])

    return MARKS.sub(fresh, page)


def of_part(found: Mapping[str, Any], part: str) -> list[Record]:
    """Return the readings of a part."""
    return [r for r in found["readings"] if r["part"] == part]


def draw(found: Mapping[str, Any]) -> None:
    """Draw the figure: size, threads, kinds of load, and where the time goes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    _draw_size(axes[0][0], found)
    _draw_threads(axes[0][1], found)
    _draw_kinds(axes[1][0], found)
    _draw_parts(axes[1][1], found)
    figure.savefig(FIGURE, dpi=110, facecolor="white", metadata={"Software": None})


def _draw_size(ax: Any, found: Mapping[str, Any]) -> None:
    size = of_part(found, "size")
    nodes = [r["nodes"] for r in size]
    for unit, style in (("hops", "o-"), ("router hops", "s--")):
        ax.plot(nodes, [reading(r).rate(unit) for r in size], style, label=f"{unit}, one thread")
    for n, (chains, hops) in enumerate(roof_of(found).items()):
        told = "line" if chains == 1 else "lines"
        ax.axhline(hops, ls=":", color=f"C{2 + n}", label=f"roof: {chains} cold {told} at a time")
    for n, name in enumerate(PACKET_PEERS):
        peer = PEERS[name]
        ax.axhspan(peer.low, max(peer.high, 1.03 * peer.low), color=f"C{4 + n}", alpha=0.4,
                   label=f"{name}, router hops")  # fmt: skip
    ax.set(
        xscale="log", yscale="log", xlabel="nodes", ylabel="packet hops a second",
        title="by size of the machine", ylim=(3e4, 3e8),
    )  # fmt: skip
    ax.set_xticks(nodes, [f"{n:,}" for n in nodes], rotation=45, minor=False)
    ax.minorticks_off()
    ax.legend(fontsize=7, loc="upper right", ncols=2)


def _draw_threads(ax: Any, found: Mapping[str, Any]) -> None:
    one = {r["nodes"]: r for r in of_part(found, "size")}
    more = of_part(found, "threads")
    for nodes in sorted({r["nodes"] for r in more}):
        mine = [one[nodes], *(r for r in more if r["nodes"] == nodes)]
        ax.plot(
            [r["threads"] for r in mine],
            [min(mine[0]["wall_s"]) / min(r["wall_s"]) for r in mine], "o-",
            label=f"{nodes:,} nodes",
        )  # fmt: skip
    most = max([r["threads"] for r in more], default=2)
    ax.plot([1, most], [1, most], ":", color="grey", label="ideal")
    ax.set(xlabel="threads", ylabel="times as fast as one", title="by threads")
    ax.set_xticks(sorted({1, *(r["threads"] for r in more)}))
    ax.legend(fontsize=8)


def _draw_kinds(ax: Any, found: Mapping[str, Any]) -> None:
    shown = [r for part in ("tick", "routing", "router") for r in of_part(found, part)]
    names = [r["name"].removeprefix("packets-") for r in shown]
    ax.barh(names[::-1], [reading(r).rate("hops") / 1e6 for r in shown[::-1]], color="C0")
    ax.set(xlabel="million packet hops a second", title="by bandwidths, routing and router")


def _draw_parts(ax: Any, found: Mapping[str, Any]) -> None:
    whole = {r["nodes"]: r for r in of_part(found, "size")}
    empty = {r["nodes"]: r for r in of_part(found, "set-up")}
    labels = [f"{n:,} nodes" for n in empty]
    parts = {
        "machine, routes, programs": [whole[n]["prepare_s"] for n in empty],
        "checks, clock, arrays": [reading(r).best_s for r in empty.values()],
        "the loop": [reading(whole[n]).best_s - reading(r).best_s for n, r in empty.items()],
    }
    total = [sum(values) for values in zip(*parts.values(), strict=True)]
    left = [0.0] * len(labels)
    for name, values in parts.items():
        shares = [100 * v / t for v, t in zip(values, total, strict=True)]
        ax.barh(labels, shares, left=left, label=name)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    ax.set(xlabel="% of a run's time", title="where the time goes", xlim=(0, 100))
    ax.legend(fontsize=8, loc="lower right")


def measured(only: Sequence[str], resume: bool) -> dict[str, Any]:
    """Measure, and store each reading as it comes; return all that is stored."""
    found, version = stored(), this_host().netcosim
    if not (only or resume):
        found["machine"] = {**this_host().record(), "measured": now()}
    began = found["machine"]["measured"] if resume else now()
    order = list(CASES)
    cases = [case for case in CASES.values() if case.part != "scale"]
    cases = [case for name in only for case in chosen(False, name)] if only else cases
    if any(case.once for case in cases):  # the others have a round to warm up
        in_fork(compile_kernels)
    for case in cases:
        others = [r for r in found["readings"] if r["name"] in order and r["name"] != case.name]
        present = [r for r in found["readings"] if r["name"] == case.name]
        if present and present[0].get("measured", "") >= began:
            continue
        try:
            one = in_fork(partial(measure, case, FULL))
        except NetcosimError as error:
            print(f"{case.name}: {error}", flush=True)
            continue
        print(line(case, one), flush=True)
        new = {**record(case, one), "netcosim": version, "measured": now()}
        found["readings"] = sorted([*others, new], key=lambda r: order.index(r["name"]))
        write_text_atomically(STORED, f"{json.dumps(found, indent=1)}\n")
    return found


def now() -> str:
    """Return the date and time."""
    return datetime.now().isoformat(timespec="seconds")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure if requested, then write the page, the README's range and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true")
    several = parser.add_mutually_exclusive_group()
    several.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="measure one case or part; may be given several times",
    )
    several.add_argument("--resume", action="store_true", help="measure what is left")
    args = parser.parse_args(arguments)
    found = measured(args.only, args.resume) if args.measure else stored()
    page = with_tables(PAGE.read_text(encoding="utf-8"), found)
    PAGE.write_text(page, encoding="utf-8")
    shown = RANGE.search(page)
    assert shown
    README.write_text(RANGE.sub(shown[0], README.read_text(encoding="utf-8")), encoding="utf-8")
    draw(found)


if __name__ == "__main__":
    main()
