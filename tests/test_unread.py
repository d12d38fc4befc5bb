"""Keys that nothing reads: each is reported by its name, and none that is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from unread_bases import BASES, base, merged, write_files

import netcosim as nc
from netcosim.announce import report_unread
from netcosim.cli import main
from netcosim.config.config import Config
from netcosim.config.content import checked_config
from netcosim.config.fields import value_at
from netcosim.config.load import points_of
from netcosim.config.reference import config_keys
from netcosim.config.unread import as_read, given_keys, unread_keys, unread_lines
from netcosim.curve.config import curve_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.cosim_tables import result_tables
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError, UnreadKeyWarning

pytestmark = pytest.mark.usefixtures("undrawn")

KEYS = [key for key in config_keys() if not key.startswith(("sweep.", "reference", "plugins"))]
QUICK = ("no backfilling",)
READ_ALL_THE_SAME = (
    # limits that none of these jobs reaches, and what the log says twice
    *("workload.node_field", "workload.max_nodes", "workload.min_run_time", "workload.start"),
    *("workload.end", "workload.month", "workload.days", "workload.first_jobs"),
    *("workload.larger_jobs", "queue.window", "queue.dependencies", "queue.partitions.name"),
    *("queue.partitions.max_walltime", "queue.partitions.max_nodes"),
    # policies that draw nothing from a log's jobs, or agree on so few nodes
    *("run.name", "run.seed", "run.repetition", "policies.slurm-tree.switches"),
    *("queue.speeds_up", "queue.multifactor.age_weight", "queue.multifactor.partition_weight"),
    *("queue.multifactor.fair_share_weight", "queue.multifactor.max_age"),
    *("queue.multifactor.half_life", "queue.partitions.priority", "queue.partitions.factor"),
    *("queue.partitions.log_names", "policies.slurm-tree.max_wait", "queue.bandwidth_need"),
    # bounds that so small measurements do not reach
    *("machine.packet.congestion_control", "run.confidence", "run.paired.max_iterations"),
    *("run.steady.precision", "run.steady.most_iterations", "queue.coupled.budget"),
    "communication.ranks_per_node",
    # how a run computes and what it keeps beside the tables
    *("run.threads", "run.keep", "run.only_snapshot"),
)
"""Read, and without effect on these small cases."""
SAME_IN_BASE = {
    # hardly a job waits behind one that does not fit, and no start that it is promised moves
    "generated jobs, as logged": ("queue.backfill",),
    # all is over within minutes, and either half-life is days
    "fair-share": ("queue.fair_share.half_life",),
    # nobody waits: all jobs together fit on the midplanes; and no job whose partition differs
    # draws a number between the two shares of bound jobs
    "partitions of a torus": (
        *("queue.order", "queue.backfill", "queue.partition_bisection.bound_jobs"),
    ),
    # without headers packets of any size have the same bytes
    "iterations": ("machine.recipe", "machine.packet.packet_bytes", "machine.packet.preset"),
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
    head, *_, line = config_keys()[path].lines
    more: dict[str, Any] = tomllib.loads(f"{head}\n{line}")
    for section, name in (("communication", "mix"), ("queue", "partitions")):
        entries = content.get(section, {}).get(name)
        if path.startswith(f"{section}.{name}.") and entries:
            [example] = more[section][name]
            changed = entries if name == "mix" else entries[:1]
            rest = entries[len(changed) :]
            more[section][name] = [*(merged(entry, example) for entry in changed), *rest]
    return merged(content, more)


def cases(name: str) -> list[tuple[str, Config, Config]]:
    """Keys that a base takes: the point without and with the example, which is not its value."""
    found = []
    for path in KEYS:
        if path in WHOLE_RUNS:
            continue
        content = base(name)
        if path.startswith("queue.partitions.") and "partitions" not in content["queue"]:
            content["queue"]["partitions"] = [{}]
        try:
            before = checked_config(content)
            after = points_of(with_example(content, path))[-1]
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
    """What is reported changes no table; what is not reported does, or is data-dependent."""
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
        drawn = any("the random draws depend on it" in one.why for one in unread_keys([after]))
        if unread == changed and not same and not drawn and path not in ADDS_EMPTY_COLUMNS:
            wrong.append(f"{path} is reported, and changes a table")
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
@pytest.mark.filterwarnings("ignore::netsim.errors.UnreadKeyWarning")
@pytest.mark.parametrize("name", QUICK)
def test_each_key_is_reported_or_counts(name: str) -> None:
    check_each_key(name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::netsim.errors.UnreadKeyWarning")
@pytest.mark.parametrize("name", [name for name in BASES if name not in QUICK])
def test_each_key_is_reported_or_counts_in_all_bases(name: str) -> None:
    check_each_key(name)


# The cases of the issue


_ALWAYS, _PATTERN = 'together = "always"', 'pattern = "all-to-all"'
NAMED = [
    ("as logged", 'queue.scenario = "20%"', "queue.scenario"),
    ("as logged", 'queue.speeds_up = ["jigsaw"]', "queue.speeds_up"),
    ("as logged", 'queue.measured.bound = "high"', "queue.measured.bound"),
    ("as logged", "queue.measured.rounds = 3", "queue.measured.rounds"),
    *(
        ("coupled at flow level", f"queue.coupled.{key} = {value}", f"queue.coupled.{key}")
        for key, value in (
            *(("budget", '"1 min"'), ("periods", 3), ("phases", 2), ("message_scale", 0.5)),
        )
    ),
    ("as logged", 'queue.fair_share.by = "account"', "queue.fair_share.by"),
    ("as logged", "queue.multifactor.size_weight = 5", "queue.multifactor.size_weight"),
    ("as logged", f"communication.{_ALWAYS}", "mix.message_bytes, together): run.snapshots = 0"),
    ("steady", f"communication.{_ALWAYS}", "communication.together is not read"),
    (
        "measured",
        f"communication.mix = [{{ {_PATTERN}, iterations = 2 }}]",
        "communication.mix.iterations is not read",
    ),
    (
        "two rails",
        f"communication = {{ {_ALWAYS}, mix = [{{ {_PATTERN}, communication_fraction = 0.2 }}] }}",
        "communication.mix.communication_fraction is not read",
    ),
    ("measured", "run.paired.repeats = 3.0", "[run.paired] is not read (repeats)"),
    ("paired", "run.steady.noise = 0.2", "[run.steady] is not read (noise)"),
    ("no backfilling", "queue.window = 5", "queue.window"),
    ("as logged", 'queue.estimates = "actual"', "queue.estimates"),
    (
        "generated jobs, as logged",
        "workload.synthetic.sizes = [2, 4]",
        "workload.synthetic.mean_nodes",
    ),
    ("as logged", 'machine.rail_routers = "same"', "machine.rail_routers"),
    ("measured", 'machine.packet.rail_policy = "pinned"', "machine.packet.rail_policy"),
    ("topology.conf", "machine.uplinks = 2", "machine.taper"),
    ("topology.conf", "machine.taper = [0.5, 0.25]", "machine.taper"),
    ("generated jobs, as logged", 'workload.run_times = "to-walltime"', "workload.run_times"),
    ("as logged", 'queue.outages.after_failure = "requeue"', "queue.outages.after_failure"),
    ("as logged", "policies.slurm-block.block_sizes = [2]", "[policies.slurm-block]"),
]


@pytest.mark.parametrize(("name", "more", "told"), NAMED, ids=[more for _, more, _ in NAMED])
def test_a_named_key_is_reported_with_what_would_read_it(
    name: str, more: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = merged(base(name), tomllib.loads(more))
    report_unread("mine.toml", [checked_config(content)])
    lines = [line for line in capsys.readouterr().err.splitlines() if told in line]
    assert len(lines) == 1
    assert lines[0].startswith("netcosim: warning: mine.toml: ")
    assert " not read" in lines[0]
    assert "(read w" in lines[0] or "values the first 1 are" in lines[0]


def test_what_is_read_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("conservative, cut", "fair-share", "measured", "paired", "steady", "two rails"):
        lines = unread_lines([checked_config(base(name))])
        # a queue alone sends no messages
        assert all(line.startswith("[communication] is not read") for line in lines), (name, lines)
    merlin = merged(base("measured"), {"machine": {"packet": {"preset": "merlin"}}})
    assert unread_lines([checked_config(merlin)]) == []


def test_a_packet_preset_is_read_where_the_model_reads_a_key_that_it_sets() -> None:
    preset = {"machine": {"packet": {"preset": "merlin"}}}
    told = {
        name: [one.key for one in unread_keys([checked_config(merged(base(name), preset))])]
        for name in ("coupled at flow level", "as logged")
    }
    assert "machine.packet.preset" not in told["coupled at flow level"]
    assert "machine.packet.preset" in told["as logged"]


@pytest.mark.parametrize(
    ("name", "drawn"), [("coupled at flow level", True), ("measured", True), ("as logged", False)]
)
def test_what_the_draws_depend_on_is_said_to_be(name: str, drawn: bool) -> None:
    content = base(name)
    content["communication"]["mix"][0]["weight"] = 2.0
    [why] = [one.why for one in unread_keys([checked_config(content)]) if "weight" in one.key]
    assert ("the random draws depend on it" in why) == drawn


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


def test_a_sweep_reports_what_no_point_reads(capsys: pytest.CaptureFixture[str]) -> None:
    swept = {"backfill": ["none", "easy"], "window": 4, "scenario": "20%"}
    points = points_of(merged(base("as logged"), {"queue": swept}))
    assert [one.key for one in unread_keys(points) if one.key.startswith("queue")] == [
        "queue.scenario"
    ]
    assert "queue.window" in [one.key for one in unread_keys(points[:1])]


def test_unread_keys_make_no_points_of_their_own() -> None:
    swept = {"backfill": ["none", "easy"], "window": [4, 5], "scenario": ["5%", "20%"]}
    points = points_of(merged(base("as logged"), {"queue": swept}))
    keys = {point_key(as_read(point).resolved()) for point in points}
    assert (len(points), len(keys)) == (8, 3)
    plain = checked_config(base("as logged"))
    assert as_read(plain) is plain or as_read(plain).resolved() == plain.resolved()


# Where it is said


def test_commands_report_on_stderr_and_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
machine = { family = "fattree", radix = 4 }
workload.log = "log.swf"
queue = { policies = ["baseline"], run_time_model = "as-logged", scenario = "20%" }
run.snapshots = 0
"""
    Path("c.toml").write_text(text)
    line = "netcosim: warning: c.toml: queue.scenario is not read: queue.run_time_model"
    for command in (["run", "c.toml", "--dry-run"], ["run", "c.toml"], ["sweep", "c.toml"]):
        assert main(command) == 0
        err = capsys.readouterr().err
        assert err.count("queue.scenario is not read") == 1
        assert line in err
    assert "queue.scenario is not read" in Path("netcosim-c/report.html").read_text()


def test_the_library_warns() -> None:
    content = merged(base("as logged"), {"queue": {"scenario": "20%"}})
    with pytest.warns(UnreadKeyWarning, match=r"queue\.scenario is not read"):
        nc.config_from(content)
    Path("c.toml").write_text(
        'machine.preset = "cab"\nworkload.log = "log.swf"\n'
        'queue = { policies = ["random"], window = 3, backfill = "none" }\n'
    )
    with pytest.warns(UnreadKeyWarning, match=r"queue\.window is not read"):
        nc.load_config("c.toml")


def test_a_resolved_config_reports_no_defaults() -> None:
    content = checked_config(base("paired")).resolved()
    assert unread_lines([checked_config(content)]) == []


def test_a_plug_ins_keys_are_read_where_it_is_chosen() -> None:
    Path("mine.py").write_text(
        "from dataclasses import dataclass\nfrom typing import Annotated\n"
        "from queuesim.runtime import AsLogged\n"
        "@dataclass(frozen=True)\nclass Mine(AsLogged):\n"
        "    name = 'mine'\n    description = 'mine'\n    section = 'mine'\n"
        "    factor: Annotated[float, 'of nothing'] = 1.0\nPLUGIN = [Mine]\n"
    )
    added = {"plugins": ["mine.py"], "queue": {"mine": {"factor": 2.0}}}
    other = checked_config(merged(base("as logged"), added))
    mine = checked_config(
        merged(base("as logged"), merged(added, {"queue": {"run_time_model": "mine"}}))
    )
    assert "queue.mine.factor" in [one.key for one in unread_keys([other])]
    assert "queue.mine.factor" not in [one.key for one in unread_keys([mine])]


def test_a_curve_reports_keys_of_its_machine(capsys: pytest.CaptureFixture[str]) -> None:
    machine = {"family": "fattree", "radix": 4, "rail_routers": "same"}
    plain = curve_from({"machine": machine})
    shift = {"traffic": "shift", "parameters": {"distance": 3}}
    for config in (plain, curve_from({"machine": machine, "curve": shift})):
        [line] = unread_lines([config])
        assert line.startswith("machine.rail_routers is not read: machine.rails = 1")
