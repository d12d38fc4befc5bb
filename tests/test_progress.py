"""Progress: a bar on a terminal, a few lines elsewhere, and a clock that counts no compilation."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from alloc.registry import POLICIES
from cosim.registry import RUNTIME_MODELS
from netcosim import announce, kernel_parts
from netcosim.config.load import config_from
from netcosim.runs import progress
from netcosim.runs.progress import clock, line_gap_s, progress_line
from netsim.kernel_cache import kernel_sources
from netsim.units import format_quantity


class FakeTime:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def lines_of(
    seconds: float, step_s: float, monkeypatch: pytest.MonkeyPatch, unit: str = "%"
) -> list[str]:
    """What a run of so many seconds prints that tells of itself every so often."""
    time, file = FakeTime(), io.StringIO()
    monkeypatch.setattr(progress, "time", time)
    with progress.progress(100, unit, file=file) as show:
        for now in np.arange(0.0, seconds, step_s):
            time.now = float(now)
            show.at(100 * time.now / seconds, "packets")
    return file.getvalue().splitlines()


def test_a_log_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """100 KB in ten minutes before; now ten lines, then one each tenth of what has passed."""
    assert lines_of(9.9, 0.01, monkeypatch) == []
    minutes = lines_of(600.0, 0.1, monkeypatch)
    # 10, 20, ... 100 s, then each when a tenth of all that has passed is new: 100 / 0.9^17 = 600
    assert 10 + 15 <= len(minutes) <= 10 + 17
    assert len("\n".join(minutes)) < 3000
    assert len(lines_of(86_400.0, 5.0, monkeypatch)) < 100


def test_lines_tell_what_where_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    first = lines_of(100.0, 1.0, monkeypatch)[0]
    assert first == "netcosim: 10 %, packets; 0:10 gone, about 1:30 left"
    # points that were stored before say nothing about speed: 2 of 10 in 20 s, 6 to go
    assert progress_line(4, 10, "points", 2, 20.0, "1 failed") == (
        "netcosim: 4 of 10 points, 1 failed; 0:20 gone, about 1:00 left"
    )
    assert progress_line(2, 10, "points", 2, 20.0, "") == "netcosim: 2 of 10 points; 0:20 gone"
    assert [clock(s) for s in (5, 65, 3600, 36_125)] == ["0:05", "1:05", "1:00:00", "10:02:05"]
    assert [line_gap_s(s) for s in (0, 99, 200, 6000)] == [10, 10, 20, 600]


def test_quiet_prints_nothing() -> None:
    file = io.StringIO()
    with progress.progress(10, "points", shown=False, file=file) as show:
        show.at(5, "")
        show.print_line("a word")
    assert file.getvalue() == ""


CONTENT = {
    "machine": {"family": "fattree", "radix": 4},
    "workload": {"synthetic": {"n_jobs": 5, "mean_nodes": 2}},
    "queue": {"policies": ["baseline"]},
}


def test_parts_that_a_config_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path))
    static = "packets of static routings"
    assert announce.parts_of(config_from(CONTENT)) == (static,)
    searching = CONTENT | {"queue": {"policies": ["baseline", "jigsaw"]}}
    assert announce.parts_of(config_from(searching)) == (static, "isolating search")
    coupled = {
        "machine": {"family": "torus", "dims": [4]},
        "workload": CONTENT["workload"],
        "queue": {"policies": ["baseline"], "run_time_model": "coupled-flow"},
    }
    assert announce.parts_of(config_from(coupled)) == (static, "flows of jobs")
    no_snapshot = {"run": {"snapshots": 0}}
    logged = {"queue": {"policies": ["baseline"], "run_time_model": "as-logged"}}
    assert announce.parts_of(config_from(CONTENT | no_snapshot | logged)) == ()
    assert announce.parts_of(config_from(coupled | no_snapshot)) == (static, "flows of jobs")
    queue = {"policies": ["baseline"], "run_time_model": "coupled-packets"}
    live = coupled | no_snapshot | {"queue": queue}
    assert announce.parts_of(config_from(live)) == (static, "flows of jobs")
    machine = {"family": "fattree", "radix": 4, "packet": {"router": "input-queued"}}
    switched = CONTENT | {"machine": machine}
    assert announce.parts_of(config_from(switched)) == ("packets", "crossbars")
    kinds = {"dragonfly": ("ugal-l", "packets of UGAL"), "fattree": ("adaptive", "packets")}
    for family, (routing, part) in kinds.items():
        size = {"p": 2, "a": 2, "g": 3} if family == "dragonfly" else {"radix": 4}
        machine = {"family": family, "routing": routing, **size}
        assert announce.parts_of(config_from(CONTENT | {"machine": machine})) == (part,)
    for part in kernel_parts.PACKETS.values():
        kernel_parts.mark_compiled(part)
    assert announce.parts_of(config_from(CONTENT)) == ()


def test_paths_by_draws_and_loads_are_compiled_for_routings_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path))
    queue = {"policies": ["baseline"], "run_time_model": "coupled-flow"}
    live = CONTENT | {"run": {"snapshots": 0}, "queue": queue}
    machine = {"family": "fattree", "radix": 4}
    for routing, more in (("d-mod-k", ()), ("adaptive", (kernel_parts.WALKS,))):
        config = config_from(live | {"machine": machine | {"routing": routing}})
        assert announce.parts_of(config)[1:] == ("flows of jobs", *more)
    for part in (kernel_parts.WALKS, *kernel_parts.PACKETS.values()):
        kernel_parts.mark_compiled(part)
    assert announce.parts_of(config) == ("flows of jobs",)


def test_parts_are_found_for_a_plugins_routing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which paths it takes shows on the machine alone, whose routing the plug-in brings."""
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path))
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from netsim.routing.fattree import ROUTINGS\n"
        'PLUGIN = [replace(ROUTINGS[0], name="mine", description="the first one again")]\n'
    )
    queue = {"policies": ["baseline"], "run_time_model": "coupled-flow"}
    machine = {"family": "fattree", "radix": 4, "routing": "mine"}
    content = CONTENT | {"run": {"snapshots": 0}, "queue": queue, "machine": machine}
    config = config_from(content | {"plugins": [str(tmp_path / "mine.py")]})
    assert announce.parts_of(config) == ("packets of static routings", "flows of jobs")


def test_kernels_of_registry_entries_are_parts_and_each_part_has_sources() -> None:
    named = {policy.kernels for policy in POLICIES.values()}
    named |= {model.solves_flows for model in RUNTIME_MODELS.values()}
    assert named - {""} <= set(kernel_parts.PARTS)
    assert all(kernel_sources(part.called) for part in kernel_parts.PARTS.values())


def test_a_run_compiles_the_searches_of_its_own_policies_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCOSIM_CACHE_DIR", str(tmp_path))
    no_packets = CONTENT | {"run": {"snapshots": 0}}
    queue = {"policies": ["baseline", "jigsaw"], "run_time_model": "as-logged"}
    assert announce.parts_of(config_from(no_packets | {"queue": queue})) == ("isolating search",)
    queue |= {"policies": ["lc", "ta"], "run_time_model": "coupled-flow"}
    static = "packets of static routings"  # of isolated loops
    expected = (static, "flows of jobs", "TA search", "least-constrained search")
    assert announce.parts_of(config_from(no_packets | {"queue": queue})) == expected


@pytest.mark.parametrize(
    ("n_jobs", "resamples", "queue", "compiled"),
    [
        (4000, 0, {}, True),
        (3999, 0, {}, False),
        (20, None, {}, True),
        (19, None, {}, False),
        (500, 8, {}, True),
        (20, None, {"policies": ["baseline", "ta"]}, False),
        (4000, None, {"policies": ["baseline", "ta"]}, True),
        (4000, None, {"policies": ["ta"]}, False),
        (4000, None, {"order": "fair-share"}, False),
        (4000, None, {"decider": "easy"}, False),
        (4000, None, {"overrun": "cut", "grace_s": 60.0}, False),
    ],
)
def test_queues_are_a_part_where_some_are_compiled(
    n_jobs: int, resamples: int | None, queue: dict[str, object], compiled: bool
) -> None:
    chosen = {"policies": ["baseline"], "run_time_model": "as-logged"} | queue
    workload = {"synthetic": {"n_jobs": n_jobs, "mean_nodes": 2}}
    config = config_from(CONTENT | {"workload": workload, "queue": chosen})
    assert ("queues" in announce.parts_of(config, resamples)) == compiled


@pytest.mark.parametrize(
    ("order", "backfill", "part"),
    [
        ("shortest", "easy", "queues"),
        ("wfp", "none", "queues by score"),
        ("fcfs", "conservative", "conservative queues"),
        ("wfp", "conservative", "conservative queues by score"),
    ],
)
def test_a_run_compiles_the_passes_of_its_own_queue(order: str, backfill: str, part: str) -> None:
    queue = {"policies": ["baseline"], "run_time_model": "as-logged"}
    content = CONTENT | {"queue": queue | {"order": order, "backfill": backfill}}
    content |= {"run": {"snapshots": 0}}
    assert announce.parts_of(config_from(content), 1000) == (part,)


def test_compilation_is_told_before_it_begins_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from netcosim import warmup

    told: list[str] = []

    def warm_up(parts: list[str]) -> list[tuple[str, float]]:
        told.append(capsys.readouterr().err)
        for part in parts:
            kernel_parts.mark_compiled(part)
        return [(part, 1.0) for part in parts]

    for module in (announce, kernel_parts):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(warmup, "warm_up", warm_up)
    # a module that compiles one function at its import leaves a file, and had been the end of it
    (tmp_path / "mix64.nbi").touch()
    assert announce.compile_kernels(["packets"]) == ["packets"]
    assert "compiling kernels (packets)" in told[0]
    assert announce.compile_kernels(["packets"]) == []
    assert announce.compile_kernels(["packets", "flows"]) == ["flows"]
    assert "(flows)" in told[1]
    assert capsys.readouterr().err == ""


def test_the_bar_of_compilation_says_what_and_how_long_usually(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts in the order in which they are compiled, weighed by their usual times."""
    from netcosim import warmup

    time = FakeTime()
    monkeypatch.setattr(progress, "time", time)
    asked: list[str] = []

    def warm_up(parts: list[str]) -> Iterator[tuple[str, float]]:
        for part in parts:
            asked.append(part)
            time.now += 20.0
            yield part, 20.0

    for module in (announce, kernel_parts):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(warmup, "warm_up", warm_up)
    announce.compile_kernels(["flows", "packets", "TA search"])
    assert asked == ["packets", "flows", "TA search"]
    first, *lines = capsys.readouterr().err.splitlines()
    usual = dict(zip(asked, kernel_parts.usual_times_s(asked), strict=True))
    total = sum(usual.values())
    about = format_quantity(total, "time", 2)
    assert f"(packets, flows, TA search) on the first use of this version, about {about}," in first
    done, each = 100 * usual["packets"] / total, format_quantity(usual["flows"], "time", 2)
    assert lines[0] == (
        f"netcosim: {done:.0f} %, compiling kernels: flows, about {each}; "
        f"0:20 gone, about {clock(20 * (100 - done) / done)} left"
    )
    assert len(lines) == 2


def test_a_part_takes_longer_where_none_of_its_kernels_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_parts, "cache_folder", lambda: tmp_path)
    static, ugal, every = kernel_parts.PACKETS.values()
    alone_s, later_s = kernel_parts.usual_times_s([ugal, every])
    assert (alone_s, later_s) == (
        kernel_parts.PARTS[ugal].alone_s,
        kernel_parts.PARTS[every].usual_s,
    )
    assert kernel_parts.PARTS[ugal].usual_s < alone_s
    kernel_parts.mark_compiled(static)
    assert kernel_parts.usual_times_s([ugal]) == [kernel_parts.PARTS[ugal].usual_s]


def test_what_was_found_says_nothing_of_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half is found in a second; the other half takes 10 s for each tenth of all."""
    time, file = FakeTime(), io.StringIO()
    monkeypatch.setattr(progress, "time", time)
    with progress.progress(100, "%", file=file) as show:
        time.now = 1.0
        show.at(50, "found")
        show.restart()
        time.now = 12.0
        show.at(60, "packets")
    assert file.getvalue() == "netcosim: 60 %, packets; 0:11 gone, about 0:44 left\n"


def test_the_clock_of_a_run_starts_after_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order of events: told, compiled, then the bar."""
    from hostile.row import config_text

    from netcosim import warmup
    from netcosim.cli import main
    from netcosim.runs import run_output

    events: list[str] = []

    def warm_up(parts: list[str]) -> list[tuple[str, float]]:
        events.append(f"compiled {', '.join(parts)}")
        return []

    class BarError(Exception):
        pass

    def bar(total: float, unit: str, *, shown: bool) -> None:
        events.append("bar")
        raise BarError

    for module in (announce, kernel_parts):
        monkeypatch.setattr(module, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(warmup, "warm_up", warm_up)
    monkeypatch.setattr(run_output, "show_progress", bar)
    (tmp_path / "c.toml").write_text(config_text({}))
    with pytest.raises(BarError):
        main(["run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "out")])
    assert events == ["compiled packets of static routings, queues", "bar"]
