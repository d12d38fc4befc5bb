"""The gain of isolation without packets: closed forms, laws that come back, verdicts at borders."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cosim.network.communication import Communication
from cosim.network.ensemble import Ensemble, PlacedJob, SharedNetwork
from experiments.isolation.gain.features import contention
from experiments.isolation.gain.predictor import (
    LAWS,
    SHIPPED,
    FitRange,
    Fitted,
    Predictor,
    gain_percent,
    predictor_from,
)
from experiments.isolation.gain.sentences import decides
from experiments.isolation.gain.trial import in_order
from experiments.isolation.gain.verdict import (
    Line,
    overall,
    with_noise,
)
from experiments.isolation.gain_errors import fit, held_out
from experiments.isolation.phases import MATTERS, NOT, PAYS, UNKNOWN, word
from netcosim.report.effect import MAKESPAN, Effect
from netcosim.report.recommendation import samples_to_decide
from netsim.errors import NetcosimError
from netsim.flow.job_load import JobLoad
from netsim.routing.registry import make_routing
from netsim.topologies.registry import make_topology
from queuesim.statistics import Interval

STUDY = Path(__file__).resolve().parents[1]
STORED = STUDY / "tables"
sys.path.append(str(STORED))
LIMITS = FitRange(
    ("fattree",), ("d-mod-k",), ("baseline",), ("jigsaw",), ("a", "b"), (0.05, 0.6), (2.0, 64.0)
)
USUAL = {
    "family": "fattree",
    "routing": "d-mod-k",
    "placement": "baseline",
    "policies": ["jigsaw"],
    "taper": 1.0,
    "ranks_per_node": 1,
    "share": "alone",
    "phases": "random",
}


def load(links: list[int], n_bytes: list[float], bandwidth: float = 1e9) -> JobLoad:
    sent = np.array(n_bytes, dtype=float)
    return JobLoad(np.array(links, dtype=np.int32), sent, float(sent.max() / bandwidth))


def rows(n: int = 60, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    stretch = 1 + rng.random(n)
    return {
        "log": np.array(["a", "b", "c"] * (n // 3), dtype=object),
        "machine": np.array(["own"] * n, dtype=object),
        "placement": np.array(["baseline"] * n, dtype=object),
        "share": np.array(["x"] * n, dtype=object),
        "snapshot": np.arange(n) // 6,
        "n_nodes": rng.integers(2, 64, n),
        "fraction": rng.uniform(0.05, 0.6, n),
        "near": rng.uniform(0, 0.6, n),
        "pressure": rng.random(n),
        "stretch_all": stretch + rng.random(n),
        "stretch_phases": stretch,
        "locality": rng.uniform(0.8, 1.1, n),
    }


def two(f: float, others: float, draws: int = 64) -> dict[str, np.ndarray]:
    """Two jobs that would each fill the one link, of fractions f and another."""
    jobs = [load([0, 1], [1e6, 1e6]), load([0, 2], [5e6, 5e6])]
    return dict(contention(np.full(3, 1e9), jobs, [f, others], draws))


def test_two_jobs_on_one_uplink_have_the_closed_form() -> None:
    found = two(0.3, 1.0)
    assert found["stretch_all"].tolist() == [2.0, 2.0]
    assert found["near"].tolist() == pytest.approx([1.0, 0.3])
    assert found["pressure"].tolist() == pytest.approx([1.0, 0.3])
    # while it communicates the other does with chance f, and each gets half
    told = two(0.3, 0.4, draws=20_000)["stretch_phases"]
    assert told == pytest.approx([1.4, 1.3], abs=0.015)
    # at f of both a run is longer by f^2, as phases that drift have it
    f = np.array([0.4])
    gain = gain_percent(f, 1 + f, np.ones(1))
    assert gain == pytest.approx(100 * f**2 / (1 + f**2))


def test_who_shares_no_link_gains_nothing() -> None:
    alone = contention(
        np.full(4, 1e9), [load([0, 1], [1e6] * 2), load([2, 3], [1e6] * 2)], [0.5] * 2
    )
    assert alone["stretch_all"].tolist() == alone["stretch_phases"].tolist() == [1.0, 1.0]
    assert alone["near"].tolist() == alone["pressure"].tolist() == [0.0, 0.0]
    known = {**alone, "fraction": np.full(2, 0.5), "locality": np.ones(2)}
    for name in ("zero", "product", "pressure", "flow", "phases", "phases-fitted", "all"):
        law = Fitted(name, (2.0,) * len(LAWS[name].terms))
        assert law.percent(known).tolist() == [0.0, 0.0], name


def test_links_with_room_for_both_hold_up_nobody() -> None:
    # each takes four tenths of the shared link: its own bottleneck is elsewhere
    jobs = [load([0, 1], [4e5, 1e6]), load([0, 2], [4e5, 1e6])]
    found = contention(np.full(3, 1e9), jobs, [1.0, 1.0])
    assert found["stretch_all"].tolist() == found["stretch_phases"].tolist() == [1.0, 1.0]
    assert found["pressure"] == pytest.approx([0.16, 0.16])


def test_stretches_are_those_of_the_flow_level_among_all() -> None:
    topology = make_topology("fattree", {"radix": 6})
    network = SharedNetwork(make_routing(topology, "d-mod-k"), task_mapping="in-order")
    rng = np.random.default_rng(3)
    nodes = rng.permutation(topology.n_nodes)
    kinds = ["all-to-all", "stencil4d", "halo3d", "pairs", "all-to-all"]
    sizes = np.array([9, 16, 8, 12, 9])
    ends = np.cumsum(sizes)
    jobs = [
        PlacedJob(k, Communication(kind, rank_bytes=50_000), nodes[end - size : end])
        for k, (kind, size, end) in enumerate(zip(kinds, sizes, ends, strict=True))
    ]
    ensemble = Ensemble(network, jobs)
    found = contention(topology.link_bandwidth_Bps, ensemble.loads, np.full(5, 0.5))
    expected = ensemble.flows().stretch
    assert found["stretch_all"] == pytest.approx(expected, rel=1e-9)
    assert (expected > 1.05).any()
    assert (found["stretch_phases"] <= found["stretch_all"] + 1e-9).all()
    # all others there all the time is the one case of chance 1
    always = contention(topology.link_bandwidth_Bps, ensemble.loads, np.ones(5))
    assert always["stretch_phases"] == pytest.approx(expected, rel=1e-9)


def test_more_of_the_others_and_more_of_ones_own_is_more_gain() -> None:
    shares = np.linspace(0, 1, 11)
    stretched = [two(0.5, f)["stretch_phases"][0] for f in shares]
    assert all(np.diff(stretched) >= 0)
    assert (stretched[0], stretched[-1]) == (1.0, 2.0)
    ones = np.ones(11)
    assert all(np.diff(gain_percent(shares, 1.5 * ones, ones)) > 0)
    assert all(np.diff(gain_percent(0.5 * ones, 1 + shares, ones)) > 0)
    assert all(np.diff(gain_percent(0.5 * ones, ones, shares)) < 0)


@pytest.mark.parametrize("law", [name for name, law in LAWS.items() if law.fitted])
def test_coefficients_of_made_gains_come_back(law: str) -> None:
    known, wanted = rows(), [0.7, -0.3, 1.9, 0.4][: len(LAWS[law].terms)]
    known["gain_percent"] = Fitted(law, tuple(wanted)).percent(known)
    assert fit(law, known).coefficients == pytest.approx(wanted)
    assert fit(law, known).percent(known) == pytest.approx(known["gain_percent"])


def test_a_log_that_is_left_out_does_not_speak() -> None:
    known = rows()
    known["gain_percent"] = np.random.default_rng(0).random(60)
    groups = [["a"], ["b"], ["c"]]
    before = held_out("product", known, groups)
    mine = known["log"] == "b"
    known["gain_percent"] = np.where(mine, 50.0, known["gain_percent"])
    after = held_out("product", known, groups)
    assert (after[mine] == before[mine]).all()
    assert (after[~mine] != before[~mine]).all()
    mean = held_out("mean", known, groups)[mine]
    rest = np.average(known["gain_percent"][~mine], weights=known["n_nodes"][~mine])
    assert mean == pytest.approx(np.full(mine.sum(), rest))


def test_laws_refuse_what_they_cannot() -> None:
    with pytest.raises(NetcosimError, match="law of the gain 'cube'"):
        fit("cube", rows())
    with pytest.raises(NetcosimError, match="2 coefficients for 1 terms"):
        Fitted("product", (1.0, 2.0))
    empty = {name: values[:0] for name, values in rows().items()}
    with pytest.raises(NetcosimError, match="no measured jobs"):
        fit("product", {**empty, "gain_percent": np.empty(0)})
    with pytest.raises(NetcosimError, match="version 0; must be 1"):
        predictor_from({"version": 0})


def test_a_predictions_interval_holds_the_errors_on_unseen_logs() -> None:
    predictor = Predictor(Fitted("mean", (3.0,)), (1.0, -1.0, 1.0, -1.0), LIMITS)
    # Student's t of 4 degrees of freedom at 95 % is 2.776, the errors' rms is 1
    assert predictor.half_width() == pytest.approx(2.776, abs=1e-3)
    # errors on one side count in full: 4.303 is that of two logs, and the rms of 3 and 1 is 5^0.5
    biased = Predictor(Fitted("mean", (3.0,)), (3.0, 1.0), LIMITS)
    assert biased.half_width() == pytest.approx(4.3027 * 5**0.5, rel=1e-4)
    told = predictor.mean(rows())
    assert told == pytest.approx((3.0, 3.0 - 2.776, 3.0 + 2.776), abs=1e-3)


def test_the_range_of_a_predictor_is_told() -> None:
    inside = {"fraction": np.array([0.05, 0.6]), "n_nodes": np.array([2, 64])}
    assert LIMITS.outside(USUAL, inside) == []
    other = {"routing": "adaptive", "placement": "random", "policies": ["ta"], "taper": 0.5}
    outside = {"fraction": np.array([0.7]), "n_nodes": np.array([65])}
    told = LIMITS.outside(USUAL | other | {"phases": "locked", "share": "drive"}, outside)
    assert [line.split(" (")[0] for line in told] == [
        "routing adaptive",
        "the reference's placement random",
        "policy ta",
        "taper = 0.5",
        "share = drive",
        "phases = locked",
        "communication fractions of 0.7 to 0.7",
        "job sizes of 65 to 65",
    ]
    with pytest.raises(NetcosimError, match="it does not apply to a dragonfly"):
        LIMITS.outside(USUAL | {"family": "dragonfly"}, inside)


# What is shipped


def test_what_is_shipped_and_stored_is_what_the_stored_pairs_say() -> None:
    from fit_isolation_gain import shipped_text, tables_of

    pairs = pd.read_csv(STORED / "predictor-pairs.csv")
    assert SHIPPED.read_text(encoding="utf-8") == shipped_text(pairs)
    for name, table in tables_of(pairs).items():
        stored = pd.read_csv(STORED / f"predictor-{name}.csv")
        pd.testing.assert_frame_equal(stored, table, check_dtype=False, atol=1e-9)


# Verdicts


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((0.98, 0.9989), PAYS),
        ((0.98, 0.9991), UNKNOWN),
        ((1.0009, 1.02), UNKNOWN),
        ((1.0011, 1.02), NOT),
        ((0.9, 1.1), UNKNOWN),
        ((np.nan, np.nan), UNKNOWN),
    ],
)
def test_verdicts_at_their_borders(ends: tuple[float, float], said: str) -> None:
    assert word(Interval(0.5 * sum(ends), *ends)) == said


def test_one_word_for_several_metrics() -> None:
    assert overall([PAYS, PAYS]) == overall([PAYS, UNKNOWN]) == PAYS
    assert overall([NOT, UNKNOWN]) == NOT
    assert overall([PAYS, NOT]) == overall([UNKNOWN, UNKNOWN]) == UNKNOWN


@pytest.mark.parametrize("value", [0.9, 1.1])
@pytest.mark.parametrize("chance", [0.0, 0.05])
def test_as_many_snapshots_as_told_decide(value: float, chance: float) -> None:
    """The gain's part of a half-width falls as the root of the snapshots, the queue's does not."""
    gain, n = 0.3, 8

    def after(snapshots: float) -> Interval:
        half = float(np.hypot(gain * (n / snapshots) ** 0.5, chance))
        return Interval(value, value - half, value + half)

    assert word(after(n)) == UNKNOWN
    need = samples_to_decide(after(n), n, chance)
    # by hand: gain^2 n / need + chance^2 = (0.1 - MATTERS)^2
    assert need == pytest.approx(n * gain**2 / ((0.1 - MATTERS) ** 2 - chance**2))
    assert word(after(0.99 * need)) == UNKNOWN
    assert word(after(1.01 * need)) == (PAYS if value < 1 else NOT)
    # an answer that is there needs no more
    assert samples_to_decide(after(2 * need), round(2 * need), chance) <= 2 * need


def test_no_number_of_snapshots_decides_against_the_queues_chance() -> None:
    ratio = Interval(1.04, 0.9, 1.18)
    assert samples_to_decide(ratio, 8, 0.05) == np.inf
    assert np.isnan(samples_to_decide(ratio, 8, np.nan))
    assert np.isnan(samples_to_decide(Interval(1.04, np.nan, np.nan), 8, 0.05))


@pytest.mark.parametrize(
    ("more", "seconds", "low", "told"),
    [
        (None, None, 1.0, ""),
        (40, 360.0, 1.0, "40 more snapshots would decide, about 6 min"),
        (1, 0.5, None, "1 more snapshot would give an interval, about 500 ms"),
        (0, 60.0, None, "drawing the logs that an interval needs takes about 1 min"),
        (130.4, None, 1.0, "about 130 more snapshots would decide, more than are looked at"),
        (
            np.inf,
            None,
            1.0,
            "more snapshots would not decide: scheduling noise is larger than the effect",
        ),
    ],
)
def test_what_would_decide_in_words(
    more: float | None, seconds: float | None, low: float | None, told: str
) -> None:
    gain = {"more_snapshots": more, "more_s": seconds, "gain_percent_low": low}
    assert decides(gain) == told


def test_a_break_even_of_nothing_is_zero() -> None:
    """Least squares leave 1e-14 of a ratio of 1; "1.338e-12 %" was on the page."""
    line = Line(1.0 + 1.338e-14, -0.01, 0.0)
    assert line.break_even() == (0.0, 0.0, 0.0)
    effect = Effect("a", MAKESPAN, "b", -0.0, -1e-13, 1e-13, samples=5)
    assert effect.interval() == "makespan 0 % (0; 5 runs)"


def test_a_line_through_queues_says_where_isolation_breaks_even() -> None:
    line = Line.through([0, 5, 10, 20], [1.05, 1.0, 0.95, 0.85], 0.02)
    assert (line.at_none, line.slope) == pytest.approx((1.05, -0.01))
    assert line.break_even() == pytest.approx((5.0, 3.0, 7.0))
    # a gain without any error leaves the queue's chance, and the other way round
    assert line.at(Interval(2, 2, 2)) == pytest.approx((1.03, 1.01, 1.05))
    assert Line(1.05, -0.01, 0.0).at(Interval(2, 1, 3)) == pytest.approx((1.03, 1.02, 1.04))
    # both: as independent errors add up, 3, 4, 5
    assert Line(1.0, -0.01, 0.04).at(Interval(0, -3, 3)) == pytest.approx((1.0, 0.95, 1.05))
    assert Line(1.05, 0.0, 0.01).break_even() is None


def test_when_more_snapshots_would_not_help() -> None:
    line = Line(1.05, -0.01, 0.02)
    assert line.cannot_decide(Interval(5, 4, 6))
    assert not line.cannot_decide(Interval(5, 1, 9))
    assert not line.cannot_decide(Interval(12, 9, 15))
    # a makespan that the last arrival ends
    assert Line(1.0, -1e-5, 0.0).cannot_decide(Interval(12, 9, 15))
    assert Line(1.05, -0.01, np.nan).cannot_decide(Interval(12, 9, 15))


def test_a_queues_ratio_has_the_gains_ends_and_the_queues_chance() -> None:
    assert with_noise(1.0, [1.0, 1.03, 0.96], 0.04) == pytest.approx(
        (1.0, 1 - np.hypot(0.04, 0.04), 1.05)
    )
    # both ends on one side: the other has the queue's chance alone
    assert with_noise(1.0, [0.97, 0.99], 0.04) == pytest.approx((1.0, 0.95, 1.04))
    assert with_noise(1.0, [1.03, 1.01], 0.04) == pytest.approx((1.0, 0.96, 1.05))
    assert np.isnan(with_noise(1.0, [0.9, 1.1], np.nan).low)


def test_the_first_snapshots_of_the_order_lie_evenly() -> None:
    assert in_order(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    for count in (4, 8, 16, 32):
        assert set(np.diff(sorted(in_order(64)[:count]))) == {64 // count}


# Logs drawn again


def test_the_page_has_the_stored_numbers() -> None:
    page = (STORED.parent / "predictor.md").read_text(encoding="utf-8")
    pairs = pd.read_csv(STORED / "predictor-pairs.csv")
    assert f"Stored are {len(pairs)} pairs" in page
    errors = pd.read_csv(STORED / "predictor-errors.csv")
    for row in errors[errors["split"] == "one log left out"].itertuples():
        [line] = [line for line in page.splitlines() if line.startswith(f"| `{row.law}` |")]
        ends = f"{row.rmse:.1f} ({row.rmse_low:.1f} to {row.rmse_high:.1f})"
        cells = f"| {row.median:.1f} | {row.p90:.1f} | {ends} | {row.snapshot_rmse:.1f} |"
        assert line.endswith(cells)
    means = pd.read_csv(STORED / "predictor-means.csv").set_index(["law", "log"])
    for log in pairs["log"].unique():
        seen = means.loc[("all", log)]
        ends = f"{seen.measured:.1f} ({seen.measured_low:.1f} to {seen.measured_high:.1f})"
        product = means.loc[("product", log)].predicted
        assert f"| {log} | {ends} | {product:.1f} | {seen.predicted:.1f} |" in page
