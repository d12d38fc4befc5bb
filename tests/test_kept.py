"""What a run keeps beside its tables: what comes back is what went in, and damage is told."""

from __future__ import annotations

import io
import sqlite3
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from alloc.dragonfly.orders import RandomNode
from cosim.measuring.neighbours import MOST_REPORTED, _largest, parts
from cosim.network.ensemble import Ensemble
from netcosim.archive.extract import archive_of, ranges
from netcosim.archive.serialize import _fields, deserialize, serialize
from netcosim.archive.values import (
    ArchivedLinks,
    ArchivedMachine,
    ArchivedMeasured,
    ArchivedRun,
    ArchivedSchedule,
)
from netcosim.config import run as run_section
from netcosim.config.load import config_from
from netcosim.runs.cosim import cosim_point, point_result, run_cosim
from netcosim.runs.cosim_result import CosimResult
from netcosim.runs.outcome import Outcome
from netcosim.runs.store import Store
from netcosim.runs.sweep import run_points
from netsim.errors import NetcosimError
from netsim.packet.model import PS_PER_S
from queuesim.compiled import choice

CONTENT: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5, "routing": "valiant"},
    "workload": {"synthetic": {"n_jobs": 40, "mean_nodes": 4, "load": 1.2}},
    "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    "communication": {"mix": [{"pattern": "all-to-all"}, {"pattern": "halo2d"}]},
    "run": {"snapshots": 8, "keep": "all"},
}


@pytest.fixture(scope="module")
def result() -> CosimResult:
    return run_cosim(config_from(CONTENT))


@pytest.fixture(scope="module")
def kept(result: CosimResult) -> ArchivedRun:
    return archive_of(result)


def same(left: Any, right: Any) -> bool:
    """Whether two kept values hold the same."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(
            left, right, equal_nan=left.dtype.kind == "f"
        )
    if hasattr(left, "__dataclass_fields__"):
        return all(same(getattr(left, f.name), getattr(right, f.name)) for f in fields(left))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


def test_every_column_has_a_type() -> None:
    of, words = _fields(ArchivedMachine)
    assert (of["link_bandwidth_Bps"], of["link_kind"]) == (np.int64, np.int8)
    texts = {"kinds", "node_names", "group_names"}
    assert words.model_fields.keys() == {"name", "family", "rails"} | texts
    for kind in (ArchivedLinks, ArchivedMeasured, ArchivedSchedule):
        of, words = _fields(kind)
        assert {*of} | {"links", "measured"} >= {f.name for f in fields(kind)}
        assert not words.model_fields


def test_what_comes_back_is_what_went_in(kept: ArchivedRun) -> None:
    again = deserialize(serialize(kept), "here")
    assert same(again, replace_types(kept))
    assert serialize(again) == serialize(kept)


def test_columns_by_their_names_of_version_0_1_are_read(kept: ArchivedRun) -> None:
    archives = serialize(kept)
    with np.load(io.BytesIO(archives["measured 0"])) as found:
        columns = {n: found[n] for n in found.files}
    columns["yardstick_s"] = columns.pop("baseline_s")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)
    again = deserialize(archives | {"measured 0": buffer.getvalue()}, "here")
    assert same(again, replace_types(kept))


def replace_types(kept: ArchivedRun) -> ArchivedRun:
    """The same with every column in the type that it is declared with."""

    def typed(value: Any) -> Any:
        if value is None:
            return None
        of, _ = _fields(type(value))
        columns = {name: getattr(value, name).astype(kind) for name, kind in of.items()}
        inner = {n: typed(getattr(value, n)) for n in ("links", "measured") if hasattr(value, n)}
        return replace(value, **columns, **inner)

    schedules = {name: typed(one) for name, one in kept.schedules.items()}
    return ArchivedRun(typed(kept.machine), typed(kept.jobs), schedules)


def test_kept_schedules_are_the_queue_s(result: CosimResult, kept: ArchivedRun) -> None:
    assert kept.jobs.pattern.tolist() == result.share.tolist()
    assert set(result.share.tolist()) == {0, 1}
    assert kept.jobs.patterns == ("all-to-all", "halo2d")
    for name, schedule in result.schedules.items():
        mine = kept.schedules[name]
        assert np.array_equal(mine.end_s, schedule.end_s)
        assert schedule.placements is not None
        for job in range(len(schedule)):
            place = schedule.placements.placement(job, 0)
            assert mine.nodes_of(job).tolist() == place.nodes.tolist()


def test_kept_links_are_the_packets_(result: CosimResult, kept: ArchivedRun) -> None:
    for name, measured in result.measured.items():
        links = kept.schedules[name].links
        assert links is not None
        assert links.packets.sum() == measured.packet_hops
        for row, run in enumerate(measured.packets):
            assert np.array_equal(links.stall_ps[row], run.link_stall_ps)
        # the measured schedule is the logged one: its jobs ran at these instants
        logged = result.logged[name]
        rows = kept.schedules[name].measured
        assert rows is not None
        for number, time_s in zip(links.number, links.time_s, strict=True):
            ran = [j for j in logged.running_at(time_s) if logged.workload.n_nodes[j] > 1]
            assert rows.job[rows.snapshot == number].tolist() == ran


def test_ranges_follow_the_order_of_ranks() -> None:
    ptr, first, length = ranges([np.array([5, 6, 7, 2, 3], np.int32), np.array([8, 9], np.int32)])
    assert ptr.tolist() == [0, 2, 3]
    assert first.tolist() == [5, 2, 8]
    assert length.tolist() == [3, 2, 2]
    ptr, first, _ = ranges([np.array([], np.int32), np.array([3, 2], np.int32)])
    assert (ptr.tolist(), first.tolist()) == ([0, 0, 2], [3, 2])


def test_two_equal_neighbours_have_half_each() -> None:
    # job 0 shares a link with each of two others, which send as much; they share none
    sent = csr_array(np.array([[7.0, 7, 0], [7, 0, 0], [0, 7, 5]]))
    found = parts(sent, np.array([1e9, 1e9, 1e9]))
    assert found.tolist() == [[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]]


def test_a_slower_link_counts_for_more() -> None:
    # on the first link, three times as slow, the same bytes keep it busy three times as long
    sent = csr_array(np.array([[1.0, 1], [1, 0], [0, 1]]))
    found = parts(sent, np.array([1e9, 3e9]))
    assert found[0] == pytest.approx([0, 0.75, 0.25])


def test_the_largest_parts_come_first() -> None:
    found = np.arange(20.0)[None, :]
    (job, part), *rest = _largest(found, np.arange(100, 120))
    assert not rest
    assert job.tolist() == list(range(119, 119 - MOST_REPORTED, -1))
    assert part.tolist() == [j - 100.0 for j in job]


def test_neighbours_use_the_job_s_own_links(result: CosimResult, kept: ArchivedRun) -> None:
    """Against two iterations of each job alone: its period, and what links carry in a second."""
    study = result.study
    assert study is not None
    side, topology = study.sides["rdn"], result.machine.topology
    rows, measured = kept.schedules["rdn"].measured, result.measured["rdn"]
    assert rows is not None
    assert measured.compute_s is not None
    # a snapshot with a job that an earlier one has, too: it draws anew
    earlier = [
        set(rows.job[rows.snapshot < n]) & set(rows.job[rows.snapshot == n]) for n in range(8)
    ]
    last = max(number for number in range(8) if earlier[number])
    here = np.flatnonzero(rows.snapshot == last)
    sent, alone = {}, {}
    for row in here:
        job = int(rows.job[row])
        looping = replace(
            side.placed(job, study.communication(job)), compute_s=float(measured.compute_s[row])
        )
        isolated, stream = Ensemble(side.network, [looping]), int(rows.snapshot[row])
        until_s = 3 * looping.compute_s + 2 * float(isolated.least_s[0])
        run = isolated.watched(until_s, 1, stream=stream, least=2)
        carried = run.packets.link_bytes[topology.first_router_link :]
        # the second iteration is timed
        [ends_ps] = run.ends_ps
        alone[job] = float(ends_ps[1] - ends_ps[0]) / PS_PER_S
        sent[job] = carried / (len(ends_ps) * alone[job])
    rate = topology.link_bandwidth_Bps[topology.first_router_link :]
    for row in here:
        job = int(rows.job[row])
        assert rows.alone_s[row] == pytest.approx(alone[job], rel=1e-12)
        met = {j: float((sent[job] * sent[j] / rate).sum()) for j in sent if j != job}
        mine = slice(rows.neighbour_ptr[row], rows.neighbour_ptr[row + 1])
        told = dict(zip(rows.neighbour[mine].tolist(), rows.part[mine].tolist(), strict=True))
        total = sum(met.values())
        largest = sorted((m for m in met.values() if m > 0), reverse=True)[:MOST_REPORTED]
        assert sorted(told.values(), reverse=True) == pytest.approx([m / total for m in largest])
        assert told == pytest.approx({j: met[j] / total for j in told})


def test_keeping_changes_no_result(result: CosimResult) -> None:
    plain = {**CONTENT, "run": {"snapshots": 8, "keep": "tables"}}
    found = cosim_point(config_from(plain).resolved())
    assert not found.kept
    assert found.tables == point_result(result).tables


@pytest.mark.parametrize(("keep", "places"), [("tables", 0), ("schedules", 0), ("all", 40)])
def test_nobody_places_jobs_whose_nodes_are_not_read(
    keep: str, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 40 jobs: queues by count decide without the policy what starts when."""
    calls: list[int] = []
    allocate = RandomNode.allocate
    monkeypatch.setattr(choice, "LEAST_JOBS", 1)
    monkeypatch.setattr(run_section, "MOST_PLACED", 39)
    monkeypatch.setattr(
        RandomNode, "allocate", lambda self, one: calls.append(one.job_id) or allocate(self, one)
    )
    queue = {"policies": ["rdn"], "run_time_model": "as-logged"}
    machine = {"family": "dragonfly", "p": 2, "a": 2, "g": 5}
    content = {"machine": machine, "workload": CONTENT["workload"], "queue": queue}
    result = run_cosim(config_from({**content, "run": {"snapshots": 0, "keep": keep}}))
    assert len(calls) == places
    schedule = archive_of(result).schedules["rdn"]
    assert [len(schedule.nodes_of(job)) for job in range(40)] == (
        result.workload.n_nodes.tolist() if places else [0] * 40
    )
    full = run_cosim(config_from({**content, "run": {"snapshots": 0, "keep": "all"}}))
    assert point_result(result).tables == point_result(full).tables


def test_jobs_of_isolating_policies_have_no_neighbours() -> None:
    content = {
        **CONTENT,
        "machine": {"family": "fattree", "radix": 6},
        "queue": {"policies": ["baseline", "jigsaw"], "run_time_model": "as-logged"},
    }
    for measure in ("stretch", "paired"):
        mix = [{"pattern": "all-to-all", "node_bytes": 10_000}]
        run = {"snapshots": 2, "keep": "all", "measure": measure}
        config = config_from({**content, "communication": {"mix": mix}, "run": run})
        rows = archive_of(run_cosim(config)).schedules["jigsaw"].measured
        assert rows is not None
        assert not len(rows.part)
        assert np.array_equal(rows.alone_s, rows.time_s)


def test_points_share_what_is_equal(tmp_path: Path) -> None:
    queue = {**CONTENT["queue"], "run_time_model": "as-logged"}
    points = []
    minimal = {k: v for k, v in CONTENT["machine"].items() if k != "routing"}
    for repetition, backfill in ((0, "easy"), (1, "easy"), (0, "none")):
        content = {
            "machine": minimal,
            "workload": CONTENT["workload"],
            "queue": {**queue, "backfill": backfill},
            "run": {"snapshots": 0, "repetition": repetition},
        }
        points.append(config_from(content).resolved())
    run_points("netcosim.runs.cosim:cosim_point", points, tmp_path / "a.db", progress=False)
    with Store(tmp_path / "a.db", "read") as store:
        assert all(store.kept(point.key) is not None for point in store.points())
    db = sqlite3.connect(tmp_path / "a.db")
    count = "SELECT count(DISTINCT digest) FROM kept WHERE name = ?"
    assert db.execute(count, ("machine",)).fetchone() == (1,)
    assert db.execute(count, ("jobs",)).fetchone() == (2,)
    held = "SELECT count(*) FROM archives"
    assert (
        db.execute(held).fetchone()
        == db.execute("SELECT count(DISTINCT digest) FROM kept").fetchone()
    )


def test_a_point_that_is_computed_again_leaves_nothing_behind(tmp_path: Path) -> None:
    with Store(tmp_path / "a.db", "write") as store:
        for content in (b"one", b"other"):
            store.put("k" * 64, {"p": 1}, Outcome({}, None, 1.0, {"machine": content}))
    db = sqlite3.connect(tmp_path / "a.db")
    assert db.execute("SELECT content FROM archives").fetchall() == [(b"other",)]


def test_a_file_of_the_first_format_is_refused_and_an_archive_without_its_machine(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    with Store(path, "write") as store:
        store.put("l" * 64, {"p": 2}, Outcome({}, None, 1.0, {"run": b'{"policies": []}'}))
    with Store(path, "read") as store, pytest.raises(NetcosimError, match="'machine' is missing"):
        store.kept("l" * 64)
    db = sqlite3.connect(path)
    db.executescript("DROP TABLE kept; DROP TABLE archives; PRAGMA user_version = 1;")
    db.close()
    for mode in ("read", "write"):
        with pytest.raises(NetcosimError, match="format 1; this program reads formats 2 and 3"):
            Store(path, mode)


def with_column(data: bytes, name: str, value: Any) -> bytes:
    """An archive with one column changed."""
    with np.load(io.BytesIO(data)) as found:
        columns = {n: found[n] for n in found.files}
    wide = columns[name].astype(np.int64) if columns[name].dtype.kind in "iu" else columns[name]
    columns[name] = value(columns[name] if name == "words" else wide)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **columns)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("archive", "column", "change"),
    [
        ("machine", "link_src", lambda v: v + 10_000),
        ("machine", "router_group", lambda v: v[:-1]),
        ("machine", "link_kind", lambda v: v + 100),
        ("jobs", "submit_s", lambda v: v[:, None]),
        ("jobs", "pattern", lambda v: v + 2),
        ("jobs", "run_time_s", lambda v: v.astype(str)),
        ("schedule 0", "start_s", lambda v: v[1:]),
        ("schedule 1", "range_first", lambda v: v + 10_000),
        ("schedule 1", "range_length", lambda v: v * 0),
        ("schedule 1", "range_ptr", lambda v: v[::-1].copy()),
        ("links 0", "stall_ps", lambda v: v[:, 1:]),
        ("measured 0", "job", lambda v: v + 1000),
        ("measured 0", "neighbour", lambda v: v - 1000),
        ("measured 1", "neighbour_ptr", lambda v: v + 1),
        ("schedule 0", "words", lambda v: v[:1]),
    ],
)
def test_damage_is_told_in_a_line(
    kept: ArchivedRun, archive: str, column: str, change: Any
) -> None:
    archives = serialize(kept)
    archives[archive] = with_column(archives[archive], column, change)
    with pytest.raises(NetcosimError, match=r"a\.db: damaged results file: ") as told:
        deserialize(archives, "a.db")
    assert "\n" not in str(told.value)


class Opens:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


def test_an_archive_is_never_unpickled(kept: ArchivedRun, tmp_path: Path) -> None:
    archives = serialize(kept)
    trap = np.array([Opens(tmp_path / "opened")], dtype=object)
    archives["jobs"] = with_column(archives["jobs"], "user", lambda v: trap)
    with pytest.raises(NetcosimError, match="damaged results file"):
        deserialize(archives, "a.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [b"", b"PK", None])
def test_what_is_no_archive_is_damage(kept: ArchivedRun, cut: bytes | None) -> None:
    archives = serialize(kept)
    archives["jobs"] = archives["jobs"][:100] if cut is None else cut
    with pytest.raises(NetcosimError, match="damaged results file"):
        deserialize(archives, "a.db")
