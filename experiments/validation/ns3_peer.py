"""Run in a separate process (ns-3 is GPL): flows on fixed paths through ns-3, JSON to JSON.

In: a list of cases with ``cables`` (pairs of vertices), ``n_vertices``, ``rate_bps``,
``delay_ns``, ``payload_bytes``, ``stop_s``, and ``flows`` of ``way`` (vertices from end to end),
``cables`` (of that way), ``packets``, ``start_ns``. Out, for each case: ``end_ns`` of each flow,
when its last packet came in, and ``lost`` packets.

Each flow has a separate address at its receiver, so that a path is a list of host routes.
Queues take a million packets. On the wire a packet has 30 bytes more: UDP 8, IP 20, PPP 2.
"""

import json
import sys
from typing import Any

from ns import ns

PORT = 9


def main() -> None:
    """Read the cases, run them, print the answers on the last line."""
    ns.Config.SetDefault("ns3::DropTailQueue<Packet>::MaxSize", ns.StringValue("1000000p"))
    print(json.dumps([run(case) for case in json.load(sys.stdin)]))


def run(case: dict[str, Any]) -> dict[str, Any]:
    """Simulate one case until no packet is left."""
    vertices = ns.NodeContainer()
    vertices.Create(case["n_vertices"])
    ns.InternetStackHelper().Install(vertices)
    interface = lay_cables(case, vertices)
    helper = ns.Ipv4StaticRoutingHelper()
    for number, flow in enumerate(case["flows"]):
        goal, way = _address(11, number), flow["way"]
        arrives = interface[flow["cables"][-1], way[-1]]
        _ip(vertices, way[-1]).AddAddress(arrives, ns.Ipv4InterfaceAddress(goal, _host()))
        for vertex, cable in zip(way[:-1], flow["cables"], strict=True):
            table = helper.GetStaticRouting(_ip(vertices, vertex))
            table.AddHostRouteTo(goal, interface[cable, vertex])
        client = ns.UdpClientHelper(ns.InetSocketAddress(goal, PORT).ConvertTo())
        client.SetAttribute("MaxPackets", ns.UintegerValue(flow["packets"]))
        client.SetAttribute("Interval", ns.TimeValue(ns.NanoSeconds(0)))
        client.SetAttribute("PacketSize", ns.UintegerValue(case["payload_bytes"]))
        client.Install(vertices.Get(way[0])).Start(ns.NanoSeconds(flow["start_ns"]))
    anybody = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), PORT).ConvertTo()
    sink = ns.PacketSinkHelper("ns3::UdpSocketFactory", anybody)
    for vertex in sorted({flow["way"][-1] for flow in case["flows"]}):
        sink.Install(vertices.Get(vertex))
    watch = ns.FlowMonitorHelper()
    monitor = watch.InstallAll()
    ns.Simulator.Stop(ns.Seconds(case["stop_s"]))
    ns.Simulator.Run()
    ends, lost = [-1] * len(case["flows"]), 0
    for entry in monitor.GetFlowStats():
        goal = watch.GetClassifier().FindFlow(entry.first).destinationAddress.Get() - (11 << 24)
        ends[goal] = int(entry.second.timeLastRxPacket.GetNanoSeconds())
        lost += int(entry.second.txPackets - entry.second.rxPackets)
    ns.Simulator.Destroy()
    return {"end_ns": ends, "lost": lost}


def lay_cables(case: dict[str, Any], vertices: Any) -> dict[tuple[int, int], int]:
    """Install point-to-point cables, and return interface numbers by cable and vertex."""
    wire = ns.PointToPointHelper()
    wire.SetDeviceAttribute("DataRate", ns.StringValue(f"{case['rate_bps']}bps"))
    wire.SetChannelAttribute("Delay", ns.StringValue(f"{case['delay_ns']}ns"))
    interface: dict[tuple[int, int], int] = {}
    for cable, ends in enumerate(case["cables"]):
        devices = wire.Install(vertices.Get(ends[0]), vertices.Get(ends[1]))
        for side, vertex in enumerate(ends):
            ip = _ip(vertices, vertex)
            number = ip.AddInterface(devices.Get(side))
            address = _address(10, len(interface))
            ip.AddAddress(number, ns.Ipv4InterfaceAddress(address, _host()))
            ip.SetUp(number)
            interface[cable, vertex] = number
    return interface


def _ip(vertices: Any, vertex: int) -> Any:
    return vertices.Get(vertex).GetObject[ns.Ipv4]()


def _address(first: int, number: int) -> Any:
    return ns.Ipv4Address((first << 24) + number)


def _host() -> Any:
    return ns.Ipv4Mask("255.255.255.255")


if __name__ == "__main__":
    main()
