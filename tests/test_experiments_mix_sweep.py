"""Sweeps over what jobs send: keys inside a mix, whole mixes; files and pages that come of it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_words import words
from selection import first_only

from cosim.measuring.speedup_file import read_speedups
from netcosim.cli import main
from netcosim.config.content import checked_config
from netcosim.config.load import load_config, load_sweep
from netcosim.runs.cosim import run_cosim
from netcosim.runs.frames import mix_label
from netcosim.runs.store import Store
from netsim.errors import NetcosimError

pytestmark = pytest.mark.usefixtures("undrawn")

HEAD = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 5
[workload.synthetic]
n_jobs = 20
mean_nodes = 6
load = 1.0
[queue]
policies = ["rdn", "simple"]
"""
TAIL = """
[run]
snapshots = 2
"""
MIX = """
[[communication.mix]]
pattern = "all-to-all"
message_bytes = ["1 KB", "10 KB"]
communication_fraction = [0.1, 0.5]
[[communication.mix]]
pattern = "halo3d"
parameters = {grid = [2, 2, 2], exchange = ["at-once", "by-dimension"]}
weight = {from = 1, to = 2, step = 1}
"""
MIXES = """
[communication]
mix = [
  [{pattern = "all-to-all", message_bytes = "2 KB"}],
  [{pattern = "halo3d"}, {pattern = "pairs", weight = 2, communication_fraction = [0.1, 0.5]}],
]
"""


def file(folder: Path, text: str) -> Path:
    path = folder / "c.toml"
    path.write_text(HEAD + text + TAIL)
    return path


def settings(folder: Path, text: str) -> list[Any]:
    return [p.communication.mix for p in load_sweep(file(folder, text)).points]


def test_keys_inside_a_mix_are_axes(tmp_path: Path) -> None:
    """2 sizes x 2 exchanges x 2 weights; the interval and the grid stay what they are."""
    found = settings(tmp_path, MIX)
    assert [(a.message_bytes, b.parameters["exchange"], b.weight) for a, b in found] == [
        (size, exchange, weight)
        for size in (1000, 10_000)
        for exchange in ("at-once", "by-dimension")
        for weight in (1, 2)
    ]
    assert {a.communication_fraction for a, _ in found} == {(0.1, 0.5)}
    assert all(b.parameters["grid"] == [2, 2, 2] for _, b in found)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[0.1, 0.5]", "[[0.1, 0.5], [0.2, 0.2]]", {(0.1, 0.5), (0.2, 0.2)}),
        ("[0.1, 0.5]", "[0.3, [0.1, 0.5]]", {(0.3, 0.3), (0.1, 0.5)}),
        ("[0.1, 0.5]", "{from = 0.2, to = 0.4, step = 0.2}", {(0.2, 0.2), (0.4, 0.4)}),
    ],
)
def test_intervals_as_an_axis(tmp_path: Path, old: str, new: str, expected: set[Any]) -> None:
    found = settings(tmp_path, MIX.replace(old, new))
    assert {a.communication_fraction for a, _ in found} == expected
    assert len(found) == 16


def test_lists_of_a_pattern_are_an_axis_as_lists_of_lists(tmp_path: Path) -> None:
    found = settings(tmp_path, MIX.replace("[2, 2, 2]", "[[2, 2, 2], [4, 2, 1]]"))
    assert [b.parameters["grid"] for _, b in found[::2]] == [
        [2, 2, 2],
        [2, 2, 2],
        [4, 2, 1],
        [4, 2, 1],
    ] * 2


def test_a_swept_pattern(tmp_path: Path) -> None:
    found = settings(tmp_path, '[[communication.mix]]\npattern = ["pairs", "shift"]\n')
    assert [mix[0].pattern for mix in found] == ["pairs", "shift"]


def test_zip_names_keys_of_a_mix(tmp_path: Path) -> None:
    text = MIX + (
        '[sweep]\nzip = [["communication.mix.0.message_bytes", "communication.mix.1.weight"]]\n'
    )
    pairs = {(a.message_bytes, b.weight) for a, b in settings(tmp_path, text)}
    assert pairs == {(1000, 1), (10_000, 2)}


def test_whole_mixes_are_an_axis(tmp_path: Path) -> None:
    found = settings(tmp_path, MIXES)
    assert [[entry.pattern for entry in mix] for mix in found] == [
        ["all-to-all"],
        ["halo3d", "pairs"],
    ]
    inner = settings(tmp_path, MIXES.replace('"2 KB"', '["2 KB", "4 KB", "8 KB"]'))
    assert [mix[0].message_bytes for mix in inner] == [2000, 4000, 8000, 1000]


def test_three_fractions_are_told_what_they_could_be(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"communication_fraction.*list of such pairs"):
        load_sweep(file(tmp_path, MIX.replace("[0.1, 0.5]", "[0.1, 0.3, 0.5]")))


def swept(folder: Path, text: str) -> Path:
    store = folder / "s.db"
    assert main(["sweep", str(file(folder, text)), "--out", str(store), "--quiet"]) == 0
    assert main(["report", str(store), "--export", "csv"]) == 0
    return store


def test_whole_mixes_reach_page_and_files_in_words(tmp_path: Path) -> None:
    """It used to compute and then break with "unhashable type: 'dict'"."""
    store = swept(tmp_path, MIXES)
    labels = {
        "all-to-all (2 KB)",
        "halo3d + pairs (communication_fraction 0.1 to 0.5, weight 2)",
    }
    with Store(store, "read") as opened:
        assert set(opened.frame("policies")["communication.mix"]) == labels
    page = store.with_suffix(".html").read_text(encoding="utf-8")
    assert all(label in words(page) for label in labels)
    with (tmp_path / "s-csv" / "policies.csv").open() as rows:
        assert {row["communication.mix"] for row in csv.DictReader(rows)} == labels


def test_keys_of_a_mix_are_columns(tmp_path: Path) -> None:
    text = '[[communication.mix]]\npattern = "pairs"\ncommunication_fraction = [0.2, [0.1, 0.5]]\n'
    text += 'message_bytes = ["1 KB", "4 KB"]\n'
    with Store(swept(tmp_path, text), "read") as opened:
        frame = opened.frame("policies")
    assert len(frame) == 8
    assert set(frame["communication.mix.0.message_bytes"]) == {1000, 4000}
    assert set(frame["communication.mix.0.communication_fraction"]) == {0.2, "0.1 to 0.5"}


def test_labels_tell_what_is_not_at_its_default() -> None:
    mix = [{"pattern": "halo3d", "weight": 1.0, "parameters": {"grid": [2, 2]}, "iterations": 3}]
    assert mix_label(mix) == "halo3d (grid 2, 2, iterations 3)"


# Speed-ups out and in again


@pytest.mark.full
@pytest.mark.parametrize("snapshots", first_only([3, 1]))
def test_exported_speed_ups_are_read_back(tmp_path: Path, snapshots: int) -> None:
    """Run, export, read, and run with it: the same table, the same schedules."""
    path = tmp_path / "c.toml"
    mix = '[[communication.mix]]\npattern = "all-to-all"\nmessage_bytes = "20 KB"\n'
    path.write_text(HEAD + mix + f"[run]\nsnapshots = {snapshots}\n")
    out = tmp_path / "out"
    assert main(["run", str(path), "--out", str(out)]) == 0
    assert main(["report", str(out / "results.db"), "--export", "csv"]) == 0
    exported = out / "results-csv" / "speedups.csv"
    first = run_cosim(load_config(path))
    assert first.table.rows
    assert read_speedups(exported) == first.table
    raw = first.config.resolved()
    raw["queue"]["measured"] = {"table": str(exported), "bound": "mean"}
    raw["run"]["snapshots"] = 0
    # the bytes, which nothing reads now, still seed what is drawn
    again = run_cosim(checked_config(raw))
    assert not again.measured
    for name, schedule in first.schedules.items():
        # what is drawn does not depend on where the table came from
        np.testing.assert_array_equal(again.schedules[name].end_s, schedule.end_s)
    if snapshots == 1:
        assert {row.ratio_low for row in first.table.rows} == {None}
        raw["queue"]["measured"]["bound"] = "low"
        with pytest.raises(NetcosimError, match="all-to-all under 'simple' has no interval"):
            run_cosim(checked_config(raw))


def test_speed_ups_of_several_points_are_not_mixed_up(tmp_path: Path) -> None:
    swept(tmp_path, '[[communication.mix]]\npattern = "pairs"\nmessage_bytes = [1000, 9000]\n')
    with pytest.raises(NetcosimError, match=r"mix\.0\.message_bytes has '1000' and '9000'; keep"):
        read_speedups(tmp_path / "s-csv" / "speedups.csv")


# No packets


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[run]\nsnapshots = 0\n", r'key queue\.run_time_model: "measured" needs speed-ups from a'),
        (
            'measured.bound = "low"\n[run]\nsnapshots = 4\n',
            "needs at least 5 snapshots, since fewer have no interval; run.snapshots = 4",
        ),
        ("[run]\nsnapshots = -1\n", "key run.snapshots: -1; must be at least 0"),
    ],
)
def test_what_needs_snapshots_says_so(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(HEAD + text)
    with pytest.raises(NetcosimError, match=told):
        load_config(path)


def test_drops_and_notes_stand_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the page; they used to stand there alone."""
    line = "{} {} -1 100 {} -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1\n"
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 40\n" + line.format(1, 0, 4) + line.format(2, 5, 400))
    path = tmp_path / "c.toml"
    start, end = HEAD.index("[workload"), HEAD.index("[queue]")
    workload = '[workload]\nlog = "log.swf"\nlarger_jobs = "drop"\n'
    path.write_text(HEAD[:start] + workload + HEAD[end:])
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    result = run_cosim(load_config(path))
    dropped = {why: count for why, count in result.workload.dropped.items() if count}
    assert dropped
    assert all(f"left out: {count} ({why})" in shown for why, count in dropped.items())
    assert all(f"note: {note}" in shown for note in result.workload.notes)
