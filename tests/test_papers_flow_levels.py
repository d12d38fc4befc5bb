"""The comparison of flow and packet level as a figure of the calibration."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.papers.flow_levels import CASES, analyse, draw, points, run_point
from experiments.papers.paper import Options


def made(flow: list[float], packet: list[float], study: str = "20 kB") -> pd.DataFrame:
    n = len(flow)
    return pd.DataFrame({
        "study": [study] * n, "machine": ["fat-tree"] * n, "routing": ["d-mod-k"] * n,
        "policy": ["random"] * n, "mix": range(n), "pattern": ["pairs"] * n, "n_nodes": [2] * n,
        "flow": flow, "packet": packet,
    })  # fmt: skip


def test_points_cover_all_cases_and_share_their_jobs() -> None:
    """Static and adaptive routing of one machine see the same jobs on the same nodes."""
    quick = points(Options(scale="quick"))
    assert {(p["machine"], p["routing"]) for p in quick} == {case[:2] for case in CASES}
    assert len(points(Options(scale="full"))) == len(CASES) * 112
    static, adaptive = (
        run_point(next(p for p in quick if p["routing"] == name))["jobs"]
        for name in ("d-mod-k", "adaptive")
    )
    for key in ("pattern", "n_nodes"):
        assert [row[key] for row in static] == [row[key] for row in adaptive]
    assert all(float(str(row[level])) >= 1 for row in static for level in ("flow", "packet"))


def test_only_asked_routings() -> None:
    found = points(Options(scale="quick", routings=("minimal",)))
    assert {p["routing"] for p in found} == {"minimal"}


def test_errors_by_hand() -> None:
    flow, packet = [1.0, 1.1, 1.2, 2.6], [1.0, 1.0, 1.0, 2.0]
    analysis = analyse({"jobs": made(flow, packet)}, Options(scale="quick"))
    row = analysis.tables["errors"].iloc[-1]
    # errors 0, 0.1, 0.2, 0.3
    assert row["error_p50"] == pytest.approx(0.15)
    assert row["error_p90"] == pytest.approx(0.27)
    assert row["mean_flow"] == pytest.approx(1.475)
    verdicts = dict(zip(analysis.claims["claim"], analysis.claims["verdict"], strict=True))
    assert [v for k, v in verdicts.items() if "error_p50" in k] == ["differs"]
    assert [v for k, v in verdicts.items() if "error_p90" in k] == ["holds"]
    axes = draw(analysis, Options(scale="quick")).axes
    assert [len(ax.collections[-1].get_offsets()) for ax in axes] == [4]
