"""Every key of a config stands in docs/config.md, with an example that can be read and counts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from netcosim.cli import main
from netcosim.config.load import any_points_of
from netcosim.config.reference import config_keys, toml_value
from netsim.errors import NetcosimError
from netsim.units import quantity_of

ROOT = Path(__file__).resolve().parents[1]
KEYS = config_keys()
BASE = """
machine.family = "fattree"
machine.radix = 4
workload.synthetic.mean_nodes = 4
queue.policies = ["baseline"]
queue.run_time_model = "as-logged"
run.snapshots = 1
"""
LOG = "; MaxNodes: 16\n; MaxProcs: 64\n; UnixStartTime: 1538352000\n" + "".join(
    f"{i} {10 * i} 5 100 8 -1 -1 8 120 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 5)
)
GOAL = "num_ranks 2\nrank 0 {\na: send 10b to 1\n}\nrank 1 {\na: recv 10b from 0\n}\n"
PLUGIN = """
from queuesim.ordering.orders import Order
PLUGIN = [Order("youngest", "latest first", static_key=lambda jobs: -jobs.submit_s)]
"""

AGENT = """
from queuesim.decide import Decider
class Agent(Decider):
    name, description = "agent", "waits for ever"
    def __init__(self, *files):
        self.files = files
    def decide(self, point):
        return None
"""


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: merged(first[key], value)
        for key, value in second.items()
        if isinstance(value, Mapping) and isinstance(first.get(key), Mapping)
    }
    return {**first, **second, **both}


NEEDS = {
    "sweep.zip": ("machine.radix = [4, 6]", "run.seed = [1, 2]"),
    "communication.io": ('run.measure = "steady"', 'communication.io.gateways = "0"'),
    "run.measure": ('communication.mix = [{ pattern = "halo3d", node_bytes = "1 MiB" }]',),
}
"""What an example needs in other sections, by key or section."""


def content(path: str, lines: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The base with what the key needs beside it, without and with the key's example."""
    key, base = KEYS[path], tomllib.loads(BASE)
    for line in (
        *NEEDS.get(path, NEEDS.get(key.section, ())),
        *("\n".join((lines[0], one)) for one in key.beside),
    ):
        base = merged(base, tomllib.loads(line))
    if path == "machine.preset":
        base["machine"] = {}
    if path == "workload.synthetic.cluster":
        base["workload"]["synthetic"] = {"n_jobs": 5}
    if "log" in base["workload"] or path == "workload.log":
        base["workload"] = {k: v for k, v in base["workload"].items() if k != "synthetic"}
    with_key = merged(base, tomllib.loads("\n".join(lines)))
    if path.startswith("communication.mix.") and path != "communication.mix.pattern":
        pattern = "goal" if path.endswith(".file") else "halo3d"
        with_key["communication"]["mix"][0].setdefault("pattern", pattern)
        base["communication"] = {"mix": [{"pattern": pattern}]}
    if key.section == "communication.fraction" and key.name not in ("at", "size_correlation"):
        base["communication"] = {}  # the example's neighbours alone are no distribution
    return base, with_key


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write what the examples name."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("log.swf", LOG),
        ("my_policy.py", PLUGIN),
        ("agent.py", AGENT),
        ("weights.json", "{}"),
        ("speedups.csv", ""),
        ("app.goal", GOAL),
        ("menu.csv", "name,midplanes,shape\nA,m0,1\n"),
        ("wires.json", "{}"),
        ("outages.csv", "start_s,end_s,nodes,kind\n"),
    ):
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("path", KEYS)
def test_every_key_has_a_description_and_an_example_that_counts(
    path: str, tmp_path: Path, files: None
) -> None:
    key = KEYS[path]
    assert key.description, f"{path}: add Field(description=...), or a text to its Annotated[...]"
    assert key.example, f"{path}: add Field(examples=[...]), or Example(...) to its Annotated[...]"
    without, with_key = content(path, key.lines)
    [*points] = any_points_of(with_key, tmp_path)
    assert (len(points) > 1) == (path in ("run.repetition", "sweep.zip"))
    if path not in (
        "machine.family",
        "machine.preset",
        "workload.log",
        "sweep.zip",
    ):
        if path == "communication.mix.file":
            without["communication"] = {}
        before = any_points_of(without, tmp_path)[0].resolved()
        assert points[-1].resolved() != before


WRONG = {
    "a whole number": ("1.5", '"ten"', "true", "nan", "{ x = 1 }"),
    "a number": ('"ten"', "true", "nan"),
    "a time": ('"1 GB"', '"us"', '"1e400 us"', "true", "nan"),
    "a size": ('"1.5 B"', '"1 s"', "true", "nan"),
    "a bandwidth": ('"1 GB"', '"fast"', '"1e30 GB/s"', "true"),
    "a name": ('"no-such"', '""', "1", "1979-05-27"),
    '"': ('"no-such"', '""', "1", "1979-05-27"),
    "true or false": ("1", '"yes"', "{ x = 1 }"),
    "a text": ("1",),
    "a file": ("1",),
    "a list of names": ("3", '["no-such"]'),
    "a list": ("3",),
    "[low, high]": ('"x"', "[1, 2, 3]"),
    "a table": ("3", '"text"', "true"),
}
"""Values that no key takes, by what begins the text on its allowed ones."""
OUTSIDE = {"at least": -1, "above": 0, "at most": 1, "below": 0}
"""By how much a value is outside of a limit."""
UNITS = {"a time": '"{} us"', "a size": '"{} B"', "a bandwidth": '"{} GB/s"'}


def wrong_values(allowed: str) -> Iterator[str]:
    """Values of another kind, and those outside of each limit, as TOML."""
    for kind, values in WRONG.items():
        if allowed.startswith(kind):
            yield from values
    form = next((form for kind, form in UNITS.items() if allowed.startswith(kind)), "{}")
    for word, limit in re.findall(r"(at least|above|at most|below) (-?[\d.,]*\d)", allowed):
        yield form.format(f"{float(limit.replace(',', '')) + OUTSIDE[word]:g}")


@pytest.mark.parametrize("path", KEYS)
def test_wrong_values_are_one_line_that_names_the_key(
    path: str, tmp_path: Path, files: None
) -> None:
    key = KEYS[path]
    values = [*wrong_values(key.allowed)]
    assert values, f"{path}: {key.allowed} is not in WRONG"
    for value in values:
        _, with_key = content(path, [*key.lines[:-1], f"{key.name} = {value}"])
        with pytest.raises(NetcosimError) as caught:
            any_points_of(with_key, tmp_path)
        assert key.name in str(caught.value), value
        assert "\n" not in str(caught.value)


def test_wrong_values_of_a_share_by_hand() -> None:
    found = [*wrong_values("a number, at least 0 and at most 1")]
    assert found == ['"ten"', "true", "nan", "-1", "2"]
    assert [*wrong_values("a time with its unit, above 0")][-1] == '"0 us"'


def test_defaults_and_allowed_values_are_told() -> None:
    window = KEYS["queue.window"]
    assert (window.allowed, window.default) == ('a whole number or "all"', '"all"')
    assert KEYS["queue.policies"].default == "needed"
    assert KEYS["queue.policies"].allowed == "a list of names of `netcosim list policies`"
    assert KEYS["machine.packet.packet_bytes"].default == '"2 KiB"'
    assert KEYS["machine.packet.router_latency"].default == '"100 ns"'
    assert KEYS["run.confidence"].allowed == "a number, at least 0 and at most 1"
    assert KEYS["communication.mix.communication_fraction"].default == "[0.3, 0.3]"
    assert toml_value((1.0, True, "x"), None) == '[1.0, true, "x"]'
    assert toml_value(1500, quantity_of("packet_bytes")) == "1500"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("queue.window", 'a whole number or "all" (default "all")'),
        ("machine.radix", "family fattree: ports of every switch"),
        ("machine.ugal_weight", "routing ugal-l: "),
        ("communication.mix.parameters.grid", "pattern halo2d: "),
        ("queue.coupled-packets", "[queue.coupled-packets]"),
        ("run", "  observables  "),
        ("plugins", "a list of texts"),
    ],
)
def test_describe_tells_of_a_key(name: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", name]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("queue.windw", "no config has a key 'queue.windw'; did you mean queue.window"),
        ("no.such.key.at.all", "no config has a key 'no.such.key.at.all' (see"),
        (".", "no config has a key '.'"),
        ("windw", "nothing is called 'windw'"),
    ],
)
def test_a_key_that_is_none_is_one_line(
    name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["describe", name]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.splitlines()) == 1
