"""Keys that nothing reads are refused by their names, and none that is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from unread_bases import BASES, base, merged, write_files

import netcosim as nc
from experiments.curve.config import curve_from
from netcosim.cli import main
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.config.errors import ConfigError
from netcosim.config.fields import value_at
from netcosim.config.load import any_points_of, load_sweep, points_of
from netcosim.config.reference import config_keys
from netcosim.config.unread import as_read, given_keys, unread_keys
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError

pytestmark = pytest.mark.usefixtures("undrawn")

REFERENCE = config_keys()
KEYS = [key for key in REFERENCE if not key.startswith(("sweep.", "reference", "plugins"))]
QUICK = ("no backfilling",)
READ_ALL_THE_SAME = (
    # limits that none of these jobs reaches, and what the log says twice
    *("workload.node_field", "workload.max_nodes", "workload.min_run_time", "workload.start"),
    *("workload.end", "workload.month", "workload.days", "workload.first_jobs"),
    *("workload.default_limit", "workload.missing_limits"),
    *(
        "workload.bad_lines",
        "workload.larger_jobs",
        "queue.window",
        "queue.dependencies",
        "queue.partitions.name",
    ),
    *("queue.partitions.max_walltime", "queue.partitions.max_nodes"),
    # policies that draw nothing from a log's jobs, or agree on so few nodes
    *("run.name", "run.seed", "run.repetition", "policies.slurm-tree.switches"),
    *(
        "queue.assumed.speeds_up",
        "queue.multifactor.age_weight",
        "queue.multifactor.partition_weight",
    ),
    *("queue.multifactor.fair_share_weight", "queue.multifactor.max_age"),
    *("queue.multifactor.half_life", "queue.partitions.priority", "queue.partitions.factor"),
    *("queue.partitions.log_names", "policies.slurm-tree.max_wait", "queue.bandwidth_need"),
    # bounds that so small measurements do not reach
    *("machine.packet.congestion_control", "run.confidence", "run.paired.max_iterations"),
    *("run.steady.precision", "run.steady.most_iterations", "queue.coupled-packets.budget"),
    "communication.ranks_per_node",
    # how a run computes and what it keeps beside the tables
    *("run.threads", "run.keep", "run.only_snapshot"),
)
"""Read, and without effect on these small cases."""
SAME_IN_BASE = {
    # hardly a job waits behind one that does not fit, and no start that it is promised moves
    "generated jobs, as logged": ("queue.backfill",),
    # all is over within minutes, and either half-life is days
    "fair-share": ("queue.fair-share.half_life",),
    # nobody waits: all jobs together fit on the midplanes; and no job whose partition differs
    # draws a number between the two shares of bound jobs
    "partitions of a torus": (
        *("queue.order", "queue.backfill", "queue.partition-bisection.bound_jobs"),
    ),
    # without headers packets of any size have the same bytes
    "iterations": ("machine.recipe", "machine.packet.packet_bytes", "machine.packet.preset"),
    # the two jobs of the window have reservations among four as among all
    "conservative, cut": ("queue.reservations",),
    # no buffer of the size by default or of the example's fills
    "two rails": ("machine.packet.buffer_bytes",),
}
"""Read, and without effect on the jobs of one base."""
ADDS_EMPTY_COLUMNS = ("queue.dependencies",)
"""Shown as asked for, though without a value other than zero where nothing reads them."""
WHOLE_RUNS = (
    *("machine.family", "machine.preset", "workload.log"),
    *("queue.run_time_model", "run.snapshots"),
)
"""Keys whose example makes another machine, other jobs, or a base of its own."""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)


def with_example(content: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A base with the example of a key, in each entry where it is of one."""
    head, *_, line = REFERENCE[path].lines
    more: dict[str, Any] = tomllib.loads(f"{head}\n{line}")
    for section, name in (("communication", "mix"), ("queue", "partitions")):
        entries = content.get(section, {}).get(name)
        if path.startswith(f"{section}.{name}.") and entries:
            [example] = more[section][name]
            changed = entries if name == "mix" else entries[:1]
            rest = entries[len(changed) :]
            more[section][name] = [*(merged(entry, example) for entry in changed), *rest]
    return merged(content, more)


@cache
def base_config(name: str, partitioned: bool) -> Config:
    """A base, with a partition of all nodes where keys of partitions are changed."""
    content = base(name)
    if partitioned and "partitions" not in content["queue"]:
        content["queue"]["partitions"] = [{}]
    return checked_config(content)


def cases(name: str) -> list[tuple[str, Config, Config]]:
    """Keys that a base takes: the point without and with the example, which is not its value."""
    found = []
    for path in KEYS:
        if path in WHOLE_RUNS:
            continue
        partitioned = path.startswith("queue.partitions.")
        content = base(name)
        if partitioned and "partitions" not in content["queue"]:
            content["queue"]["partitions"] = [{}]
        try:
            before = base_config(name, partitioned)
            after = any_points_of(with_example(content, path))[-1]
        except NetcosimError:
            continue  # refused: neither accepted nor ignored
        if after.resolved() != before.resolved():
            found.append((path, before, after))
    return found


def tables(config: Config) -> object:
    """What a run tells, but for its own time."""
    with config.plugged():
        found = result_tables(run_cosim(config))
    return repr({name: rows for name, rows in found.items() if name != "timing"})


def check_each_key(name: str) -> None:
    """What is refused changes no table; what is accepted does, or is data-dependent."""
    known: dict[str, object] = {}
    wrong = []
    for path, bare, after in cases(name):
        changed = changed_keys(bare, after)
        unread = changed & {one.key for one in unread_keys([after])}
        key = point_key(bare.resolved())
        try:
            known[key] = known.get(key) or tables(bare)
            same = tables(after) == known[key]
        except NetcosimError:
            continue  # refused by what reads it
        drawn = path.startswith(("workload.", "communication."))  # part of the seed
        if unread == changed and not same and not drawn and path not in ADDS_EMPTY_COLUMNS:
            wrong.append(f"{path} is refused, and changes a table")
        if not unread and same and path not in (*READ_ALL_THE_SAME, *SAME_IN_BASE.get(name, ())):
            wrong.append(f"{path} is ignored without a word")
    assert wrong == []


def changed_keys(before: Config, after: Config) -> set[str]:
    """Keys that the second sets to other values than the first."""

    there = set(given_keys(before))
    return {
        key
        for key in given_keys(after)
        if key not in there or value_at(before, key) != value_at(after, key)
    }


@pytest.mark.full
@pytest.mark.parametrize("name", QUICK)
def test_each_key_is_refused_or_counts(name: str) -> None:
    check_each_key(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in BASES if name not in QUICK])
def test_each_key_is_refused_or_counts_in_all_bases(name: str) -> None:
    check_each_key(name)


# The law, for all keys in all kinds of run, without running them


@pytest.mark.parametrize(
    "name",
    [
        name if number % 3 == 0 else pytest.param(name, marks=pytest.mark.full)
        for number, name in enumerate(BASES)
    ],
)
def test_a_key_that_is_accepted_makes_another_point(name: str) -> None:
    """One that is refused is refused by `points_of`, which commands and Python call."""
    refused, accepted = [], []
    for path, before, after in cases(name):
        unread = changed_keys(before, after) & {one.key for one in unread_keys([after])}
        if unread:
            with pytest.raises(ConfigError, match="nothing reads it"):
                points_of(after.resolved())
            refused.append(path)
        elif path not in ("run.threads",):
            assert as_read(after).resolved() != as_read(before).resolved(), path
            accepted.append(path)
    assert len(refused) > 10
    assert len(accepted) > 20


# Cases by name


_ALWAYS, _PATTERN = 'together = "always"', 'pattern = "all-to-all"'
NAMED = [
    ("as logged", 'queue.assumed.scenario = "20%"', 'queue.run_time_model = "assumed"'),
    ("as logged", 'queue.measured.bound = "high"', 'queue.run_time_model = "measured"'),
    ("as logged", "queue.measured.rounds = 3", 'queue.run_time_model = "measured"'),
    *(
        ("coupled at flow level", f"queue.coupled-packets.{key}", "coupled-packets")
        for key in ('budget = "1 min"', "periods = 3", "phases = 4", "message_scale = 0.5")
    ),
    ("as logged", 'queue.fair-share.by = "account"', 'queue.order = "fair-share"'),
    ("as logged", "queue.multifactor.size_weight = 5", 'queue.order = "multifactor"'),
    ("as logged", f"communication.{_ALWAYS}", "run.snapshots is above 0, or queue.run_time_model"),
    ("steady", f"communication.{_ALWAYS}", 'run.measure = "stretch" or "paired"'),
    (
        "measured",
        f"communication.mix = [{{ {_PATTERN}, iterations = 2 }}]",
        'run.measure = "stretch" with communication.together = "always" or "paired"',
    ),
    (
        "two rails",
        f"communication = {{ {_ALWAYS}, mix = [{{ {_PATTERN}, communication_fraction = 0.2 }}] }}",
        'run.measure = "stretch" with communication.together = "by-share" or "paired" or "steady"',
    ),
    ("measured", "run.paired.repeats = 3.0", 'run.measure = "paired"'),
    ("paired", "run.steady.noise = 0.2", 'run.measure = "steady"'),
    ("as logged", "run.steady.noise = 0.2", "run.snapshots is above 0"),
    ("no backfilling", "queue.window = 5", "queue.backfill is one of easy, easy-retest"),
    ("as logged", 'queue.estimates = "actual"', "a policy places by walltime: cobalt-sl"),
    ("as logged", 'queue.bandwidth_need = "1 GB/s"', "a policy places by bandwidth: lc-s"),
    (
        "generated jobs, as logged",
        "workload.synthetic = { sizes = [2, 4], mean_nodes = 3 }",
        "workload.synthetic.sizes is not given",
    ),
    ("as logged", 'machine.rail_routers = "same"', "machine.rails is above 1"),
    ("measured", 'machine.packet.rail_policy = "pinned"', "machine.rails is above 1"),
    ("as logged", 'machine.packet.buffer_bytes = "64 KiB"', "run.snapshots is above 0"),
    ("as logged", 'machine.routing = "adaptive"', "run.snapshots is above 0"),
    ("as logged", 'machine.bandwidth = "2 GB/s"', "or analysis.bounds = true"),
    ("topology.conf", "machine.uplinks = 2", "machine.uplinks is not given"),
    ("topology.conf", "machine.taper = [0.5, 0.25]", "a level of switches with cables up for each"),
    ("generated jobs, as logged", 'workload.run_times = "to-walltime"', "workload.log is given"),
    ("as logged", 'queue.outages.after_failure = "requeue"', "queue.outages.file is given"),
    ("as logged", "policies.slurm-block.block_sizes = [2]", 'queue.policies has "slurm-block"'),
]


@pytest.mark.parametrize(("name", "more", "where"), NAMED, ids=[more for _, more, _ in NAMED])
def test_a_named_key_is_refused_with_where_it_is_read(name: str, more: str, where: str) -> None:
    with pytest.raises(ConfigError, match="nothing reads it") as found:
        nc.config_from(merged(base(name), tomllib.loads(more)))
    assert where in str(found.value)
    assert "\n" not in str(found.value)


def test_the_message_has_the_key_the_value_as_written_and_where_it_is_read() -> None:
    content = merged(base("as logged"), {"machine": {"packet": {"router_latency_s": 2e-7}}})
    with pytest.raises(ConfigError) as found:
        nc.config_from(content)
    assert str(found.value) == (
        'key machine.packet.router_latency: "200 ns"; nothing reads it: it is read where '
        'run.snapshots is above 0, or queue.run_time_model = "coupled-flow", "coupled-packets" or '
        '"iterations" ("iterations": if a pattern computes), or machine.power.link_J_per_byte is '
        "above 0"
    )
    content["queue"]["window"] = 3
    content["queue"]["backfill"] = "none"
    with pytest.raises(ConfigError, match=r"\(also not read: queue\.window\)$"):
        nc.config_from(content)


def test_all_bases_are_accepted() -> None:
    for name in BASES:
        config = nc.config_from(base(name))
        assert nc.config_from(config.resolved()) == config
    merlin = merged(base("measured"), {"machine": {"packet": {"preset": "merlin"}}})
    assert nc.config_from(merlin).machine.packet.router == "input-queued"


def test_a_packet_preset_is_read_where_the_model_reads_a_key_that_it_sets() -> None:
    preset = {"machine": {"packet": {"preset": "merlin"}}}
    nc.config_from(merged(base("coupled at flow level"), preset))
    with pytest.raises(ConfigError, match=r'key machine\.packet\.preset: "merlin"; nothing reads'):
        nc.config_from(merged(base("as logged"), preset))


def test_what_jobs_send_is_read_for_the_energy_of_links() -> None:
    mix = {"communication": {"mix": [{"pattern": "halo3d", "node_bytes": 2000}]}}
    for power, refused in (({"link_J_per_byte": 1e-10}, False), ({"link_W": 2.0}, True)):
        content = merged(base("as logged"), {**mix, "machine": {"power": power}})
        if refused:
            with pytest.raises(ConfigError, match=r"mix\.0\.pattern: .*link_J_per_byte is above 0"):
                nc.config_from(content)
        else:
            nc.config_from(content)


def test_lists_with_an_entry_twice_are_refused() -> None:
    with pytest.raises(NetcosimError, match="runs, runs; an observable is listed twice"):
        checked_config(merged(base("as logged"), {"run": {"observables": ["runs", "runs"]}}))


def test_the_most_iterations_are_at_least_the_least() -> None:
    steady = {"least_iterations": 32, "most_iterations": 31}
    with pytest.raises(NetcosimError, match="most_iterations = 31; must be at least least_iter"):
        checked_config(merged(base("steady"), {"run": {"steady": steady}}))


def test_an_outages_account_that_no_job_has_is_refused(tmp_path: Path) -> None:
    head = "start_s,end_s,nodes,kind,account\n"
    (tmp_path / "outages.csv").write_text(head + "40,200,0-3,reservation,ops\n")
    config = checked_config(base("one partition, outages"))
    with pytest.raises(NetcosimError, match=r"outages\.csv:2: account 'ops'; no job has an acc"):
        run_cosim(config)


# Sweeps


def test_a_sweep_refuses_what_no_point_reads() -> None:
    swept: dict[str, Any] = {"backfill": ["none", "easy"], "window": 4}
    assert len(points_of(merged(base("as logged"), {"queue": swept}))) == 2
    swept["measured"] = {"bound": "low"}
    with pytest.raises(ConfigError, match=r'key queue\.measured\.bound: "low"; nothing reads it'):
        points_of(merged(base("as logged"), {"queue": swept}))


def test_a_list_of_models_keeps_a_table_for_each() -> None:
    """A point has the table of its own model alone."""
    queue = {
        "run_time_model": ["coupled-flow", "coupled-packets"],
        "coupled-flow": {"runtime_reference": "contended-baseline"},
        "coupled-packets": {"periods": [3, 4]},
    }
    points = [
        as_read(p) for p in points_of(merged(base("coupled at flow level"), {"queue": queue}))
    ]
    found = [{k: v for k, v in p.resolved()["queue"].items() if "coupled-" in k} for p in points]
    given = {"baseline": "reference", "runtime_reference": "contended-baseline", "budget_s": 600.0}
    assert found[:2] == [{"coupled-flow": given}] * 2
    assert [one["coupled-packets"]["periods"] for one in found[2:]] == [3, 4]
    assert all("coupled-flow" not in one for one in found[2:])


def test_unread_keys_make_no_points_of_their_own() -> None:
    swept = {"backfill": ["none", "easy"], "window": [4, 5]}
    points = points_of(merged(base("as logged"), {"queue": swept}))
    keys = {point_key(as_read(point).resolved()) for point in points}
    assert (len(points), len(keys)) == (4, 3)
    plain = checked_config(base("as logged"))
    assert as_read(plain) is plain


# Commands and plug-ins


def test_commands_refuse_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
machine = { family = "fattree", radix = 4 }
workload.log = "log.swf"
queue = { policies = ["baseline"], run_time_model = "as-logged", assumed.scenario = "20%" }
run.snapshots = 0
"""
    Path("c.toml").write_text(text)
    for command in ("run", "sweep"):
        assert main([command, "c.toml"]) == 2
        assert capsys.readouterr().err == (
            'netcosim: error: c.toml: key queue.assumed.scenario: "20%"; nothing reads it: it is '
            'read where queue.run_time_model = "assumed"\n'
        )
    for load in (nc.load_config, load_sweep):
        with pytest.raises(NetcosimError, match=r"^c\.toml: key queue\.assumed\.scenario"):
            load("c.toml")


def test_a_plug_ins_keys_are_read_where_it_is_chosen() -> None:
    Path("mine.py").write_text(
        "from dataclasses import dataclass\nfrom typing import Annotated\n"
        "from queuesim.runtime import AsLogged\n"
        "@dataclass(frozen=True)\nclass Mine(AsLogged):\n"
        "    name = 'mine'\n    description = 'mine'\n"
        "    factor: Annotated[float, 'of nothing'] = 1.0\nPLUGIN = [Mine]\n"
    )
    added = {"plugins": ["mine.py"], "queue": {"mine": {"factor": 2.0}}}
    with pytest.raises(
        ConfigError, match=r'queue\.mine\.factor: 2\.0; .* queue\.run_time_model = "m'
    ):
        nc.config_from(merged(base("as logged"), added))
    chosen = merged(added, {"queue": {"run_time_model": "mine"}})
    config = nc.config_from(merged(base("as logged"), chosen))
    assert config.resolved()["queue"]["mine"] == {"factor": 2.0}
    Path("mine.py").write_text(Path("mine.py").read_text().replace("'mine'", "'window'"))
    with pytest.raises(NetcosimError, match="run-time model 'window' has the name of a key of"):
        nc.config_from(base("as logged") | {"plugins": ["mine.py"]})


def test_a_curve_refuses_keys_of_its_machine() -> None:
    machine = {"family": "fattree", "radix": 4, "rail_routers": "same"}
    shift = {"traffic": "shift", "parameters": {"distance": 3}}
    for more in ({}, {"curve": shift}):
        with pytest.raises(ConfigError, match=r'machine\.rail_routers: "same"; .*rails is above 1'):
            curve_from({"machine": machine, **more})
    assert curve_from({"machine": {"family": "fattree", "radix": 4, "routing": "adaptive"}})
