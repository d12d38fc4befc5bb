"""The command line: what it prints, and one clear line with status 2 for each mistake."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from page_words import words

from netcosim import catalogue
from netcosim.cli import RENAMED, build_parser, command, command_names, main
from netcosim.runs.store import Store
from workloads.swf import read_swf

pytestmark = pytest.mark.usefixtures("undrawn")

ROOT = Path(__file__).resolve().parents[1]
CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 2
g = 5
global_bandwidth = ["2 Gbit/s", "8 Gbit/s"]
[workload]
larger_jobs = "drop"
[workload.synthetic]
n_jobs = 20
mean_nodes = 4
[queue]
policies = ["simple", "rdn"]
run_time_model = "as-logged"
[run]
snapshots = 2
"""


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_every_command_has_a_line_of_help_and_a_function() -> None:
    names = command_names()
    assert {"sweep", "list", "describe", "trace", "report", "warmup"} <= set(names)
    for name in names:
        module = command(name)
        assert module.HELP
        assert "\n" not in module.HELP
        assert callable(module.run)


@pytest.mark.parametrize("kind", catalogue.kinds())
def test_everything_listed_is_described(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, "list", kind)
    assert status == 0
    listed = catalogue.entries(kind)
    assert len(out.splitlines()) == len(listed) > 0
    for name, description in listed.items():
        assert description, f"{kind} {name} has no description"
        # The largest machines take seconds to build; one of each family is enough.
        if kind != "machines" or name in {"cab", "dragonfly-272", "intrepid-midplanes"}:
            assert catalogue.describe(name)[1].strip()


def test_describe_tells_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = told(capsys, "describe", "dragonfly-1056")
    assert "1,056 nodes, 264 routers" in out
    assert "global: 1,056 links of 1 GB/s" in out


def test_trace_generate_convert_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a.swf.gz", tmp_path / "b.swf"
    generate = ("trace", "generate", "--out", first, "--n-jobs", "50", "--seed", "3")
    assert told(capsys, *generate)[0] == 0
    again = tmp_path / "again.swf.gz"
    told(capsys, "trace", "generate", "--out", again, "--n-jobs", "50", "--seed", "3")
    assert gzip.decompress(again.read_bytes()) == gzip.decompress(first.read_bytes())
    options = ("--first-jobs", "20", "--size-factor", "0.5")
    status, out, _ = told(capsys, "trace", "convert", first, "--out", second, *options)
    assert status == 0
    assert "20 jobs written" in out
    before, after = read_swf(first), read_swf(second)
    assert np.array_equal(after.n_nodes, np.ceil(before.n_nodes[:20] / 2))
    status, out, _ = told(capsys, "trace", "info", second)
    assert status == 0
    assert "b.swf: 20 jobs over" in out


def test_sweep_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text(CONFIG)
    status, out, _ = told(capsys, "sweep", "c.toml", "--dry-run")
    assert status == 0
    assert "2 points, 0 stored, 2 to compute" in out
    assert not (tmp_path / "c.db").exists()
    status, out, _ = told(capsys, "sweep", "c.toml", "--quiet")
    assert status == 0
    assert "0 were stored, 2 computed, 0 failed" in out
    status, out, _ = told(capsys, "sweep", "c.toml", "--quiet", "--jobs", "2")
    assert "2 were stored, 0 computed" in out
    with Store("c.db", "read") as store:
        frame = store.frame("policies")
        links = store.frame("links")
    assert set(frame["policy"]) == {"simple", "rdn"}
    # Slower global links change no schedule that runs as logged, but they do change packets.
    assert frame.groupby("policy")["makespan_s"].nunique().eq(1).all()
    busy = links[links["kind"] == "global"].groupby("machine.parameters.global_bandwidth_Bps")[
        "busy_s"
    ]
    assert busy.sum().iloc[0] > busy.sum().iloc[1] > 0
    status, out, _ = told(capsys, "report", "c.db", "--export", "csv")
    assert status == 0
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "2 done and 0 failed" in words(page)
    assert (tmp_path / "c-csv" / "policies.csv").exists()


def configured(folder: Path, old: str, new: str) -> Path:
    assert old in CONFIG
    path = folder / "c.toml"
    path.write_text(CONFIG.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sweep c.toml --store r.db", "--store is now --out (see netcosim sweep --help)"),
        ("bench --json t.json", "--json is now --out"),
        ("report r.db --html p.html", "--html is now --out"),
        ("report r.db --folder f", "--folder is now --out"),
        ("report r.db --figures svg", "--figures is now --format"),
        ("demo --first 5", "--first is now --first-jobs"),
        ("trace generate --out j.swf --jobs 5", "--jobs is now --n-jobs"),
        ("trace generate j.swf", "required: --out"),
        ("trace convert a.swf b.swf", "required: --out"),
        ("rnu c.toml", "did you mean run? (see netcosim --help)"),
        ("trace inof j.swf", "did you mean info?"),
        ("run c.toml --job 2", "--job 2; did you mean --jobs? (see netcosim run --help)"),
        ("report r.db --export parket", "did you mean parquet?"),
        ("trace import sacct j.txt --timezon UTC", "did you mean --timezone?"),
        ("curve c.toml --zzz", "unrecognized arguments: --zzz (see netcosim curve --help)"),
    ],
)
def test_unknown_words_name_the_nearest_and_old_options_the_new(
    capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    status, out, err = told(capsys, *line.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def options_of(name: str) -> set[str]:
    return {option for option in build_parser([name]).options() if option.startswith("--")}


def test_options_have_one_name_in_all_commands() -> None:
    """An output is --out; what computes with progress has --quiet, and figure files --format."""
    options = {name: options_of(name) for name in command_names()}
    assert not {
        old for found in options.values() for old in set(RENAMED) - {"--jobs", "--json"} & found
    }
    without = {"list", "describe", "warmup", "completion", "schema", "check-scheduler"}
    assert {name for name in options if "--out" not in options[name]} <= without
    loops = {*("bench", "bench-rl", "curve", "demo", "isolation-gain", "judge", "reproduce")}
    loops |= {"run", "sweep", "validate"}
    assert {name for name in options if "--quiet" in options[name]} >= loops
    timed = {"bench", "validate"}
    assert {name for name in options if "--jobs" in options[name]} >= loops - timed


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("g = 5", "g = 50\nh = 1", "50 groups"),
        ('larger_jobs = "drop"', "size_factor = 100", "the machine has 20"),
    ],
)
def test_points_that_cannot_be_run_are_recorded(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    expected: str,
) -> None:
    config = configured(tmp_path, old, new)
    status, out, _ = told(capsys, "sweep", config, "--quiet", "--out", tmp_path / "r.db")
    assert status == 1
    assert "2 failed" in out
    assert expected in out
    status, _, _ = told(capsys, "report", tmp_path / "r.db")
    assert status == 1
    assert expected in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_deadlock_is_one_line_and_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from netsim.packet.model import NetworkDeadlockError

    def stuck(kind: str) -> dict[str, str]:
        raise NetworkDeadlockError("cycle:\n  link 1 -> link 2")

    monkeypatch.setattr(catalogue, "entries", stuck)
    assert told(capsys, "list", "x") == (1, "", "netcosim: error: cycle: link 1 -> link 2\n")
