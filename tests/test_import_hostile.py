"""Mutated files of the formats that sites have: jobs or one line, at once and in little memory."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from test_import_sites import JOBS
from test_importer_law import FORMATS

from netsim.errors import NetcosimError
from workloads.importers.registry import import_log

WORDS = (
    *("", "-1", "1e400", "9" * 30, "NaN", "null", "\0", "é", "n[1-", "n[1-999999999]", "[" * 5000),
    *('"', "'", "|", ":", "{", "}", "\\", "%s", "\ud800", "1-1-1", "0x10", "infinity", "2" * 9),
    *("a" * 70_000, "\n\n", "true", '{"set": true}', "1969-12-31T23:59:59", "CANCELLED by"),
)


def mutant(text: str, seed: int) -> str:
    """Change some places of a text: words put in, parts taken out, doubled or swapped."""
    draw = random.Random(seed)
    for _ in range(draw.choice([1, 1, 2, 5])):
        at, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + draw.choice([0, 1, 5, 40, 10_000]))
        part = text[at:end]
        new = draw.choice([draw.choice(WORDS), part * 2, part[::-1], "", draw.choice(WORDS)])
        text = text[:at] + new + text[end:]
    return text


def sources() -> dict[str, tuple[str, str]]:
    """A sound text of each format, with the importer."""
    found = {kind: (kind, render(*jobs)) for kind, (render, jobs, _) in FORMATS.items()}
    return found | {"json": ("sacct", json.dumps({"jobs": JOBS, "meta": {}}, indent=1))}


@pytest.mark.parametrize("name", sources())
@pytest.mark.parametrize("bad_lines", ["refuse", "drop"])
def test_a_mutant_has_jobs_or_one_line(tmp_path: Path, name: str, bad_lines: str) -> None:
    kind, text = sources()[name]
    path, refused = tmp_path / "log.txt", 0
    more = {"cores_per_node": 16} if kind == "sge" else {}
    for seed in range(100):
        path.write_bytes(mutant(text, seed).encode("utf-8", errors="surrogatepass"))
        told = ""
        try:
            assert len(import_log(kind, path, {"bad_lines": bad_lines, **more})) > 0
        except NetcosimError as error:
            told = str(error)
        assert "\n" not in told, seed
        assert len(told) < 600, seed
        refused += told != ""
    assert refused < 100
    assert refused > 20 or bad_lines == "drop"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("sacct", '{"jobs": [' + "[" * 100_000),
        ("sacct", '{"jobs": [' + "{}," * 200_000 + "{}]}"),
        ("sacct", '{"jobs": {"a": 1}, "association": 1}'),
        ("sacct", '{"jobs": [], "association": 1}'),
        ("sacct", '{"association": 1, "jobs": [{"job_id": 1}'),
        ("lsf", '"JOB_FINISH" "10.1" 1000000000 ' + "9999999 " * 30),
        ("lsf", '"JOB_FINISH" "10.1" 1000000000 ' + '"' * 65_000),
        ("sge", ":".join(["1"] * 60_000)),
        ("sge", "a:b:c:d:e:" + ":".join(["9" * 18] * 60)),
    ],
)
def test_large_or_cut_files_end_in_one_line(tmp_path: Path, kind: str, text: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text + "\n")
    for bad_lines in ("refuse", "drop"):
        with pytest.raises(NetcosimError) as caught:
            import_log(kind, path, {"bad_lines": bad_lines})
        assert "\n" not in str(caught.value)
