"""Write the tables of ``speed.md`` and draw its figures.

    python experiments/benchmarks/tables/draw_speed.py

With ``--measure`` everything is measured first, on this machine: what ``netcosim bench --full``
measures, then the parts "first" and "scale". Otherwise the stored file is drawn as it is. A test
holds page and file together.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.benchmarks.peers import PACKET_PEERS, PEERS, shown_ratio
from experiments.benchmarks.registry import CASES
from experiments.benchmarks.table import rate_shown, seconds_shown

STORED = Path(__file__).resolve().with_name("speed.json")
DOCS = STORED.parents[3] / "docs"
PAGE, FIGURE = DOCS / "speed.md", DOCS / "images" / "speed.png"
MARKS = re.compile(r"<!-- (\w+)(?: ([\w ,-]+))? -->\n.*?<!-- end -->", re.S)
COLD_LINES = 6
"""Cache lines that a hop touches and no cache holds where the machine is large; counted once."""

Reading = Mapping[str, Any]


def stored() -> dict[str, Any]:
    """The file as it stands."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def best_s(reading: Reading, clock: str | None = None) -> float:
    """The shortest round, by the clock that counts or another."""
    return float(min(reading[f"{clock or reading['clock']}_s"]))


def rate(reading: Reading, unit: str | None = None) -> float:
    """So many a second in the best round, of the reading's own unit or another."""
    return float(reading["amounts"][unit or reading["unit"]]) / best_s(reading)


def value(reading: Reading) -> str:
    """What came out, with its unit."""
    if reading["unit"] == "s":
        return seconds_shown(best_s(reading))
    return f"{rate_shown(rate(reading))} {reading['unit']}/s"


def spread(reading: Reading) -> str:
    """How far the median round is above the best."""
    median = statistics.median(reading[f"{reading['clock']}_s"])
    return f"+{100 * (median / best_s(reading) - 1):.0f} %"


def rows(found: Mapping[str, Any], parts: str) -> list[str]:
    """The readings of some parts as a Markdown table."""
    wanted = parts.split(", ")
    lines = ["| what | best | median | memory |", "|---|---|---|---|"]
    for r in found["readings"]:
        if r["part"] in wanted:
            memory = f"{r['memory_bytes'] / 1e6:,.0f} MB"
            stalls = r["amounts"].get("stalls")
            stalled = f", {stalls:,.0f} stalls" if stalls is not None else ""
            what = f"{r['description']}{stalled} (`{r['name']}`)"
            lines.append(f"| {' | '.join((what, value(r), spread(r), memory))} |")
    measured = {r["name"] for r in found["readings"]}
    cases = [case for case in CASES.values() if case.part in wanted and case.part != "threads"]
    if newer := [f"`{case.name}`" for case in cases if case.name not in measured]:
        lines.append(f"| not measured: {', '.join(newer)} | | | |")
    return lines


def peers(found: Mapping[str, Any], _: str) -> list[str]:
    """Each recorded peer with our rate beside it."""
    lines = ["| peer | recorded | what was run | netcosim | ratio |", "|---|---|---|---|---|"]
    by_name = {r["name"]: r for r in found["readings"]}
    beside = dict.fromkeys(PACKET_PEERS, by_name["packets-1056"])
    beside |= {peer: r for r in found["readings"] if r["part"] == "flows" for peer in r["peers"]}
    for name, reading in beside.items():
        peer = PEERS[name]
        simulated = rate(reading, peer.unit)
        recorded = rate_shown(peer.low) + (
            f" to {rate_shown(peer.high)}" if peer.high > peer.low else ""
        )
        ratios = [shown_ratio(simulated / peer.high), shown_ratio(simulated / peer.low)]
        lines.append(
            f"| {name} | {recorded} {peer.unit}/s | {peer.how} | {rate_shown(simulated)} "
            f"(`{reading['name']}`) | {' to '.join(dict.fromkeys(ratios))} x |"
        )
    return lines


def machine(found: Mapping[str, Any], _: str) -> list[str]:
    """What it was measured on."""
    m = found["machine"]
    version = f"netcosim {m['netcosim']}; " if "netcosim" in m else ""
    return [
        f"{version}{m['cpu']}, {m['cores']} cores, {m['memory_bytes'] / 1e9:.0f} GB, "
        f"{m['system']}; Python {m['python']}, NumPy {m['numpy']}, Numba {m['numba']}; "
        f"load before the first measurement {m['load']:.2f}."
    ]


def roof_of(found: Mapping[str, Any]) -> dict[int, float]:
    """Hops a second that cold lines alone allow, by how many are waited for at a time."""
    return {r["chains"]: rate(r) / COLD_LINES for r in found["readings"] if r["part"] == "memory"}


def roof(found: Mapping[str, Any], _: str) -> list[str]:
    """Time of a line, and the hops a second that follow."""
    lines = ["| lines waited for at a time | a line | roof |", "|---|---|---|"]
    for chains, hops in roof_of(found).items():
        line_s = 1 / (hops * COLD_LINES)
        lines.append(f"| {chains} | {seconds_shown(line_s)} | {rate_shown(hops)} hops/s |")
    return lines


TABLES: Mapping[str, Callable[[Mapping[str, Any], str], list[str]]] = {
    "rows": rows,
    "peers": peers,
    "machine": machine,
    "roof": roof,
}


def with_tables(page: str, found: Mapping[str, Any]) -> str:
    """The page with fresh tables between its marks."""

    def fresh(mark: re.Match[str]) -> str:
        told = f"{mark[1]} {mark[2]}" if mark[2] else mark[1]
        lines = TABLES[mark[1]](found, mark[2] or "")
        return "\n".join([f"<!-- {told} -->", *lines, "<!-- end -->"])

    return MARKS.sub(fresh, page)


def of_part(found: Mapping[str, Any], part: str) -> list[Reading]:
    """The readings of a part."""
    return [r for r in found["readings"] if r["part"] == part]


def draw(found: Mapping[str, Any]) -> None:
    """The figure: size, threads, kinds of load, and where the time goes."""
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
        ax.plot(nodes, [rate(r, unit) for r in size], style, label=f"{unit}, one thread")
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
            [best_s(mine[0], "wall") / best_s(r, "wall") for r in mine], "o-",
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
    ax.barh(names[::-1], [rate(r) / 1e6 for r in shown[::-1]], color="C0")
    ax.set(xlabel="million packet hops a second", title="by bandwidths, routing and router")


def _draw_parts(ax: Any, found: Mapping[str, Any]) -> None:
    whole = {r["nodes"]: r for r in of_part(found, "size")}
    empty = {r["nodes"]: r for r in of_part(found, "set-up")}
    labels = [f"{n:,} nodes" for n in empty]
    parts = {
        "machine, routes, programs": [whole[n]["prepare_s"] for n in empty],
        "checks, clock, arrays": [best_s(r) for r in empty.values()],
        "the loop": [best_s(whole[n]) - best_s(r) for n, r in empty.items()],
    }
    total = [sum(values) for values in zip(*parts.values(), strict=True)]
    left = [0.0] * len(labels)
    for name, values in parts.items():
        shares = [100 * v / t for v, t in zip(values, total, strict=True)]
        ax.barh(labels, shares, left=left, label=name)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    ax.set(xlabel="% of a run's time", title="where the time goes", xlim=(0, 100))
    ax.legend(fontsize=8, loc="lower right")


def measured() -> dict[str, Any]:
    """Run ``netcosim bench`` for all that can be measured; return what it stores."""
    from netcosim.cli import main as netcosim

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.json"
        for what in ("--full", "--only=first", "--only=scale"):
            # 1 says that something could not be measured; the rest is worth having
            if netcosim(["bench", what, "--out", str(path)]) > 1:
                raise SystemExit(2)
            part = json.loads(path.read_text(encoding="utf-8"))
            found = {**part, **found, "readings": found.get("readings", []) + part["readings"]}
    return found


def main(arguments: Sequence[str]) -> None:
    """Measure if asked to, then write the page and its figure."""
    found = measured() if "--measure" in arguments else stored()
    STORED.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    draw(found)


if __name__ == "__main__":
    main(sys.argv[1:])
