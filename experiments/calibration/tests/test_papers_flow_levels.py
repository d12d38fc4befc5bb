"""The comparison of flow and packet level as a figure of the calibration, and its stored table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cosim.run_times.flow_errors import (
    ALL,
    CHAIN,
    FLOW_ERRORS,
    ONE,
    SEVERAL,
    FlowError,
    Key,
    class_texts,
    flow_error_text,
    flow_warnings,
    size_class,
    traffic_class,
)
from experiments.calibration.flow_levels import (
    MACHINES,
    analyse,
    draw,
    points,
    run_point,
)
from experiments.kit.papers import Options
from netsim.flow.job_messages import job_messages
from netsim.packet.model import PacketConfig
from netsim.routing.registry import make_routing, routings_for
from netsim.topologies.fattree import fat_tree
from netsim.topologies.graph import graph
from netsim.topologies.torus import torus
from patterns.registry import make_pattern

STUDY = Path(__file__).resolve().parents[1]
DOCS = STUDY.parents[1] / "docs"


def made(flow: list[float], packet: list[float], shares: list[bool]) -> pd.DataFrame:
    n = len(flow)
    return pd.DataFrame({
        "study": ["8 kB"] * n, "machine": ["fat-tree 10"] * n, "kind": ["static"] * n,
        "routing": ["d-mod-k"] * n, "policy": ["random"] * n, "mix": range(n),
        "family": ["fattree"] * n, "pattern": ["shift"] * n, "n_nodes": [2] * n,
        "traffic": [ONE] * n, "nodes": ["2-4"] * n,
        "shares": shares, "flow": flow, "packet": packet,
    })  # fmt: skip


def test_every_family_and_routing_is_judged() -> None:
    """But for a user's own graph, for comparisons with merlin, and for hashed and pinned flows."""
    found = points(Options(scale="full"))
    assert {(MACHINES[str(p["machine"])]["family"], p["routing"]) for p in found} == {
        (family, name)
        for family in ("fattree", "dragonfly", "torus", "hypercube", "hyperx", "slimfly")
        for name in routings_for(family)
        if name not in ("min-hop", "adaptive-shortest-path", "ecmp", "spray", "pinned")
        and not name.startswith("merlin-")
    }
    drawn = ("machine", "routing", "study", "mix", "seed")
    assert len({tuple(p[name] for name in drawn) for p in found}) == len(found)
    assert {p["seed"] for p in found} == {1, 2, 3}


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
    table = analysis.tables["errors"]
    row = table.iloc[0]
    # errors 0, 0.01, 0.02, 0.03; of always 1: 0, 0, 0, 0.5
    assert row["n_jobs"] == 4
    assert row["error_p50"] == pytest.approx(0.015)
    assert (row["error_p90"], row["error_p99"]) == pytest.approx((0.027, 0.0297))
    assert (row["one_p50"], row["one_p90"]) == pytest.approx((0.0, 0.35))
    assert row["extra_ratio"] == pytest.approx(1.09)
    claims = analysis.claims[analysis.claims["condition"] == "fattree, d-mod-k"]
    verdicts = dict(zip(claims["claim"], claims["verdict"], strict=True))
    assert [v for k, v in verdicts.items() if "error_p50" in k] == ["differs"]
    assert [v for k, v in verdicts.items() if "error_p90" in k] == ["holds"]
    # a row of the routing, of all static ones, and of the class, its traffic and its nodes
    classes = [tuple(row[:4]) for row in table.itertuples(index=False)]
    assert classes == [("fattree", "d-mod-k", ALL, ALL)] + [
        (ALL, "static", traffic, nodes) for traffic, nodes in
        ((ALL, ALL), (ONE, ALL), (ALL, "2-4"), (ONE, "2-4"))
    ]  # fmt: skip
    # no paper says anything of it
    assert analysis.claims["paper"].isna().all()
    assert "4 jobs that share links: median error 1.5%, 90th percentile 2.7%" in analysis.notes[0]
    assert "always 1: 0.0%, 35.0%" in analysis.notes[0]
    axes = draw(analysis, Options(scale="quick")).axes
    assert [len(ax.collections[-1].get_offsets()) for ax in axes] == [4]


def test_the_page_says_what_the_table_says() -> None:
    """The table of coupled.md, and its two totals in docs/flow-model.md."""
    text = (STUDY / "coupled.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("<!-- flow errors -->\n")
    found = rest.partition("<!-- end -->")[0].splitlines()[2:]

    def percent(known: FlowError, *names: str) -> str:
        return ", ".join(f"{100 * getattr(known, name):.1f}" for name in names)

    rows = {
        key: f"| {key.family}, {key.routing} | {key.traffic} | {key.nodes} | {known.n_jobs} "
        f"| {percent(known, 'error_p50', 'error_p90', 'error_p99')} "
        f"| {known.extra_ratio:.2f} | {percent(known, 'one_p50', 'one_p90')} |"
        for key, known in FLOW_ERRORS.items()
    }
    assert found == list(rows.values())
    static, adaptive = (Key(ALL, kind, ALL, ALL) for kind in ("static", "adaptive"))
    model = (DOCS / "flow-model.md").read_text(encoding="utf-8")
    assert [key for key in (static, adaptive) if rows[key] not in model] == []


def test_classes_by_hand() -> None:
    """A shift sends one message; a halo four in a step; of 9 ranks all to all in 8 steps."""
    for pattern, n, expected in (
        ("shift", 9, ONE),
        ("halo2d", 9, SEVERAL),
        ("all-to-all", 9, CHAIN),
        ("all-to-all", 8, ONE),
        ("all-to-all", 40, CHAIN),
    ):
        program = make_pattern(pattern, n, 1000, 1, np.random.default_rng(1))
        assert traffic_class(job_messages(program, 1, PacketConfig())) == expected
    sizes = [size_class(n) for n in (2, 4, 5, 12, 13, 32, 33, 5000)]
    assert sizes == [s for s in ("2-4", "5-12", "13-32", "33 or more") for _ in range(2)]


def test_a_routing_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, ring = make_routing(fat_tree(4), "d-mod-k"), make_routing(torus((3, 3)))
    good = FlowError(1234, 0.1, 0.3, 0.4, 0.2, 0.5, 1.0)
    bad = FlowError(99, 0.3, 0.6, 0.9, 0.2, 0.5, 1.0)
    monkeypatch.setitem(FLOW_ERRORS, Key("fattree", "d-mod-k", ALL, ALL), good)
    monkeypatch.setitem(FLOW_ERRORS, Key("torus", "dimension-order", ALL, ALL), bad)
    monkeypatch.setitem(FLOW_ERRORS, Key(ALL, "static", ONE, "2-4"), good)
    monkeypatch.setitem(FLOW_ERRORS, Key(ALL, "static", CHAIN, "2-4"), bad)
    assert flow_error_text(tree) == (
        "Flow level (fattree, d-mod-k): on mixes that were not used for choosing, the median / "
        "90th percentile error of a job's run time is 10.0% / 30.0%, always answering 1 gives "
        "20.0% / 50.0% (1,234 jobs that share links)."
    )
    classes = [(ONE, "2-4"), (CHAIN, "2-4")]
    assert class_texts(tree, classes)[1] == (
        "Flow level, static routings, jobs of 2-4 nodes with 8 steps or more: the median / 90th "
        "percentile error of a job's run time is 30.0% / 60.0%, always answering 1 gives 20.0% / "
        "50.0% (99 jobs that share links); always 1 is nearer."
    )
    short = FlowError(99, 0.1, 0.3, 0.4, 0.2, 0.5, 0.5)
    monkeypatch.setitem(FLOW_ERRORS, Key(ALL, "static", SEVERAL, "2-4"), short)
    (text,) = class_texts(tree, [(SEVERAL, "2-4")])
    assert text.endswith("; it adds 0.50 times the time that packets add.")
    assert flow_warnings(tree, classes) == class_texts(tree, classes)[1:]
    assert flow_warnings(tree, classes[:1]) == []
    assert flow_warnings(ring, classes[:1]) == [flow_error_text(ring)]
    assert flow_error_text(ring).endswith("; always 1 is nearer.")
    own = make_routing(graph(complete(3)))
    assert "not known for graph, shortest-path" in flow_warnings(own, [])[0]


def complete(n: int):
    import networkx as nx

    network = nx.complete_graph(n)
    nx.set_node_attributes(network, 1, "nodes")
    return network


def test_who_is_further_in_both_is_no_help() -> None:
    assert FlowError(1, 0.1, 0.2, 0.3, 0.1, 0.2, 1.0).helps
    assert FlowError(1, 0.11, 0.2, 0.3, 0.1, 0.2, 1.0).helps
    assert FlowError(1, 0.1, 0.21, 0.3, 0.1, 0.2, 1.0).helps
    assert not FlowError(1, 0.11, 0.21, 0.3, 0.1, 0.2, 1.0).helps
    assert np.isfinite(list(FLOW_ERRORS.values())).all()
