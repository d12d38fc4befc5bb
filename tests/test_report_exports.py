"""What leaves a results file as files: read back it is what the store holds, whoever reads it."""

from __future__ import annotations

import csv
import gzip
import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import first_only

from netcosim.archive.serialize import deserialize
from netcosim.archive.values import ArchivedRun, ArchivedSchedule
from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.export import perfetto
from netcosim.export.archive_tables import TABLES, archive_frames, link_groups
from netcosim.export.evalys import procset
from netcosim.export.files import export_tables
from netcosim.export.perfetto import (
    FILE,
    double,
    lanes,
    message,
    slices_of,
    text,
    uint,
    write_trace,
)
from netcosim.report.figures.drawing import safe_name, safe_names
from netcosim.runs.cosim import cosim_point
from netcosim.runs.outcome import Outcome, PointResult, encode_tables
from netcosim.runs.points import point_key
from netcosim.runs.store import Store

CONTENT: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5},
    "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 4, "load": 1.4}},
    "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    "communication": {"mix": [{"pattern": "all-to-all"}, {"pattern": "halo2d"}]},
    "run": {"snapshots": 3, "keep": "all"},
}


@pytest.fixture(scope="module")
def result() -> PointResult:
    return cosim_point(config_from(CONTENT).resolved())


@pytest.fixture(scope="module")
def run(result: PointResult) -> ArchivedRun:
    return deserialize(result.kept, "here")


@pytest.fixture
def file(result: PointResult, tmp_path: Path) -> Path:
    """A results file of one run."""
    path = tmp_path / "r.db"
    with Store(path, "write") as store:
        put(store, 1, result)
    return path


def put(store: Store, seed: int, result: PointResult) -> str:
    content = config_from(CONTENT | {"run": {"seed": seed, "snapshots": 3}}).resolved()
    store.put(
        point_key(content), content, Outcome(encode_tables(result.tables), None, 1.0, result.kept)
    )
    return point_key(content)


def expanded(ranges: str) -> list[int]:
    """The nodes of "0-3 7"."""
    found: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


# CSV and Parquet


def read(folder: Path) -> dict[str, pd.DataFrame]:
    return {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}


def test_tables_read_back_are_what_was_kept(file: Path, run: ArchivedRun, tmp_path: Path) -> None:
    with Store(file, "read") as store:
        export_tables(store, tmp_path / "out", "csv")
    found = read(tmp_path / "out")
    assert set(found) >= {"points", "policies", *TABLES}
    for policy, schedule in run.schedules.items():
        mine = found["kept_jobs"][found["kept_jobs"]["policy"] == policy]
        assert np.array_equal(mine["start_s"], schedule.start_s, equal_nan=True)
        assert np.array_equal(mine["end_s"], schedule.end_s, equal_nan=True)
        assert list(mine["job_id"]) == run.jobs.job_id.tolist()
        for job, nodes in enumerate(mine["nodes"]):
            assert expanded(str(nodes)) == schedule.nodes_of(job).tolist()
        links = found["kept_links"][found["kept_links"]["policy"] == policy]
        assert schedule.links is not None
        assert np.array_equal(links["bytes"], schedule.links.bytes.ravel())
        assert np.array_equal(links["packets"], schedule.links.packets.ravel())
        groups = found["kept_groups"][found["kept_groups"]["policy"] == policy]
        assert groups["bytes"].sum() == schedule.links.bytes.sum()
        assert groups["links"].sum() == schedule.links.bytes.size
        rows = found["kept_measured"][found["kept_measured"]["policy"] == policy]
        assert schedule.measured is not None
        assert np.array_equal(rows["time_s"], schedule.measured.time_s)
        near = found["kept_neighbours"][found["kept_neighbours"]["policy"] == policy]
        assert np.array_equal(near["part"], schedule.measured.part)
        stretch = (schedule.measured.time_s / schedule.measured.baseline_s)[
            schedule.measured.job == schedule.measured.job[0]
        ].mean()
        assert mine["stretch"].iloc[schedule.measured.job[0]] == pytest.approx(stretch)


def test_the_queue_over_time_is_the_jobs_(run: ArchivedRun) -> None:
    over = archive_frames(run, ["kept_over_time"])["kept_over_time"]
    for policy, schedule in run.schedules.items():
        mine = over[over["policy"] == policy]
        for row in mine.iloc[:: max(1, len(mine) // 9)].to_dict("records"):
            now = row["time_s"]
            runs = (schedule.start_s <= now) & (now < schedule.end_s)
            waits = (run.jobs.submit_s <= now) & (now < schedule.start_s)
            assert row["busy_nodes"] == schedule.allocated_nodes[runs].sum()
            assert (row["running_jobs"], row["waiting_jobs"]) == (runs.sum(), waits.sum())
            assert row["waiting_nodes"] == run.jobs.n_nodes[waits].sum()
        assert mine["busy_nodes"].iloc[-1] == mine["waiting_jobs"].iloc[-1] == 0
        hours = (mine["busy_nodes"][:-1] * np.diff(mine["time_s"])).sum()
        used = (schedule.allocated_nodes * (schedule.end_s - schedule.start_s)).sum()
        assert hours == pytest.approx(used)


def test_links_belong_to_the_group_that_they_leave(run: ArchivedRun) -> None:
    machine = run.machine
    found = link_groups(machine)
    ports = len(machine.port_router)
    for link in range(0, len(machine.link_src), 7):
        source = int(machine.link_src[link])
        router = int(machine.port_router[source]) if source < ports else source - ports
        assert found[link] == machine.router_group[router]


def test_points_of_a_sweep_are_told_apart(result: PointResult, tmp_path: Path) -> None:
    with Store(tmp_path / "s.db", "write") as store:
        keys = [put(store, seed, result) for seed in (1, 2)]
    with Store(tmp_path / "s.db", "read") as store:
        export_tables(store, tmp_path / "all", "csv")
        export_tables(store, tmp_path / "one", "csv", keys[1])
    every, one = read(tmp_path / "all"), read(tmp_path / "one")
    assert set(every["kept_jobs"]["point"]) == set(keys)
    assert set(every["kept_jobs"]["run.seed"]) == {1, 2}
    assert len(every["kept_jobs"]) == 2 * len(one["kept_jobs"])
    assert "point" not in one["kept_jobs"]
    assert list(one["points"]["point"]) == list(set(one["policies"]["point"])) == [keys[1]]


def test_a_file_that_kept_nothing_says_so(
    result: PointResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(tmp_path / "r.db", "write") as store:
        key = put(store, 1, PointResult(result.tables, {}))
    for export in ("evalys", "perfetto"):
        assert main(["report", str(tmp_path / "r.db"), "--export", export]) == 2
        [told] = [line for line in capsys.readouterr().err.splitlines() if key[:12] in line]
        assert "kept no jobs" in told
    assert not list(tmp_path.glob("r-*"))


# evalys


def evalys_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def evalys_file(file: Path, folder: Path) -> Mapping[str, Path]:
    assert main(["report", str(file), "--export", "evalys", "--out", f"{folder}.html"]) == 0
    return {path.stem: path for path in Path(f"{folder}-evalys").glob("*.csv")}


@pytest.mark.usefixtures("undrawn")
def test_evalys_tables_obey_its_rules(file: Path, run: ArchivedRun, tmp_path: Path) -> None:
    """What `JobSet.from_csv` does: columns by name, procsets of whole numbers, times that agree."""
    found = evalys_file(file, tmp_path / "out")
    assert set(found) == set(run.schedules)
    for policy, schedule in run.schedules.items():
        rows = evalys_rows(found[policy])
        ids = run.jobs.job_id.tolist()
        assert [int(row["jobID"]) for row in rows] == ids
        for row in rows:
            job = ids.index(int(row["jobID"]))
            time = {key: float(row[key]) for key in row if key.endswith("_time")}
            assert time["starting_time"] == pytest.approx(schedule.start_s[job], abs=1e-6)
            assert time["submission_time"] + time["waiting_time"] == pytest.approx(
                time["starting_time"], abs=2e-6
            )
            assert time["starting_time"] + time["execution_time"] == pytest.approx(
                time["finish_time"], abs=2e-6
            )
            assert float(row["stretch"]) >= 1
            assert row["success"] == "1"
            nodes = expanded(row["allocated_resources"])
            assert nodes == sorted(schedule.nodes_of(job).tolist())
            assert int(row["requested_number_of_resources"]) <= len(nodes)


def schedule_on(*ranges: tuple[int, int]) -> ArchivedSchedule:
    """One job on ranges of (first node, nodes)."""
    first, length = np.array(ranges, dtype=np.int32).T
    one = np.zeros(1)
    return ArchivedSchedule(
        *(one, one + 1, one),
        np.zeros(1, dtype=np.int8),
        np.array([length.sum()], dtype=np.int32),
        np.array([0, len(ranges)], dtype=np.int64),
        *(first, length),
    )


def test_procsets_are_ascending_and_joined() -> None:
    assert procset(schedule_on((7, 1), (4, 3), (0, 2)), 0) == "0-1 4-7"
    assert procset(schedule_on((3, 1)), 0) == "3"


# Perfetto


def fields_of(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """(number, value) of every field of a message on the wire."""
    stream = io.BytesIO(data)

    def varint() -> int:
        value = shift = 0
        while True:
            byte = stream.read(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while stream.tell() < len(data):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            yield number, struct.unpack("<d", stream.read(8))[0]
        else:
            assert kind == 2
            yield number, stream.read(varint())


def message_of(data: object) -> dict[int, Any]:
    assert isinstance(data, bytes)
    return dict(fields_of(data))


def trace_bytes(run: ArchivedRun) -> bytes:
    out = io.BytesIO()
    write_trace(run, out)
    return out.getvalue()


def test_the_wire_format_is_protobufs() -> None:
    """The examples of its specification."""
    assert uint(1, 150).hex() == "089601"
    assert text(2, "testing").hex() == "120774657374696e67"
    assert message(3, uint(1, 150)).hex() == "1a03089601"
    assert double(1, 1.0).hex() == "09000000000000f03f"
    assert uint(1, -2).hex() == "08feffffffffffffffff01"


@pytest.mark.parametrize("fine", ["node", "group", "machine"])
def test_jobs_are_slices_that_nest(
    run: ArchivedRun, monkeypatch: pytest.MonkeyPatch, fine: str
) -> None:
    """On every track each begin has its end before the next, at the jobs' times, at any grain."""
    most = sum(len(slices_of(run, s, fine).job) for s in run.schedules.values())
    monkeypatch.setattr(perfetto, "MOST_SLICES", most)
    assert perfetto.grain(run) == fine
    packets = [message_of(packet) for _, packet in fields_of(trace_bytes(run))]
    tracks = {t[1]: t for t in (message_of(p[60]) for p in packets if 60 in p)}
    assert all(t[5] in tracks for t in tracks.values() if 5 in t)
    processes = {uuid: message_of(t[3])[6].decode() for uuid, t in tracks.items() if 3 in t}
    assert list(processes.values()) == list(run.schedules)
    opened: dict[int, tuple[str, int]] = {}
    last: dict[int, int] = {}
    found: dict[str, dict[str, set[tuple[int, int]]]] = {name: {} for name in run.schedules}
    count = 0
    for packet in packets:
        if 11 not in packet:
            continue
        event = message_of(packet[11])
        uuid, when = event[11], packet[8]
        assert when >= last.get(uuid, 0)
        last[uuid] = when
        if event[9] == 1:
            assert uuid not in opened
            opened[uuid] = (event[23].decode(), when)
        elif event[9] == 2:
            name, begun = opened.pop(uuid)
            policy = processes[tracks[tracks[uuid][5]][5]]
            found[policy].setdefault(name, set()).add((begun, when))
            count += 1
    assert not opened
    for policy, schedule in run.schedules.items():
        for job, number in enumerate(run.jobs.job_id.tolist()):
            times = tuple(round(t * 1e9) for t in (schedule.start_s[job], schedule.end_s[job]))
            assert found[policy][f"job {number}"] == {times}
    assert count == most


def test_counters_are_the_tables_values(run: ArchivedRun) -> None:
    packets = [message_of(packet) for _, packet in fields_of(trace_bytes(run))]
    tracks = {t[1]: t for t in (message_of(p[60]) for p in packets if 60 in p)}
    names = {uuid: t[2].decode() for uuid, t in tracks.items() if 8 in t}
    assert {"utilisation", "waiting jobs", "waiting nodes", "link load, group 0"} <= set(
        names.values()
    )
    first = next(uuid for uuid, name in names.items() if name == "waiting jobs")
    events = [(p[8], message_of(p[11])) for p in packets if 11 in p]
    mine = [(when, event[44]) for when, event in events if event[11] == first]
    over = archive_frames(run, ["kept_over_time"])["kept_over_time"]
    expected = over[over["policy"] == next(iter(run.schedules))]
    assert [value for _, value in mine] == expected["waiting_jobs"].tolist()
    assert [when for when, _ in mine] == [round(t * 1e9) for t in expected["time_s"]]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.full
def test_the_trace_is_the_same_bytes_each_time(file: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        page = str(tmp_path / f"{name}.html")
        assert main(["report", str(file), "--export", "perfetto", "--out", page]) == 0
    first, second = ((tmp_path / f"{name}-perfetto" / FILE).read_bytes() for name in ("a", "b"))
    assert first == second
    assert gzip.decompress(first)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 5)), max_size=40))
def test_lanes_never_overlap_and_are_as_few_as_can_be(jobs: list[tuple[int, int, int]]) -> None:
    jobs = sorted(jobs)
    place, start, length = (np.array([j[k] for j in jobs], dtype=np.int64) for k in range(3))
    end = start + length
    lane = lanes(place, start, end)
    for i in range(len(jobs)):
        for j in range(i):
            if (place[i], lane[i]) == (place[j], lane[j]):
                assert end[j] <= start[i]
    for where in set(place.tolist()):
        mine = place == where
        most = max(
            int(((start[mine] <= t) & ((t < end[mine]) | (t == start[mine]))).sum())
            for t in start[mine]
        )
        assert lane[mine].max() < most


def test_jobs_that_never_ran_are_left_out(run: ArchivedRun) -> None:
    schedules = {
        name: replace(
            s, start_s=np.full_like(s.start_s, np.nan), end_s=np.full_like(s.end_s, np.nan)
        )
        for name, s in run.schedules.items()
    }
    none = ArchivedRun(run.machine, run.jobs, schedules)
    packets = [message_of(packet) for _, packet in fields_of(trace_bytes(none))]
    assert not [p for p in packets if 11 in p and message_of(p[11])[9] in (1, 2)]


# Figures and the command


@pytest.mark.parametrize("form", first_only(["svg", "pdf", "png"]))
def test_every_figure_is_a_file(file: Path, tmp_path: Path, form: str) -> None:
    page = str(tmp_path / "p.html")
    assert main(["report", str(file), "--format", form, "--out", page]) == 0
    found = sorted((tmp_path / "p-figures").iterdir())
    assert len(found) >= 5
    start = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[form]
    assert all(path.suffix == f".{form}" for path in found)
    assert all(path.read_bytes().startswith(start) for path in found)


def test_names_are_files_names() -> None:
    assert safe_name("../../etc/passwd") == "etc-passwd"
    assert safe_names(["A b", "a/b", "", "\u202e"]) == ["a-b", "a-b-2", "unnamed", "unnamed-2"]
    assert len(safe_name("x" * 500)) == 80


@pytest.mark.usefixtures("undrawn")
def test_a_point_is_found_by_its_first_letters(
    result: PointResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.db"
    with Store(path, "write") as store:
        keys = [put(store, seed, result) for seed in range(1, 19)]
    assert main(["report", str(path), "--point", keys[3][:10].upper()]) == 0
    page = tmp_path / f"s-{keys[3][:12]}.html"
    assert page.read_text(encoding="utf-8").endswith("</html>\n")
    # of 18 keys two begin alike
    letters = [key[0] for key in keys]
    twice = next(letter for letter in letters if letters.count(letter) > 1)
    for prefix, told in ((twice, "begin so"), ("x", "no point of"), ("", "no point of")):
        assert main(["report", str(path), "--point", prefix]) == 2
        assert told in capsys.readouterr().err
    assert main(["report", str(path), "--export", "perfetto"]) == 2
    assert "choose one with --point" in capsys.readouterr().err
