"""Pages that are forwarded: read at a desk and on a phone, in light and in dark, in Chromium."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from browser import Opened
from study_configs import CURVE, GAIN
from test_browser_run_page import CONFIG as RUN

from netcosim.cli import main
from netcosim.report.effect import Effect, Quantity
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf
from netcosim.report.page import Section, render_page
from netcosim.report.recommendation import Recommendation

NODE_HOURS = Quantity("node-hours", "h", "reduces", "increases")
ANSWER = Recommendation(
    "Use kueue-preferred: it reduces node-hours by 8.4 % (7.8 to 9.1) compared with replay.",
    (Effect("kueue-preferred", NODE_HOURS, "replay", -8.4, -9.1, -7.8, "snapshot", 5),),
    "What jobs send is assumed, not in the log: 30 % of the run time; all savings scale with it.",
    "40 more snapshots would decide, about 6 min, on random: --snapshots 45.",
    "The waits of the log are reproduced well by the simulated queue (fcfs, easy backfilling) with "
    "slurm-tree: mean wait 2.84 min against 2.79 min in the log, rank correlation 0.94, 97 % of "
    "jobs near their logged wait. Simulated waits can be trusted.",
)
CHECKS = r"""
() => {
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const colour = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const found = colour(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const wrong = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const e = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || e.closest("script, style, svg desc, svg title")) continue;
    if (!e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = colour(e.closest("svg") ? style.fill : style.color).slice(0, 3);
    const [high, low] = [luminance(ink), luminance(ground(e))].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) wrong.push(`contrast ${contrast.toFixed(2)}: ${words.currentNode.data}`);
  }
  for (const e of document.querySelectorAll("img, svg[role=img], input, select, button, a")) {
    const labels = e.labels ? [...e.labels].map((l) => l.textContent).join("") : "";
    const drawn = e.tagName === "svg" ? [...e.children].find((c) => c.tagName === "title") : e;
    const name = e.getAttribute("aria-label") || e.getAttribute("alt") || drawn?.textContent
      || labels || e.getAttribute("title") || (e.getAttribute("aria-labelledby") ? "named" : "");
    if (!name.trim()) wrong.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  if (!document.documentElement.lang) wrong.push("no language");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  if (new Set(ids).size < ids.length) wrong.push("an id twice");
  return wrong;
}
"""
"""What Lighthouse's audits of contrast, names and structure would find."""
MOST_COLUMNS = """
() => Math.max(0, ...[...document.querySelectorAll("main tr")]
  .filter((row) => !row.closest("details:not([open])")).map((row) => row.cells.length))
"""
SCREENS = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]


def look_at(browser: Any, page: Path, width: int, colours: str) -> None:
    """The recommendation is in the first screen, nothing is cut, all can be read."""
    opened = Opened(browser, page, width=width, color_scheme=colours)
    assert opened.wrong == []
    box = opened.page.locator(".recommendation").bounding_box()
    assert box["y"] + box["height"] <= (844 if width == 390 else 800)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.evaluate(MOST_COLUMNS) <= 8
    opened.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert opened.cut() == []
    assert opened.page.evaluate(CHECKS) == []
    opened.context.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page by hand, with all that a study's page has."""
    wide = pd.DataFrame({f"column number {i}": [i, i + 1] for i in range(20)})
    figure = Drawing(
        "a", "A", [Panel(partial(cdf, samples={"a": [1.0, 2.0], "b": [3.0]}, xlabel="time (s)"))]
    ).draw()
    sections = [
        ANSWER.section(),
        Section("Policy by policy", "slurm-tree saves 7.0 % of the node-hours (5.2 to 9.1)."),
        Section("Wide", table=wide),
        Section("Figure", figure=figure, caption="A figure."),
    ]
    page = tmp_path_factory.mktemp("made") / "page.html"
    page.write_text(render_page("Does the topology setting pay? sacct.txt", "", sections))
    return page


@pytest.mark.parametrize(("width", "colours"), SCREENS)
def test_a_page_is_read_at_a_desk_and_on_a_phone(
    browser: Any, made: Path, width: int, colours: str
) -> None:
    look_at(browser, made, width, colours)


@pytest.fixture(scope="module")
def pages(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the commands leave; made once, and only where there is a browser to look at it."""
    base = tmp_path_factory.mktemp("pages")
    swept = RUN.replace("snapshots = 2", "snapshots = 2\nseed = [1, 2]")
    for name, text in {"curve": CURVE, "gain": GAIN, "sweep": swept}.items():
        (base / f"{name}.toml").write_text(text, encoding="utf-8")
    machine = base / "machine.toml"
    machine.write_text('[machine]\nfamily = "fattree"\nradix = 8\npods = 4\n')
    log = base / "log.csv"
    rows = "".join(f"{i},{1 + i % 9},{60 * i},600\n" for i in range(60))
    log.write_text(f"job,nodes,arrival_s,run_s\n{rows}")
    out = {name: base / name for name in ("judge", "gain", "curve")}
    judge = ["judge", "--log", str(log), "--machine", str(machine), "--policies", "random,ta"]
    commands = [
        [*judge, "--snapshots", "5", "--fractions", "0.6", "--out", str(out["judge"])],
        ["isolation-gain", str(base / "gain.toml"), "--out", str(out["gain"])],
        ["curve", str(base / "curve.toml"), "--out", str(out["curve"]), "--quiet"],
        ["sweep", str(base / "sweep.toml"), "--out", str(base / "sweep.db"), "--quiet"],
        ["report", str(base / "sweep.db"), "--pages"],
    ]
    for command in commands:
        assert main(command) == 0
    found = {name: folder / "report.html" for name, folder in out.items()}
    [point, *_] = sorted((base / "sweep-points").glob("*.html"))
    return found | {"sweep": base / "sweep.html", "point": point}


@pytest.mark.full
@pytest.mark.parametrize("name", ["judge", "gain", "curve", "sweep", "point"])
@pytest.mark.parametrize(("width", "colours"), SCREENS)
def test_every_command_leaves_such_a_page(
    browser: Any, pages: dict[str, Path], name: str, width: int, colours: str
) -> None:
    look_at(browser, pages[name], width, colours)


@pytest.mark.full
def test_a_point_is_a_click_away_from_its_sweep(browser: Any, pages: dict[str, Path]) -> None:
    opened = Opened(browser, pages["sweep"])
    opened.page.locator("#points td a").first.click()
    opened.page.wait_for_url("**/sweep-points/*.html")
    assert opened.page.locator(".recommendation").count() == 1
    opened.context.close()
