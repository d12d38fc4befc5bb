"""The page that `netcosim run` makes, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser import Opened

from netcosim.cli import main
from netcosim.runs.store import Store

CONFIG = """
[machine]
family = "dragonfly"
p = 2
a = 2
g = 5
[workload.synthetic]
n_jobs = 40
mean_nodes = 4
[queue]
policies = ["rdn", "simple"]
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "4 KB"
[run]
snapshots = 2
keep = "all"
"""


@pytest.fixture(scope="module")
def folder(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run leaves; made once, and only where there is a browser to look at it."""
    base = tmp_path_factory.mktemp("run")
    config = base / "run.toml"
    config.write_text(CONFIG, encoding="utf-8")
    assert main(["run", str(config), "--out", str(base / "out")]) == 0
    return base / "out"


def test_the_page_of_a_run_opens_and_sorts(browser: Any, folder: Path) -> None:
    opened = Opened(browser, folder / "report.html")
    opened.page.wait_for_selector(".views[data-ready=true]")
    policies = "#policies table.sortable >> nth=0"
    names = f"{policies} >> tbody tr td:first-child"
    assert opened.texts(names) == ["rdn", "simple"]
    head = opened.page.locator(f"{policies} >> th button >> nth=0")
    head.click()
    head.click()
    assert opened.texts(names) == ["simple", "rdn"]
    assert opened.wrong == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_of_the_page_is_cut_on_a_phone(browser: Any, folder: Path, scheme: str) -> None:
    opened = Opened(browser, folder / "report.html", width=390, color_scheme=scheme)
    opened.page.wait_for_selector(".views[data-ready=true]")
    opened.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert opened.cut() == []
    opened.context.close()


def test_the_page_shows_what_the_results_file_keeps(browser: Any, folder: Path) -> None:
    """A measured job's stretch and its largest neighbour, from the file to the screen."""
    with Store(folder / "results.db", "read") as store:
        kept = store.kept(store.points()[0].key)
    assert kept is not None
    measured = kept.schedules["rdn"].measured
    assert measured is not None
    slowed = measured.time_s / measured.alone_s
    row = int(slowed[measured.snapshot == 0].argmax())
    opened = Opened(browser, folder / "report.html")
    opened.page.wait_for_selector(".views[data-ready=true]")
    opened.page.fill(".views-number input", str(kept.jobs.job_id[measured.job[row]]))
    opened.page.press(".views-number input", "Enter")
    strong = opened.text(".views-excess strong")
    assert float(strong.split()[0]) == pytest.approx(100 * (slowed[row] - 1), rel=6e-3)
    first = int(measured.neighbour_ptr[row])
    most = measured.neighbour[first : measured.neighbour_ptr[row + 1]][
        measured.part[first : measured.neighbour_ptr[row + 1]].argmax()
    ]
    assert opened.texts(".views-others .views-link")[0] == f"job {kept.jobs.job_id[most]}"
    opened.context.close()


@pytest.mark.full
def test_the_page_can_reach_no_network_and_run_no_other_script(browser: Any, folder: Path) -> None:
    """What a page could be made to do by a name in a log, the policy forbids."""
    opened = Opened(browser, folder / "report.html")
    opened.page.wait_for_selector(".views[data-ready=true]")
    tried = """() => {
        const script = document.createElement("script");
        script.textContent = "window.injected = true";
        document.body.append(script);
        const image = document.createElement("img");
        image.src = "http://127.0.0.1:9/x.png";
        document.body.append(image);
        return fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused");
    }"""
    assert opened.page.evaluate(tried) == "refused"
    assert opened.page.evaluate("window.injected === undefined")
    refused = [line for line in opened.wrong if "Content Security Policy" in line]
    assert len(refused) >= 3, opened.wrong
    opened.context.close()
