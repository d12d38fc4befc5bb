"""The comparison of flow and packet level as a figure of the calibration, and its stored table."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cosim.run_times.flow_errors import FLOW_ERRORS, FlowError, flow_error_text, flow_warning
from experiments.calibration.flow_levels import (
    CHOSEN_ON,
    HELD_OUT,
    MACHINES,
    PATTERNS,
    SHARING,
    analyse,
    draw,
    points,
    run_point,
)
from netcosim.reproduce.paper import Options
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus

STUDY = Path(__file__).resolve().parents[1]
DOCS = STUDY.parents[1] / "docs"


def made(flow: list[float], packet: list[float], shares: list[bool]) -> pd.DataFrame:
    n = len(flow)
    return pd.DataFrame({
        "mixes": [HELD_OUT] * n, "study": ["8 kB"] * n, "machine": ["fat-tree 6"] * n,
        "routing": ["d-mod-k"] * n, "policy": ["random"] * n, "mix": range(n),
        "family": ["fattree"] * n, "pattern": ["shift"] * n, "n_nodes": [2] * n,
        "shares": shares, "flow": flow, "packet": packet,
    })  # fmt: skip


def test_held_out_mixes_share_neither_machine_nor_size_nor_draws() -> None:
    """And most patterns are others; the seeds follow from the point's content."""
    found = points(Options(scale="full"))
    chosen, held = ([p for p in found if p["mixes"] == which] for which in (CHOSEN_ON, HELD_OUT))
    for key in ("machine", "message_bytes"):
        assert not {p[key] for p in chosen} & {p[key] for p in held}
    assert len(set(PATTERNS[HELD_OUT]) - set(PATTERNS[CHOSEN_ON])) == 7
    for which, part in ((CHOSEN_ON, chosen), (HELD_OUT, held)):
        assert {p["machine"] for p in part} == {n for n, m in MACHINES.items() if m["set"] == which}
    for families in (chosen, held):
        routed = {(p["machine"], p["routing"]) for p in families}
        tori = {routing for machine, routing in routed if str(machine).startswith("torus")}
        assert {"dimension-order", "minimal-adaptive"} <= tori
    # every family and routing that a queue can have, but for a user's own graph and its routings,
    # for those that serve comparisons with merlin, and for hashed, sprayed and pinned flows
    assert {(MACHINES[str(p["machine"])]["family"], p["routing"]) for p in held} == {
        (family, name)
        for family in ("fattree", "dragonfly", "torus", "hypercube", "hyperx", "slimfly")
        for name in routings_for(family)
        if name not in ("min-hop", "adaptive-shortest-path", "ecmp", "spray", "pinned")
        and not name.startswith("merlin-")
    }


def test_routings_of_a_machine_share_their_jobs() -> None:
    """Static and adaptive routing of one machine see the same jobs on the same nodes."""
    quick = points(Options(scale="quick"))
    static, adaptive = (
        run_point(next(p for p in quick if p["routing"] == name))["jobs"]
        for name in ("d-mod-k", "adaptive")
    )
    for key in ("pattern", "n_nodes"):
        assert [row[key] for row in static] == [row[key] for row in adaptive]
    assert all(float(str(row[level])) >= 1 for row in static for level in ("flow", "packet"))
    assert {type(row["shares"]) for row in static} == {bool}


def test_only_asked_routings() -> None:
    found = points(Options(scale="quick", routings=("minimal",)))
    assert {p["routing"] for p in found} == {"minimal"}


def test_errors_by_hand() -> None:
    """Jobs that share nothing are 1 at both levels and count for nothing."""
    flow, packet = [1.0, 1.0, 1.0, 1.01, 1.02, 2.06], [1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    shares = [False, False, True, True, True, True]
    analysis = analyse({"jobs": made(flow, packet, shares)}, Options(scale="quick"))
    row, longer = (analysis.tables["families"].iloc[k] for k in (0, 1))
    # errors 0, 0.01, 0.02, 0.03; of always 1: 0, 0, 0, 0.5
    assert row["jobs"] == SHARING
    assert row["n_jobs"] == 4
    assert row["error_p50"] == pytest.approx(0.015)
    assert row["error_p90"] == pytest.approx(0.027)
    assert (row["one_p50"], row["one_p90"]) == pytest.approx((0.0, 0.35))
    assert row["signed_mean"] == pytest.approx(0.015)
    assert row["extra_ratio"] == pytest.approx(1.09)
    assert (longer["n_jobs"], longer["error_p50"]) == (1, pytest.approx(0.03))
    claims = analysis.claims[analysis.claims["condition"] == "fattree, d-mod-k"]
    verdicts = dict(zip(claims["claim"], claims["verdict"], strict=True))
    assert [v for k, v in verdicts.items() if "error_p50" in k] == ["differs"]
    assert [v for k, v in verdicts.items() if "error_p90" in k] == ["holds"]
    assert [v for k, v in verdicts.items() if "extra_ratio" in k] == ["holds"]
    # no paper says anything of it
    assert analysis.claims["paper"].isna().all()
    assert "4 jobs that share links: median error 1.5%, 90th percentile 2.7%" in analysis.notes[0]
    assert "always 1: 0.0%, 35.0%" in analysis.notes[0]
    axes = draw(analysis, Options(scale="quick")).axes
    assert [len(ax.collections[-1].get_offsets()) for ax in axes] == [4]


def stored() -> list[dict[str, str]]:
    with (STUDY / "tables" / "flow-errors.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_known_errors_are_those_of_the_stored_table() -> None:
    rows = {
        (row["family"], row["routing"]): row
        for row in stored()
        if row["mixes"] == HELD_OUT and row["jobs"] == SHARING and row["family"] != "all"
    }
    assert set(rows) == set(FLOW_ERRORS)
    for key, known in FLOW_ERRORS.items():
        assert known.n_jobs == int(rows[key]["n_jobs"])
        for name in FlowError._fields[1:]:
            assert getattr(known, name) == pytest.approx(float(rows[key][name]), abs=1e-9)


def test_the_page_says_what_the_stored_table_says() -> None:
    """The table of coupled.md, its two totals in docs/flow-model.md, the numbers of the README."""
    text = (STUDY / "coupled.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- flow errors -->\n")
    found = [line for line in rest.partition("<!-- end -->")[0].splitlines() if "| " in line][1:]
    rows: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in stored():
        rows.setdefault((row["mixes"], row["family"], row["routing"]), []).append(row)

    def percent(row: dict[str, str], *names: str) -> str:
        return ", ".join(f"{100 * float(row[name]):.1f}" if row[name] else "-" for name in names)

    expected = []
    for (mixes, family, routing), (sharing, longer) in rows.items():
        expected.append(
            f"| {mixes} | {family}, {routing} | {int(sharing['n_jobs']):,} "
            f"| {percent(sharing, 'error_p50', 'error_p90')} "
            f"| {100 * float(sharing['signed_mean']):+.1f} | {float(sharing['extra_ratio']):.2f} "
            f"| {percent(sharing, 'one_p50', 'one_p90')} | {int(longer['n_jobs']):,} "
            f"| {percent(longer, 'error_p50', 'error_p90')} "
            f"| {percent(longer, 'one_p50', 'one_p90')} |"
        )
    assert found == expected
    model = (DOCS / "flow-model.md").read_text(encoding="utf-8")
    totals = [line for line in expected if line.startswith(f"| {HELD_OUT} | all, ")]
    assert [line for line in totals if line not in model] == []
    static, adaptive = (rows[HELD_OUT, "all", which][0] for which in ("static", "adaptive"))
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    phrase = (
        f"run times {percent(static, 'error_p50')} % from packets in the median and "
        f"{percent(static, 'error_p90')} % at the 90th percentile under static routings, "
        f"{percent(adaptive, 'error_p50')} and {percent(adaptive, 'error_p90')} % under adaptive "
        "ones, among jobs that share links"
    )
    assert phrase in " ".join(readme.split())


def test_a_routing_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, ring = make_routing(fat_tree(4), "d-mod-k"), make_routing(torus((3, 3)))
    good, bad = FlowError(1234, 0.1, 0.3, 0.2, 0.5), FlowError(99, 0.1, 0.6, 0.2, 0.5)
    monkeypatch.setitem(FLOW_ERRORS, ("fattree", "d-mod-k"), good)
    monkeypatch.setitem(FLOW_ERRORS, ("torus", "dimension-order"), bad)
    assert flow_error_text(tree) == (
        "Flow level (fattree, d-mod-k): on mixes that were not used for choosing, the median / "
        "90th percentile error of a job's run time is 10.0% / 30.0%, always answering 1 gives "
        "20.0% / 50.0% (1,234 jobs that share links)."
    )
    assert flow_warning(tree) is None
    assert flow_warning(ring) == flow_error_text(ring)
    own = make_routing(graph(complete(3)))
    assert "not known for graph, shortest-path" in str(flow_warning(own))


def complete(n: int):
    import networkx as nx

    network = nx.complete_graph(n)
    nx.set_node_attributes(network, 1, "nodes")
    return network


def test_medians_alone_or_tails_alone_are_no_help() -> None:
    assert FlowError(1, 0.1, 0.2, 0.1, 0.2).helps
    assert not FlowError(1, 0.11, 0.2, 0.1, 0.2).helps
    assert not FlowError(1, 0.1, 0.21, 0.1, 0.2).helps
    assert np.isfinite(list(FLOW_ERRORS.values())).all()
