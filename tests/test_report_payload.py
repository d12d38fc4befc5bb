"""What the views of a run are drawn from: packed and read again, the worst link of every cable."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest
from kept_runs import archived_run

import netcosim as nc
from netcosim.archive.extract import machine_of
from netcosim.archive.values import ArchivedRun
from netcosim.report.payload import NEVER, Cables, packed, parts_of, time_unit_s
from netcosim.report.run_page import views_section

KEPT = archived_run(nc.make_topology("dragonfly", {"p": 2, "a": 2, "g": 5}), n_jobs=30)


def read(text: str) -> dict:
    """The same as ``assets/data.js``."""
    body = gzip.decompress(base64.b64decode(text))
    at = 4 + int.from_bytes(body[:4], "little")
    found = json.loads(body[4:at])
    for name, kind, length, steps in found.pop("columns"):
        column = np.frombuffer(body, "<" + kind, length, at)
        found[name] = np.cumsum(column.astype(np.float64)) if steps else column
        at += column.nbytes
    assert at == len(body)
    return found


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([3, 1, 2], "u1"),
        ([300, 1, 2], "u2"),
        ([-1, 5], "i1"),
        ([-1, 500], "i2"),
        ([70_000, 3], "i4"),
        ([2**40, 3], "f8"),
        ([2**40, 2**40 + 3], "f8"),
        ([10**6, 10**6 + 1, 10**6 + 2], "i4"),
        ([5, 5, 6], "u1"),
        ([], "u1"),
    ],
)
def test_whole_numbers_come_back_as_they_were(values: list[int], kind: str) -> None:
    text = packed({}, {"one": np.array(values, dtype=np.int64)})
    assert read(text)["one"].tolist() == values
    body = gzip.decompress(base64.b64decode(text))
    assert json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])["columns"][0][1] == kind


def test_times_names_and_nodes_come_back() -> None:
    common, first, second = map(read, parts_of(KEPT, "isolated time on Mars"))
    assert common["baseline"] == "isolated time on Mars"
    unit = common["unit_s"]
    assert common["policies"] == ["rdn", "simple"]
    assert (first["policy"], second["policy"]) == ("rdn", "simple")
    assert common["job_id"].tolist() == KEPT.jobs.job_id.tolist()
    for part, schedule in zip((first, second), KEPT.schedules.values(), strict=True):
        start = common["submit"] + part["wait"]
        assert start * unit == pytest.approx(schedule.start_s, abs=unit)
        assert (start + part["run"]) * unit == pytest.approx(schedule.end_s, abs=unit)
        assert np.cumsum(part["ranges"]).tolist() == schedule.range_ptr[1:].tolist()
        assert part["range_first"].tolist() == schedule.range_first.tolist()
        assert part["same"] is True


def test_a_job_that_never_ran_is_told_apart() -> None:
    schedule = KEPT.schedules["rdn"]
    start, end = schedule.start_s.copy(), schedule.end_s.copy()
    start[3] = end[3] = np.nan
    other = type(schedule)(**{**vars(schedule), "start_s": start, "end_s": end, "measured": None})
    part = read(parts_of(ArchivedRun(KEPT.machine, KEPT.jobs, {"rdn": other}))[1])
    assert (part["wait"][3], part["run"][3]) == (NEVER, NEVER)
    assert (np.delete(part["wait"], 3) >= 0).all()


@pytest.mark.parametrize("later_s", [(1e6, 1e6), (-1e6, -1e6), (0.0, 0.0)])
def test_snapshots_of_another_schedule_are_told_apart(later_s: tuple[float, float]) -> None:
    """The same instants, but jobs run long after, long before, or elsewhere."""
    schedule = KEPT.schedules["rdn"]
    changed = {"start_s": schedule.start_s + later_s[0], "end_s": schedule.end_s + later_s[1]}
    if later_s == (0.0, 0.0):
        changed = {"range_first": (schedule.range_first + 1) % 18}
    other = type(schedule)(**{**vars(schedule), **changed})
    part = read(parts_of(ArchivedRun(KEPT.machine, KEPT.jobs, {"rdn": other}))[1])
    assert part["same"] is False


def test_a_cable_has_the_worst_of_its_links() -> None:
    """Against a loop over links, on a machine with two cables a pair of routers."""
    machine = machine_of(
        nc.make_topology("dragonfly", {"p": 1, "a": 2, "g": 4, "h": 3, "arrangement": "circulant"})
    )
    values = np.random.default_rng(1).random((3, len(machine.link_src)))
    cables = Cables(machine)
    ports = len(machine.port_router)
    for snapshot in range(3):
        worst: dict[tuple[int, int], float] = {}
        for link in range(machine.first_router_link, len(machine.link_src)):
            ends = sorted((machine.link_src[link] - ports, machine.link_dst[link] - ports))
            pair = (int(ends[0]), int(ends[1]))
            worst[pair] = max(worst.get(pair, 0.0), values[snapshot, link])
        pairs = zip(cables.one.tolist(), cables.other.tolist(), strict=True)
        assert dict(zip(pairs, cables.worst(values)[snapshot], strict=True)) == worst


def test_load_is_a_share_of_the_time_that_packets_took() -> None:
    part = read(parts_of(KEPT)[1])
    links = KEPT.schedules["rdn"].links
    assert links is not None
    share = links.busy_ps / (links.span_s[:, None] * 1e12)
    wanted = Cables(KEPT.machine).worst(share)
    assert part["busy"].reshape(wanted.shape) / 1e4 == pytest.approx(wanted, abs=1e-4)


def test_one_router_has_no_cables() -> None:
    kept = archived_run(nc.make_topology("torus", {"dims": [1], "concentration": 4}), n_jobs=5)
    assert read(parts_of(kept)[0])["cable_one"].tolist() == []


@pytest.mark.parametrize(("last_s", "unit_s"), [(1.3e7, 1.0), (9.9e6, 0.1), (0.02, 1e-9)])
def test_times_are_kept_to_a_ten_millionth(last_s: float, unit_s: float) -> None:
    schedule = KEPT.schedules["rdn"]
    scale = last_s / schedule.end_s.max()
    ends = {"start_s": schedule.start_s * scale, "end_s": schedule.end_s * scale}
    jobs = type(KEPT.jobs)(**{**vars(KEPT.jobs), "submit_s": KEPT.jobs.submit_s * scale})
    other = type(schedule)(**{**vars(schedule), **ends})
    assert time_unit_s(ArchivedRun(KEPT.machine, jobs, {"rdn": other})) == pytest.approx(unit_s)


def test_a_time_that_is_none_is_refused_and_a_place_that_is_none_is_moved() -> None:
    """A results file may come from anywhere."""
    schedule = KEPT.schedules["rdn"]
    endless = type(schedule)(**{**vars(schedule), "end_s": np.full(len(KEPT.jobs), np.inf)})
    with pytest.raises(ValueError, match="the last job ends at inf s"):
        parts_of(ArchivedRun(KEPT.machine, KEPT.jobs, {"rdn": endless}))
    places = np.full(len(KEPT.machine.router_x), np.nan, dtype=np.float32)
    machine = type(KEPT.machine)(**{**vars(KEPT.machine), "router_x": places})
    common = read(parts_of(ArchivedRun(machine, KEPT.jobs, {"rdn": schedule}))[0])
    assert not common["router_x"].any()


def test_the_same_run_makes_the_same_fragment() -> None:
    one, other = views_section(KEPT), views_section(KEPT)
    assert one.html == other.html
    assert "<b>" not in one.html


def test_the_packed_page_is_small() -> None:
    """As many numbers as a run of 600 jobs has: well below the 5 MB of a page."""
    kept = archived_run(
        nc.preset("dragonfly-272"), ["a", "b", "c", "d"], n_jobs=600, n_snapshots=12
    )
    assert len(views_section(kept).html) < 1_500_000
