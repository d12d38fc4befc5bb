"""Deciders in other programs: the built-in schedules, the protocol's rules, and the process."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simpy
from queue_helpers import make_workload, same_schedule

import netcosim as nc
from alloc.registry import make_policy
from netcosim.cli import main
from netcosim.config.load import config_from
from netcosim.gym.env_factory import env_factory_from
from netcosim.runs.cosim import run_cosim
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.topologies.registry import make_topology
from queuesim.external.check import check_scheduler
from queuesim.external.decider import External
from queuesim.external.process import LineProcess
from queuesim.queue import run_queue, simulate_queue
from queuesim.queue_setup import QueueSetup
from queuesim.result import QueueResult
from workloads.job import Workload
from workloads.synthetic import laas_workload

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "external"
PYTHON = [sys.executable, "-S"]
EASY = [*PYTHON, str(EXAMPLES / "easy.py")]
MACHINE = make_topology("dragonfly", {"p": 2, "a": 4, "g": 5})


def example(name: str) -> Any:
    """One of the programs beside the page, as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def helper(fault: str, *more: str) -> list[str]:
    return [*PYTHON, str(Path(__file__).with_name("external_schedulers.py")), fault, *more]


def jobs(n: int, seed: int) -> Workload:
    """Jobs that request more or less time than they take, some at the same instant."""
    rng = np.random.default_rng(seed)
    made = laas_workload(n, 8.0, rng)
    return replace(
        made,
        requested_s=made.run_time_s * rng.uniform(0.8, 3.0, n),
        submit_s=np.sort(rng.uniform(0, 200 * n, n)).round(-2),
        n_nodes=np.minimum(made.n_nodes, MACHINE.n_nodes),
    )


def run(work: Workload, backfill: Any) -> QueueResult:
    setup = QueueSetup(
        work,
        make_policy(MACHINE, "simple", np.random.default_rng(1)),
        backfill=backfill,
        rng=np.random.default_rng(0),
        keep_placements=True,
    )
    return run_queue(setup)


def test_the_python_example_is_easy_job_by_job() -> None:
    for seed in range(3):
        work = jobs(120, seed)
        decider = External(EASY)
        assert same_schedule(run(work, decider), run(work, "easy"))
        assert decider.status == 0
        assert decider.n_exchanges > 120


def compiled(language: str, folder: Path) -> list[str]:
    program = folder / f"easy-{language}"
    source = str(EXAMPLES / f"easy.{language}")
    compiler = {"cpp": ["g++", "-O2", "-std=c++17"], "rs": ["rustc", "-O"]}[language]
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"{compiler[0]} is not here")
    subprocess.run([*compiler, "-o", str(program), source], check=True)
    return [str(program)]


@pytest.mark.full
@pytest.mark.parametrize("language", ["cpp", "rs"])
def test_compiled_examples_are_easy_job_by_job(language: str, tmp_path: Path) -> None:
    program = compiled(language, tmp_path)
    for seed in range(5):
        work = jobs(300, seed)
        assert same_schedule(run(work, External(program)), run(work, "easy"))
    assert "protocol 1" in check_scheduler(program)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("dies", "at 0 s: the program ended with status 3"),
        ("sleeps", r"no answer within 0.3 s \(time_limit\)"),
        ("protocol", "answered hello with protocol 2; must be 1"),
        ("lines", "wrote more than one line"),
        ("text-line", "wrote a line that is not JSON: 'hello, world'"),
        ("list", r"answer \[\]; must be a JSON object"),
        ("key", "answer has the key 'begin'; known: start, until_s"),
        ("start", "start 1; must be a list"),
        ("unknown", "starts job 1000000, which was never submitted"),
        ("twice", "starts job 1 twice"),
        ("true", "starts job True, which was never submitted"),
        ("again", "starts job 1, which runs"),
        ("large", "starts job 2 of 38 nodes with 36 free"),
        ("count", "job 1: 1 nodes chosen for a job of 4"),
        ("nodes", "job 1: nodes '0-1'; must be a list of node numbers"),
        ("past", "until_s 0.0; must be a time after now"),
        ("nan", "until_s nan; must be a time after now"),
        ("yes", "at 0 s: until_s True; must be a time after now"),
        ("far", "at 0 s: until_s 1000000000000000.0; must be a time after now"),
        ("never", "no waiting job is ever started"),
    ],
)
def test_a_broken_rule_is_named_in_one_line_and_the_program_ended(
    fault: str, message: str, tmp_path: Path
) -> None:
    work = make_workload([0, 10, 20], [100, 50, 50], [4, 38, 2])
    pid = tmp_path / "pid"
    with pytest.raises(NetcosimError, match=message) as raised:
        run(work, External(helper(fault, str(pid)), 0.3 if fault == "sleeps" else 10.0))
    assert "\n" not in str(raised.value)
    assert is_gone(int(pid.read_text()))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("nodes", [[0, 1.0], [True, 2], [MAX_INDEX + 1], [-MAX_INDEX - 1]])
def test_nodes_are_whole_numbers(nodes: list[object]) -> None:
    decider, work = External(["x"]), make_workload([0], [10], [2])
    decider.begin(work, make_topology("torus", {"dims": [4]}), np.random.default_rng(0))
    decider.arrived(0, 0.0)
    found = decider._choice({"id": 1, "nodes": [MAX_INDEX, -MAX_INDEX]}).nodes
    assert found is not None
    assert found.tolist() == [MAX_INDEX, -MAX_INDEX]
    with pytest.raises(NetcosimError, match=r"job 1: nodes .*; must be a list of node numbers"):
        decider._choice({"id": 1, "nodes": nodes})


def test_nodes_that_are_not_free_are_refused() -> None:
    work = make_workload([0, 10], [100, 50], [2, 2])
    with pytest.raises(NetcosimError, match="job 2: node 0 is not free"):
        run(work, External(helper("busy")))


def test_the_program_is_ended_on_an_interrupt_and_after_each_run(tmp_path: Path) -> None:
    def interrupted(done: int, n: int) -> None:
        raise KeyboardInterrupt

    work, pid = jobs(20, 1), tmp_path / "pid"
    given: dict[str, Any] = {"policy": make_policy(MACHINE, "simple", np.random.default_rng(1))}
    with pytest.raises(KeyboardInterrupt):
        simulate_queue(
            work,
            backfill=External(helper("", str(pid))),
            progress=interrupted,
            rng=np.random.default_rng(0),
            **given,
        )
    assert is_gone(int(pid.read_text()))
    decider = External(helper("", str(pid)))
    starts = [run(work, decider).start_s for _ in range(2)]
    assert np.array_equal(*starts)
    assert np.array_equal(starts[0], run(work, "none").start_s)
    assert is_gone(int(pid.read_text()))


def test_a_program_that_cannot_be_started() -> None:
    with pytest.raises(NetcosimError, match="nowhere: cannot be started: No such file"):
        run(jobs(3, 1), External(["./nowhere"]))


def test_a_program_may_wait_until_a_time() -> None:
    """Jobs start at the next multiple of 100 s, whether or not anything happens then."""
    submit = [0.0, 30.0, 130.0, 140.5, 1000.0, 1050.0]
    work = make_workload(submit, [7.0] * 6, [4] * 6)
    found = run(work, External(helper("hundreds")))
    assert found.start_s.tolist() == [100 * np.ceil(s / 100) for s in submit]


def test_a_program_may_follow_and_choose_nodes() -> None:
    """It stops with status 7 if the nodes that are free for it are not as many as for netcosim."""
    work = jobs(150, 4)
    decider = External(helper("by-node"))
    found = run(work, decider)
    assert decider.status == 0
    assert np.array_equal(found.start_s, run(work, "none").start_s)
    assert not same_schedule(found, run(work, "none"))


# Programs that give the answers of a list, one after the other


def scripted(folder: Path, answers: list[object], by_node: object = False) -> External:
    return External(helper("script", str(folder / "log"), json.dumps(by_node), json.dumps(answers)))


def messages(folder: Path) -> list[dict[str, Any]]:
    """The messages to such a program after "hello"."""
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()][1:]


def test_starts_of_one_answer_share_the_free_nodes(tmp_path: Path) -> None:
    """Of 40 nodes 30 and then 10 are started at once; after 4 and 2 there are not 38, but 34.

    The program has not asked for nodes: it is told how many are free, not which.
    """
    work = make_workload([0, 0], [100, 50], [30, 10])
    assert run(work, scripted(tmp_path, [{"start": [1, 2]}])).start_s.tolist() == [0, 0]
    told, _ = messages(tmp_path)
    assert (told["free"], [*told]) == (40, ["type", "now_s", "free", "submitted"])
    work = make_workload([0, 0, 0], [100, 50, 50], [4, 38, 2])
    with pytest.raises(NetcosimError, match="starts job 2 of 38 nodes with 34 free"):
        run(work, scripted(tmp_path, [{"start": [1, 3, 2]}]))


def test_a_program_waits_as_often_as_it_likes_while_jobs_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most 3 times in a row without: job 1 runs from 0 to 60 s, and the program is called each
    10 s. What is submitted at 75 s begins a new row: at 75, 80 and 90 s it waits."""
    monkeypatch.setattr("queuesim.decide.MOST_WAITS", 3)
    waits: list[object] = [{"until_s": t} for t in (20, 30, 40, 50, 60, 70, 80, 80, 90, 100, 110)]
    begin: list[object] = [{"start": [1], "until_s": 10}, *waits]
    work = make_workload([0, 0, 75], [60, 5, 5], [4, 40, 1])
    found = run(work, scripted(tmp_path, [*begin[:-1], {"start": [2]}, {"start": [3]}]))
    assert found.start_s.tolist() == [0, 100, 105]
    with pytest.raises(NetcosimError, match="at 100 s: waited 3 times in a row, 25 s in all"):
        run(work, scripted(tmp_path, begin))
    # beside a job, waits of half a second are too short
    short: list[object] = [{"start": [1], "until_s": 0.5}, *({"until_s": t} for t in (1, 1.5, 2))]
    with pytest.raises(NetcosimError, match=r"at 1\.5 s: waited 3 times in a row, 1\.5 s in all"):
        run(work, scripted(tmp_path, short))


def test_a_program_learns_once_where_the_policy_placed_a_job(tmp_path: Path) -> None:
    """It starts job 1 on nodes of its choice; "simple" takes the lowest of the rest for job 2.

    Job 4 is placed and over before the program is called for job 5.
    """
    work = make_workload([0, 0, 5, 100, 200], [30, 20, 5, 10, 10], [2, 3, 40, 1, 1])
    first = {"start": [{"id": 1, "nodes": [7, 1]}, 2]}
    answers = [first, {}, {}, {"start": [3]}, {"start": [4]}, {"start": [5]}]
    found = run(work, scripted(tmp_path, answers, by_node=True))
    assert found.start_s.tolist() == [0, 0, 30, 100, 200]
    told = [{k: m[k] for k in ("free_nodes", "placed", "finished") if k in m}
            for m in messages(tmp_path)[:-1]]  # fmt: skip
    assert told == [
        {"free_nodes": [*range(40)]},
        {"placed": [{"id": 2, "nodes": [0, 2, 3]}]},
        {"finished": [{"id": 2, "end_s": 20}]},
        {"finished": [{"id": 1, "end_s": 30}]},
        {"placed": [{"id": 3, "nodes": [*range(40)]}], "finished": [{"id": 3, "end_s": 35}]},
        {"placed": [{"id": 4, "nodes": [0]}], "finished": [{"id": 4, "end_s": 110}]},
    ]


def test_a_run_begins_without_what_a_failed_one_has_left(tmp_path: Path) -> None:
    """Job 1 of one node cannot have two, and job 2 was to start after it; of two nodes it has."""
    decider = scripted(tmp_path, [{"start": [{"id": 1, "nodes": [3, 5]}, 2]}])
    with pytest.raises(NetcosimError, match="2 nodes chosen for a job of 1"):
        run(make_workload([0, 0], [10, 5], [1, 4]), decider)
    assert run(make_workload([0, 0], [10, 5], [2, 4]), decider).start_s.tolist() == [0, 0]


def test_a_job_that_is_over_is_not_started_again(tmp_path: Path) -> None:
    work = make_workload([0, 20], [10, 5], [4, 4])
    with pytest.raises(NetcosimError, match="at 20 s: starts job 1, which is over"):
        run(work, scripted(tmp_path, [{"start": [1]}, {"start": [2, 1]}]))


def test_what_a_program_cannot_be_told(tmp_path: Path) -> None:
    work = make_workload([0, 0], [10, 5], [4, 4])
    with pytest.raises(NetcosimError, match="the job numbers of the log are not unique"):
        run(replace(work, job_id=np.array([3, 3])), scripted(tmp_path, []))
    with pytest.raises(NetcosimError, match="by_node 1; must be true or false"):
        run(work, scripted(tmp_path, [], by_node=1))
    tree = make_policy(make_topology("fattree", {"radix": 4}), "jigsaw", np.random.default_rng(1))
    with pytest.raises(NetcosimError, match="by_node: policy 'jigsaw' places by more than nodes"):
        simulate_queue(
            work, tree, backfill=scripted(tmp_path, [], True), rng=np.random.default_rng(0)
        )


# The process


def shell(text: str) -> LineProcess:
    return LineProcess(["sh", "-c", text], 10.0)


def test_a_line_that_comes_late_is_not_the_next_answer(tmp_path: Path) -> None:
    late = tmp_path / "late"
    process = shell(
        f"read a; echo 1; until [ -e {late} ]; do sleep 0.01; done; echo 2; read b; echo 3; read c"
    )
    try:
        assert process.exchange({}) == 1
        late.touch()
        assert process._readable.poll(10_000)
        with pytest.raises(NetcosimError, match="wrote more than one line: '2"):
            process.exchange({})
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kill -9 $$", "the program ended by signal 9"),
        ("exit 5", "the program ended with status 5"),
        ("exit 0", "the program ended with status 0"),
        ("printf '1\\n\\n'; read b", r"wrote more than one line: '\\n'"),
        ("printf '%0200d' 0; read b", "wrote a line of more than 100 bytes"),
        ("printf 'a%079d\\n' 0", f"not JSON: 'a{'0' * 79}'$"),
        ("printf 'a%080d\\n' 0", f"not JSON: 'a{'0' * 79}'[.]{{3}}$"),
    ],
)
def test_what_a_process_did_is_named(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queuesim.external.process.MAX_LINE_BYTES", 100)
    process = shell(f"read a; {text}")
    try:
        with pytest.raises(NetcosimError, match=message):
            process.exchange({"type": "decide"})
    finally:
        process.kill()


def test_a_program_has_some_time_to_end() -> None:
    """Its status is that with which it ends, or none if it does not: then it is killed."""
    patient = LineProcess(["sh", "-c", "read a; sleep 60"], 0.1)
    assert patient.end({}) is None
    assert patient._process.returncode == -signal.SIGKILL
    assert shell("read a; exit 6").end({}) == 6


@pytest.mark.parametrize(("limit_s", "wait_s"), [(2.5, 2.5), (60.0, 5.0)])
def test_an_end_takes_no_more_than_an_answer_and_five_seconds(
    limit_s: float, wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = LineProcess(["sh", "-c", "read a; exit 6"], limit_s)
    waits_s: list[float | None] = []
    wait = process._process.wait

    def noted(timeout: float | None = None) -> int:
        waits_s.append(timeout)
        return wait()

    monkeypatch.setattr(process._process, "wait", noted)
    assert process.end({}) == 6
    # at last it waits for what it has killed
    assert waits_s == [wait_s, None]


def test_an_answer_has_what_its_message_has_left_of_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By a clock that gains 1 s each time it is read, 1.5 s are left of a limit of 2.5 s."""
    clock = iter((100.0, 101.0))
    monkeypatch.setattr("queuesim.external.process.monotonic", lambda: next(clock))
    waits_ms: list[float] = []

    class Silent:
        def poll(self, limit_ms: float) -> list[Any]:
            waits_ms.append(limit_ms)
            return []

    process = LineProcess(["sleep", "60"], 2.5)
    monkeypatch.setattr(process, "_readable", Silent())
    try:
        with pytest.raises(NetcosimError, match=r"no answer within 2.5 s"):
            process.exchange({})
    finally:
        process.kill()
    assert waits_ms == [0, 1500]


def test_a_program_that_never_reads_is_given_up_at_its_limit() -> None:
    """200,000 bytes are more than a pipe holds: the rest waits for 0.3 s, not for the program."""
    process = LineProcess(["sh", "-c", "sleep 10"], 0.3)
    try:
        with pytest.raises(NetcosimError, match=r"no answer within 0.3 s \(time_limit\)$"):
            process.exchange({"type": "x" * 200_000})
        assert process._process.poll() is None
    finally:
        process.kill()


def test_what_a_program_has_started_is_ended_with_it(tmp_path: Path) -> None:
    """Its child holds a named pipe open for writing; the pipe hangs up when the child is gone."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        process = shell(f"(echo 1; exec sleep 30) > {pipe} & read a; echo 2; read b")
        assert process.exchange({}) == 2
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        assert poll.poll(10_000) == [(reader, select.POLLIN)]
        assert os.read(reader, 9) == b"1\n"
        process.kill()
        assert poll.poll(10_000) == [(reader, select.POLLHUP)]
    finally:
        os.close(reader)


def test_long_messages_pass() -> None:
    """A thousand jobs at once are more than a pipe holds, 64 KiB."""
    work = replace(jobs(1000, 2), submit_s=np.zeros(1000))
    assert np.array_equal(run(work, External(EASY)).start_s, run(work, "easy").start_s)


# Configs


def content(decider: Any, **queue: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "dragonfly", "p": 2, "a": 4, "g": 5},
        "workload": {"larger_jobs": "drop", "synthetic": {"n_jobs": 60, "mean_nodes": 6}},
        "queue": {"policies": ["simple", "rdn"], "run_time_model": "as-logged"}
        | {"decider": decider}
        | queue,
        "run": {"snapshots": 0},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "easy.py", tmp_path)
    return tmp_path


def test_a_config_names_a_program(folder: Path) -> None:
    given = {"command": f"{sys.executable} easy.py", "time_limit": "20 s"}
    config = config_from(content(given))
    section: Any = config.queue.decider
    assert section.time_limit_s == 20
    assert section.words() == [sys.executable, str(folder / "easy.py")]
    again = config_from(config.resolved())
    assert again.resolved() == config.resolved()
    found, built_in = (run_cosim(one).schedules for one in (config, config_from(content("easy"))))
    for name in ("simple", "rdn"):
        assert same_schedule(found[name], built_in[name])
    assert found["simple"].backfill == f"{Path(sys.executable).name} easy.py"


def test_the_bytes_of_the_program_are_part_of_a_points_key(folder: Path) -> None:
    command = ["python3", "easy.py"]
    config = config_from(content({"command": command}))
    key = point_key(config.resolved())
    (folder / "there").mkdir()
    shutil.copy("easy.py", folder / "there")
    moved = config_from(content({"command": ["python3", "there/easy.py"]}))
    assert point_key(moved.resolved()) == key
    with (folder / "easy.py").open("a") as file:
        file.write("# changed\n")
    assert point_key(config_from(content({"command": command})).resolved()) != key
    with pytest.raises(NetcosimError, match=r"easy.py: the file has changed"):
        run_cosim(config)


@pytest.mark.parametrize(
    ("decider", "queue", "message"),
    [
        ({"command": ""}, {}, "must be a text or a list of texts"),
        ({"command": []}, {}, "must be a text or a list of texts"),
        ({"command": "'a"}, {}, "No closing quotation"),
        ({"command": [1]}, {}, "queue.decider"),
        ({"command": "a", "time_limit": "0 s"}, {}, "queue.decider"),
        ({"command": "a", "time_limit": 5}, {}, "5 has no unit"),
        ({"command": "a", "limit": 1}, {}, "queue.decider"),
        ({"command": {"a": 1}}, {}, "must be a text or a list of texts"),
        ({"command": "a"}, {"order": "wfp"}, 'decider does not go with order = "wfp"'),
        ({"command": "a"}, {"window": 5}, "decider does not go with window = 5"),
        ({"command": "a"}, {"backfill": "none"}, 'does not go with backfill = "none"'),
        ({"command": "a"}, {"placement_rules": ["rdg"]}, "a program names nodes, not rules"),
    ],
)
def test_what_a_program_does_not_go_with(
    decider: dict[str, Any], queue: dict[str, Any], message: str
) -> None:
    with pytest.raises(NetcosimError, match=message):
        config_from(content(decider, **queue))


def test_environments_run_no_programs() -> None:
    with pytest.raises(NetcosimError, match="environments do not run programs"):
        env_factory_from(config_from(content({"command": "a"})), decides_jobs=False)


# The validator


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("status", 'had status 4 after "end"'),
        ("draws", "two runs of the same jobs and seed differ"),
        ("unknown", "which was never submitted"),
    ],
)
def test_the_validator_names_the_first_violation(fault: str, message: str) -> None:
    with pytest.raises(NetcosimError, match=message):
        check_scheduler(helper(fault))


def test_the_validator_names_a_program_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queuesim.external.process._END_LIMIT_S", 0.1)
    with pytest.raises(NetcosimError, match='did not end after "end"'):
        check_scheduler(helper("stays"))


def test_the_validator_counts_the_decisions_of_all_its_queues(tmp_path: Path) -> None:
    shown = check_scheduler(logged_easy(tmp_path / "lines"))
    lines = (tmp_path / "lines").read_text().splitlines()
    assert sum(json.loads(line)["type"] == "hello" for line in lines) == 3
    n_decisions = sum(json.loads(line)["type"] == "decide" for line in lines)
    assert f"protocol 1, {n_decisions} decisions, " in shown


def test_the_command_checks_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-scheduler", *EASY]) == 0
    assert "easy.py: protocol 1, " in capsys.readouterr().out
    assert main(["check-scheduler", "--time-limit", "0.2 s", *helper("sleeps")]) == 2
    assert "no answer within 0.2 s" in capsys.readouterr().err
    assert main(["check-scheduler"]) == 2
    assert "COMMAND" in capsys.readouterr().err


# Batsim


def test_interval_sets_of_batsim() -> None:
    batsim = example("batsim")
    nodes_of, answer_of, events_of = batsim.nodes_of, batsim.answer_of, batsim.events_of
    assert nodes_of("1 2 4-8") == [1, 2, 4, 5, 6, 7, 8]
    calls: list[float] = []
    answer = answer_of(
        [
            {"type": "EXECUTE_JOB", "data": {"job_id": "w!7", "alloc": "2-3"}},
            {"type": "CALL_ME_LATER", "data": {"timestamp": 25.5}},
            {"type": "CALL_ME_LATER", "data": {"timestamp": 20.5}},
        ],
        calls,
    )
    assert answer == {"start": [{"id": 7, "nodes": [2, 3]}], "until_s": 20.5}
    with pytest.raises(SystemExit, match="REJECT_JOB, which is not supported"):
        answer_of([{"type": "REJECT_JOB", "data": {}}], calls)
    message = {"now_s": 30.0, "finished": [{"id": 7, "end_s": 29.0}]}
    kinds = [(one["type"], one["timestamp"]) for one in events_of(message, True)]
    assert kinds == [("JOB_COMPLETED", 29.0), ("REQUESTED_CALL", 30.0)]


# The page, and `Live` in somebody's simulator


def logged_easy(log: Path) -> list[str]:
    """The example in Python, which also adds each line that it reads to a file."""
    program = (
        f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import easy\n"
        f"log, lines = open({str(log)!r}, 'a', 1), sys.stdin\n"
        "sys.stdin = (log.write(line) and line for line in lines)\n"
        "easy.main()\n"
    )
    return [*PYTHON, "-c", program]


def test_the_messages_of_the_page_are_those_that_are_sent(tmp_path: Path) -> None:
    """Keys of all messages to a program, and those that the page lists."""
    log = tmp_path / "lines"
    run(jobs(30, 1), External(logged_easy(log)))
    page = (ROOT / "docs" / "coupling.md").read_text()
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    assert [m["type"] for m in messages[:2]] == ["hello", "decide"]
    assert messages[-1] == {"type": "end"}
    rows = [row for m in messages for row in [*m.get("submitted", ()), *m.get("finished", ())]]
    for key in {key for one in (*messages, *rows) for key in one} | {"free_nodes", "placed"}:
        assert f'"{key}"' in page or f"`{key}`" in page, key


def test_a_cluster_in_simpy_has_contention_in_closed_form() -> None:
    """Two jobs over one cable, fractions f and g: both run 1 + f g times as long while both run."""
    cluster = example("simpy_cluster")
    machine = make_topology("torus", {"dims": [2], "wrap": False, "concentration": 2})

    class Interleaved(cluster.Contended):  # type: ignore[misc,name-defined]
        def __init__(self, env: Any, live: Any) -> None:
            super().__init__(env, live)
            self.free = [0, 2, 1, 3]

    def ran(kind: type, more: list[Any]) -> dict[int, tuple[float, float]]:
        work = [cluster.Job(1, 0.0, 2, 100.0, "all-to-all", 0.5), *more]
        found: dict[int, tuple[float, float]] = cluster.simulate(
            kind(simpy.Environment(), nc.Live(machine, task_mapping="in-order")), work
        )
        return found

    other = cluster.Job(2, 40.0, 2, 1000.0, "all-to-all", 1.0)
    assert ran(Interleaved, [])[1] == (0, 100)
    both = ran(Interleaved, [other])
    assert both[1] == (0, pytest.approx(40 + 60 * 1.5, rel=0.01))
    # the other has done 90 / 1.5 s of its work until then
    assert both[2] == (40, pytest.approx(130 + 1000 - 60, rel=0.01))


def test_the_example_in_simpy_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example("simpy_cluster").main()
    without, with_contention = capsys.readouterr().out.splitlines()
    assert without.startswith("without contention: mean run 300 s")
    assert float(with_contention.split("mean run ")[1].split()[0]) > 300
