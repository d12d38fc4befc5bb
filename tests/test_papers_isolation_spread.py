"""Dragonflies, spread or compact: what is compared by hand, and the points as ordinary configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cosim.measuring.pairs import Pair
from experiments.config_load import config_from
from experiments.cosim import run_cosim
from experiments.cosim_tables import result_tables
from experiments.papers.isolation.spread import (
    ALWAYS,
    BASE,
    CELLS,
    LEVELS,
    MINIMAL,
    OTHERS,
    analyse,
    points,
)
from experiments.papers.isolation.spread import (
    QUICK as QUICK_CELLS,
)
from experiments.papers.paper import Analysis, Options
from experiments.points import canonical_json
from netcosim.reproduce import reproduce
from queuesim.placing import SMALL_FIRST

QUICK = Options(scale="quick")
REFERENCE_S, ALONE_S = 100.0, 60.0


def rows(
    policy_s: Mapping[str, Sequence[float]], *, cell: str = BASE, duty: float = 1.0, seed: int = 0
) -> pd.DataFrame:
    """A job a snapshot under each policy, which takes 100 s under the reference."""
    labels = {"log": "made", "cell": cell, "seed": seed}
    return pd.DataFrame(
        [
            labels
            | Pair(
                i, name, i, 8, 9.0, "pairs", 5, duty, REFERENCE_S, ALONE_S, seconds, seconds
            ).row()
            for name, times in policy_s.items()
            for i, seconds in enumerate(times)
        ]
    )


def done(*parts: pd.DataFrame) -> Analysis:
    return analyse({"pairs": pd.concat(parts)}, QUICK)


def test_level_spread_is_compared_with_each_policy() -> None:
    """80 s beside 100, 160 and 64."""
    found = done(rows({"level-spread": [80.0] * 5, "rdg": [160.0] * 5, "simple": [64.0] * 5}))
    table = found.tables["spread"].set_index(["policy", "against"]).drop(index=OTHERS, level=1)
    assert table["off"].to_dict() == pytest.approx(
        {
            ("level-spread", "rdn"): 20.0,
            ("rdg", "rdn"): -60.0,
            ("simple", "rdn"): 36.0,
            ("level-spread", "rdg"): 50.0,
            ("level-spread", "simple"): -25.0,
        }
    )
    verdicts = dict(zip(found.claims["claim"], found.claims["verdict"], strict=True))
    told = {claim.split(" than ")[1]: verdict for claim, verdict in verdicts.items()}
    assert told == {
        "rdn (%)": "holds",
        "rdg (%)": "holds",
        "simple (%)": "differs",
        f"{OTHERS} (%)": "holds",
    }
    mean = found.tables["spread"].set_index("against").loc[OTHERS]
    assert mean["communication"] == pytest.approx(100 * (1 - (0.8 * 0.5 * 1.25) ** (1 / 3)))


def test_computing_is_no_communication() -> None:
    """Half of 60 s alone is computing: 100 and 90 s are 70 and 60 s of communication."""
    [row] = done(rows({"level-spread": [90.0] * 4}, duty=0.5)).tables["spread"].to_dict("records")
    assert row["off"] == pytest.approx(10)
    assert row["communication"] == pytest.approx(100 / 7)


def test_the_interval_holds_what_seeds_and_snapshots_scatter() -> None:
    """Snapshots at 8 and 12 % by one seed, 4 % more by the other: 8 to 16 by what both say."""
    first, second = [92.0, 88.0] * 3, [88.0, 84.0] * 3
    both = done(rows({"level-spread": first}), rows({"level-spread": second}, seed=1)).tables[
        "spread"
    ]
    [row] = both.to_dict("records")
    assert row["off"] == pytest.approx(12)
    assert (row["seed_least"], row["seed_most"]) == pytest.approx((10, 14))
    assert row["seeds"] == 2
    # six snapshots at 10 and 14, in turn: variance 24 / 5, five degrees of freedom
    assert row["off_high"] - row["off"] == pytest.approx(2.5706 * (4.8 / 6) ** 0.5, rel=1e-3)


def test_what_a_level_changes_is_told_job_by_job() -> None:
    """The cell is 3 and 5 points better, in turn, on snapshots that scatter by far more."""
    base = [50.0, 100.0, 70.0, 120.0, 60.0, 90.0]
    cell = [seconds - more for seconds, more in zip(base, [3, 5] * 3, strict=True)]
    found = done(rows({"rdg": base}), rows({"rdg": cell}, cell=MINIMAL))
    [row] = found.tables["spread-changes"].to_dict("records")
    assert row["more_off"] == pytest.approx(4)
    assert row["high"] - row["low"] == pytest.approx(2 * 2.5706 * (1.2 / 6) ** 0.5, rel=1e-3)


@pytest.mark.parametrize(("other_s", "verdict"), [(100.0, "holds"), (140.0, "differs")])
def test_sixteen_percent_is_that_of_the_mean_of_policies(other_s: float, verdict: str) -> None:
    where = ", ".join(QUICK_CELLS[-1])
    claims = done(rows({"level-spread": [84.0] * 4, "rdg": [other_s] * 4}, cell=where)).claims
    near = claims[claims["paper"] == 16]
    assert near["condition"].tolist() == [where]
    assert near["verdict"].tolist() == [verdict]


def test_every_level_is_measured_and_told_apart() -> None:
    used = {level for levels, _, _ in CELLS for level in levels}
    assert used == set(LEVELS)
    assert {ALWAYS, MINIMAL, SMALL_FIRST, "crossbar-1"} <= used
    assert len({(levels, logs) for levels, logs, _ in CELLS}) == len(CELLS)


@pytest.mark.full
def test_a_quick_run_says_what_its_configs_say(tmp_path: Path) -> None:
    """The study's means are those of ``netcosim run``; its points are ordinary configs."""
    found = reproduce("isolation", "dragonfly", out_dir=tmp_path, options=QUICK, progress=False)
    assert found is not None
    assert not found.failed
    table = found.analysis.tables["spread"].set_index(["cell", "policy", "against"])
    made = points(QUICK)
    assert len({canonical_json(point["config"]) for point in made}) == len(made)
    [point] = [p for p in made if p["labels"]["cell"] == MINIMAL]
    ran = result_tables(run_cosim(config_from(point["config"])))["steady"]
    for row in ran:
        simulated = table.loc[(MINIMAL, row["policy"], "rdn")]
        for mine, theirs in (("off", ""), ("off_low", "_low"), ("off_high", "_high")):
            expected = row[f"taken_off_percent{theirs}"]
            # a table has None where an end is not known
            told = np.nan if expected is None else expected
            assert simulated[mine] == pytest.approx(told, nan_ok=True)
