"""The name of the code that computed a point: code counts, comments and dates do not."""

from __future__ import annotations

import os
from pathlib import Path

from netsim import fingerprint
from netsim.fingerprint import code_fingerprint, fingerprint_of
from netsim.kernel_cache import cache_folder

ROOT = Path(__file__).resolve().parents[1]


def sources(root: Path, text: str) -> Path:
    for package in fingerprint._MODEL_PACKAGES:
        (root / package).mkdir(parents=True, exist_ok=True)
        (root / package / "part.py").write_text("x = 1\n")
    (root / "netsim" / "part.py").write_text(text)
    return root


def test_code_counts_comments_and_docstrings_do_not(tmp_path: Path) -> None:
    root, kept = tmp_path / "root", tmp_path / "kept"
    first = fingerprint_of(sources(root, '"""Told."""\nx = 1  # one\n'), kept)
    assert first == fingerprint_of(sources(root, '"""Otherwise."""\nx   =   1\n'), kept)
    assert first != fingerprint_of(sources(root, '"""Told."""\nx = 2  # one\n'), kept)
    assert first == fingerprint_of(sources(root, '"""Told."""\n\nx = 1  # one\n'), kept)
    docs = "class A:\n  '{}'\n  x = 1\n  '{}'\n"
    code = docs + "  def f(y):\n    '{}'\n    return y in {{1.5, 'b'}}\n"
    texts = ("One", "Two", "Three"), ("Others", "", "of several \\\n lines")
    one, other = (fingerprint_of(sources(root, code.format(*of)), kept) for of in texts)
    assert one == other != first
    (root / "alloc" / "part.py").rename(root / "alloc" / "more.py")
    assert first != fingerprint_of(root, kept)


def test_what_is_kept_is_what_parsing_gives(tmp_path, monkeypatch):
    """Twice the same, the second time without parsing; a date tells nothing."""
    root, kept = sources(tmp_path / "root", "x = 1\n"), tmp_path / "kept"
    first = fingerprint_of(root, kept)
    part = root / "netsim" / "part.py"
    date = part.stat().st_mtime_ns
    with monkeypatch.context() as broken:
        broken.setattr(fingerprint, "_normalised", None)
        assert fingerprint_of(root, kept) == first
    part.write_text("x = 2\n")
    os.utime(part, ns=(date, date))
    second = fingerprint_of(root, kept)
    assert second != first
    for file in kept.iterdir():
        file.write_text("damaged")
    assert fingerprint_of(root, kept) == second
    assert fingerprint_of(root, tmp_path / "no" / "other") == second


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("no folder")
    root = sources(tmp_path / "root", "x = 1\n")
    assert fingerprint_of(root, tmp_path / "kept") == fingerprint_of(root, tmp_path / "fine")


def test_ours_is_that_of_the_sources_here(tmp_path: Path) -> None:
    assert code_fingerprint() == fingerprint_of(ROOT, tmp_path)
    assert fingerprint_of(ROOT, cache_folder()) == code_fingerprint()
