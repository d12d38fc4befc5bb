"""The rules of claims, and tables against a baseline, by hand-worked cases."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from experiments.kit.claims import Claim, ClaimBuilder, claims_frame
from experiments.kit.frames import against_baseline, first_seen, lookup
from experiments.kit.panels import MarkStyle, dots, panels
from experiments.kit.papers import Options, Reading, load_paper
from experiments.kit.readings import side_by_side, which_fits
from queuesim.statistics import Interval

says = ClaimBuilder("Fig. 1", "ugal-l")
SURE = Interval(1.2, 1.1, 1.3)


@pytest.mark.parametrize(
    ("claim", "holds", "rule"),
    [
        (says.near("c", 10.0, 11.0, within=1), True, "within 1"),
        (says.near("c", 10.0, 11.1, within=1, unit="points"), False, "within 1 percentage points"),
        (says.near("c", -8.0, -10.0, within=25, unit="%"), True, "within 25 %"),
        (
            says.near("c", 8.0, 10.1, within=25, unit="%", note="a draw"),
            False,
            "within 25 %; a draw",
        ),
        (says.between("c", 2.0, 3.0, 3.4, within=0.5), True, "from 2 to 3, within 0.5"),
        (says.between("c", 2.0, 3.0, 1.9), False, "from 2 to 3"),
        (says.equal("c", 3.0, 3.0), True, "equal"),
        (says.below("c", 1.0, 1.0), False, "below 1"),
        (says.at_most("c", 1.0, 1.0), True, "at most 1"),
        (says.above("c", 1.0, 1.0), False, "above 1"),
        (says.at_least("c", 1.0, 1.0), True, "at least 1"),
        (says.surely_above("c", SURE, 1.0), True, "the whole interval above 1"),
        (says.surely_above("c", SURE, 1.15), False, "the whole interval above 1.15"),
        (says.surely_below("c", SURE, 1.25), False, "the whole interval below 1.25"),
        (says.ordered("c", {"a": 1.0, "b": 2.0, "c": 2.5}), True, "a < b < c"),
        (says.ordered("c", {"a": 1.0, "b": 1.0}), False, "a < b"),
        (says.everywhere("c", [True, False]), False, "in all 2 panels"),
        (says.everywhere("c", [True], "patterns", note="a, b"), True, "in all 1 patterns; a, b"),
    ],
)
def test_a_rule_says_what_was_asked(claim: Claim, holds: bool, rule: str) -> None:
    assert (claim.holds, claim.rule) == (holds, rule)
    assert (claim.where, claim.condition) == ("Fig. 1", "ugal-l")


def test_an_interval_of_ours_stands_in_its_columns() -> None:
    row = says.near("c", 0.6, SURE, within=1).row()
    assert (row["simulated"], row["low"], row["high"], row["ratio"]) == (1.2, 1.1, 1.3, 2.0)
    assert row["verdict"] == "holds"


def test_a_range_of_the_paper_has_no_ratio() -> None:
    row = says.between("c", 2.0, 3.0, 2.5).row()
    assert (row["paper"], row["paper_high"], row["ratio"]) == (2.0, 3.0, None)
    assert says.between("c", 2.0, 2.0, 2.0).row()["paper_high"] is None


def test_runs_are_compared_with_the_baseline_of_their_log() -> None:
    runs = pd.DataFrame(
        {
            "log": ["a", "a", "b", "c"],
            "policy": ["ta", "baseline", "ta", "baseline"],
            "wait_s": [3.0, 2.0, 1.0, 5.0],
        }
    )
    found = against_baseline(runs, ["wait_s"])
    assert found.to_dict("records") == [
        {"log": "a", "policy": "ta", "wait_s": 3.0, "wait_s_ratio": 1.5}
    ]
    assert first_seen(runs, "policy") == ["ta", "baseline"]
    assert lookup(runs, ["log", "policy"], "wait_s")["b", "ta"] == 1.0


def test_dots_are_drawn_where_and_as_they_are_said_to_be() -> None:
    """The last look is on top; a kind without rows is not drawn."""
    frame = pd.DataFrame(
        {"policy": ["star", "a", "star"], "x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0]}
    )
    styles = {
        "a": MarkStyle("#ff0000"),
        "none": MarkStyle("#00ff00"),
        "star": MarkStyle("#0000ff", "*", 3.0),
    }

    def draw(axis: Axes, part: pd.DataFrame) -> None:
        dots(axis, part, "x", "y", "policy", styles=styles, size=10)

    [axis] = panels(frame.assign(panel="one"), "panel", draw).axes
    assert axis.get_legend_handles_labels()[1] == ["a", "star"]
    below, above = axis.collections
    assert above.get_offsets().tolist() == [[1.0, 4.0], [3.0, 6.0]]
    assert below.get_sizes().tolist() == [10.0]
    assert above.get_sizes().tolist() == [30.0]
    assert to_hex(above.get_facecolor()[0]) == "#0000ff"


READINGS = (Reading("first", "as it is written"), Reading("second", "as it may be meant"))


def read_claims(held: dict[str, list[bool]]) -> pd.DataFrame:
    """Claims "c1", "c2", ... under some conditions."""
    return claims_frame(
        [
            ClaimBuilder("Fig. 1", condition).holds(f"c{i}", holds, "a rule")
            for condition, all_of in held.items()
            for i, holds in enumerate(all_of, 1)
        ]
    )


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (
            {"first": [True, False, False], "second": [True, True, True]},
            "second fits all of 3 claims; first fits 1 of 3 claims (1)",
        ),
        (
            {"first": [True, True, False, True, True], "second": [False] * 5},
            "first fits 4 of 5 claims (1-2, 4-5); second fits none of 5 claims",
        ),
        # one reading was chosen
        ({"second": [True, False]}, "second fits 1 of 2 claims (1)"),
        # what the reading leaves of a condition tells claims apart
        (
            {"first, small": [True], "first, large": [False], "second, large": [True]},
            "first fits 1 of 2 claims (1); second fits 1 of 2 claims (2)",
        ),
        ({"": [True, False, True]}, "2 of 3 claims hold"),
    ],
)
def test_the_first_line_says_which_reading_fits_which_claims(
    held: dict[str, list[bool]], told: str
) -> None:
    claims = side_by_side(read_claims(held), READINGS)
    assert which_fits(claims, READINGS) == told


def test_claims_stand_side_by_side_by_reading() -> None:
    claims = side_by_side(read_claims({"second": [True, False], "first": [False, False]}), READINGS)
    assert [claim.number for claim in claims] == [1, 2]
    for claim in claims:
        assert list(claim.rows) == ["first", "second"]
        assert claim.condition == ""
    assert [claim.rows["second"]["verdict"] for claim in claims] == ["holds", "differs"]


def test_figures_of_a_paper_with_two_readings_compute_both() -> None:
    """Each figure of the paper's own; one routing alone where it is asked for."""
    paper = load_paper("level-spread")
    for figure in paper.figures.values():
        if not figure.readings:
            continue
        names = {reading.name for reading in figure.readings}
        for routings, expected in (((), names), (("minimal",), {"minimal"})):
            points = figure.points(Options("quick", routings=routings))
            assert {dict(point["labels"])["routing"] for point in points} == expected  # type: ignore[call-overload]
    assert [name for name, one in paper.figures.items() if not one.readings] == ["sst", "slingshot"]
