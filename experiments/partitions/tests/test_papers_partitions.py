"""The partition paper: printed tables against simulated, pairing against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from alloc.bluegene.geometries import partition_bisection, partition_dims
from alloc.bluegene.pairing import furthest_nodes, partition
from experiments.kit.data import read_printed
from experiments.kit.papers import Options
from experiments.partitions.bisections import compare_cells, computed, printed_table
from experiments.partitions.machines import MACHINES, bisections, geometry_for
from experiments.partitions.multiplication import multiplication, spread_ranks
from experiments.partitions.pairing import pairing
from experiments.partitions.paper import PAPER
from netsim.errors import NetcosimError
from netsim.topologies.presets import PRESETS

printed = read_printed("partitions")
TABLES = sorted(printed["tables"])


def frames(figure, options):
    pd = pytest.importorskip("pandas")
    rows = {}
    module = {"bisections": bisections, "pairing": pairing, "multiplication": multiplication}
    function = module[PAPER.figure(figure).function.partition(":")[2]]
    for point in PAPER.figure(figure).points(options):
        for name, found in function(point).items():
            rows.setdefault(name, []).extend(found)
    return {name: pd.DataFrame(found) for name, found in rows.items()}


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_of_the_paper(name):
    analysis = PAPER.figure(name).analyse(frames(name, Options()), Options())
    cells = analysis.tables["cells"]
    assert len(cells) == printed_table(name).size
    assert cells[~cells["equal"]].empty
    assert (analysis.claims["verdict"] == "holds").all()


def test_printed_tables_are_those_of_the_paper(shared_dir):
    """What was typed in, against the paper's own text."""
    papers = list((shared_dir / "papers").glob("oltchik*.txt"))
    if not papers:
        pytest.skip("the paper's text is not here")
    text = papers[0].read_text(encoding="utf-8")
    for name in TABLES:
        table = printed_table(name)
        at = text.index(f"**Table {name.removeprefix('table')}:")
        found = []
        for line in text[at:].splitlines()[1:]:
            cells = [c.strip().strip("$").replace(" \\times ", "x") for c in line.split("\t")]
            if cells[0].isdigit():
                found.append([*cells, *[""] * (len(table.columns) - len(cells))])
            elif found and line.strip():
                break
        assert found == table.astype(str).to_numpy().tolist()


def test_a_wrong_cell_is_found():
    partitions = frames("table1", Options())["partitions"]
    partitions.loc[partitions["geometry"] == "2x2x1x1", "bisection"] = 513
    cells = compare_cells(printed_table("table1"), computed("table1", partitions))
    wrong = cells[~cells["equal"]]
    assert wrong[["Midplanes", "column", "paper", "simulated"]].to_numpy().tolist() == [
        [4, "Proposed BW", 512, 513]
    ]


def test_machines_are_the_presets():
    for name in ("mira", "juqueen", "sequoia"):
        assert PRESETS[f"{name}-midplanes"].params["dims"] == MACHINES[name]
        assert PRESETS[name].params["dims"] == partition_dims(MACHINES[name])


def test_furthest_nodes_pair_up_at_the_diameter():
    dims = partition_dims((3, 2, 1, 1))
    far = furthest_nodes(dims)
    here, there = (np.stack(np.unravel_index(n, dims)) for n in (np.arange(len(far)), far))
    hops = np.abs(here - there)
    lengths = np.array(dims)[:, None]
    assert (np.minimum(hops, lengths - hops).sum(axis=0) == sum(d // 2 for d in dims)).all()
    assert (far[far] == np.arange(len(far))).all()


def one(engine, midplanes, choice, machine="mira", **changes):
    config = {
        "machine": machine,
        "choice": choice,
        "midplanes": midplanes,
        "engine": engine,
        "routing": "dimension-order" if engine == "flow" else "minimal-adaptive",
        "message_bytes": 16384,
        "chunks": 1,
        "rounds": 6,
        "warmup_rounds": 2,
        "packet_bytes": 2048,
        "buffer_bytes": 65536,
    }
    return pairing(config | changes)["pairing"][0]


@pytest.mark.parametrize(("midplanes", "speedup"), [(4, 2.0), (8, 2.0), (16, 2.0), (24, 4 / 3)])
def test_flow_pairing_on_mira_is_the_ratio_of_bisections(midplanes, speedup):
    # The paper's text says 1.50 for 24 midplanes; its Table 1 says 2048 / 1536.
    current, proposed = (
        one("flow", midplanes, c, message_bytes=134_200_000, chunks=16, rounds=26, warmup_rounds=4)
        for c in ("mira-current", "mira-proposed")
    )
    assert current["time_s"] / proposed["time_s"] == pytest.approx(speedup, rel=1e-9)
    for row in (current, proposed):
        for key in ("time_s", "slowest_s"):
            assert row[key] == pytest.approx(row["bound_s"], rel=1e-9)
        # All bytes of one half over the links of the bisection.
        half = 26 * 16 * 134_200_000 * 512 * midplanes / 2
        links = partition_bisection(tuple(map(int, str(row["geometry"]).split("x"))))
        assert row["time_s"] == pytest.approx(half / links / 2e9, rel=1e-9)


def test_flow_pairing_on_juqueen():
    for midplanes in (4, 6, 8, 12, 16, 24):
        times = [one("flow", midplanes, c, "juqueen")["time_s"] for c in ("worst", "best")]
        assert times[0] / times[1] == pytest.approx(2.0, rel=1e-9)


def test_packet_pairing_agrees_with_the_bisections():
    current, proposed = (one("packet", 4, c) for c in ("mira-current", "mira-proposed"))
    assert current["time_s"] / proposed["time_s"] == pytest.approx(2.0, rel=0.05)
    for row in (current, proposed):
        assert row["bound_s"] <= row["time_s"] <= 1.1 * row["bound_s"]


def test_packets_of_several_chunks_and_no_warmup():
    row = one("packet", 1, "mira-current", chunks=2, warmup_rounds=0, rounds=3)
    assert row["bound_s"] == pytest.approx(3 * 2 * 16384 / 2e9)
    assert row["bound_s"] <= row["time_s"] <= 1.25 * row["bound_s"]


def test_ranks_are_spread_evenly():
    for mapping in ("blocks", "cyclic", "random"):
        counts = np.bincount(spread_ranks(mapping, 31213, 2048, 3), minlength=2048)
        assert set(counts.tolist()) == {15, 16}
    for row in (*printed["multiplication"]["table_3"], *printed["multiplication"]["table_4"]):
        counts = np.bincount(spread_ranks("blocks", row["ranks"], 512 * row["midplanes"], 0))
        assert counts.max() <= row["max_cores"]
    with pytest.raises(NetcosimError, match="unknown spread of ranks 'abc'"):
        spread_ranks("abc", 1, 1, 0)


def test_multiplication_loads_by_hand():
    """7^3 ranks on one midplane, by walking every message over its rings."""
    config = {
        "machine": "mira",
        "choice": "mira-current",
        "midplanes": 1,
        "ranks": 343,
        "matrix_dim": 343 * 8,
        "mapping": "cyclic",
        "first_groups": "far",
        "routing": "dimension-order",
        "seed": 0,
    }
    rows = multiplication(config)["multiplication"]
    share = 8 * (343 * 8 / 2) ** 2 / 343
    topology = partition((1, 1, 1, 1))
    shape = topology.shape
    for level, row in enumerate(rows):
        stride = 343 // 7 ** (level + 1)
        one_way = round(2 * share * 1.75**level) + round(share * 1.75**level)
        hops = 0
        for rank in range(343):
            digit = rank // stride % 7
            for other in range(7):
                if other == digit:
                    continue
                a, b = (shape.coords(r) for r in (rank, rank + (other - digit) * stride))
                rings = zip(a, b, shape.dims, strict=True)
                # Injection and ejection count, too.
                hops += 2 + sum(min((x - y) % d, (y - x) % d) for x, y, d in rings)
        assert row["network_bytes"] == pytest.approx(hops * one_way)
        assert row["time_s"] > 0
    assert len(rows) == 3


def test_figures_make_their_points_and_tables(tmp_path):
    options = Options(scale="quick")
    for name in ("fig1", "fig2", "fig7", "fig6"):
        figure = PAPER.figure(name)
        analysis = figure.analyse(frames(name, options), options)
        drawing = figure.draw(analysis, options)
        assert drawing.axes[0].get_xlabel() == "midplanes"
        assert len(analysis.claims)
    assert len(PAPER.figure("fig3").points(Options())) == 16
    assert len(PAPER.figure("fig5").points(Options())) == 4 * 3 * 2 * 2


def test_mistakes_are_told():
    with pytest.raises(NetcosimError, match="unknown machine 'titan'"):
        geometry_for("titan", "best", 4)
    with pytest.raises(NetcosimError, match="unknown choice"):
        geometry_for("mira", "good", 4)
    with pytest.raises(NetcosimError, match="unknown size of mira"):
        one("flow", 5, "mira-current")
    with pytest.raises(NetcosimError, match="valid: flow, packet"):
        one("steam", 4, "mira-current")
    with pytest.raises(NetcosimError, match="unknown routing of partitions"):
        PAPER.check(Options(routings=("ugal-l",)))
