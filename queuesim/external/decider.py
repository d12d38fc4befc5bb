"""A scheduler in another program: protocol version 1 (docs/coupling.md).

The program gets one line for each instant at which jobs wait, with everything that has changed
since the line before, and answers with the jobs to start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alloc.nodes import NodePolicy
from netsim.errors import NetcosimError
from netsim.limits import MAX_INDEX
from netsim.topology import Topology
from queuesim.decide import Choice, Decider, DecisionPoint
from queuesim.external.process import LineProcess
from workloads.job import Workload

PROTOCOL = 1
LATEST_S = 1e15


class External(Decider):
    """A program that decides; ``time_limit_s`` is for each answer.

    ``status`` is the exit status of the program in the last run (None if it had to be killed),
    ``n_exchanges`` the number of decisions, ``exchange_s`` the wall-clock time until their answers.
    """

    description = "a program that reads and writes JSON lines"
    windowed = False
    names_rules = False

    def __init__(self, command: Sequence[str], time_limit_s: float = 10.0) -> None:
        self.command, self.time_limit_s = tuple(command), time_limit_s
        self.name = " ".join(Path(word).name for word in command)
        self.status: int | None = None
        self.n_exchanges, self.exchange_s = 0, 0.0
        self._process: LineProcess | None = None

    def begin(self, workload: Workload, topology: Topology, rng: np.random.Generator) -> None:
        self.end(done=False)
        self.status = None
        columns: dict[str, NDArray[Any]] = {
            "id": workload.job_id,
            "nodes": workload.n_nodes,
            "walltime_s": workload.requested_s,
            "submit_s": workload.submit_s,
            "user": workload.user,
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        self._jobs: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
        for job in self._jobs:
            if job["walltime_s"] == inf:
                job["walltime_s"] = None  # JSON has no infinity
        if len({job["id"] for job in self._jobs}) < len(self._jobs):
            raise self._error("the job numbers of the log are not unique")
        self._hello = {
            "type": "hello",
            "protocol": PROTOCOL,
            "machine": topology.name,
            "nodes": topology.n_nodes,
            "seed": int(rng.integers(2**31)),
        }
        self._by_id: dict[int, int] = {}
        self._waiting: set[int] = set()
        self._unplaced: list[int] = []
        self._news: dict[str, list[dict[str, Any]]] = {}
        self._choices: deque[Choice] = deque()
        self._point: DecisionPoint | None = None
        self._by_node = False

    def arrived(self, job: int, now_s: float) -> None:
        self._by_id[self._jobs[job]["id"]] = job
        self._waiting.add(job)
        self._news.setdefault("submitted", []).append(self._jobs[job])

    def ended(self, job: int, now_s: float) -> None:
        if job in self._unplaced:
            self._note_places([job])
        self._news.setdefault("finished", []).append({"id": self._jobs[job]["id"], "end_s": now_s})

    def decide(self, point: DecisionPoint) -> Choice | None:
        if point is not self._point:
            self._point = point
            try:
                if self._process is None:
                    self._greet()
                self._choices.extend(self._read(self._exchange(self._message(point)), point))
            except NetcosimError as error:
                raise self._error(f"at {point.now_s:g} s: {error}") from None
        if not self._choices:
            return None
        choice = self._choices.popleft()
        self._waiting.discard(choice.job)
        if self._by_node and choice.nodes is None:
            self._unplaced.append(choice.job)
        return choice

    def end(self, *, done: bool) -> None:
        process, self._process = self._process, None
        if process is not None and done:
            self.status = process.end({"type": "end"})
        elif process is not None:
            process.kill()

    def _greet(self) -> None:
        """Start the program and agree on the version and on what it wants to know."""
        self._process = LineProcess(self.command, self.time_limit_s)
        answer = _table("answer to hello", self._exchange(self._hello), ("protocol", "by_node"))
        found, by_node = answer.get("protocol"), answer.get("by_node", False)
        if found != PROTOCOL or isinstance(found, bool):
            raise NetcosimError(f"answered hello with protocol {found!r}; must be {PROTOCOL}")
        if not isinstance(by_node, bool):
            raise NetcosimError(f"by_node {by_node!r}; must be true or false")
        self._by_node = by_node
        self.n_exchanges, self.exchange_s = 0, 0.0

    def _exchange(self, message: Mapping[str, Any]) -> Any:
        assert self._process is not None
        began = perf_counter()
        answer = self._process.exchange(message)
        self.exchange_s += perf_counter() - began
        self.n_exchanges += 1
        return answer

    def _note_places(self, jobs: Sequence[int]) -> None:
        """Note the nodes of running jobs that the policy placed."""
        assert self._point is not None
        for job in jobs:
            nodes = self._point.machine.placements[job].nodes.tolist()
            row = {"id": self._jobs[job]["id"], "nodes": nodes}
            self._news.setdefault("placed", []).append(row)
            self._unplaced.remove(job)

    def _message(self, point: DecisionPoint) -> dict[str, Any]:
        message: dict[str, Any] = {"type": "decide", "now_s": point.now_s, "free": point.n_free}
        if self._by_node and self.n_exchanges == 0:
            policy = point.machine.policy
            if not isinstance(policy, NodePolicy):
                raise NetcosimError(f"by_node: policy {policy.name!r} places by more than nodes")
            message["free_nodes"] = policy.free_nodes().tolist()
        self._note_places(list(self._unplaced))
        message |= self._news
        self._news = {}
        return message

    def _read(self, answer: object, point: DecisionPoint) -> list[Choice]:
        """Check an answer; whether given nodes are free is left to the policy."""
        table = _table("answer", answer, ("start", "until_s"))
        until_s, entries = table.get("until_s"), table.get("start", [])
        timed = type(until_s) in (int, float)
        if until_s is not None and not (timed and point.now_s < until_s < LATEST_S):
            raise NetcosimError(f"until_s {until_s!r}; must be a time after now")
        self.until_s = inf if until_s is None else float(until_s)
        if not isinstance(entries, list):
            raise NetcosimError(f"start {entries!r}; must be a list")
        choices, chosen, free = [], set[int](), point.n_free
        for entry in entries:
            choice = self._choice(entry)
            job, number = choice.job, self._jobs[choice.job]["id"]
            if job in chosen:
                raise NetcosimError(f"starts job {number} twice")
            if job not in self._waiting:
                runs = job in point.machine.placements
                raise NetcosimError(f"starts job {number}, which {'runs' if runs else 'is over'}")
            n_nodes = self._jobs[job]["nodes"]
            if n_nodes > free:
                raise NetcosimError(f"starts job {number} of {n_nodes} nodes with {free} free")
            free -= n_nodes
            chosen.add(job)
            choices.append(choice)
        return choices

    def _choice(self, entry: object) -> Choice:
        nodes = None
        if isinstance(entry, dict):
            given = _table("entry of start", entry, ("id", "nodes"))
            entry, nodes = given.get("id"), given.get("nodes")
        job = self._by_id.get(entry) if type(entry) is int else None
        if job is None:
            raise NetcosimError(f"starts job {entry!r}, which was never submitted")
        if nodes is None:
            return Choice(job)
        if not isinstance(nodes, list) or not all(
            type(node) is int and abs(node) <= MAX_INDEX for node in nodes
        ):
            raise NetcosimError(f"job {entry}: nodes {nodes!r}; must be a list of node numbers")
        return Choice(job, nodes=np.array(nodes, dtype=np.int64))

    def _error(self, why: str) -> NetcosimError:
        return NetcosimError(f"decider {self.name!r}: {why}")


def _table(what: str, value: object, keys: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NetcosimError(f"{what} {value!r}; must be a JSON object")
    for key in value:
        if key not in keys:
            raise NetcosimError(f"{what} has the key {key!r}; known: {', '.join(keys)}")
    return value
