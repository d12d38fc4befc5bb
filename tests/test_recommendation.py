"""The one recommendation of a study: its order, what would decide, and the page to forward."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netcosim.cli import main
from netcosim.report.effect import MAKESPAN, WAIT, Effect, sentence, use
from netcosim.report.figures.drawing import Drawing, Panel
from netcosim.report.figures.lines import cdf
from netcosim.report.page import Section, render_page
from netcosim.report.recommendation import (
    Recommendation,
    format_more,
    more_to_decide,
    samples_to_decide,
)
from netcosim.report.summary import write_summary
from queuesim.statistics import Interval

WAITS = (Effect("b", WAIT, "a", -6.0, -7.0, -5.0, "snapshot", 8),)
ANSWER = Recommendation("Use b.", WAITS, "30 % of the time", "More snapshots.", "Well.")
UNSURE = Recommendation("Use b.", WAITS, "30 %", "More.", "Not validated.", reliable=False)


def test_what_is_unreliable_is_below_its_rating_on_the_screen_and_on_the_page() -> None:
    assert ANSWER.lines() == [
        "Use b.",
        "  Interval: mean wait -6.0 % (-7.0 to -5.0; 8 snapshots), compared with a. Intervals at "
        "95 %.",
        "  Condition: 30 % of the time",
        "  Rating: Well.",
        "  Next: More snapshots.",
    ]
    assert UNSURE.lines()[:2] == ["Not validated.", "Use b."]
    for answer in (ANSWER, UNSURE):
        page = render_page("t", "", [answer.section(), Section("s", "x")])
        found = re.findall(r'<p class="sentence">(.*?)</p>', page)
        assert tuple(found) == answer.head == tuple(answer.lines()[: len(answer.head)])
        assert page.index('class="recommendation"') < page.index('<section id="s"')


def test_an_interval_is_not_repeated() -> None:
    """The defect: a first screen of a phone that had each number of a long sentence twice."""
    [waits] = WAITS
    makespan = Effect("b", MAKESPAN, "a", -3.0, -4.0, -2.0, "block of the log", 10)
    said = Recommendation(use(waits), WAITS, "", "")
    assert said.interval == "8 snapshots. Intervals at 95 %."
    both = Recommendation(sentence([waits, makespan]), (waits, makespan), "", "")
    assert both.interval == (
        "mean wait: 8 snapshots; makespan: 10 blocks of the log. Intervals at 95 %."
    )
    # ends that are no confidence have no level
    assert Recommendation(use(waits), WAITS, "", "", level=None).interval == "8 snapshots."


@pytest.mark.parametrize("value", [0.9, 1.1])
def test_an_interval_narrows_with_the_root_of_the_samples(value: float) -> None:
    """Half-width 0.3 at 8 samples: it is 0.099 (the difference beyond 0.001) at 8 (0.3/0.099)^2."""
    found = Interval(value, value - 0.3, value + 0.3)
    need = samples_to_decide(found, 8)
    assert need == pytest.approx(8 * (0.3 / 0.099) ** 2)
    assert more_to_decide([need, np.inf, np.nan], 8) == int(np.ceil(need)) - 8


def test_what_would_take_too_many_samples_is_not_recommended() -> None:
    assert more_to_decide([np.inf, np.nan], 8) is None
    assert more_to_decide([161.0], 8) is None
    assert more_to_decide([160.0], 8) == 152
    assert more_to_decide([], 8) is None


def test_more_samples_in_words() -> None:
    assert format_more(40, "snapshot", 360.0) == "40 more snapshots would decide, about 6 min"
    assert format_more(1, "snapshot", 0.5) == "1 more snapshot would decide, about 500 ms"


@pytest.mark.parametrize("form", ["pdf", "png"])
def test_a_summary_is_one_page_with_all_of_it(tmp_path: Path, form: str) -> None:
    contents = []
    for name in ("s", "t"):
        figure = Drawing(
            "a",
            "A",
            [
                Panel(
                    partial(cdf, samples={"a": [1.0, 2.0], "$\\frac$_b": [3.0]}, xlabel="time (s)")
                )
            ],
        ).draw()
        rows = pd.DataFrame({"policy": ["a", "<b>"] * 20, "wait_s": [600.0, 1200.0] * 20})
        sections = [Section("No figure", "text"), Section("Both", "", rows, figure, "A figure.")]
        path = tmp_path / f"{name}.{form}"
        contents.append(write_summary(path, "Does it pay? $x_1$", ANSWER, sections).read_bytes())
    content, again = contents
    assert content == again
    if form == "pdf":
        assert content.startswith(b"%PDF")
        assert len(re.findall(rb"/Type /Page\b", content)) == 1
    else:
        assert content.startswith(b"\x89PNG")


def test_a_summary_without_figure_and_table_is_the_recommendation(tmp_path: Path) -> None:
    path = write_summary(tmp_path / "s.png", "t", UNSURE, [Section("a", "b")])
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["judge", "isolation-gain", "sweep", "curve"])
def test_another_ending_is_refused_before_anything_is_computed(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        '[machine]\nfamily = "fattree"\nradix = 4\n[workload.synthetic]\nn_jobs = 10\n'
        'mean_nodes = 4\n[queue]\npolicies = ["baseline", "jigsaw"]\n'
    )
    given = ["--config", "c.toml"] if command == "judge" else ["c.toml"]
    assert main([command, *given, "--summary", "s.docx"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "s.docx: the name must end in .pdf or .png" in error
    assert [path.name for path in tmp_path.iterdir()] == ["c.toml"]
