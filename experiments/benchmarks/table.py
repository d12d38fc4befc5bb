"""Readings as a table for people and as records for programs."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.benchmarks.case import Case, Reading
from experiments.benchmarks.host import Host
from experiments.benchmarks.peers import PEERS, shown_ratio, times_faster

FORMAT = 1

Readings = Sequence[tuple[Case, Reading]]


def rate_shown(rate: float) -> str:
    """Format a rate with three digits: 9.81 M, 56.9 k, 12.3."""
    for factor, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= factor:
            return f"{rate / factor:.3g}{letter}"
    return f"{rate:.3g}"


def seconds_shown(seconds: float) -> str:
    """Format seconds with three digits and their unit."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def format_rate(unit: str, reading: Reading) -> str:
    """Format the best result."""
    if unit == "s":
        return seconds_shown(reading.best_s)
    return f"{rate_shown(reading.rate(unit))} {unit}/s"


def line(case: Case, reading: Reading) -> str:
    """Format one line for the terminal, under `head`."""
    best, spread = format_rate(case.unit, reading), f"+{100 * reading.spread:.0f} %"
    wall, cpu = seconds_shown(min(reading.wall_s)), seconds_shown(min(reading.cpu_s))
    memory = f"{reading.memory_bytes / 1e6:,.0f} MB"
    return (
        f"{case.name:<24} {best:>17} {spread:>7} {wall:>8} {cpu:>8} {memory:>8}  {case.description}"
    )


def head() -> str:
    """Return the column titles: the best round's rate, how far the median is above its time."""
    return f"{'what':<24} {'best':>17} {'median':>7} {'wall':>8} {'CPU':>8} {'memory':>8}"


def summary(readings: Readings) -> list[str]:
    """Return ratios to peers, and between measurements that belong together."""
    lines: list[str] = []
    for case, reading in readings:
        peers = [PEERS[name] for name in case.peers]
        beside = [f"{peer.name} {times_faster(peer, reading.rate(peer.unit))}" for peer in peers]
        lines += [f"{case.name}: {', '.join(beside)}"] if beside else []
    return lines + ratios([reading for _, reading in readings])


def ratios(readings: Sequence[Reading]) -> list[str]:
    """Return the ratios between measurements that belong together."""
    lines: list[str] = []
    by_name = {reading.name: reading for reading in readings}
    for what, over, label in _PAIRS:
        if what in by_name and over in by_name:
            one, other = by_name[what], by_name[over]
            rate = [
                # by the wall's clock where threads are compared
                r.amounts["hops"] / min(r.wall_s if "threads" in what else r.cpu_s)
                for r in (one, other)
            ]
            lines.append(f"{label}: {shown_ratio(rate[0] / rate[1])} x")
    return lines


_PAIRS = (
    ("packets-odd", "packets-round", "odd bandwidths against round ones"),
    ("packets-torus-adaptive", "packets-torus", "minimal-adaptive against dimension order"),
    ("packets-4160-threads-2", "packets-4160", "two threads against one, 4,160 nodes"),
    ("packets-8192-threads-2", "packets-8192", "two threads against one, 8,192 nodes"),
    ("packets-32768-threads-2", "packets-32768", "two threads against one, 32,768 nodes"),
)


def record(case: Case, reading: Reading) -> dict[str, object]:
    """Return the record of a measurement."""
    return {
        "name": case.name,
        "part": case.part,
        "description": case.description,
        "unit": case.unit,
        "clock": reading.clock,
        **{key: value for key, value in case.facts.items() if value is not None},
        "amounts": dict(reading.amounts),
        "wall_s": list(reading.wall_s),
        "cpu_s": list(reading.cpu_s),
        "prepare_s": reading.prepare_s,
        "memory_bytes": reading.memory_bytes,
        "peers": {name: [PEERS[name].low, PEERS[name].high] for name in case.peers},
    }


def report(host: Host, readings: Readings) -> dict[str, object]:
    """Return the host and all readings, for ``--out``."""
    return {
        "format": FORMAT,
        "machine": host.record(),
        "readings": [record(case, reading) for case, reading in readings],
    }
