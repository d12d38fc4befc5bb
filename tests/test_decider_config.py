"""``queue.decider`` of a config: names, a class in a file, its bytes in the key, and its rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from queue_helpers import same_schedule

from netcosim.cli import main
from netcosim.config.load import config_from, load_config
from netcosim.runs.cosim import cosim_point, run_cosim
from netcosim.runs.draws import Draws
from netcosim.runs.points import point_key
from netsim.errors import NetcosimError
from queuesim.registry import DECIDERS
from queuesim.result import QueueResult
from workloads.details import Dependencies, JobDetails
from workloads.synthetic import laas_workload

pytestmark = pytest.mark.usefixtures("undrawn")

AGENT = '''
from queuesim.decide import Choice, Decider


class Last(Decider):
    """The last of those that fit."""

    name = "last"
    description = "the last job that fits"

    def decide(self, point):
        fits = [j for j in point.waiting() if point.machine.n_nodes[j] <= point.n_free]
        return Choice(fits[-1]) if fits else None


class First(Last):
    name = "first"

    def decide(self, point):
        fits = [j for j in point.waiting() if point.machine.n_nodes[j] <= point.n_free]
        return Choice(fits[0]) if fits else None


class AnyOne(Last):
    """Draws."""

    name = "any-one"

    def begin(self, workload, topology, rng):
        self.rng = rng

    def decide(self, point):
        fits = [j for j in point.waiting() if point.machine.n_nodes[j] <= point.n_free]
        return Choice(self.rng.choice(fits)) if fits else None


class Weighted(Last):
    """Linear in size and walltime."""

    name = "weighted"

    def __init__(self, weights):
        import json
        self.size, self.walltime = json.loads(weights.read_text())

    def cost(self, point, job):
        machine = point.machine
        return self.size * machine.n_nodes[job] + self.walltime * machine.requested_s[job]

    def decide(self, point):
        fits = [j for j in point.waiting() if point.machine.n_nodes[j] <= point.n_free]
        return Choice(min(fits, key=lambda j: self.cost(point, j))) if fits else None


class ByRule(Last):
    """First fit, placed by a rule."""

    name = "by-rule"

    def decide(self, point):
        fits = [j for j in point.waiting() if point.machine.n_nodes[j] <= point.n_free]
        return Choice(fits[0], rule="rdn") if fits else None
'''


def content(**queue: Any) -> dict[str, Any]:
    return {
        "machine": {"family": "dragonfly", "p": 2, "a": 4, "g": 5},
        "workload": {
            "larger_jobs": "drop",
            "synthetic": {
                "n_jobs": 120,
                "mean_nodes": 6,
                "load": 1.3,
                "requested_factor": [1.0, 3.0],
            },
        },
        "queue": {"policies": ["simple"], "run_time_model": "as-logged", **queue},
        "run": {"snapshots": 0},
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def schedules(**queue: Any) -> dict[str, QueueResult]:
    return run_cosim(config_from(content(**queue))).schedules


@pytest.mark.parametrize(("name", "backfill"), [("easy", "easy"), ("strict", "none")])
@pytest.mark.parametrize(
    "more", [{}, {"order": "wfp", "window": 7}, {"order": "shortest", "overrun": "cut"}]
)
def test_a_named_decider_is_the_method_that_it_is(
    name: str, backfill: str, more: dict[str, Any]
) -> None:
    policies = ["simple", "rdn", "level-spread"]
    if name == "strict":
        more = {key: value for key, value in more.items() if key != "window"}
    decided = schedules(decider=name, policies=policies, **more)
    asked = schedules(backfill=backfill, policies=policies, **more)
    for policy in policies:
        assert same_schedule(decided[policy], asked[policy])
        assert decided[policy].backfill == name


COST: dict[str, Callable[[QueueResult, int], float]] = {
    "first-that-fits": lambda result, job: job,
    "shortest-that-fits": lambda result, job: float(result.workload.requested_s[job]),
    "largest-that-fits": lambda result, job: -float(result.workload.n_nodes[job]),
    "smallest-area-that-fits": lambda result, job: float(
        result.workload.requested_s[job] * result.workload.n_nodes[job]
    ),
}


@pytest.mark.parametrize("name", [name for name in DECIDERS if name.endswith("-that-fits")])
def test_a_hand_rule_starts_the_cheapest_that_fits(name: str) -> None:
    """The schedule's events, one by one: who waited, who fitted, who was started."""
    result = schedules(decider=name)["simple"]
    jobs, free, waiting = result.workload, 40, set(range(len(result)))
    sizes, overtaken = jobs.n_nodes.tolist(), 0
    events = list(zip(result.event_s, result.event_job, result.event_is_start, strict=True))
    for k, (now_s, job, starts) in enumerate(events):
        fits = [j for j in waiting if jobs.submit_s[j] <= now_s and sizes[j] <= free]
        if starts:
            cheapest = min(fits, key=lambda j: (COST[name](result, j), j))
            assert job == cheapest
            overtaken += cheapest != min(j for j in waiting if jobs.submit_s[j] <= now_s)
            waiting.remove(job)
        free += -sizes[job] if starts else sizes[job]
        last = k + 1 == len(events) or events[k + 1][0] > now_s
        assert not last or not any(jobs.submit_s[j] <= now_s and sizes[j] <= free for j in waiting)
    assert not waiting
    assert overtaken > 10


def test_keys_at_their_defaults_are_not_there() -> None:
    queue = config_from(content()).resolved()["queue"]
    assert not {"decider", "decider_files", "placement_rules"} & set(queue)


def test_a_class_of_a_file_counts_by_the_bytes_of_it_and_moves_no_draw(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "moved.py").write_text(AGENT)
    bare = config_from(content())
    own = config_from(content(decider="agent.py:Last"))
    moved = config_from(content(decider="moved.py:Last"), folder / "other")
    first = config_from(content(decider="agent.py:First"))
    named = config_from(content(decider="first-that-fits"))
    (folder / "agent.py").write_text(AGENT + "\n")
    changed = config_from(content(decider="agent.py:Last"))
    key = [point_key(c.resolved()) for c in (bare, own, moved, first, named, changed)]
    assert key[1] == key[2]
    assert len(set(key)) == 5
    draws = {Draws(c.resolved()).rng("workload").integers(2**60) for c in (bare, own, changed)}
    assert len(draws) == 1
    with pytest.raises(NetcosimError, match=r"key queue.decider: .*the file has changed"):
        config_from(own.resolved())


def test_a_class_of_a_file_decides(folder: Path) -> None:
    """The one that is first fit equals ours; the other does not."""
    ours = schedules(decider="first-that-fits")["simple"]
    assert same_schedule(schedules(decider="agent.py:First")["simple"], ours)
    assert not same_schedule(schedules(decider="agent.py:Last")["simple"], ours)
    # pinned, as in a resolved content
    pinned = config_from(content(decider="agent.py:First")).resolved()
    assert same_schedule(run_cosim(config_from(pinned)).schedules["simple"], ours)


def test_what_it_draws_follows_from_the_seed(folder: Path) -> None:
    def drawn(seed: int) -> QueueResult:
        raw = content(decider="agent.py:AnyOne") | {"run": {"snapshots": 0, "seed": seed}}
        # the same jobs under every seed
        raw["workload"] = {"log": "log.swf"}
        return run_cosim(config_from(raw)).schedules["simple"]

    rng = np.random.default_rng(1)
    lines = (
        f"{i} {i} -1 {rng.integers(10, 99)} {rng.integers(1, 20)} -1 -1 -1 99 -1 1 1 1 1 1 1 -1 -1"
        for i in range(1, 80)
    )
    (folder / "log.swf").write_text("; MaxProcs: 40\n" + "\n".join(lines) + "\n")
    one, again, other = drawn(1), drawn(1), drawn(2)
    assert same_schedule(one, again)
    assert not same_schedule(one, other)


def test_files_that_it_is_made_with_count_in_the_key_and_in_the_schedule(folder: Path) -> None:
    """By weights alone it is the shortest, or the smallest, that fits."""
    keys = set()
    for weights, name in (([0, 1], "shortest-that-fits"), ([-1, 0], "largest-that-fits")):
        (folder / "weights.json").write_text(json.dumps(weights))
        own = {"decider": "agent.py:Weighted", "decider_files": ["weights.json"]}
        config = config_from(content(**own), folder)
        keys.add(point_key(config.resolved()))
        found = run_cosim(config).schedules["simple"]
        assert same_schedule(found, schedules(decider=name)["simple"])
    assert len(keys) == 2
    (folder / "weights.json").write_text("[1, 1]")
    with pytest.raises(NetcosimError, match=r"weights.json: the file has changed"):
        run_cosim(config)


def test_it_can_name_a_placement_rule_for_a_job(folder: Path) -> None:
    """Who always names one has that policy's schedule, and who names none the column's own."""
    rules = {"placement_rules": ["rdn", "level-spread"]}
    policies = ["simple", "rdn"]
    alone = schedules(decider="agent.py:First", policies=policies)
    free = schedules(decider="agent.py:First", policies=policies, **rules)
    bound = schedules(decider="agent.py:ByRule", policies=policies, **rules)
    for name in policies:
        assert same_schedule(free[name], alone[name])
        assert same_schedule(bound[name], alone["rdn"])
        assert bound[name].policy == name
    assert not same_schedule(alone["simple"], alone["rdn"])
    with pytest.raises(NetcosimError, match="unknown placement rule 'rdn'; valid: level-spread"):
        schedules(decider="agent.py:ByRule", placement_rules=["level-spread"])


def test_points_of_one_process_share_no_schedule_of_another_file(folder: Path) -> None:
    found = []
    for text in (AGENT, AGENT.replace("fits[-1]", "fits[0]")):
        (folder / "agent.py").write_text(text)
        point = config_from(content(decider="agent.py:Last")).resolved()
        found.append(cosim_point(point).tables["policies"][0]["mean_wait_s"])
    first = cosim_point(config_from(content(decider="first-that-fits")).resolved())
    assert found[1] == first.tables["policies"][0]["mean_wait_s"] != found[0]


def test_a_file_is_looked_up_beside_the_config_by_every_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "there").mkdir()
    (folder / "agent.py").rename(folder / "there" / "agent.py")
    (folder / "there" / "weights.json").write_text("[0, 1]")
    (folder / "there" / "c.toml").write_text(
        """
        machine = { family = "dragonfly", p = 2, a = 4, g = 5 }
        workload = { larger_jobs = "drop", synthetic = { n_jobs = 30, mean_nodes = 4 } }
        run = { snapshots = 0 }
        [queue]
        policies = ["simple"]
        run_time_model = "as-logged"
        decider = "agent.py:Weighted"
        decider_files = ["weights.json"]
        """
    )
    config = load_config("there/c.toml")
    assert config.queue.decider.file == str(folder / "there" / "agent.py")
    for command in (
        ["run", "there/c.toml", "--dry-run"],
        ["run", "there/c.toml", "--out", "out", "--jobs", "2"],
        ["sweep", "there/c.toml", "--dry-run"],
        ["sweep", "there/c.toml", "--out", "s.db", "--quiet"],
    ):
        assert main(command) == 0, command
    capsys.readouterr()
    assert main(["report", "s.db", "--out", "page.html"]) == 0
    page = (folder / "page.html").read_text()
    for name in ("agent.py", "weights.json"):
        assert digest(folder / "there" / name) in page


def test_dependencies_and_grace_are_kept() -> None:
    """They are rules of the queue, whoever decides."""
    made = laas_workload(80, 6.0, np.random.default_rng(0))
    numbers = made.job_id.tolist()
    waits = [[("afterany", numbers[i - 3])] if i >= 3 and i % 2 else [] for i in range(80)]
    jobs = replace(
        made,
        requested_s=made.run_time_s * 0.9,
        details=JobDetails(dependency=Dependencies.of(waits)),
    )
    rules: dict[str, Any] = {"dependencies": "keep", "grace_s": 5.0, "overrun": "cut"}
    found = [
        run_cosim(config_from(content(**rules | queue)), jobs=jobs).schedules["simple"]
        for queue in (
            {"backfill": "easy"},
            {"decider": "easy"},
            {"decider": "easy", "dependencies": "ignore"},
            {"decider": "easy", "grace_s": 0.0},
        )
    ]
    assert same_schedule(found[0], found[1])
    kept = [one.start_s[3::2] >= one.end_s[0:-3:2] for one in found]
    assert [bool(one.all()) for one in kept] == [True, True, False, True]
    assert not same_schedule(found[1], found[3])


def digest(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_reference_may_be_a_hand_rule(folder: Path) -> None:
    (folder / "weights.json").write_text("[1, 0]")
    own = {"decider": "agent.py:Weighted", "decider_files": ["weights.json"]}
    raw = content(**own) | {"reference": {"queue.decider": "easy"}}
    result = run_cosim(config_from(raw))
    assert same_schedule(result.reference_schedule, schedules()["simple"])
    strict = run_cosim(config_from(raw | {"reference": {"queue.backfill": "none"}}))
    assert same_schedule(strict.reference_schedule, schedules(backfill="none")["simple"])
    assert same_schedule(strict.schedules["simple"], result.schedules["simple"])
    with pytest.raises(NetcosimError, match="the reference reads the run's files"):
        config_from(raw | {"reference": {"queue.decider": "agent.py:First"}})
