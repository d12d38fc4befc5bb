"""Connect a scheduler of Batsim (protocol 3 and 4: JSON over ZeroMQ) to netcosim's protocol 1.

``python batsim.py pybatsim easyBackfill``: ``{endpoint}`` in the command is replaced by
the address at which the scheduler has to listen; without it, ``-s ADDRESS`` is added. The
scheduler's output goes to standard error. Starts happen at the time of the message: delays
of decisions, which a scheduler of Batsim may simulate, are left out. Of Batsim's events these
are supported: EXECUTE_JOB, CALL_ME_LATER and, without effect, NOTIFY and SET_JOB_METADATA.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

Event = dict[str, Any]

WORKLOAD = "w"
PROFILE = "unknown"
WITHOUT_EFFECT = ("NOTIFY", "SET_JOB_METADATA")


def event(now_s: float, kind: str, **data: object) -> Event:
    """Return an event of Batsim."""
    return {"timestamp": now_s, "type": kind, "data": data}


def begins(nodes: int) -> Event:
    """Return the first event: the machine, no profiles, no dynamic jobs."""
    resources = [
        {"id": k, "name": f"n{k}", "state": "idle", "properties": {}} for k in range(nodes)
    ]
    return event(
        0.0,
        "SIMULATION_BEGINS",
        nb_resources=nodes,
        nb_compute_resources=nodes,
        nb_storage_resources=0,
        allow_compute_sharing=False,
        allow_storage_sharing=False,
        config={
            "redis-enabled": False,
            "profiles-forwarded-on-submission": False,
            "dynamic-jobs-enabled": False,
            "dynamic-jobs-acknowledged": False,
            "forward-unknown-events": False,
        },
        compute_resources=resources,
        storage_resources=[],
        workloads={WORKLOAD: "netcosim"},
        profiles={WORKLOAD: {PROFILE: {"type": "delay", "delay": 1}}},
    )


def events_of(message: dict[str, Any], called: bool) -> list[Event]:
    """Return the events of one message of netcosim, ends before submissions."""
    now_s, found = message["now_s"], []
    for job in message.get("finished", ()):
        known = {"job_id": f"{WORKLOAD}!{job['id']}", "return_code": 0}
        state = "COMPLETED_SUCCESSFULLY"
        found.append(event(job["end_s"], "JOB_COMPLETED", job_state=state, **known))
    for job in message.get("submitted", ()):
        number = f"{WORKLOAD}!{job['id']}"
        described = {
            "id": number,
            "profile": PROFILE,
            "res": job["nodes"],
            "subtime": job["submit_s"],
            "walltime": job["walltime_s"],
        }
        found.append(event(now_s, "JOB_SUBMITTED", job_id=number, job=described))
    return [*found, event(now_s, "REQUESTED_CALL")] if called else found


def nodes_of(intervals: str) -> list[int]:
    """Return the numbers of an interval set, ``"1 2 4-8"``."""
    found: list[int] = []
    for part in intervals.split():
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def answer_of(events: Sequence[Event], calls_s: list[float]) -> dict[str, Any]:
    """Return netcosim's answer; times of CALL_ME_LATER are added to ``calls_s``."""
    starts = []
    for one in events:
        kind, data = one["type"], one.get("data", {})
        if kind == "EXECUTE_JOB":
            number = int(data["job_id"].rpartition("!")[2])
            starts.append({"id": number, "nodes": nodes_of(data["alloc"])})
        elif kind == "CALL_ME_LATER":
            calls_s.append(data["timestamp"])
        elif kind not in WITHOUT_EFFECT:
            sys.exit(f"batsim.py: the scheduler sent {kind}, which is not supported")
    until = {"until_s": min(calls_s)} if calls_s else {}
    return {"start": starts, **until}


def main(command: Sequence[str]) -> int:
    """Run a scheduler of Batsim until netcosim ends the run; return its status."""
    import zmq

    with tempfile.TemporaryDirectory(prefix="netcosim-") as folder:
        address = f"ipc://{folder}/batsim"
        words = [word.replace("{endpoint}", address) for word in command]
        words = words if words != list(command) else [*words, "-s", address]
        scheduler = subprocess.Popen(words, stdout=sys.stderr)
        socket: Any = zmq.Context.instance().socket(zmq.REQ)
        socket.connect(address)

        def exchange(now_s: float, events: Sequence[Event]) -> list[Event]:
            socket.send_string(json.dumps({"now": now_s, "events": events}))
            while not socket.poll(200):
                if scheduler.poll() is not None:
                    sys.exit(f"batsim.py: the scheduler ended with {scheduler.returncode}")
            found: list[Event] = json.loads(socket.recv_string())["events"]
            return found

        try:
            _dialogue(exchange)
            return scheduler.wait()
        finally:
            socket.close(linger=0)
            scheduler.kill()


def _dialogue(exchange: Callable[[float, Sequence[Event]], list[Event]]) -> None:
    calls_s: list[float] = []
    now_s = 0.0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "end":
            break
        if message["type"] == "hello":
            answer_of(exchange(now_s, [begins(message["nodes"])]), calls_s)
            print('{"protocol": 1}', flush=True)
            continue
        now_s = message["now_s"]
        called = any(time_s <= now_s for time_s in calls_s)
        calls_s[:] = [time_s for time_s in calls_s if time_s > now_s]
        found = exchange(now_s, events_of(message, called))
        print(json.dumps(answer_of(found, calls_s)), flush=True)
    exchange(now_s, [event(now_s, "SIMULATION_ENDS")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
