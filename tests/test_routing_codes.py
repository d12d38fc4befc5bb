"""Tables that do not fit their routing's code are refused before a kernel reads them."""

from __future__ import annotations

import numpy as np
import pytest

from netsim.errors import NetcosimError
from netsim.routing.kernels import route, static_route
from netsim.routing.kernels_codes import CODES, RoutingCode, RoutingRule
from netsim.routing.make_tables import make_tables
from netsim.routing.registry import make_routing, routings_for
from netsim.routing.tables import LinkView, RouteTables
from netsim.topologies.registry import FAMILIES, make_topology
from netsim.topologies.torus import torus
from netsim.topology import Topology

TORUS = torus((4, 4))


def small_machines() -> list[Topology]:
    return [
        make_topology(family.name, dict(shape))
        for family in FAMILIES.values()
        for shape in family.small[:2]
    ]


def remade(topology: Topology, tables: RouteTables, **changes: object) -> RouteTables:
    given = {
        key: getattr(tables, key)
        for key in ("code", "n_vcs", "params", "table_a", "table_b", "table_c")
    }
    return make_tables(topology, **(given | changes))


def test_every_code_has_one_rule() -> None:
    assert sorted(code for codes in CODES.values() for code in codes) == sorted(RoutingCode)
    assert set(CODES) == set(RoutingRule)


def test_a_code_without_a_rule_has_no_link() -> None:
    machine = torus((4, 4))
    tables = make_routing(machine, "dimension-order").tables
    idle = np.zeros(machine.n_links, dtype=np.int64)
    room = np.zeros(machine.n_links * tables.n_vcs, dtype=np.int64)
    view = LinkView(0, idle, idle, room, room, tables.n_vcs, 0)
    # 6 follows the codes of tables, 32 those of tori
    for code in (0, 6, 32):
        unknown = tables._replace(code=code)
        assert route(unknown, 0, 5, 0, np.uint64(1), 1, view) == (-1, 0, 0)
        assert static_route(unknown, 0, 5, 0, view) == (-1, 0, 0)


def test_tables_of_every_routing_fit_their_code() -> None:
    seen = set()
    for topology in small_machines():
        for name in routings_for(topology.family):
            tables = make_routing(topology, name).tables
            again = remade(topology, tables)
            assert tables.code in list(RoutingCode)
            for one, other in zip(tables, again, strict=True):
                assert np.array_equal(one, other)
            seen.add(tables.code)
    machine = make_topology("dragonfly", {"p": 2, "a": 2, "g": 5})
    for name in ("valiant", "ugal-l"):
        routing = make_routing(machine, name, {"valiant_intermediate": "node"})
        seen.add(routing.tables.code)
    # those that need a partition or tables of a user
    assert set(RoutingCode) - seen <= {RoutingCode.PARTITION, RoutingCode.WEIGHTED}


@pytest.mark.parametrize("code", [-1, 0, 6, 25, 32, 44, 52, 99, 2**40])
def test_an_unknown_code_is_refused(code: int) -> None:
    with pytest.raises(NetcosimError, match=f"routing code = {code}; valid: 1 ") as caught:
        remade(TORUS, make_routing(TORUS, "dimension-order").tables, code=code)
    assert "\n" not in str(caught.value)


def test_tables_of_another_family_are_refused() -> None:
    """The code of another family, with the tables that a routing has: a segmentation fault once."""
    for topology in {t.family: t for t in small_machines()}.values():
        for name in routings_for(topology.family):
            tables = make_routing(topology, name).tables
            for code in RoutingCode:
                # families begin at 1, 10, 20, ...; shapes are alike within one but for table_a,
                # and those from 50 on are dragonflies' too
                family, other = (c // 10 % 4 if c >= 50 else c // 10 for c in (tables.code, code))
                if family != other:
                    with pytest.raises(NetcosimError, match=rf"routing code {int(code)} \("):
                        remade(topology, tables, code=code)


def test_short_tables_are_refused() -> None:
    for topology in small_machines():
        for name in routings_for(topology.family):
            tables = make_routing(topology, name).tables
            for key in ("params", "table_a", "table_b", "table_c"):
                if key == "params":
                    short = tables.params[:2]
                else:
                    short = getattr(tables, key)[:-1]
                if len(getattr(tables, key)) and not (key == "table_c" and len(short) > 1e9):
                    with pytest.raises(NetcosimError, match="routing code") as caught:
                        remade(topology, tables, **{key: short})
                    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("dimension-order", {"table_a": np.full(64, 10**6)}, "table_a has links 0 to 1000000"),
        ("dimension-order", {"n_vcs": 0}, "n_vcs = 0; it must be at least 1"),
        ("dimension-order", {"params": (0, 9, 2, 4, 4, 1, 1, 0)}, "9 dimensions need 22"),
        (
            "dimension-order",
            {"params": (0, 2, 2, 4, 5, 1, 1, 0)},
            "params name 20 routers; it has 16",
        ),
        ("min-hop", {"params": (0, 17, 1)}, "params name 17 entries a router; it has 16"),
        ("adaptive-shortest-path", {"table_a": np.full(256, 10**6)}, "lists begin at 0 to 1000000"),
        ("adaptive-shortest-path", {"table_c": np.full(999, 998)}, "does not end within table_c"),
    ],
)
def test_wrong_entries_are_refused(name: str, changes: dict[str, object], told: str) -> None:
    with pytest.raises(NetcosimError) as caught:
        remade(TORUS, make_routing(TORUS, name).tables, **changes)
    assert told in str(caught.value)
