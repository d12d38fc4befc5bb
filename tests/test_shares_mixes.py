"""Published shares: every number has a source, and mixes by name are what the table says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosim.parameters import SHARES
from netcosim.catalogue import describe
from netcosim.cli import main
from netcosim.config.errors import ConfigError
from netcosim.config.load import config_from
from netcosim.report.about import notes_of, other_share
from netcosim.runs.cosim import run_cosim
from netcosim.runs.draws import Draws
from netsim.errors import NetcosimError
from workloads.registry import MIXES
from workloads.shares.mixes import fractions_of, published_shares, shares_of

pytestmark = pytest.mark.usefixtures("undrawn")

DRIVE = {"seren-links", "frontier-congested"}


def test_every_number_says_where_it_stands() -> None:
    for row in published_shares():
        assert row.opened in ("yes", "second-hand", "abstract", "no")
        assert (row.value is None) == (row.opened in ("abstract", "no"))
        assert row.value is None or 0 <= row.value <= 1
        if row.opened != "no":
            assert row.source
            assert row.where
            assert row.link or row.id == "pollard-cab"


def test_mixes_rest_on_what_was_opened_alone_and_the_two_quantities_are_apart() -> None:
    """A share of a link is a drive rate; a share of the time is one alone or among others."""
    assert {name for name, mix in MIXES.items() if mix.share == "drive"} == DRIVE
    for name, mix in MIXES.items():
        rows = shares_of(name)
        assert {row.opened for row in rows} == {"yes"}
        quantity = "link capacity used" if name in DRIVE else "time in communication"
        assert {row.quantity for row in rows} == {quantity}
        assert mix.share in SHARES
        assert mix.fractions == fractions_of(rows)


def test_a_jobs_values_are_its_quantiles() -> None:
    """Eight jobs: the least, the greatest and the mean of the middle two by hand."""
    frontier = MIXES["frontier-congested"].fractions
    assert frontier.quantile(np.array([0.0, 0.5, 1.0])) == pytest.approx(
        [0.0004, (0.046 + 0.053) / 2, 0.117]
    )
    seren = MIXES["seren-links"].fractions
    assert seren.quantile(np.array([0.5, 0.95])) == pytest.approx([0.162, 0.255])
    # the mean over samples that send, which the source's own data give as 0.162
    assert seren.mean == pytest.approx(0.162, abs=0.01)
    assert MIXES["pollard-cab"].fractions.quantile(np.array([0.0, 1.0])).tolist() == [0.3, 0.3]


def content(measure: str = "steady", **communication: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "fattree", "radix": 4},
        "workload": {"synthetic": {"n_jobs": 30, "mean_nodes": 5}, "larger_jobs": "drop"},
        "queue": {"policies": ["baseline"], "run_time_model": "as-logged"},
        "communication": {
            "mix": [{"pattern": "halo3d", "node_bytes": 4096}],
            **communication,
        },
        "run": {"snapshots": 1, "measure": measure},
    }


def test_a_config_takes_a_mix_by_name_and_keeps_its_name() -> None:
    config = config_from(content(**{"from": "seren-links"}))
    told = config.resolved()
    assert told["communication"]["from"] == "seren-links"
    assert "fraction" not in told["communication"]
    assert config_from(told) == config
    law = config.communication.law()
    assert law is not None
    assert law.fractions == MIXES["seren-links"].fractions
    other = config_from(content(**{"from": "amg-ranks"})).resolved()
    assert Draws(told).rng("jobs").random() == Draws(other).rng("jobs").random()
    sized = content(**{"from": "amg-ranks", "fraction": {"size_correlation": 0.4}})
    with_size = config_from(sized).communication.law()
    assert with_size is not None
    assert with_size.size_correlation == 0.4


@pytest.mark.parametrize(
    ("communication", "told"),
    [
        ({"from": "mira"}, "unknown mix of communication shares 'mira'"),
        (
            {"from": "amg-ranks", "mix": [{"pattern": "pairs", "communication_fraction": 0.1}]},
            "mix.0.communication_fraction conflicts with communication.from",
        ),
        (
            {"from": "amg-ranks", "fraction": {"distribution": "beta", "mean": 0.3, "spread": 0.1}},
            "fraction.distribution conflicts with communication.from",
        ),
        ({"fraction": {"size_correlation": 0.1}}, "distribution is needed"),
    ],
)
def test_what_a_config_may_not_say(communication: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config_from(content(**communication))
    assert told in str(raised.value)


def test_another_definition_is_warned_of() -> None:
    seren = content(**{"from": "seren-links"})
    assert 'takes them for shares "alone"' in str(other_share(config_from(seren)))
    assert "run.paired" in str(other_share(config_from(content("paired", **{"from": "amg-ranks"}))))
    assert other_share(config_from(content("paired", **{"from": "pollard-cab"}))) is None
    seren["run"]["steady"] = {"share": "drive"}
    assert other_share(config_from(seren)) is None
    assert other_share(config_from(content())) is None
    assert other_share(config_from(content("stretch", **{"from": "seren-links"}))) is None


def test_a_run_tells_its_source_and_warns() -> None:
    result = run_cosim(config_from(content(**{"from": "frontier-congested"})))
    lines = notes_of(result)
    assert any("SLINGSHOT_VALIDATION.md" in line and 'shares "drive"' in line for line in lines)
    assert any(line.startswith("warning: communication.from") for line in lines)


def test_names_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "mixes"]) == 0
    assert "seren-links" in capsys.readouterr().out
    lines = "\n".join(describe("seren-links"))
    assert "AcmeTrace" in lines
    assert 'a share "drive"' in lines
    assert "inferred: values are taken as MB/s" in lines


def test_the_page_has_the_mixes_as_they_are() -> None:
    page = (Path(__file__).parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")
    told = {}
    for line in page.splitlines():
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        if cells[0] in MIXES:
            told[cells[0]] = tuple(cells[1:3])
    assert told == {n: (mix.share, f"{mix.fractions.mean:.3f}") for n, mix in MIXES.items()}


def test_a_source_that_is_not_there_is_one_line() -> None:
    with pytest.raises(NetcosimError, match="unknown source of published shares 'nobody'"):
        shares_of("nobody")
