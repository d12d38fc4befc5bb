"""Run in a separate process, with SimGrid's Python package: flows on fixed paths, JSON to JSON.

In: ``n_hosts``, ``links`` (bandwidth in bytes/s, latency in seconds), ``routes`` (source,
destination, links) and ``flows`` (source, destination, bytes, start in seconds). Out: ``end_s`` of
each flow. The network's model is CM02 without its corrections for TCP: shares by 1 / latency, or
plain max-min where there is none.
"""

import json
import sys
import tempfile
from typing import Any

from simgrid import Actor, Comm, Engine, Host, this_actor

SETTINGS = (
    "--log=root.threshold:error",
    "--cfg=network/model:CM02",
    "--cfg=network/TCP-gamma:0",
    "--cfg=network/weight-S:0",
    "--cfg=network/crosstraffic:0",
    "--cfg=maxmin/precision:1e-9",
    "--cfg=surf/precision:1e-12",
)


def platform_of(case: dict[str, Any]) -> str:
    """Return the platform file: hosts, links, and each path as given."""
    hosts = [f'<host id="h{n}" speed="1Gf"/>' for n in range(case["n_hosts"])]
    links = [
        f'<link id="l{number}" bandwidth="{bandwidth}Bps" latency="{latency!r}s"/>'
        for number, (bandwidth, latency) in enumerate(case["links"])
    ]
    routes = []
    for src, dst, way in case["routes"]:
        over = "".join(f'<link_ctn id="l{link}"/>' for link in way)
        routes.append(f'<route src="h{src}" dst="h{dst}" symmetrical="NO">{over}</route>')
    return (
        "<?xml version='1.0'?>"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        f'<platform version="4.1"><zone id="z" routing="Full">{"".join(hosts + links + routes)}'
        "</zone></platform>"
    )


def main() -> None:
    """Read the case, run it, print the answer on the last line."""
    case = json.load(sys.stdin)
    engine = Engine(["peer", *SETTINGS])
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(platform_of(case))
        file.flush()
        engine.load_platform(file.name)
    end_s = [0.0] * len(case["flows"])

    def send(number: int, src: int, dst: int, size: int, start_s: float) -> None:
        this_actor.sleep_until(start_s)
        Comm.sendto(Host.by_name(f"h{src}"), Host.by_name(f"h{dst}"), size)
        end_s[number] = Engine.clock

    for number, flow in enumerate(case["flows"]):
        Actor.create(f"flow {number}", Host.by_name(f"h{flow[0]}"), send, number, *flow)
    engine.run()
    print(json.dumps({"end_s": end_s}))


if __name__ == "__main__":
    main()
