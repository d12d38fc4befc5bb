"""The page of a run: made of its results file alone, the answer first, one colour a policy."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from netcosim.archive.serialize import serialize
from netcosim.cli import command_names, main
from netcosim.config.load import config_from, load_config
from netcosim.report.about import ABOUT, WARNING, about_rows
from netcosim.report.figures.run import run_drawings
from netcosim.report.figures.style import policy_colours
from netcosim.report.run_page import NO_ARCHIVE, stored_run_page
from netcosim.runs.cosim import run_cosim
from netcosim.runs.outcome import Outcome, encode_tables
from netcosim.runs.store import Store
from netsim.errors import NetcosimError

CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 4
g = 5
routing = "ugal-l"
[workload.synthetic]
n_jobs = 60
mean_nodes = 6
load = 0.9
[queue]
policies = ["rdn", "simple"]
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "4 KB"
communication_fraction = [0.2, 0.6]
[run]
snapshots = 4
observables = ["bins"]
"""
QUEUE_ALONE = (
    re.sub(r"routing = .*\n|\[\[communication(.|\n)*(?=\[run\])", "", CONFIG)
    .replace("snapshots = 4", "snapshots = 0")
    .replace("[queue]", '[queue]\nrun_time_model = "as-logged"')
)
NASTY = '<img src=x onerror=1>"&$_a$'


def run(folder: Path, text: str = CONFIG) -> Path:
    (folder / "c.toml").write_text(text, encoding="utf-8")
    assert main(["run", str(folder / "c.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def page(out: Path) -> str:
    return (out / "report.html").read_text(encoding="utf-8")


def stored(path: Path) -> tuple[dict[str, Any], Any, dict[str, object]]:
    """Tables, what was kept, and the config of a file's one point."""
    with Store(path, "read") as store:
        [point] = store.points()
        tables = {name: store.rows(point.key, name) for name in store.table_names()}
        return tables, store.kept(point.key), point.config


def made(path: Path, tables: dict[str, Any], kept: Any, config: dict[str, object]) -> str:
    """The page of a file with these contents."""
    packed = {} if kept is None else serialize(kept)
    with Store(path, "write") as store:
        store.put("k" * 64, config, Outcome(encode_tables(tables), None, 1.0, packed))
    with Store(path, "read") as store:
        return stored_run_page(store, "k" * 64)


def titles(text: str) -> list[str]:
    return [html.unescape(title) for title in re.findall(r"<h2>([^<]+)</h2>", text)]


def test_the_answer_comes_first_then_its_setup(page: str) -> None:
    assert titles(page) == [
        "Recommendation",
        "Setup",
        "Policies",
        "Explore",
        "Run time by pattern and size",
        "Where the load is",
        "Links",
        "Machine and queue over time",
        "Who waits",
        "Bins",
        "Links by kind",
        "Measured jobs",
        "Intervals of the queue",
        "Next steps",
        "Glossary",
        "Reproduce",
    ]
    first, second = re.findall(r'<p class="sentence">(.*?)</p>', page)
    # without an interval the rating comes first
    assert "needs at least 5" in first
    assert second.startswith("simple changes ")
    assert "60 jobs of 1 to " in page
    assert "dragonfly(" in page
    assert escape(CONFIG) in page
    assert NO_ARCHIVE not in html.unescape(page)


def test_a_page_made_again_is_the_same_but_for_the_time(out: Path, page: str) -> None:
    with Store(out / "results.db", "read") as store:
        [point] = store.points()
        again = stored_run_page(store, point.key)
    made_at = r"<p>Made [^<]+</p>"
    assert len(re.findall(made_at, page)) == 1
    assert re.sub(made_at, "", again) == re.sub(made_at, "", page)


class Ids(HTMLParser):
    """Ids of a page, and what is pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.to: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name == "href" and str(value).startswith("#"):
                self.to.append(str(value)[1:])


def test_nothing_is_named_twice_and_every_link_has_its_aim(page: str) -> None:
    found = Ids()
    found.feed(page)
    assert len(found.ids) == len(set(found.ids))
    assert set(found.to) <= set(found.ids)
    assert page.count('<svg role="img"') == page.count("<desc>") >= 8
    assert len(page) < 5_000_000


def test_one_colour_a_policy(out: Path) -> None:
    """Whatever a figure leaves out: the ratios show no reference, the charts one policy each."""
    tables, kept, _ = stored(out / "results.db")
    paints = policy_colours(["rdn", "simple"])
    seen = {}
    drawings = run_drawings(tables, kept)
    for part, drawing in [(part, one) for part, group in drawings.items() for one in group]:
        colours = {
            matplotlib_hex(artist.get_color())
            for axis in drawing.draw().axes
            for artist in axis.get_lines()
            if artist.get_marker() in ("o", "s") or part == "time"
        }
        seen[drawing.name] = colours & set(map(str.lower, paints.values()))
    assert seen["policies"] == {paints["simple"].lower()}
    assert seen["utilisation"] == {colour.lower() for colour in paints.values()}
    assert seen["wait-by-size"] == seen["utilisation"]


def matplotlib_hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return to_hex(colour)


def test_names_of_a_file_from_anywhere_stay_text(out: Path, tmp_path: Path) -> None:
    tables, kept, config = stored(out / "results.db")
    named = {
        name: [
            {k: NASTY if v == "simple" else v for k, v in row.items()} | {NASTY: NASTY}
            for row in rows
        ]
        for name, rows in tables.items()
    }
    kept = replace(
        kept,
        machine=replace(kept.machine, name=NASTY),
        jobs=replace(kept.jobs, log=NASTY, patterns=(NASTY,)),
        schedules={"rdn": kept.schedules["rdn"], NASTY: kept.schedules["simple"]},
    )
    text = made(tmp_path / f"{'<b>'}.db", named | {NASTY: [{NASTY: NASTY}]}, kept, config)
    found = Ids()
    found.feed(text)
    assert "img" not in found.tags
    assert text.count(html.escape(NASTY, quote=False)) + text.count(escape(NASTY)) > 20
    assert "netcosim report &#39;&lt;b&gt;.db&#39; --export csv" in text


def test_a_file_without_what_was_kept_has_a_page_that_says_so(out: Path, tmp_path: Path) -> None:
    tables, _, config = stored(out / "results.db")
    del tables[ABOUT]
    text = made(tmp_path / "old.db", tables, None, config)
    assert NO_ARCHIVE in html.unescape(text)
    assert "Explore" not in text
    assert "Where the load is" not in text
    assert "dataset.ready" in (out / "report.html").read_text(encoding="utf-8")
    assert "dataset.ready" not in text
    assert titles(text)[:3] == ["Recommendation", "Setup", "Policies"]
    assert "old, point kkkkkkkkkkkk" in text


def test_a_config_that_nobody_wrote_can_be_run(out: Path, tmp_path: Path) -> None:
    tables, _, config = stored(out / "results.db")
    del tables[ABOUT]
    text = made(tmp_path / "old.db", tables, None, config)
    [shown] = re.findall(r"<summary>Config</summary><pre>(.*?)</pre>", text, flags=re.S)
    assert config_from(tomllib.loads(html.unescape(shown))).resolved() == config


def broken() -> list[Any]:
    return [*_broken()]


def _broken() -> Iterator[Any]:
    yield pytest.param({"policies": []}, "is not of a run", id="no policies")
    yield pytest.param({"other": [{"a": 1}]}, "is not of a run", id="another command's")
    row = {"policy": "a", "relative_to": "a"}
    yield pytest.param({"policies": [row]}, "not those of a run", id="missing columns")
    yield pytest.param({"policies": [{"policy": ["x"]}]}, "not those of a run", id="a list")
    whole = row | dict.fromkeys(
        ("mean_wait_s", "mean_turnaround_s", "mean_bounded_slowdown", "utilisation"), "many"
    )
    yield pytest.param({"policies": [whole]}, "not those of a run", id="texts for numbers")


@pytest.mark.parametrize(("tables", "expected"), broken())
def test_tables_that_are_not_a_runs_are_refused_in_a_line(
    tmp_path: Path, tables: dict[str, Any], expected: str
) -> None:
    with pytest.raises(NetcosimError, match=expected) as caught:
        made(tmp_path / "x.db", tables, None, {})
    assert "\n" not in str(caught.value)


def test_a_point_that_is_not_there_has_no_page(out: Path) -> None:
    with (
        Store(out / "results.db", "read") as store,
        pytest.raises(NetcosimError, match="no finished"),
    ):
        stored_run_page(store, "0" * 64)


def test_without_packets_the_page_is_silent_on_communication(tmp_path: Path) -> None:
    page = (run(tmp_path, QUEUE_ALONE) / "report.html").read_text(encoding="utf-8")
    verdict = re.sub(
        r"<[^>]+>",
        "",
        page[page.index('<section id="recommendation"') : page.index('<section id="setup"')],
    )
    assert "Communication was not measured" in verdict
    assert "shortens communication" not in verdict
    assert "Where the load is" not in titles(page)
    assert "Explore" in titles(page)


@pytest.mark.parametrize(("text", "warned"), [(CONFIG, True), (QUEUE_ALONE, False)])
def test_buffers_are_warned_of_where_packets_are_sent(
    tmp_path: Path, text: str, warned: bool
) -> None:
    (tmp_path / "c.toml").write_text(text.replace("snapshots = 4", "snapshots = 1"))
    result = run_cosim(load_config(tmp_path / "c.toml"))
    slow = replace(result.machine.packets, router_latency_s=5e-5)
    rows = about_rows(replace(result, machine=replace(result.machine, packets=slow)), "A", "")
    assert any(row["what"] == WARNING and "buffer" in str(row["text"]) for row in rows) is warned


def test_commands_that_are_told_exist(page: str) -> None:
    told = re.findall(r"(?:<pre>|\n)netcosim (\w+) ", page)
    assert len(told) >= 7
    assert set(told) <= set(command_names())


def test_only_the_pages_own_scripts_run_and_nothing_is_loaded(page: str) -> None:
    """Every inline script has its digest in the policy, and no other word lets one run."""
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert len(scripts) > 1
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["img-src"] == rules["font-src"] == "data:"
    assert set(rules) == {
        *("default-src", "script-src", "style-src", "img-src", "font-src"),
        *("base-uri", "form-action"),
    }
    assert page.index("Content-Security-Policy") < page.index("<script")
    # what the policy would forbid
    assert "http" not in page.replace("http-equiv", "")
    assert not re.search(r"<[^>]* on[a-z]+=", page)
