"""Configs of version 0.2: what of them is renamed, moved or left out, in their own text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selection import examples

import netcosim as nc
from netcosim.cli import main
from netcosim.config.toml_text import toml_text
from netcosim.config.upgrade import _entries, upgraded
from netcosim.runs.points import flatten
from netsim.errors import NetcosimError

HEAD = """# a config
machine = { family = "fattree", radix = 4 }  # small
workload.synthetic = { n_jobs = 16, mean_nodes = 4 }
run.snapshots = 0
"""


def new(text: str) -> tuple[str, list[str]]:
    """What becomes of a text after the head of all of these."""
    found, lines = upgraded(HEAD + text, Path("c.toml"))
    assert found.startswith(HEAD)
    return found.removeprefix(HEAD), lines


def test_keys_of_a_model_go_into_its_table_and_comments_stay() -> None:
    old = """
[queue]  # as in the paper
policies = ["baseline", "jigsaw"]
run_time_model = "assumed"
scenario = "20%"  # of Pollard et al.
speeds_up = ["jigsaw"]
"""
    text, lines = new(old)
    assert text == old.replace("scenario =", "assumed.scenario =").replace(
        "speeds_up =", "assumed.speeds_up ="
    )
    assert lines == [
        "queue.speeds_up is queue.assumed.speeds_up",
        "queue.scenario is queue.assumed.scenario",
    ]
    config = nc.config_from(tomllib.loads(HEAD + text))
    assert config.queue.model_parameters().speeds_up == ("jigsaw",)
    assert new(text) == (text, [])


@pytest.mark.parametrize(
    ("old", "text"),
    [
        (
            'queue = { policies = ["random"], run_time_model = "coupled-packets", coupled = '
            "{ periods = 3 } }\n",
            'queue = { policies = ["random"], run_time_model = "coupled-packets", coupled-packets '
            "= { periods = 3 } }\n",
        ),
        (
            'queue = { policies = ["random"], run_time_model = "coupled-packets" }\n'
            "[reference]\nqueue.coupled.periods = 3\n",
            'queue = { policies = ["random"], run_time_model = "coupled-packets" }\n'
            "[reference]\nqueue.coupled-packets.periods = 3\n",
        ),
        (
            '[queue]\npolicies = ["random"]\nrun_time_model = "coupled-flow"\n'
            '[queue.coupled] # live\nperiods = 3\nruntime_reference = "contended-baseline"\n',
            '[queue]\npolicies = ["random"]\nrun_time_model = "coupled-flow"\n'
            '[queue.coupled-flow] # live\nruntime_reference = "contended-baseline"\n',
        ),
        (
            'queue.policies = ["random"]\nqueue.order = "fair-share"\n'
            'queue.run_time_model = "as-logged"\nqueue.fair_share.by = "account"\n',
            'queue.policies = ["random"]\nqueue.order = "fair-share"\n'
            'queue.run_time_model = "as-logged"\nqueue.fair-share.by = "account"\n',
        ),
    ],
)
def test_wherever_a_key_is_written(old: str, text: str) -> None:
    assert new(old)[0] == text


def test_both_coupled_models_get_a_table_each() -> None:
    old = """queue.policies = ["random"]
queue.run_time_model = ["coupled-flow", "coupled-packets"]
[queue.coupled]
periods = [3, 4]
runtime_reference = "contended-baseline"
[sweep]
zip = [["queue.run_time_model", "queue.coupled.periods"]]
"""
    text, _ = new(old)
    assert tomllib.loads(text)["queue"] == {
        "policies": ["random"],
        "run_time_model": ["coupled-flow", "coupled-packets"],
        "coupled-packets": {"periods": [3, 4], "runtime_reference": "contended-baseline"},
        "coupled-flow": {"runtime_reference": "contended-baseline"},
    }
    assert '"queue.coupled-packets.periods"' in text


def test_keys_of_the_tolerance_by_flows_are_left_out() -> None:
    old = """queue.policies = ["random"]
queue.run_time_model = "coupled-packets"
[queue.coupled]
tolerance = 0.2
audit = 0.002
periods = 3
"""
    text, lines = new(old)
    assert tomllib.loads(text)["queue"]["coupled-packets"] == {"periods": 3}
    assert "queue.coupled-packets.audit is left out: packets judge within" in " ".join(lines)


def test_what_nothing_reads_is_left_out_and_named() -> None:
    """The tables of jobs that send nothing go, with their comments on the same lines."""
    old = """queue = { policies = ["baseline"], run_time_model = "as-logged", scenario = "5%" }

[communication]
task_mapping = "in-order"
# two kinds
[[communication.mix]]
pattern = "halo3d" # 3d
weight = 2

[[communication.mix]]
pattern = "fft3d"
node_bytes = "1 MiB"
[communication.mix.parameters]
compute = true
"""
    text, lines = new(old)
    assert text == (
        'queue = { policies = ["baseline"], run_time_model = "as-logged" }\n\n# two kinds\n\n'
    )
    assert [line.partition(" is left out, as nothing reads it: ")[0] for line in lines[1:]] == [
        "queue.assumed.scenario",
        *("communication.mix.0.pattern", "communication.mix.0.weight"),
        *("communication.mix.1.pattern", "communication.mix.1.node_bytes"),
        "communication.task_mapping",
    ]
    inline = 'machine.packet = { header_bytes = 40 }\nqueue.policies = ["random"]\n'
    inline += 'queue.run_time_model = "as-logged"\n'
    whole = inline.replace("machine.packet", "#").partition("\n")[2]
    raw = HEAD.replace('machine = { family = "fattree", radix = 4 }', "machine.radix = 4")
    found, _ = upgraded(f'{raw}machine.family = "fattree"\n{inline}', Path("c.toml"))
    assert found == f'{raw}machine.family = "fattree"\n{whole}'


def test_the_command_rewrites_the_file_or_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'queue = { policies = ["random"], run_time_model = "assumed", scenario = "5%" }\n'
    Path("old.toml").write_text(HEAD + text)
    assert main(["run", "old.toml"]) == 2
    assert capsys.readouterr().err == (
        "netcosim: error: old.toml: key queue.scenario: unknown key; since version 0.3 it is "
        "queue.assumed.scenario (netcosim config upgrade FILE)\n"
    )
    assert main(["config", "upgrade", "old.toml", "--out", "new.toml"]) == 0
    assert capsys.readouterr().out == "queue.scenario is queue.assumed.scenario\nnew.toml\n"
    assert Path("old.toml").read_text() == HEAD + text
    assert main(["config", "upgrade", "old.toml"]) == 0
    assert Path("old.toml").read_text() == Path("new.toml").read_text()
    assert main(["run", "old.toml", "--dry-run"]) == 0
    Path("bad.toml").write_text(HEAD + text.replace("policies", "polices"))
    assert main(["config", "upgrade", "bad.toml"]) == 2
    assert "bad.toml: key queue.polices: unknown key; did you mean policies?" in (
        capsys.readouterr().err
    )


def test_a_mistake_of_its_toml_is_named_once() -> None:
    with pytest.raises(NetcosimError, match=r"^c\.toml: not valid TOML"):
        upgraded("queue = {", Path("c.toml"))


_NAMES = st.text("abcxyz_-", min_size=1, max_size=6).filter(lambda name: not name.endswith("_s"))
_PLAIN = (
    st.integers() | st.booleans() | st.text(max_size=8) | st.floats(allow_nan=False).map(abs)
) | st.lists(st.text("a,]}#=\"'\\\n", max_size=4), max_size=3)
_CONTENTS = st.recursive(
    st.dictionaries(_NAMES, _PLAIN, min_size=1, max_size=4),
    lambda inner: st.dictionaries(
        _NAMES, _PLAIN | inner | st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=4
    ),
    max_leaves=8,
)


def numbered(value: Any) -> Any:
    """Lists of tables as tables by number."""
    if isinstance(value, dict):
        return {key: numbered(one) for key, one in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return {str(i): numbered(one) for i, one in enumerate(value)}
    return value


@given(_CONTENTS)
@examples(40)
def test_every_key_of_a_text_is_found_where_it_is(content: dict[str, Any]) -> None:
    """As `tomllib` reads the text, and the span of each value is that value."""
    text = toml_text(content)
    flat = flatten(numbered(tomllib.loads(text)))
    found = {}
    for entry in _entries(text):
        key, value = text[entry.start : entry.key_end], text[entry.key_end : entry.end]
        if value.lstrip().startswith("="):
            assert tuple(tomllib.loads(f"{key}{value}")) == entry.own[:1]
            found[".".join(entry.path)] = tomllib.loads(f"a {value}")["a"]
    assert {key: found[key] for key in flat if not isinstance(flat[key], dict)} == flat
