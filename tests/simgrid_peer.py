"""The benchmark's cases in SimGrid: run by an interpreter that has its Python package.

Arguments: case ("all-to-all" or "permutations"), hosts, of a fat-tree of 1024. Prints a line of
JSON: CPU seconds of the run, flows, time of the last finish. Zero latency: plain max-min, as ours.
"""

import json
import random
import sys
import tempfile
import time

from simgrid import Actor, Comm, Engine, Host

# its dragonflies have one global link a router, so dragonfly-1056 (four) has no counterpart
FAT_TREE = 'radical="0-1023" topology="FAT_TREE" topo_parameters="3;8,8,16;1,8,8;1,1,1"'
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="n" suffix="" speed="1Gf" bw="1GBps" lat="0s"
sharing_policy="SPLITDUPLEX" {cluster}/></platform>"""


def flows(case: str, n: int) -> list[tuple[int, int, int]]:
    draw = random.Random(1)
    if case == "all-to-all":
        return [(a, b, 10**6) for a in range(n) for b in range(n) if a != b]
    found = []
    for _ in range(8):
        to = draw.sample(range(n), n)
        found += [(a, b, draw.randrange(10**5, 10**7)) for a, b in enumerate(to) if a != b]
    return found


def main() -> None:
    case, n = sys.argv[1], int(sys.argv[2])
    engine = Engine(
        ["peer", "--log=root.threshold:error", "--cfg=network/model:CM02",
         "--cfg=network/TCP-gamma:0", "--cfg=network/weight-S:0", "--cfg=network/crosstraffic:0"]
    )  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(PLATFORM.format(cluster=FAT_TREE))
        file.flush()
        engine.load_platform(file.name)
    pairs = flows(case, n)

    def start() -> None:
        hosts = [Host.by_name(f"n{k}") for k in range(n)]
        comms = [Comm.sendto_async(hosts[a], hosts[b], size) for a, b, size in pairs]
        Comm.wait_all(comms)

    Actor.create("start", Host.by_name("n0"), start)
    begin = time.process_time()
    engine.run()
    took = time.process_time() - begin
    print(json.dumps({"cpu_s": took, "flows": len(pairs), "last_s": Engine.clock}))


main()
