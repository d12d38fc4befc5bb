"""Configs: what is written is what is run, and each mistake is one clear line."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from netcosim.config.communication import PatternSection
from netcosim.config.load import config_from, load_config, load_sweep, points_of
from netcosim.config.machine import PacketSection
from netcosim.config.run import RunSection
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError
from netsim.packet.model import PacketConfig
from netsim.topologies.presets import PRESETS
from netsim.topologies.registry import FAMILIES, make_topology

GOOD = """
[machine]
family = "dragonfly"
p = 4
a = 4
g = 17
local_bandwidth = "8 Gbit/s"
global_bandwidth = "32 Gbit/s"
global_latency_s = 4e-8
routing = "ugal-l"

[machine.packet]
packet_bytes = "2 KiB"
router_latency = "100 ns"

[workload]
larger_jobs = "drop"
[workload.synthetic]
n_jobs = 50
run_time_range = ["20 s", "1 h"]

[queue]
policies = ["simple", "rdn", "level-spread"]
window = "all"

[communication]
ranks_per_node = 2
[[communication.mix]]
pattern = "all-to-all"
message_bytes = "1 KB"
communication_fraction = [0.1, 0.5]
[[communication.mix]]
pattern = "halo3d"
weight = 2
parameters = {grid = [4, 4, 4]}

[run]
seed = 7
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "c.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_quantities_come_out_in_si(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD))
    assert config.machine.parameters == {
        "p": 4,
        "a": 4,
        "g": 17,
        "local_bandwidth_Bps": 10**9,
        "global_bandwidth_Bps": 4 * 10**9,
        "global_latency_s": 4e-8,
    }
    assert config.machine.packet.packet_bytes == 2048
    assert config.machine.packet.router_latency_s == 1e-7
    assert config.workload.synthetic is not None
    assert config.workload.synthetic.run_time_range_s == (20.0, 3600.0)
    first, second = config.communication.mix
    assert (first.message_bytes, first.communication_fraction) == (1000, (0.1, 0.5))
    assert (second.weight, second.parameters) == (2.0, {"grid": [4, 4, 4]})
    topology = make_topology(config.machine.family, config.machine.parameters)
    assert topology.n_nodes == 272


def test_resolved_content_reads_back_and_has_one_key(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD))
    content = config.resolved()
    again = config_from(content)
    assert again == config
    assert point_key(again.resolved()) == point_key(content)
    # Another way to write the same quantity is the same point.
    same = load_config(write(tmp_path, GOOD.replace('"8 Gbit/s"', '"1 GB/s"')))
    assert point_key(same.resolved()) == point_key(content)
    other = load_config(write(tmp_path, GOOD.replace('"8 Gbit/s"', '"2 GB/s"')))
    assert point_key(other.resolved()) != point_key(content)


def test_a_content_has_the_table_of_the_model_that_is_chosen(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, GOOD))
    assert [key for key in config.resolved()["queue"] if "coupled" in key] == []
    chosen = GOOD.replace(
        "[communication]", '[queue.coupled-packets]\nbudget = "1 min"\n[communication]'
    ).replace("[queue]\n", '[queue]\nrun_time_model = "coupled-packets"\n')
    content = load_config(write(tmp_path, chosen)).resolved()
    # with its defaults, which a table of a sweep shows
    assert content["queue"]["coupled-packets"] == {
        "baseline": "reference",
        "runtime_reference": "isolated",
        "periods": 6,
        "phases": 2,
        "message_scale": 1.0,
        "budget_s": 60.0,
    }
    assert config_from(content).resolved() == content


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_resolves_and_reads_back(name: str) -> None:
    from alloc.registry import policies_for

    config = config_from(
        {
            "machine": {"preset": name},
            "workload": {"synthetic": {}},
            "queue": {"policies": policies_for(PRESETS[name].family)[:1]},
        }
    )
    assert config.machine.parameters["name"] == name
    assert config_from(config.resolved()) == config


def test_a_preset_with_one_parameter_replaced(tmp_path: Path) -> None:
    text = GOOD.replace('family = "dragonfly"\np = 4\na = 4\ng = 17', 'preset = "dragonfly-1056"')
    parameters = load_config(write(tmp_path, text)).machine.parameters
    assert (parameters["a"], parameters["g"], parameters["global_bandwidth_Bps"]) == (
        8,
        33,
        4 * 10**9,
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"8 Gbit/s"', '"-1 Gbit/s"', "key machine.local_bandwidth: -1 Gbit/s; must be positive"),
        (
            '"8 Gbit/s"',
            '"8 us"',
            "key machine.local_bandwidth: '8 us': 'us' is no unit of bandwidth",
        ),
        ("p = 4\n", "", "key machine.p: missing; a dragonfly needs p, a, g"),
        ("p = 4\n", "p = 4\nlocal_bandwidth_Bps = 5\n", "given twice"),
        (
            'family = "dragonfly"',
            'preset = "dragonfly-105"',
            'machine.preset: "dragonfly-105"; unknown machine; did you mean dragonfly-1056',
        ),
        ('family = "dragonfly"', 'preset = "cab"\nfamily = "dragonfly"', "preset cab is a fattree"),
        ('family = "dragonfly"', 'file = "x"', "needs family beside file; netcosim describe FILE"),
        (
            '"100 ns"',
            '"-100 ns"',
            "key machine.packet.router_latency: -100 ns; must not be negative",
        ),
        ('"2 KiB"', '"0 B"', 'key machine.packet.packet_bytes: "0 B"; must be above 0'),
        ('"drop"', '"ignore"', "key workload.larger_jobs: \"ignore\"; must be 'error' or 'drop'"),
        (
            "[workload.synthetic]\nn_jobs = 50\n",
            'log = "x.swf"\n[workload.synthetic]\n',
            "key workload: give either log or synthetic",
        ),
        ("n_jobs = 50", "n_jobs = 0", "key workload.synthetic.n_jobs: 0; must be at least 1"),
        ('["20 s", "1 h"]', '["20 s"]', "key workload.synthetic.run_time_range"),
        ('"rdn"', '"rnd"', "key queue.policies: unknown allocation policy 'rnd'; did you mean"),
        (
            '"rdn"',
            '"jigsaw"',
            'key queue.policies: "jigsaw"; it does not place on a dragonfly; valid: balanced',
        ),
        ('"rdn"', '"simple"', "a policy is listed twice"),
        (
            'policies = ["simple", "rdn", "level-spread"]',
            "policies = []",
            "key queue.policies: must have at least 1 entry",
        ),
        ('window = "all"', "window = -1", 'key queue.window: -1; must be 0 or more, or "all"'),
        (
            "grid",
            "gird",
            "mix.1: unknown parameter of pattern halo3d 'gird'; did you mean grid? valid: exchange",
        ),
        (
            "[0.1, 0.5]",
            "[0.5, 0.1]",
            "mix.0.communication_fraction: [0.5, 0.1]; must be [low, high]",
        ),
        ("[0.1, 0.5]", "1.5", "must be at most 1"),
        ('"1 KB"', '"0 B"', "mix.0.message_bytes: 0 B; must be positive"),
        (
            "seed = 7",
            "sed = 7",
            "key run.sed: unknown key; did you mean seed or steady? valid: confidence, keep, "
            "measure",
        ),
        ("[run]", "[run", "not valid TOML: "),
        ("seed = 7", "seed = 7\nseed = 8", "not valid TOML: Cannot overwrite a value (at line 3"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    (tmp_path / "x.swf").touch()
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(NetcosimError) as caught:
        load_config(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    assert told in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NetcosimError, match=r"none\.toml: cannot be read: No such file"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "c.toml").write_bytes(b"a = '\xff\xfe'")
    with pytest.raises(NetcosimError, match="not a text file"):
        load_config(tmp_path / "c.toml")
    with pytest.raises(NetcosimError, match="key machine: missing"):
        load_config(write(tmp_path, GOOD[GOOD.index("[workload]") :]))


def test_families_take_their_two_forms() -> None:
    rest = {"workload": {"synthetic": {}}, "queue": {"policies": ["baseline"]}}
    fat = config_from({"machine": {"family": "fattree", "radix": 8, "bandwidth": "4 GB/s"}, **rest})
    assert fat.machine.parameters == {"radix": 8, "bandwidth_Bps": 4 * 10**9}
    with pytest.raises(NetcosimError, match=r"key machine\.m1: goes without radix"):
        config_from({"machine": {"family": "fattree", "radix": 8, "m1": 4}, **rest})
    with pytest.raises(NetcosimError, match=r"needs m1, m2 \(or radix\)"):
        config_from({"machine": {"family": "fattree"}, **rest})
    grid = {"family": "torus", "dims": [4, 4], "wrap": False}
    (torus,) = points_of({"machine": grid, **rest})  # not one of dims 4 and another
    assert torus.machine.parameters == {"dims": [4, 4], "wrap": False}
    with pytest.raises(NetcosimError, match=r"key machine\.dims: 4; must be a list"):
        config_from({"machine": {"family": "torus", "dims": 4}, **rest})
    assert set(FAMILIES) >= {"fattree", "dragonfly", "torus"}


def test_sweeps_expand_and_resolve(tmp_path: Path) -> None:
    text = GOOD.replace('"32 Gbit/s"', '["2 Gbit/s", "8 Gbit/s", "32 Gbit/s"]').replace(
        "seed = 7", "repetition = {from = 0, to = 4, step = 1}"
    )
    sweep = load_sweep(write(tmp_path, text))
    assert len(sweep.points) == 3 * 5
    assert {p.queue.policies for p in sweep.points} == {("simple", "rdn", "level-spread")}
    assert {p.machine.parameters["global_bandwidth_Bps"] for p in sweep.points} == {
        250_000_000,
        10**9,
        4 * 10**9,
    }
    assert len({point_key(p.resolved()) for p in sweep.points}) == 15


def test_sweep_zip_and_mistakes(tmp_path: Path) -> None:
    text = GOOD.replace("a = 4\n", "a = [4, 8]\n").replace("g = 17", "g = [17, 33]")
    zipped = text + '\n[sweep]\nzip = [["machine.a", "machine.g"]]\n'
    pairs = {
        (p.machine.parameters["a"], p.machine.parameters["g"])
        for p in load_sweep(write(tmp_path, zipped)).points
    }
    assert pairs == {(4, 17), (8, 33)}
    with pytest.raises(NetcosimError, match="belongs to netcosim sweep"):
        load_config(write(tmp_path, zipped))
    with pytest.raises(NetcosimError, match=r"c\.toml: key sweep\.zap: unknown key; valid: zip"):
        load_sweep(write(tmp_path, text + "\n[sweep]\nzap = 1\n"))
    with pytest.raises(NetcosimError, match=r"must be a list of lists"):
        load_sweep(write(tmp_path, text + '\n[sweep]\nzip = ["machine.a"]\n'))
    bad = GOOD.replace('"32 Gbit/s"', '["2 Gbit/s", "-8 Gbit/s"]')
    with pytest.raises(NetcosimError, match=r"key machine\.global_bandwidth: -8 Gbit/s; must be"):
        load_sweep(write(tmp_path, bad))


def test_defaults_are_those_of_the_parts_and_of_the_text() -> None:
    """A config that says nothing of the packets has those of `PacketConfig`."""
    section = PacketSection()
    assert {f.name: getattr(section, f.name) for f in fields(PacketConfig)} == asdict(
        PacketConfig()
    )
    assert PacketConfig().router_latency_s == 100e-9
    assert RunSection().confidence == 0.95
    assert PatternSection(pattern="pairs").communication_fraction == (0.3, 0.3)


def test_a_pair_of_one_number_with_a_unit_and_one_without_is_refused(tmp_path: Path) -> None:
    text = GOOD.replace('["20 s", "1 h"]', '["20 s", 3600]')
    with pytest.raises(NetcosimError, match=r"run_time_range: .* has no unit"):
        load_config(write(tmp_path, text))


def test_a_window_of_no_length_is_refused(tmp_path: Path) -> None:
    for start, end, refused in (("5 s", "5 s", True), ("5 s", "6 s", False)):
        text = GOOD.replace("[workload]\n", f'[workload]\nstart = "{start}"\nend = "{end}"\n')
        text = text.replace("n_jobs = 50", "n_jobs = 50\nload = 0.9")
        if refused:
            with pytest.raises(NetcosimError, match="end"):
                load_config(write(tmp_path, text))
        else:
            assert load_config(write(tmp_path, text)).workload.end_s == 6


def test_a_pair_of_factors_is_no_axis(tmp_path: Path) -> None:
    pair = GOOD.replace("n_jobs = 50", "n_jobs = 50\nrequested_factor = [1.0, 3.0]")
    (point,) = load_sweep(write(tmp_path, pair)).points
    assert point.workload.synthetic is not None
    assert point.workload.synthetic.requested_factor == (1.0, 3.0)


def test_a_log_is_looked_up_beside_the_config_and_then_where_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, working = tmp_path / "beside", tmp_path / "working"
    for folder in (beside, working):
        folder.mkdir()
        (folder / "both.swf").write_text(f"; {folder.name}\n")
    (working / "there.swf").write_text("; there\n")
    monkeypatch.chdir(working)
    for name, text in (("both.swf", "; beside\n"), ("there.swf", "; there\n")):
        content = {
            "machine": {"preset": "dragonfly-1056"},
            "workload": {"log": name},
            "queue": {"policies": ["simple"]},
        }
        log = config_from(content, beside).workload.log
        assert log is not None
        assert Path(log.file).read_text() == text
        assert log.sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("parameters = {grid = [4, 4, 4]}", "parameters = {grid = [4, 4, inf]}", "parameters.grid"),
        (
            "global_latency_s = 4e-8",
            "global_latency_s = 4e-8\narrangement = nan",
            "machine.arrangement",
        ),
    ],
)
def test_a_number_that_is_not_finite_is_not_lost_on_the_way_to_a_point(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    """JSON has no infinity: as null it would have reached the point as something else."""
    assert old in GOOD
    with pytest.raises(NetcosimError, match=rf"{key}.*must be finite"):
        load_config(write(tmp_path, GOOD.replace(old, new)))
