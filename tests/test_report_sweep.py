"""A sweep's page: axes, intervals and best policies in closed form; what names things stays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats
from sweep_frames import compared, policies_frame

from netcosim.config.load import points_of
from netcosim.report.compared import Estimate, best_of, change, t_interval
from netcosim.report.effect import UTILISATION, WAIT
from netcosim.report.figures.sweep import (
    COMPARED,
    MOST_PANELS,
    best_drawings,
    curve_drawings,
    sweep_drawings,
)
from netcosim.report.sweep_page import stored_drawings, sweep_page
from netcosim.report.sweep_tables import (
    key_length,
    policies_table,
)
from netcosim.report.sweep_verdict import recommend, verdict
from netcosim.report.swept import swept
from netcosim.runs.outcome import Outcome, encode_tables
from netcosim.runs.store import Store
from netcosim.runs.sweep import run_points
from queuesim.statistics import Interval

# Axes


def axes_of(columns: Mapping[str, list[object]]) -> Any:
    frame = pd.DataFrame({"point": [str(i) for i in range(len(next(iter(columns.values()))))]})
    for name, values in columns.items():
        frame[name] = values
    return swept(frame, [])


def test_numbers_are_to_scale_and_names_are_categories() -> None:
    found = axes_of(
        {
            "machine.routing": ["a", "b"] * 3,
            "workload.synthetic.load": [4, 1, 2, 4, 1, 2],
        }
    )
    load, routing = found.axes
    assert (load.title, load.values, load.log) == ("load", (1.0, 2.0, 4.0), True)
    assert (routing.title, routing.values, routing.labels) == ("routing", (), ("a", "b"))
    assert found.cells["0"] == (2, 0)


@pytest.mark.parametrize(
    ("values", "log"),
    [((1, 2, 4), True), ((0.7, 0.9, 1.1), False), ((0.5, 1), False), ((0, 1, 2), False),
     ((1, 1.1, 1.21), False), ((1, 10, 100, 1000), True), ((1, 2, 3), False)],
)  # fmt: skip
def test_geometric_values_have_a_logarithmic_axis(values: tuple[float, ...], log: bool) -> None:
    [axis] = axes_of({"machine.x": list(values)}).axes
    assert axis.log is log


def test_what_runs_together_is_one_axis() -> None:
    machines = axes_of(
        {
            "machine.family": ["dragonfly", "dragonfly", "fattree"] * 2,
            "machine.parameters.name": ["d1", "d2", "f"] * 2,
            "machine.parameters.p": [2, 4, None] * 2,
            "run.seed": [1, 1, 1, 2, 2, 2],
        }
    )
    [name] = machines.axes
    assert (name.title, name.labels) == ("machine", ("d1", "d2", "f"))
    assert set(name.follow) == {"machine.family", "machine.parameters.p"}
    assert machines.repetitions["3"] == (2,)
    ragged = axes_of({"machine.family": ["d", "d", "f"], "machine.parameters.p": [2, 4, 4]})
    [machine] = ragged.axes
    assert machine.labels == ("family d, p 2", "family d, p 4", "family f, p 4")


def test_quantities_are_told_with_their_units() -> None:
    found = axes_of({"communication.mix.0.message_bytes": [1000, 10_000_000]})
    assert found.axes[0].labels == ("1 KB", "10 MB")
    assert found.axes[0].title == "message"


# Intervals and the best policy


def test_the_t_interval_is_students() -> None:
    values = [3.0, 5.0, 4.0, 9.0, 4.0]
    low, high = stats.t.interval(0.95, 4, loc=5, scale=stats.sem(values))
    assert t_interval(values) == pytest.approx((5, low, high))
    assert pd.isna(t_interval(values[:4]).low)


def estimate(*values: float, own: tuple[float, float] | None = None) -> Estimate:
    samples = {(i,): v for i, v in enumerate(values)}
    if len(values) > 1:
        found = t_interval(values)
        return Estimate(found, "none" if pd.isna(found.low) else "repetitions", samples)
    ends = own or (float("nan"), float("nan"))
    return Estimate(Interval(values[0], *ends), "measurement" if own else "none", samples)


@pytest.mark.parametrize(
    ("found", "state"),
    [
        # far apart from seed to seed, but always 1 to 1.2 less: the pairs tell
        (
            {
                "a": estimate(1, 50, 99, 148, 197),
                "b": estimate(2.1, 51, 100.2, 149, 198.1),
            },
            "significant",
        ),
        (
            {"a": estimate(1, 2, 3, 2, 2), "b": estimate(3, 1.5, 2.5, 2, 2)},
            "not significant",
        ),
        # the same pairs, but too few of them
        ({"a": estimate(1, 50, 99), "b": estimate(2.1, 51, 100.2)}, "no interval"),
        ({"a": estimate(1, own=(0.9, 1.1)), "b": estimate(2, own=(1.5, 2.5))}, "significant"),
        ({"a": estimate(1, own=(0.9, 1.6)), "b": estimate(2, own=(1.5, 2.5))}, "not significant"),
        # two that are the same in each repetition: neither is named the lower one
        ({"a": estimate(1, 50, 99), "b": estimate(1, 50, 99)}, "not significant"),
        ({"a": estimate(1), "b": estimate(2)}, "no interval"),
        ({"a": estimate(1)}, "alone"),
        (
            {
                "a": estimate(1, 1.1, 0.9, 1, 1),
                "b": estimate(9, 9.1, 9, 9, 9),
                "c": estimate(1, 1.2, 0.8, 1.1, 1),
            },
            "not significant",
        ),
    ],
)
def test_which_is_best_and_whether_it_can_be_told(found: dict[str, Estimate], state: str) -> None:
    best = best_of(WAIT, found)
    assert best is not None
    assert (best.state, best.policy) == (state, "a")


def test_more_utilisation_is_better() -> None:
    found = {
        "a": estimate(0.5, 0.6, 0.7, 0.6, 0.6),
        "b": estimate(0.6, 0.71, 0.8, 0.7, 0.7),
    }
    best = best_of(UTILISATION, found)
    assert best is not None
    assert (best.state, best.policy) == ("significant", "b")


def ends_of(mine: Estimate, reference: Estimate) -> tuple[float, float, float]:
    effect = change(WAIT, "a", mine, "b", reference)
    return effect.value, effect.low, effect.high


def test_a_change_leaves_zero_out_where_the_difference_does() -> None:
    found = ends_of(estimate(1, 50, 99, 48, 52), estimate(2, 52, 102, 50, 54))
    low, high = stats.t.interval(0.95, 4, loc=2, scale=stats.sem([1, 2, 3, 2, 2]))
    assert found == pytest.approx((-100 * 2 / 52, -100 * high / 52, -100 * low / 52))
    assert pd.isna(ends_of(estimate(1, 50, 99), estimate(2, 52, 102))[1])
    # of five waits of nothing against one that is long, no more than all can be gained
    nothing = ends_of(estimate(0, 0, 0, 0, 0), estimate(1, 2, 3, 4, 90))
    assert nothing[0] == nothing[1] == -100
    ours = ends_of(estimate(0.7, own=(0.6, 0.8)), estimate(1, own=(1, 1)))
    assert ours == pytest.approx((-30, -40, -20))
    # both ends: 0.6 / 1.25 and 0.8 / 0.8
    assert ends_of(estimate(0.7, own=(0.6, 0.8)), estimate(1, own=(0.8, 1.25))) == pytest.approx(
        (-30, -52, 0)
    )


def regions(point: Mapping[str, Any], policy: str) -> dict[str, object]:
    """simple is best by 10 % under ugal, rdn by 20 % under minimal from load 2 on, else a draw."""
    load, seed, ugal = point["load"], point["run.seed"], point["routing"] == "ugal"
    factor = 1.0
    if policy == "simple":
        factor = 0.9 if ugal else (1.25 if load >= 2 else 1 + (seed - 3) * 0.2)
    return {"mean_wait_s": 3600 * load * factor * (1 + 0.01 * seed), "utilisation": 0.5}


def at_most_once(point: Mapping[str, Any], policy: str) -> dict[str, object]:
    """simple is 10 % better at load 1 in every repetition, else better and worse alike."""
    better = 0.9 if point["load"] == 1 else 1 + (point["run.seed"] - 3) * 0.1
    return {"mean_wait_s": 60.0 * point["run.seed"] * (better if policy == "simple" else 1.0)}


REGIONS = {"routing": ["minimal", "ugal"], "load": [1, 2, 4], "run.seed": [1, 2, 3, 4, 5]}


def test_regions_of_the_best_policy() -> None:
    found = compared(policies_frame(REGIONS, ["rdn", "simple"], regions), list(REGIONS))
    load, routing = found.swept.axes
    assert (load.title, routing.title) == ("load", "routing")
    states = {}
    for cell in found.cells():
        best = found.best(WAIT, cell)
        assert best is not None
        where = (routing.labels[cell[1]], load.labels[cell[0]])
        states[where] = best.policy if best.state == "significant" else best.state
    assert states == {
        ("ugal", "1"): "simple",
        ("ugal", "2"): "simple",
        ("ugal", "4"): "simple",
        ("minimal", "1"): "not significant",
        ("minimal", "2"): "rdn",
        ("minimal", "4"): "rdn",
    }
    [wait] = [line for line in verdict(found) if "wait" in line]
    assert wait == (
        "Best mean wait: simple at 3 of 6 (routing ugal); rdn at 2 of 6 (load 2, routing minimal; "
        "load 4, routing minimal); no significant difference at 1 of 6 (load 1, routing minimal)."
    )
    [both] = [line for line in verdict(found) if "utilisation" in line]
    assert both == "Best utilisation: no significant difference everywhere."


def test_drawings_show_what_the_estimates_say() -> None:
    found = compared(policies_frame(REGIONS, ["rdn", "simple"], regions), list(REGIONS))
    wait, utilisation = curve_drawings(found, 0)
    assert (wait.name, utilisation.name) == ("wait-by-load", "utilisation-by-load")
    assert [panel.title for panel in wait.panels] == ["routing minimal", "routing ugal"]
    figure = wait.draw()
    axis = figure.axes[1]
    lines = {str(line.get_label()): line for line in axis.get_lines()}
    x, y = lines["simple"].get_data()
    assert list(x) == [1, 2, 4]
    assert list(y) == pytest.approx([0.9 * 1.03 * load for load in (1, 2, 4)])
    assert axis.get_xscale() == "log"
    assert figure.axes[0].get_ylim() == axis.get_ylim()
    [by_routing, _] = curve_drawings(found, 1)
    assert len(by_routing.panels) == 3
    [maps] = best_drawings(found)
    assert [panel.title for panel in maps.panels] == ["Wait", "Utilisation"]
    axis = maps.figure(0).axes[0]
    assert sorted(t.get_text() for t in axis.texts) == ["rdn"] * 2 + ["simple"] * 3
    assert sum(patch.get_hatch() is not None for patch in axis.patches) == 1


def flat(point: Mapping[str, Any], policy: str) -> dict[str, object]:
    return {"mean_wait_s": 60.0 + len(policy), "mean_turnaround_s": 600.0}


def test_any_number_of_axes_has_drawings() -> None:
    none = compared(policies_frame({"run.seed": [1, 2]}, ["a", "bb"], flat), ["run.seed"])
    assert none.swept.axes == ()
    assert best_drawings(none) == []
    [changes] = sweep_drawings(none, {})[COMPARED]
    # bb waits 62 s where a waits 61 s
    assert changes.title == "Change of each policy from a in percent: mean wait, mean turnaround."
    one = compared(policies_frame({"load": [1, 2]}, ["a", "bb"], flat), ["load"])
    [by_load] = curve_drawings(one, 0)
    assert [panel.title for panel in by_load.panels] == ["Wait", "Turnaround"]
    assert verdict(one)[1] == "Best mean wait: a everywhere, without an interval."
    axes = {"load": [1, 2, 3], "routing": ["m", "u"], "machine": ["x", "y"], "z": list(range(9))}
    four = compared(policies_frame(axes, ["a", "bb"], flat), list(axes))
    for along in range(4):
        for drawing in curve_drawings(four, along):
            assert 0 < len(drawing.panels) <= MOST_PANELS
            shown = {t for panel in drawing.panels for t in panel.title.split(", ")}
            assert len(shown) >= 2
            settings = 108 // len(four.swept.axes[along])
            assert ("settings are drawn" in drawing.caption) == (settings > MOST_PANELS)
    assert len(best_drawings(four)[0].panels) == 4
    many = compared(policies_frame({"load": [1], "z": list(range(40))}, ["a", "b"], flat),
                    ["load", "z"])  # fmt: skip
    assert len(many.swept.axes) == 1


def three_waits(point: Mapping[str, Any], policy: str) -> dict[str, object]:
    waits = {1: 9.0, 2: 60.0, 3: 475.0, 4: 20.0, 5: 30.0}
    return {"mean_wait_s": waits[point["run.seed"]] * (1 + 0.3 * (policy == "b"))}


@pytest.mark.parametrize("n", [3, 5])
def test_no_interval_of_waits_is_too_few_or_impossible(n: int) -> None:
    """Waits of 9, 60 and 475 s: Student's interval of the three is -450 to 820 s."""
    seeds = {"run.seed": list(range(1, n + 1))}
    found = compared(policies_frame(seeds, ["a", "b"], three_waits), ["run.seed"])
    row, _ = policies_table(found).to_dict("records")
    estimates = list(found.estimates.values())
    ends = [value for name, value in row.items() if str(name).endswith("_low")]
    if n == 3:
        assert ends == []
        assert verdict(found) == ["Best mean wait: a, without an interval."]
        assert all(pd.isna(one.interval.low) for one in estimates)
    else:
        assert [one.interval.low for one in estimates] == [0.0, 0.0]
        assert ends == [0.0]


# Tables


def test_keys_are_cut_where_they_differ() -> None:
    assert key_length(["a" * 64]) == 8
    assert key_length(["a" * 64, "a" * 20 + "b" * 44]) == 21


# The page of a real sweep

RAW: dict[str, Any] = {
    "machine": {"family": "dragonfly", "p": 2, "a": 2, "g": 5, "routing": ["minimal", "valiant"]},
    "workload": {
        "synthetic": {"n_jobs": 20, "mean_nodes": 4, "load": [0.7, 1.4]},
        "larger_jobs": "drop",
    },
    "queue": {"policies": ["rdn", "simple"], "run_time_model": "measured"},
    "communication": {"mix": [{"pattern": "all-to-all"}]},
    "run": {"snapshots": 2, "seed": [1, 2, 3], "keep": "all"},
}


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "routing load.db"
    points = [point.resolved() for point in points_of(RAW)]
    run_points("netcosim.runs.cosim:cosim_point", points, path, progress=False)
    return path


@pytest.fixture(scope="module")
def page(sweep_file: Path) -> str:
    with Store(sweep_file, "read") as store:
        text, failed = sweep_page(store)
    assert failed == 0
    return text


def titles(page: str) -> list[str]:
    return re.findall(r"<h2>([^<]+)</h2>", page)


@pytest.mark.usefixtures("undrawn")
def test_policies_come_first_and_what_names_things_last(page: str) -> None:
    found = titles(page)
    assert found[:3] == ["Recommendation", "Results", "Setup"]
    found = found[3:]
    # along the load: its panels have all routings
    assert found[:5] == [
        *("Best policy by region", "By load", "Who waits", "Policies"),
        "Points",
    ]
    assert found[5:8] == ["Speedups", "Links by kind", "Measured jobs"]
    lead = page[page.index('class="recommendation"') : page.index("Best policy by region</h2>")]
    words = re.sub(r"<[^>]+>", "", lead)
    assert "12 points over load (0.7, 1.4) and routing (minimal, valiant), 3 repetitions" in words
    assert "communication time" in words
    assert "dragonfly(p=2, a=2, h=2, g=5): 20 nodes, routing minimal." in words
    for name in ("speedups", "links-by-kind", "measured-jobs"):
        assert f'<section id="{name}" class="folded">' in page


def test_every_point_can_be_opened(page: str, sweep_file: Path) -> None:
    with Store(sweep_file, "read") as store:
        keys = [point.key for point in store.points()]
    opened = re.findall(r"netcosim report (&#39;.*?&#39;|\S+) --point ([0-9a-f]+)", page)
    assert [key for _, key in opened] == [key[:8] for key in keys]
    assert all("routing load.db" in file for file, _ in opened)


@pytest.mark.usefixtures("undrawn")
def test_pages_of_points_are_linked_from_the_sweeps(sweep_file: Path) -> None:
    """A point that has no page keeps its command."""
    with Store(sweep_file, "read") as store:
        first, *others = [point.key for point in store.points()]
        text, _ = sweep_page(store, {first: "a%20b/1.html"})
    assert re.findall(r'<a href="([^#"]+)">(\w+)</a>', text) == [("a%20b/1.html", first[:8])]
    assert all(f"--point {key[:8]}" in text for key in (first, *others))


def test_the_recommendation_names_the_best_policy_and_where() -> None:
    found = compared(policies_frame(REGIONS, ["rdn", "simple"], regions), list(REGIONS))
    answer = recommend(found, 2.0)
    assert answer.sentence == (f"The best policy depends on the setting. {verdict(found)[0]}")
    assert answer.reliable
    assert answer.rating.startswith("Compared within each of 5 repetitions")
    # of four settings one alone is no reason to use a policy everywhere
    axes = {"load": [1, 2, 3, 4], "run.seed": [1, 2, 3, 4, 5]}
    frame = policies_frame(axes, ["rdn", "simple"], at_most_once)
    once = recommend(compared(frame, list(axes)), 2.0)
    assert once.sentence == (
        "Best mean wait: simple at 1 of 4 (load 1); no significant difference at 3 of 4 (all but "
        "load 1)."
    )
    few = compared(policies_frame({"load": [1, 2]}, ["a", "bb"], flat), ["load"])
    single = recommend(few, 2.0)
    assert single.head[0].startswith("No interval")
    assert single.sentence == "Best mean wait: a everywhere, without an interval."
    # four more seeds at two settings, 2 s each
    assert single.next_step.startswith("8 more points would give intervals, about 20 s")


def test_ids_on_the_page_are_one_of_a_kind(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_drawings_have_names_of_their_own(sweep_file: Path) -> None:
    with Store(sweep_file, "read") as store:
        names = [drawing.name for drawing in stored_drawings(store)]
    assert len(names) == len(set(names))
    assert {"best-policy", "wait-by-load", "turnaround-by-load"} <= set(names)
    assert "turnaround-by-routing" not in names


def put(path: Path, points: Mapping[str, tuple[dict[str, object], dict[str, Any] | None]]) -> None:
    with Store(path, "write") as store:
        for key, (config, tables) in points.items():
            encoded = None if tables is None else encode_tables(tables)
            error = None if tables is not None else "no <b>room</b>"
            store.put(key * 64, config, Outcome(encoded, error, 1.0), "code")


def test_stores_without_policies_have_a_page_of_tables(tmp_path: Path) -> None:
    tables = {"slowdowns": [{"case": 1, "job_id": 5, "slowdown": 1.5}], "mean": [{"x": 1.0}]}
    put(
        tmp_path / "p.db", {"0": ({"i": 1}, tables), "1": ({"i": 2}, tables), "2": ({"i": 3}, None)}
    )
    with Store(tmp_path / "p.db", "read") as store:
        store_page, failed = sweep_page(store)
        assert stored_drawings(store) == []
    assert failed == 1
    assert titles(store_page)[:4] == ["Failed points", "Mean", "Slowdowns", "Points"]
    assert "no table of policies" in re.sub(r"<[^>]+>", "", store_page)
    assert "no &lt;b&gt;room&lt;/b&gt;" in store_page


def test_names_from_a_file_stay_text(tmp_path: Path) -> None:
    rows = [
        {"policy": p, "mean_wait_s": w}
        for p, w in (("<i>x</i>", 1.0), ("$\\frac$ _z & y", 2.0), ("_hidden", 3.0))
    ]
    config = {"machine": {"routing": "<script>alert(1)</script>"}, "run": {"seed": 1}}
    other = {"machine": {"routing": "b"}, "run": {"seed": 1}}
    put(tmp_path / "p.db", {"0": (config, {"policies": rows}), "1": (other, {"policies": rows})})
    with Store(tmp_path / "p.db", "read") as store:
        text, _ = sweep_page(store)
        names = [drawing.name for drawing in stored_drawings(store)]
    assert "<script>alert" not in text
    assert "<i>x</i>" not in text
    assert all(re.fullmatch(r"[a-z0-9_.-]+", name) for name in names)


def test_policies_without_a_number_are_a_table(tmp_path: Path) -> None:
    put(tmp_path / "p.db", {"0": ({"i": 1}, {"policies": [{"policy": "a", "told": "x"}]})})
    with Store(tmp_path / "p.db", "read") as store:
        assert "Policies" in titles(sweep_page(store)[0])
