"""Recipes: one name sets the router and the routing; keys beside it override."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.kit.small_machines import n_small, small_machine
from netcosim.catalogue import describe, entries
from netcosim.config.load import config_from
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.routing.deadlock import find_cycle
from netsim.routing.registry import RECIPES, make_routing
from netsim.topologies.registry import FAMILIES

DRAGONFLY = {"family": "dragonfly", "p": 4, "a": 4, "g": 17}
FATTREE = {"family": "fattree", "radix": 4}
TORUS = {"family": "torus", "dims": [4, 4]}
TINY = {
    "workload": {"synthetic": {"n_jobs": 2, "run_time_range": ["1 min", "1 h"]}},
    "queue": {"policies": ["random"]},
}


def machine(**keys: object) -> Any:
    """The machine section of a config, as it is stored."""
    return config_from({**TINY, "machine": keys}).resolved()["machine"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_what_it_stands_for(name: str) -> None:
    recipe = RECIPES[name]
    spelled: dict[str, Any] = {**recipe.routing_parameters, "packet": dict(recipe.packet_keys)}
    if recipe.routing is not None:
        spelled["routing"] = recipe.routing
    family = [*recipe.families, "dragonfly"][0]
    of = {"dragonfly": DRAGONFLY, "fattree": FATTREE, "torus": TORUS}[family]
    assert machine(**of, recipe=name) == machine(**of, **spelled)
    assert recipe.packet_config() == PacketConfig(**recipe.packet_keys)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_cannot_deadlock_where_it_serves(name: str) -> None:
    recipe = RECIPES[name]
    for family in FAMILIES:
        if recipe.serves(family) and n_small(family):
            assert find_cycle(recipe.make_routing(small_machine(family, 0, {}))) is None


def test_keys_beside_a_recipe_override_it() -> None:
    changed = machine(**DRAGONFLY, recipe="merlin", packet={"router_latency": "1 us"})
    assert changed["packet"]["router_latency_s"] == 1e-6
    assert changed["packet"]["arbitration"] == "merlin-lru"
    other = machine(**DRAGONFLY, recipe="merlin", routing="merlin-valiant")
    assert other == machine(**DRAGONFLY, recipe="merlin-valiant")
    for key in ("ugal_bias", "ugal_bias_s"):
        biased = machine(**DRAGONFLY, recipe="booksim2", **{key: "1 us"})
        assert biased["routing_parameters"]["ugal_bias_s"] == 1e-6
        assert biased["routing_parameters"]["ugal_weight"] == 2
    table = machine(**DRAGONFLY, recipe="booksim2", routing_parameters={"ugal_weight": 1})
    assert table["routing_parameters"]["ugal_weight"] == 1
    plain = machine(**DRAGONFLY, recipe="booksim2", routing="minimal")
    assert plain["routing"] == "minimal"
    assert plain["routing_parameters"] == {}
    assert machine(**FATTREE, recipe="merlin")["packet"]["delivery"] == "head"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            {**DRAGONFLY, "recipe": "merlyn"},
            'machine.recipe: "merlyn"; unknown recipe; did you mean merlin',
        ),
        ({**DRAGONFLY, "recipe": 7}, "machine.recipe: 7; unknown recipe"),
        (
            {**FATTREE, "recipe": "merlin-ugal"},
            'machine.recipe: "merlin-ugal"; needs a dragonfly, not a fattree',
        ),
        (
            {**DRAGONFLY, "recipe": "booksim2", "packet": {"preset": "merlin"}},
            'machine.packet.preset: "merlin"; recipe booksim2 sets "booksim2"; leave out one of',
        ),
        (
            {**DRAGONFLY, "recipe": "merlin-ugal", "ugal_weight": 2},
            "machine.ugal_weight: routing merlin-ugal does not take it; ugal-l, par would",
        ),
        (
            {**DRAGONFLY, "recipe": "merlin", "packet": {"router": "output-queued"}},
            "arbitration = merlin-lru needs router",
        ),
        ({**DRAGONFLY, "recip": "merlin"}, "machine.recip: unknown key; did you mean recipe"),
    ],
)
def test_conflicts_are_one_line(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcosimError) as error:
        machine(**keys)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_recipes_are_found_by_name() -> None:
    assert list(entries("recipes")) == list(RECIPES)
    shown = "\n".join(describe("merlin"))
    assert 'recipe = "merlin" under [machine]' in shown
    assert "arbitration = merlin-lru" in shown
    assert "ugal_counts_bids = false" in "\n".join(describe("booksim2"))


def test_a_recipes_routing_refuses_other_families() -> None:
    with pytest.raises(NetcosimError, match="unknown routing for fattree 'merlin-ugal'"):
        RECIPES["merlin-ugal"].make_routing(small_machine("fattree", 0, {}))
    assert (
        make_routing(small_machine("fattree", 0, {})).name
        == RECIPES["merlin"].make_routing(small_machine("fattree", 0, {})).name
    )
