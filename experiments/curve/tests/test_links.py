"""Constants of collectives between nodes: stored rows and the page are what the classes give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.curve import links
from experiments.curve.collective import collective_point, points
from experiments.curve.config import curve_from
from netcosim.config.machine import build_machine
from patterns.collectives.links import LINKS

STORED = pd.read_csv(links.FILE)


def test_the_page_has_all_rows_and_medians() -> None:
    page = (links.STUDY / "links.md").read_text(encoding="utf-8")
    assert all(f"{line}\n" in page for line in links.page_tables(STORED))
    for row in links.medians(STORED).itertuples():
        numbers = [f"{100 * x:.{int(x < 0.0995)}f} %" for x in row[5:]]
        assert f"| {row.rows} | {' | '.join(numbers)} |" in page


@pytest.mark.parametrize("fitted", [True, False])
def test_times_are_the_measured_ones(fitted: bool) -> None:
    """Of each class and of all: 25 % in the median from 1 MiB on, 10 % from 64 MiB on."""
    rows = STORED[(STORED["fitted"] == fitted) & (STORED["run"] != "aws-p5-2x8-eks-nccl2.18.5")]
    for _, part in [*rows.groupby("links"), ("all", rows)]:
        assert part["error"].abs().median() < 0.25
        assert part["error"][part["bytes"] >= 1 << 26].abs().median() < 0.1


def test_stored_rows_are_those_of_the_classes(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCOSIM_SHARED", str(shared_dir))
    found = links.table()
    for column in ("links", "run", "nodes", "gpus", "bytes", "fitted"):
        assert found[column].tolist() == STORED[column].tolist()
    for column in ("measured_s", "simulated_s"):
        assert found[column].to_numpy() == pytest.approx(STORED[column].to_numpy(), rel=1e-5)


def test_constants_are_those_of_the_fitted_rows(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCOSIM_SHARED", str(shared_dir))
    rows = links.measured_rows()
    name = "gh200-slingshot"
    found, shipped = links.fit(name, rows[rows["links"] == name], "ring"), LINKS[name]
    assert found.switch_bytes == shipped.switch_bytes
    for one, other in ((found.small, shipped.small), (found.large, shipped.large)):
        assert one.efficiency == other.efficiency
        assert one.start_s == pytest.approx(other.start_s, abs=0.6e-6)
    rings, shipped = links.fit_rings(rows[rows["links"] == links.SIMAI]), LINKS[links.SIMAI]
    constants = (shipped.large.start_s * 1e6, shipped.step_s * 1e6, shipped.large.efficiency)
    assert rings == pytest.approx(constants, rel=0.01)


def test_rings_over_all_nics_take_their_bytes_by_packets() -> None:
    """Two servers of H100s: what is left out where SimAI's rows are compared is below 1 %.

    The NVLink of H800s is slower: 7/8 of a GPU's bytes, 200 GB/s.
    """
    section = {"links": links.SIMAI, "sizes": [1 << 26]}
    sent = 2 * 15 / 16 * (1 << 26)
    for machine, seconds in (
        ({"family": "gpu-cluster"}, sent / 0.97 / 400e9),
        ({"preset": "deepseek-h800"}, sent * 7 / 8 / 200e9),
    ):
        network = machine | {"nodes": 2, "packet": links.PACKET}
        config = curve_from({"machine": network, "collective": section})
        [one] = points(config, build_machine(config.machine).topology, "all-reduce")
        closed = 50e-6 + 30 * 4.3e-6 + seconds
        assert collective_point(one)["collective"][0]["time_s"] == pytest.approx(closed, rel=0.015)
