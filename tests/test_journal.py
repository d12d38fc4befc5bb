"""The journal of a run's parts: which files are its own, and what it takes from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cosim.measuring.parts import Columns, Part, ReportProgress
from netcosim.package_check import sources_hash
from netcosim.runs import journal
from netcosim.runs.journal import Journal, computed_by, drop, journal_name, journals_in
from netsim.file_lock import acquire_lock, try_lock

DIGITS = "0123456789abcdef"


def part_of(name: str, values: object, log: list[str]) -> Part:
    def compute(tell: ReportProgress) -> Columns:
        log.append(name)
        return {"x": np.array(values)}

    return Part(name, compute)


def test_a_journal_of_another_run_has_none_of_its_parts(tmp_path: Path) -> None:
    """A folder that was copied to another run's name: every part says whose it is."""
    log: list[str] = []
    Journal(tmp_path / "one").each([part_of("a", 1, log), part_of("b", 2, log)])
    (tmp_path / "one").rename(tmp_path / "two")
    resumed: list[int] = []
    again = Journal(tmp_path / "two", lambda: resumed.append(1))
    [columns] = again.each([part_of("a", 3, log)])
    assert columns["x"] == 3
    assert (log, resumed) == (["a", "b", "a"], [])
    assert len(again) == 2


def test_who_is_at_work_on_parts_of_its_own_has_resumed_nothing(tmp_path: Path) -> None:
    log: list[str] = []
    resumed: list[int] = []
    kept = Journal(tmp_path / "j", lambda: resumed.append(1))
    for _ in range(2):
        kept.each([part_of("a", 1, log)])
    assert (log, resumed) == (["a"], [])
    Journal(tmp_path / "j", lambda: resumed.append(2)).each([part_of("b", 1, log)])
    assert resumed == []
    Journal(tmp_path / "j", lambda: resumed.append(3)).each([part_of("b", 1, log)])
    assert resumed == [3]


def test_a_part_that_came_while_the_lock_was_waited_for_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes it between the look and the lock."""
    log: list[str] = []
    mine, theirs = Journal(tmp_path / "j"), Journal(tmp_path / "j")

    def lock_late(path: Path) -> object:
        monkeypatch.undo()
        theirs.each([part_of("a", 1, log)])
        return try_lock(path)

    monkeypatch.setattr(journal, "try_lock", lock_late)
    [columns] = mine.each([part_of("a", 2, log)])
    assert (int(columns["x"]), log) == (1, ["a"])


def test_the_lock_of_a_part_is_let_go(tmp_path: Path) -> None:
    log: list[str] = []
    kept = Journal(tmp_path / "j")

    def fail(tell: ReportProgress) -> Columns:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.each([Part("a", fail)])
    assert list((tmp_path / "j").iterdir()) == []
    kept.each([part_of("a", 1, log)])
    assert list((tmp_path / "j").iterdir()) == [kept._path("a")]
    acquire_lock(kept._path("a")).close()


def test_parts_that_are_read_are_part_of_what_is_done(tmp_path: Path) -> None:
    """Of four parts two are there: they count at once, the others half-way through them."""
    log: list[str] = []
    names = ["a", "b", "c", "d"]
    Journal(tmp_path / "j").each([part_of(name, 1, log) for name in ("b", "d")])
    told: list[tuple[str, float]] = []

    def compute(tell: ReportProgress) -> Columns:
        tell(0.5)
        return {"x": np.array(0)}

    parts = [Part(name, compute) for name in names]
    found = Journal(tmp_path / "j").each(parts, lambda what, share: told.append((what, share)))
    assert [int(columns["x"]) for columns in found] == [0, 1, 0, 1]
    assert told == [("b", 0.25), ("d", 0.5), ("a", 0.625), ("a", 0.75), ("c", 0.875), ("c", 1.0)]


def test_a_name_stands_for_the_key_the_format_and_the_sources(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = journal_name("key")
    assert name == journal_name("key") != journal_name("other")
    assert sources_hash() in computed_by()
    for what, value in (("FORMAT", 99), ("computed_by", lambda: "others")):
        with monkeypatch.context() as patch:
            patch.setattr(journal, what, value)
            assert journal_name("key") != name
    assert journal.FORMAT != 99


def test_only_a_journals_own_files_are_dropped(tmp_path: Path) -> None:
    folder = tmp_path / f"unfinished-{DIGITS}"
    folder.mkdir()
    digest = 2 * DIGITS
    own = [
        f"{digest}.npz",
        f"{digest}.lock",
        f"{digest}.npz.lock",
        f"{digest}.npz.77",
        f".{digest}.npz.77.part",
        "run.lock",
    ]
    others = [f"{DIGITS}.npz", f"{digest}.npz.bak", f"{digest}.npy", "notes", "trun.lock"]
    for name in own + others:
        (folder / name).write_text("x")
    drop(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(others)
    for name in others:
        (folder / name).unlink()
    drop(folder)
    assert not folder.exists()
    drop(folder)  # nothing there


def test_what_a_link_points_to_is_not_dropped(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "run.lock").write_text("x")
    link = tmp_path / f"unfinished-{DIGITS}"
    link.symlink_to(real)
    drop(link)
    assert (real / "run.lock").exists()
    assert link.is_symlink()


def test_journals_are_folders_with_a_digest(tmp_path: Path) -> None:
    assert journals_in(tmp_path / "none") == []
    for name in (f"unfinished-{DIGITS}", "unfinished-0000000000000000", f"unfinished-{DIGITS}0"):
        (tmp_path / name).mkdir()
    (tmp_path / "unfinished-1111111111111111").write_text("no folder")
    assert [path.name for path in journals_in(tmp_path)] == [
        "unfinished-0000000000000000",
        f"unfinished-{DIGITS}",
    ]


def test_a_part_of_another_type_or_shape_is_computed_again(tmp_path: Path) -> None:
    """What stands in a file must be what was written: columns, types and shapes."""
    log: list[str] = []
    kept = Journal(tmp_path / "j")
    kept.each([part_of("a", [1.0, 2.0], log)])
    path = kept._path("a")
    with np.load(path) as file:
        columns = dict(file)
    for changed in (
        {**columns, "x": columns["x"][:1]},
        {**columns, "x": columns["x"].astype(np.float32)},
        {**columns, "y": columns["x"]},
        {"x": columns["x"]},
    ):
        np.savez(path, **changed)
        kept.each([part_of("a", [1.0, 2.0], log)])
    assert log == ["a"] * 5
