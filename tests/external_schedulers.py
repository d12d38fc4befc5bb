"""A program for the tests of external schedulers: first come, first served, and its faults.

``python external_schedulers.py FAULT [PIDFILE]``; without a fault, "" does as the protocol says.
``python external_schedulers.py script LOG BY_NODE ANSWERS`` gives these answers (a JSON list) one
after the other, and writes the messages that it receives to LOG.
"""

import json
import os
import random
import sys
import time


def faulty(fault: str, message: dict, waiting: dict, started: list) -> object:
    """An answer that breaks one rule, once there is something to break it with."""
    first = next(iter(waiting))
    answers = {
        "list": [],
        "key": {"begin": [first]},
        "start": {"start": first},
        "unknown": {"start": [10**6]},
        "twice": {"start": [first, first]},
        "count": {"start": [{"id": first, "nodes": [0]}]},
        "nodes": {"start": [{"id": first, "nodes": "0-1"}]},
        "true": {"start": [True]},
        "past": {"start": [], "until_s": message["now_s"]},
        "yes": {"until_s": True},
        "far": {"until_s": 1e15},
        "nan": {"until_s": float("nan")},
    }
    if fault in answers:
        return answers[fault]
    if fault == "again" and started:
        return {"start": [started[0]]}
    if fault == "large" and started:
        return {"start": list(waiting)}
    if fault == "busy" and started:
        return {"start": [{"id": first, "nodes": [0, 1]}]}
    return None


def script(log: str, by_node: str, answers: str) -> int:
    left = [{"protocol": 1, "by_node": json.loads(by_node)}, *json.loads(answers)]
    with open(log, "w") as file:
        for line in sys.stdin:
            file.write(line)
            if json.loads(line)["type"] != "end":
                print(json.dumps(left.pop(0)), flush=True)
    return 0


def main() -> int:
    fault = sys.argv[1]
    if fault == "script":
        return script(*sys.argv[2:])
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            file.write(str(os.getpid()))
    waiting, started, free_nodes, placed = {}, [], None, {}
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "end":
            if fault == "stays":
                time.sleep(60)
            return 4 if fault == "status" else 0
        if message["type"] == "hello":
            if fault == "dies":
                return 3
            if fault == "sleeps":
                time.sleep(60)
            protocol = 2 if fault == "protocol" else 1
            print(json.dumps({"protocol": protocol, "by_node": fault == "by-node"}), flush=True)
            continue
        for job in message.get("submitted", ()):
            waiting[job["id"]] = job["nodes"]
        if fault == "by-node":
            free_nodes = set(message.get("free_nodes", free_nodes or ()))
            for job in message.get("placed", ()):
                placed[job["id"]] = job["nodes"]
                free_nodes -= set(job["nodes"])
            for job in message.get("finished", ()):
                free_nodes |= set(placed.pop(job["id"]))
            if len(free_nodes) != message["free"]:
                return 7
        wrong = faulty(fault, message, waiting, started)
        if fault == "lines":
            print("{}\n{}", flush=True)
            continue
        if fault == "text-line":
            print("hello, world", flush=True)
            continue
        if wrong is not None:
            print(json.dumps(wrong), flush=True)
            continue
        free, start = message["free"], []
        wait_s = message["now_s"] % 100
        if fault == "hundreds" and wait_s:
            print(json.dumps({"until_s": message["now_s"] - wait_s + 100}), flush=True)
            continue
        for job, nodes in list(waiting.items()):
            if nodes > free or fault == "never" or (fault == "draws" and random.random() < 0.2):
                break
            free -= nodes
            start.append(job)
            started.append(job)
            del waiting[job]
            if fault == "by-node" and job % 2:  # the others are left to the policy
                placed[job] = sorted(free_nodes)[-nodes:]
                free_nodes -= set(placed[job])
                start[-1] = {"id": job, "nodes": placed[job]}
        stuck = {"until_s": message["now_s"] + 50} if fault == "draws" else {}
        print(json.dumps({"start": start, **stuck}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
