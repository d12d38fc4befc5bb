"""The views of a run in a real browser: what they show is what was kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Opened
from kept_runs import archived_run
from waiting import wait_until

import netcosim as nc
from netcosim.archive.values import ArchivedRun
from netcosim.report.page import render_page
from netcosim.report.run_page import views_scripts, views_section, views_styles

pytestmark = pytest.mark.full

EVIL = '<img src=x onerror="window.hurt = 1"><b>bold</b></script>'
KEPT = archived_run(
    nc.make_topology("dragonfly", {"p": 2, "a": 4, "g": 9}), ("rdn", "simple", EVIL), n_jobs=80
)


def write(kept: ArchivedRun, path: Path) -> Path:
    page = render_page(
        "A run", "", [views_section(kept)], scripts=views_scripts(), styles=views_styles()
    )
    path.write_text(page, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(KEPT, tmp_path_factory.mktemp("views") / "run.html")


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    found = Opened(browser, path)
    ready(found)
    yield found
    assert found.wrong == []
    found.context.close()


def ready(opened: Opened) -> None:
    opened.page.wait_for_selector(".views[data-ready=true]")
    settle(opened)


def settle(opened: Opened) -> None:
    """Until what was changed is drawn."""
    opened.page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def pixels(opened: Opened, canvas: str) -> str:
    return str(opened.page.evaluate(f"document.querySelector('{canvas}').toDataURL()"))


def choose(opened: Opened, policy: str) -> None:
    number = list(KEPT.schedules).index(policy)
    opened.page.check(f"input[name=views-policy][value='{number}']")
    opened.page.wait_for_selector(f".views[data-policy='{number}']")
    settle(opened)


def numbers(text: str) -> list[float]:
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", text)]


def row_of(policy: str, snapshot: int) -> int:
    """The measured job of a snapshot that is slowed most."""
    measured = KEPT.schedules[policy].measured
    assert measured is not None
    rows = np.flatnonzero(measured.snapshot == snapshot)
    return int(rows[np.argmax(measured.time_s[rows] / measured.alone_s[rows])])


def told_neighbours(policy: str, row: int) -> dict[str, float]:
    """By job, how many per cent longer a measured job takes because of it; the most first."""
    measured = KEPT.schedules[policy].measured
    assert measured is not None
    excess = measured.time_s[row] / measured.alone_s[row] - 1
    mine = slice(measured.neighbour_ptr[row], measured.neighbour_ptr[row + 1])
    found = [
        (f"job {KEPT.jobs.job_id[job]}", 100 * excess * part)
        for job, part in zip(measured.neighbour[mine], measured.part[mine], strict=True)
    ]
    return dict(sorted(found, key=lambda entry: -entry[1]))


def shown_neighbours(opened: Opened) -> dict[str, float]:
    lines = opened.texts(".views-others li")
    return {" ".join(line.split()[:2]): numbers(line)[1] for line in lines}


def place_in_chart(opened: Opened, policy: str, job: int) -> dict[str, float]:
    """Where the middle of a job's first range is in the chart."""
    schedule = KEPT.schedules[policy]
    box = opened.page.locator(".views-gantt").bounding_box()
    last = max(s.end_s.max() for s in KEPT.schedules.values())
    width, height = box["width"] - 48, box["height"] - 22 - 2 * 76
    time = (schedule.start_s[job] + schedule.end_s[job]) / 2
    node = schedule.range_first[schedule.range_ptr[job]] + 0.5
    return {"x": 46 + time / last * width, "y": node / KEPT.machine.n_nodes * height}


def test_the_page_opens_without_a_network_and_without_an_error(opened: Opened) -> None:
    assert [url for url in opened.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.page.get_attribute(".views", "data-failed") is None


def test_the_chart_tells_use_and_queue_of_the_whole_run(opened: Opened) -> None:
    """Against node-seconds and seconds of waiting over the time until the last end."""
    last = max(s.end_s.max() for s in KEPT.schedules.values())
    for policy in ("rdn", "simple"):
        choose(opened, policy)
        schedule = KEPT.schedules[policy]
        work = float(np.sum((schedule.end_s - schedule.start_s) * KEPT.jobs.n_nodes))
        waited = float(np.sum(schedule.start_s - KEPT.jobs.submit_s))
        told = opened.text(".views-gantt-caption").split(": ", 1)[1]
        jobs, use, mean, most = numbers(told)
        came = KEPT.jobs.submit_s
        queue = [(came <= t).sum() - (schedule.start_s <= t).sum() for t in came]
        assert most == max(queue)
        assert jobs == len(KEPT.jobs)
        assert use == pytest.approx(100 * work / last / KEPT.machine.n_nodes, abs=0.06)
        assert mean == pytest.approx(waited / last, abs=0.06)


def test_the_slider_moves_and_shows_another_snapshot(opened: Opened) -> None:
    links, measured = KEPT.schedules["rdn"].links, KEPT.schedules["rdn"].measured
    assert links is not None
    assert measured is not None
    before = pixels(opened, ".views-machine")
    opened.page.focus(".views-slider")
    opened.page.keyboard.press("ArrowRight")
    settle(opened)
    assert pixels(opened, ".views-machine") != before
    told = opened.text(".views-machine-caption")
    assert told.startswith("rdn, snapshot 2 of 4, after ")
    rows = measured.snapshot == 1
    assert rows.sum() > 1
    assert f"{rows.sum()} jobs of two nodes and more on" in told
    used = KEPT.jobs.n_nodes[measured.job[rows]].sum()
    assert f"on {used} of 72 nodes" in told
    busy = links.busy_ps[1, KEPT.machine.first_router_link :].max() / links.span_s[1] / 1e10
    assert numbers(told)[-1] == pytest.approx(busy, abs=0.06)
    opened.page.check("input[name=views-metric][value=stalled]")
    settle(opened)
    stalled = links.stall_ps[1, KEPT.machine.first_router_link :].max() / links.span_s[1] / 1e10
    assert numbers(opened.text(".views-machine-caption"))[-1] == pytest.approx(stalled, abs=0.06)


def test_a_click_on_a_job_shows_who_slows_it(opened: Opened) -> None:
    row = row_of("rdn", 0)
    measured = KEPT.schedules["rdn"].measured
    assert measured is not None
    job = int(measured.job[row])
    before = pixels(opened, ".views-machine"), pixels(opened, ".views-gantt")
    opened.page.click(".views-gantt", position=place_in_chart(opened, "rdn", job))
    settle(opened)
    assert opened.text(".views-panel h4") == f"Job {KEPT.jobs.job_id[job]} under rdn"
    after = pixels(opened, ".views-machine"), pixels(opened, ".views-gantt")
    assert before[0] != after[0]
    assert before[1] != after[1]
    excess = 100 * (measured.time_s[row] / measured.alone_s[row] - 1)
    assert numbers(opened.text(".views-excess strong")) == pytest.approx([excess], rel=6e-3)
    wanted = told_neighbours("rdn", row)
    assert list(shown_neighbours(opened)) == list(wanted)
    assert shown_neighbours(opened) == pytest.approx(wanted, rel=6e-3, abs=6e-3)
    # from a neighbour to what is told of it
    first = next(iter(wanted))
    opened.page.click(".views-others .views-link >> nth=0")
    assert opened.text(".views-panel h4") == f"{first.capitalize()} under rdn"
    opened.page.click("text=Clear (Esc)")
    assert opened.text(".views-panel h4") == "No job is chosen"


def test_a_click_on_the_machine_chooses_the_job_that_is_there(opened: Opened) -> None:
    """Node by node from left to right until one is hit that has a job."""
    measured = KEPT.schedules["rdn"].measured
    assert measured is not None
    here = {f"Job {KEPT.jobs.job_id[j]} under rdn" for j in measured.job[measured.snapshot == 0]}
    box = opened.page.locator(".views-machine").bounding_box()
    found = set()
    for x in np.linspace(20, box["width"] - 20, 6):
        for y in np.linspace(20, box["height"] - 20, 6):
            opened.page.click(".views-machine", position={"x": float(x), "y": float(y)})
            found.add(opened.text(".views-panel h4"))
    assert found - {"No job is chosen"}
    assert found - {"No job is chosen"} <= here


def test_the_table_sorts_and_chooses(opened: Opened) -> None:
    measured = KEPT.schedules["rdn"].measured
    assert measured is not None
    jobs = measured.job[measured.snapshot == 0]
    names = [f"job {KEPT.jobs.job_id[job]}" for job in np.sort(jobs)]
    opened.page.click(".views-measured th button >> nth=0")
    assert opened.texts(".views-measured tbody td:first-child") == names
    opened.page.click(".views-measured th button >> nth=0")
    assert opened.texts(".views-measured tbody td:first-child") == names[::-1]
    assert opened.page.get_attribute(".views-measured th >> nth=0", "aria-sort") == "descending"
    opened.page.click(".views-measured tbody .views-link >> nth=0")
    assert opened.text(".views-panel h4") == f"{names[-1].capitalize()} under rdn"


def test_a_job_goes_to_the_snapshot_that_has_it(opened: Opened) -> None:
    measured = KEPT.schedules["rdn"].measured
    assert measured is not None
    later = measured.job[measured.snapshot == 3]
    job = int(next(j for j in later if j not in measured.job[measured.snapshot < 3]))
    opened.page.fill(".views-number input", str(KEPT.jobs.job_id[job]))
    opened.page.keyboard.press("Enter")
    settle(opened)
    assert opened.page.input_value(".views-slider") == "3"
    assert opened.page.locator(".views-excess").count() == 1


def test_the_chart_works_by_the_keyboard(opened: Opened) -> None:
    def span() -> str:
        settle(opened)
        return opened.text(".views-gantt-caption").split(": ")[0]

    opened.page.focus(".views-gantt")
    whole = span()
    opened.page.keyboard.press("+")
    near = span()
    assert near != whole
    opened.page.keyboard.press("ArrowRight")
    assert span() not in (near, whole)
    opened.page.keyboard.press("0")
    assert span() == whole
    opened.page.keyboard.press("n")
    first = f"Job {KEPT.jobs.job_id[np.argmin(KEPT.schedules['rdn'].start_s)]} under rdn"
    assert opened.text(".views-panel h4") == first
    opened.page.keyboard.press("Escape")
    assert opened.text(".views-panel h4") == "No job is chosen"
    opened.page.focus(".views-machine")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.input_value(".views-slider") == "1"


def test_the_machine_is_zoomed_about_what_is_under_the_pointer(opened: Opened) -> None:
    """A job that was hit is hit again at the same place after the wheel."""
    box = opened.page.locator(".views-machine").bounding_box()
    hit, place = "", {"x": 0.0, "y": 0.0}
    for x in np.linspace(40, box["width"] - 40, 12):
        for y in np.linspace(40, box["height"] - 40, 12):
            place = {"x": float(x), "y": float(y)}
            opened.page.click(".views-machine", position=place)
            hit = opened.text(".views-panel h4")
            if hit != "No job is chosen":
                break
        else:
            continue
        break
    opened.page.keyboard.press("Escape")
    settle(opened)
    before = pixels(opened, ".views-machine")
    opened.page.mouse.wheel(0, -100)
    settle(opened)
    assert pixels(opened, ".views-machine") != before
    opened.page.click(".views-machine", position=place)
    assert opened.text(".views-panel h4") == hit
    opened.page.keyboard.press("Escape")
    opened.page.keyboard.press("0")
    settle(opened)
    assert pixels(opened, ".views-machine") == before


def test_the_wheel_scrolls_the_page_until_the_chart_was_clicked(opened: Opened) -> None:
    box = opened.page.locator(".views-gantt").bounding_box()
    told = opened.text(".views-gantt-caption")
    opened.page.mouse.move(box["x"] + 200, box["y"] + 100)
    opened.page.mouse.wheel(0, 120)
    # wait_for_function is an eval, which the page's policy forbids
    assert wait_until(lambda: opened.page.evaluate("scrollY") > 0, 30)
    assert opened.text(".views-gantt-caption") == told
    opened.page.focus(".views-gantt")
    opened.page.mouse.wheel(0, -300)
    assert wait_until(lambda: opened.text(".views-gantt-caption") != told, 30)


def test_names_stay_text(opened: Opened) -> None:
    choose(opened, EVIL)
    opened.page.focus(".views-gantt")
    opened.page.keyboard.press("n")
    settle(opened)
    assert EVIL in opened.text(".views-policies label >> nth=2")
    assert opened.text(".views-gantt-caption").startswith(f"{EVIL}, 0 s to")
    assert opened.text(".views-panel h4").endswith(f"under {EVIL}")
    assert opened.page.locator(".views b, .views img").count() == 0
    assert opened.page.evaluate("window.hurt") is None


def test_two_fingers_zoom_the_chart(browser: Any, path: Path) -> None:
    """Twice as far apart: half the time is left."""
    opened = Opened(browser, path, width=390, has_touch=True)
    ready(opened)
    box = opened.page.locator(".views-gantt").bounding_box()
    touch = opened.context.new_cdp_session(opened.page)
    y = box["y"] + 100
    for kind, apart in (("touchStart", 50), ("touchMove", 75), ("touchMove", 100), ("touchEnd", 0)):
        middle = box["x"] + 46 + (box["width"] - 48) / 2
        points = [{"x": middle + side * apart, "y": y} for side in (-1, 1)] if apart else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    settle(opened)
    last = max(s.end_s.max() for s in KEPT.schedules.values())
    shown = KEPT.schedules["rdn"]
    runs = (shown.start_s < 0.75 * last) & (shown.end_s > 0.25 * last)
    jobs = numbers(opened.text(".views-gantt-caption").split(": ", 1)[1])[0]
    assert jobs == pytest.approx(runs.sum(), abs=2)
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_on_a_phone(browser: Any, path: Path, scheme: str) -> None:
    opened = Opened(browser, path, width=390, has_touch=True, color_scheme=scheme)
    ready(opened)
    row = row_of("rdn", 0)
    measured = KEPT.schedules["rdn"].measured
    assert measured is not None
    place = place_in_chart(opened, "rdn", int(measured.job[row]))
    opened.page.tap(".views-gantt", position=place)
    settle(opened)
    assert opened.page.locator(".views-others li").count() > 0
    assert opened.cut() == []
    assert opened.wrong == []
    opened.context.close()


def test_canvases_follow_the_colours_of_the_page(opened: Opened) -> None:
    corner = "Array.from(document.querySelector('.views-machine').getContext('2d')"
    corner += ".getImageData(0, 0, 1, 1).data)"
    opened.page.emulate_media(color_scheme="dark")
    settle(opened)
    settle(opened)
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert opened.page.evaluate(corner)[:3] == numbers(ground)[:3]
    assert sum(numbers(ground)[:3]) < 200


def test_without_packets_the_machine_has_jobs_alone(browser: Any, tmp_path: Path) -> None:
    kept = archived_run(nc.make_topology("fattree", {"radix": 8}), ("baseline",), n_snapshots=0)
    opened = Opened(browser, write(kept, tmp_path / "run.html"))
    ready(opened)
    assert "no load of links" in opened.text(".views-without")
    assert not opened.page.is_visible(".views-legend")
    assert not opened.page.is_visible(".views-load")
    opened.page.evaluate(
        "(s => { s.value = 100; s.dispatchEvent(new Event('input')); })"
        "(document.querySelector('.views-slider'))"
    )
    settle(opened)
    schedule = kept.schedules["baseline"]
    moment = schedule.end_s.max() / 2
    runs = (schedule.start_s <= moment) & (moment < schedule.end_s)
    assert runs.sum() > 1
    wanted = f"{runs.sum()} jobs on {kept.jobs.n_nodes[runs].sum()} of 128 nodes."
    assert opened.text(".views-machine-caption").endswith(wanted)
    # a job that is chosen is shown when it runs
    last = int(np.argmax(schedule.start_s))
    opened.page.fill(".views-number input", str(kept.jobs.job_id[last]))
    opened.page.keyboard.press("Enter")
    settle(opened)
    moment = (schedule.start_s[last] + schedule.end_s[last]) / 2
    runs = (schedule.start_s <= moment) & (moment < schedule.end_s)
    jobs = "job" if runs.sum() == 1 else "jobs"
    assert f" {runs.sum()} {jobs} on " in opened.text(".views-machine-caption")
    assert opened.wrong == []
    opened.context.close()


def test_a_run_that_did_not_ask_who_slows_whom_says_so(browser: Any, tmp_path: Path) -> None:
    schedule = KEPT.schedules["rdn"]
    measured = schedule.measured
    assert measured is not None
    none = np.empty(0)
    unasked = replace(
        measured,
        alone_s=np.full(len(measured.job), np.nan),
        neighbour_ptr=np.zeros(len(measured.job) + 1, dtype=np.int64),
        neighbour=none.astype(np.int64),
        part=none,
    )
    kept = ArchivedRun(KEPT.machine, KEPT.jobs, {"rdn": replace(schedule, measured=unasked)})
    opened = Opened(browser, write(kept, tmp_path / "run.html"))
    ready(opened)
    opened.page.click(".views-measured .views-link >> nth=0")
    settle(opened)
    assert "was not measured in this run" in opened.text(".views-unmeasured")
    assert opened.page.locator(".views-excess").count() == 0
    assert set(opened.texts(".views-measured tbody td:nth-child(5)")) == {"\u2013"}
    assert opened.wrong == []
    opened.context.close()


def test_an_old_browser_is_told(browser: Any, path: Path) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(path.as_uri())
    assert "DecompressionStream" in page.inner_text(".views-wait")
    assert not page.is_visible(".views-body")
    context.close()
