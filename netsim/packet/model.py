"""Parameters and results of a packet simulation; docs/packet-model.md describes the model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeGuard

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from netsim.errors import NetcosimError, unknown_name
from netsim.kinds import need_real
from netsim.limits import shown
from netsim.parameters import Example, NamesIn, ReadIf, documented
from netsim.short_repr import short_repr
from netsim.topologies.checks import need_int
from netsim.units import short_name

PS_PER_S = 10**12
MAX_PACKET_BYTES = 1 << 20
MAX_BUFFER_BYTES = 1 << 30
"""Credits are counted with 32 bits."""
RAIL_POLICIES = ("striped", "round-robin", "pinned")
_SEVERAL_PORTS = ReadIf(
    ("machine.family", "machine.parameters"),
    # files of these families state how many ports a node has
    lambda family, given: given.get("rails", 1) != 1 or family in ("cables", "ibnetdiscover"),
    "machine.rails is above 1",
)
_WITH_RENDEZVOUS = ReadIf(
    ("eager_limit_bytes",),
    lambda limit: limit is not None,
    "machine.packet.eager_limit_bytes is given",
)
EXPONENTIAL = "exponential"
JITTERS = (EXPONENTIAL, "lognormal")
_WITH_JITTER = ReadIf(("jitter_s",), lambda mean_s: mean_s > 0, "machine.packet.jitter is above 0")
MAX_PORT_MESSAGES = 64
CONGESTION_CONTROLS = ("credits", "endpoint-pairs", "dcqcn")
MAX_CHANNELS = 32
"""Of a link: its masks have so many bits."""
MAX_DURATION_PS = 1 << 60
"""What the clock can count: 13 days."""

INPUT_QUEUED = "input-queued"
ROUTERS = ("output-queued", INPUT_QUEUED)
CROSSBAR_KEYS = ("crossbar_bandwidth_Bps", "crossbar_speedup")
"""The crossbar's own bandwidth, or one relative to the input's link: not both."""
MERLIN_LRU = "merlin-lru"
ARBITRATIONS = ("least-recently-served", "round-robin", MERLIN_LRU)
CROSSING_REQUIRES = ("output-space", "credit")
DELIVERIES = ("tail", "head")
_CROSSBAR = {"router": INPUT_QUEUED}
_CONGESTION = {"congestion_control": CONGESTION_CONTROLS[1]}
_INTERVAL_S: Mapping[str, float] = {"endpoint-pairs": 2e-6, "dcqcn": 50e-6}
_RECOVERY_S: Mapping[str, float] = {"endpoint-pairs": 20e-6, "dcqcn": 55e-6}
UNLIMITED = "unlimited"
MIN_SPEEDUP = 0.001
"""A slower crossbar is a slip of the pen."""


class NetworkDeadlockError(RuntimeError):
    """Packets wait for each other in a ring; the message names the cycle."""


class ProgramStuckError(RuntimeError):
    """Nothing is in flight and a rank still waits; the message names it."""


@documented
@dataclass(frozen=True)
class PacketConfig:
    """Parameters of the packet model (SI units), as docs/packet-model.md describes it.

    Examples
    --------
    >>> import netcosim as nc
    >>> nc.PacketConfig(packet_bytes=1024).buffer_bytes
    16384
    """

    packet_bytes: Annotated[int, "largest payload of a packet, 1 B to 1 MiB", Gt(0)] = 2048
    header_bytes: Annotated[int, "extra bytes of each packet on the wire", Example(40)] = 0
    buffer_bytes: Annotated[
        int, "input buffer per (link, channel); at least one whole packet", Gt(0), Example("64 KiB")
    ] = 16384
    router_latency_s: Annotated[
        float, "from the arrival of a packet's head until it is routed", Ge(0)
    ] = 100e-9
    send_overhead_s: Annotated[
        float, "processor time of the rank for each message it sends", Ge(0), Example("300 ns")
    ] = 0.0
    recv_overhead_s: Annotated[
        float, "processor time of the rank for each message it receives", Ge(0), Example("300 ns")
    ] = 0.0
    copy_s_per_byte: Annotated[
        float, "processor time of the rank for each byte it receives", Ge(0), Example(1e-11)
    ] = 0.0
    send_s_per_byte: Annotated[
        float, "processor time of the rank for each byte it sends", Ge(0), Example(1e-11)
    ] = 0.0
    jitter_s: Annotated[
        float,
        "mean extra time of the processor on each message that it sends or receives",
        Ge(0),
        Example("200 ns"),
    ] = 0.0
    jitter_distribution: Annotated[
        str, "how the extra time is distributed", NamesIn(JITTERS), _WITH_JITTER
    ] = EXPONENTIAL
    jitter_seed: Annotated[
        int, "seed of the extra time", Ge(0), Example(1, {"jitter": "200 ns"}), _WITH_JITTER
    ] = 0
    port_messages: Annotated[
        int,
        "messages of a port's queue whose packets it sends in turn",
        Gt(0),
        Le(MAX_PORT_MESSAGES),
    ] = 1
    control_first: Annotated[
        bool,
        "whether requests and clear-to-sends pass the data in a port's queue",
        _WITH_RENDEZVOUS,
    ] = False
    nic_efficiency: Annotated[
        float,
        "share of its link's bandwidth that a network port sends or receives at",
        Gt(0),
        Le(1),
        Example(0.95),
    ] = 1.0
    nic_duplex_efficiency: Annotated[
        float | None,
        "the same share of each direction while a port sends and receives; by default "
        "nic_efficiency",
        Gt(0),
        Le(1),
        Example(0.85),
    ] = None
    eager_limit_bytes: Annotated[
        int | None,
        "larger messages between nodes go by rendezvous: request, clear-to-send, data; by default "
        "none does",
        Example("16 KiB"),
    ] = None
    control_bytes: Annotated[
        int,
        "payload of a request and of a clear-to-send, 1 B to packet_bytes",
        Gt(0),
        _WITH_RENDEZVOUS,
    ] = 64
    rail_policy: Annotated[
        str,
        "how messages use the ports of a node that has several: the packets of each dealt over all "
        "ports, each message on the next port, or each rank on its own",
        NamesIn(RAIL_POLICIES),
        _SEVERAL_PORTS,
    ] = RAIL_POLICIES[0]
    router: Annotated[
        str, "an ideal switch, or FIFOs at the inputs and a crossbar", NamesIn(ROUTERS)
    ] = ROUTERS[0]
    crossbar_bandwidth_Bps: Annotated[
        float | None,
        "bandwidth of each crossbar port; by default that of the fastest link",
        Example("4 GB/s", _CROSSBAR),
    ] = None
    crossbar_speedup: Annotated[
        float | str | None,
        'crossbar bandwidth over that of the input\'s link, above 0 or "unlimited"; excludes '
        "crossbar_bandwidth",
        Example(1.5, _CROSSBAR),
    ] = None
    output_buffer_bytes: Annotated[
        int | None,
        "output buffer per (link, channel), at least one packet; by default buffer_bytes",
        Gt(0),
        Example("32 KiB", _CROSSBAR),
    ] = None
    arbitration: Annotated[
        str | None,
        "which packet crosses first: the least recently served (default), the next in turn, or as "
        "the first with the ties of SST's merlin",
        NamesIn(ARBITRATIONS),
        Example("round-robin", _CROSSBAR),
    ] = None
    crossing_requires: Annotated[
        str | None,
        "what a packet needs to cross: output space (default), or also a credit of the next "
        "buffer, as in BookSim2",
        NamesIn(CROSSING_REQUIRES),
        Example("credit", _CROSSBAR),
    ] = None
    crossing_overhead_s: Annotated[
        float | None,
        "time that a head holds a channel of its output before it may cross, as in BookSim2; 0 by "
        "default",
        Ge(0),
        Example("4 ns", _CROSSBAR),
    ] = None
    channels_per_class: Annotated[
        int | None,
        "FIFOs that each channel of the routing has on every link, of buffer_bytes each; 1 by "
        "default",
        Gt(0),
        Example(2, _CROSSBAR),
    ] = None
    delivery: Annotated[
        str,
        "which end of a packet must have arrived for it to count; SST's merlin counts the head, "
        "one serialization early",
        NamesIn(DELIVERIES),
    ] = DELIVERIES[0]
    congestion_control: Annotated[
        str,
        "credits alone, as InfiniBand without control; endpoint-pairs: a congested destination "
        "slows down each sender to its share, as Slingshot is described; dcqcn: marks and rates, "
        "as lossless Ethernet",
        NamesIn(CONGESTION_CONTROLS),
    ] = CONGESTION_CONTROLS[0]
    congestion_threshold_bytes: Annotated[
        int,
        "bytes in flight to a congested destination that endpoint-pairs keeps; least queue of a "
        "link that dcqcn marks",
        Gt(0),
        Example("64 KiB", _CONGESTION),
    ] = 131072
    congestion_delay_s: Annotated[
        float,
        "from a packet that arrives (endpoint-pairs) or is marked (dcqcn) until its source knows",
        Ge(0),
        Example("2 us", _CONGESTION),
    ] = 1e-6
    congestion_interval_s: Annotated[
        float | None,
        "between changes of a destination's share under endpoint-pairs (2 us), or marks of a flow "
        "that count under dcqcn (50 us)",
        Gt(0),
        Example("4 us", _CONGESTION),
    ] = None
    congestion_recovery_s: Annotated[
        float | None,
        "time without a signal after which a flow is twice as fast under endpoint-pairs (20 us); "
        "timer of dcqcn (55 us)",
        Gt(0),
        Example("10 us", _CONGESTION),
    ] = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("packet_bytes", 1, MAX_PACKET_BYTES),
            ("header_bytes", 0, MAX_PACKET_BYTES),
            ("buffer_bytes", 0, MAX_BUFFER_BYTES),
            ("output_buffer_bytes", 0, MAX_BUFFER_BYTES),
            ("congestion_threshold_bytes", 1, MAX_BUFFER_BYTES),
            ("control_bytes", 0, None),
            ("eager_limit_bytes", 0, None),
            ("jitter_seed", 0, 2**63 - 1),
            ("port_messages", 1, MAX_PORT_MESSAGES),
        ):
            if (value := getattr(self, name)) is not None:
                need_int("PacketConfig", name, value, low, high)
        if self.buffer_bytes < self.packet_bytes + self.header_bytes:
            raise NetcosimError(
                f"buffer_bytes = {self.buffer_bytes} cannot hold one packet of "
                f"{self.packet_bytes} + {self.header_bytes} bytes"
            )
        for key in (
            "router_latency_s",
            "send_overhead_s",
            "recv_overhead_s",
            "copy_s_per_byte",
            "send_s_per_byte",
            "jitter_s",
            "congestion_delay_s",
            *(
                key
                for key in ("crossing_overhead_s", "congestion_interval_s", "congestion_recovery_s")
                if getattr(self, key) is not None
            ),
        ):
            duration = need_real("PacketConfig", key, getattr(self, key), 0)
            if duration > MAX_DURATION_PS / PS_PER_S:
                raise NetcosimError(f"{key} = {duration:g} s is beyond the clock (13 days)")
        self._check_messages()
        self._check_ports()
        self._check_router()
        self._check_congestion()

    def _check_congestion(self) -> None:
        if self.congestion_control not in CONGESTION_CONTROLS:
            raise unknown_name("congestion_control", self.congestion_control, CONGESTION_CONTROLS)
        if self.input_queued and self.paces_flows:
            raise NetcosimError(
                f"congestion_control = {self.congestion_control}; router = input-queued has none"
            )
        if self.paces_flows and (self.port_messages > 1 or self.control_first):
            key = "port_messages" if self.port_messages > 1 else "control_first"
            raise NetcosimError(
                f"{key} = {getattr(self, key)} with congestion_control = "
                f"{self.congestion_control}, which orders the messages of a port itself"
            )
        for key in ("congestion_interval_s", "congestion_recovery_s"):
            value = getattr(self, key)
            if value is not None and to_ps(value) < 1:
                raise NetcosimError(f"{key} = {value}; it must be at least 1e-12")

    @property
    def paces_flows(self) -> bool:
        """Whether a source may have to wait with the packets of a flow."""
        return self.congestion_control != "credits"

    @property
    def control_interval_s(self) -> float:
        """``congestion_interval_s``, or the default of the control."""
        given = self.congestion_interval_s
        return _INTERVAL_S[self.congestion_control] if given is None else given

    @property
    def control_recovery_s(self) -> float:
        """``congestion_recovery_s``, or the default of the control."""
        given = self.congestion_recovery_s
        return _RECOVERY_S[self.congestion_control] if given is None else given

    def _check_messages(self) -> None:
        limit = self.eager_limit_bytes
        if limit is not None and not 1 <= self.control_bytes <= self.packet_bytes:
            raise NetcosimError(
                f"control_bytes = {shown(self.control_bytes)}; allowed: 1 to packet_bytes = "
                f"{self.packet_bytes}, a request is one packet"
            )
        if self.jitter_distribution not in JITTERS:
            raise unknown_name("jitter_distribution", self.jitter_distribution, JITTERS)
        if not isinstance(self.control_first, bool):
            raise NetcosimError(f"control_first = {self.control_first!r}; allowed: true or false")
        if self.rail_policy not in RAIL_POLICIES:
            raise unknown_name("rail_policy", self.rail_policy, RAIL_POLICIES)

    def _check_ports(self) -> None:
        duplex = self.nic_duplex_efficiency
        for key in ("nic_efficiency", *(["nic_duplex_efficiency"] if duplex is not None else [])):
            share = need_real("PacketConfig", key, getattr(self, key), 0)
            if not MIN_SPEEDUP <= share <= 1:
                raise NetcosimError(f"{key} = {share:g}; allowed: {MIN_SPEEDUP:g} to 1")
        if duplex is None:
            return
        if duplex > self.nic_efficiency:
            raise NetcosimError(
                f"nic_duplex_efficiency = {duplex:g} is above nic_efficiency = "
                f"{self.nic_efficiency:g}; a port is no faster when it does both"
            )
        if self.input_queued:
            raise NetcosimError(
                f"nic_duplex_efficiency = {duplex:g} needs router = "
                f'"{ROUTERS[0]}"; the router is "{self.router}"'
            )

    def _check_router(self) -> None:
        for key, words in (("router", ROUTERS), ("delivery", DELIVERIES)):
            if getattr(self, key) not in words:
                raise unknown_name(key, str(getattr(self, key)), words)
        if not self.input_queued:
            for key in (
                *CROSSBAR_KEYS, "output_buffer_bytes", "arbitration", "crossing_requires",
                "crossing_overhead_s", "channels_per_class",
            ):  # fmt: skip
                if getattr(self, key) is not None:
                    raise NetcosimError(
                        f"{short_name(key)} = {getattr(self, key)} needs router = "
                        f'"{INPUT_QUEUED}"; the router is "{self.router}", which has no crossbar'
                    )
            return
        if self.arbitration is not None and self.arbitration not in ARBITRATIONS:
            raise unknown_name("arbitration", str(self.arbitration), ARBITRATIONS)
        if self.crossing_requires not in (None, *CROSSING_REQUIRES):
            raise unknown_name("crossing_requires", self.crossing_requires, CROSSING_REQUIRES)
        need_int("PacketConfig", "channels_per_class", self.fifos_per_class, 1, MAX_CHANNELS)
        if self.allocates_channels and self.unlimited_crossbar:
            raise NetcosimError(
                f"crossing_overhead = {self.crossing_overhead_s} and channels_per_class = "
                f'{self.channels_per_class} need a number as crossbar_speedup, not "{UNLIMITED}"'
            )
        if self.crosses_with_credit and self.unlimited_crossbar:
            raise NetcosimError(
                f'crossing_requires = credit needs a number as crossbar_speedup; "{UNLIMITED}" has '
                "no time in which credits could return"
            )
        self._check_crossbar()
        if self.output_space < self.packet_bytes + self.header_bytes:
            raise NetcosimError(
                f"output_buffer_bytes = {self.output_space} cannot hold one packet of "
                f"{self.packet_bytes} + {self.header_bytes} bytes"
            )

    def _check_crossbar(self) -> None:
        bandwidth, speedup = self.crossbar_bandwidth_Bps, self.crossbar_speedup
        if bandwidth is not None and speedup is not None:
            raise NetcosimError(
                f"crossbar_bandwidth = {bandwidth} and crossbar_speedup = {speedup} contradict "
                "each other; give one of them"
            )
        if not (speedup in (None, UNLIMITED) or _numeric(speedup)):
            raise NetcosimError(
                f'crossbar_speedup = {speedup!r}; it must be a number or "{UNLIMITED}"'
            )
        if _numeric(speedup) and not float(speedup) >= MIN_SPEEDUP:
            raise NetcosimError(
                f"crossbar_speedup = {speedup}; it must be at least {MIN_SPEEDUP:g}"
            )
        if bandwidth is not None and not (_numeric(bandwidth) and 1 <= bandwidth < math.inf):
            raise NetcosimError(
                f"crossbar_bandwidth = {bandwidth!r}; it must be at least 1 byte/s and finite"
            )

    @property
    def input_queued(self) -> bool:
        """Whether packets cross a crossbar."""
        return self.router == INPUT_QUEUED

    @property
    def unlimited_crossbar(self) -> bool:
        """Whether packets cross in no time."""
        return self.crossbar_speedup in (UNLIMITED, math.inf)

    @property
    def output_space(self) -> int:
        """Bytes of an output buffer."""
        given = self.output_buffer_bytes
        return self.buffer_bytes if given is None else given

    @property
    def crosses_with_credit(self) -> bool:
        """Whether a crossing waits for space in the buffer behind its output."""
        return self.crossing_requires == CROSSING_REQUIRES[1]

    @property
    def fifos_per_class(self) -> int:
        """Channels of a link for each channel of the routing."""
        return 1 if self.channels_per_class is None else self.channels_per_class

    @property
    def allocates_channels(self) -> bool:
        """Whether a head must be given a channel before it bids."""
        return bool(self.crossing_overhead_s) or self.fifos_per_class > 1

    @property
    def head_counts(self) -> bool:
        """Whether a packet never waits for its tail."""
        return self.delivery == DELIVERIES[1]

    def crossing_ps(self, wire_bytes: int, input_Bps: int, fastest_Bps: int) -> int:
        """Return the time that a packet holds an input port and an output port of the crossbar,
        from the bandwidths of the link that it came over and of the machine's fastest."""
        if self.unlimited_crossbar:
            return 0
        ser_ps = serialisation_ps(wire_bytes, input_Bps)
        if self.crossbar_speedup is not None:
            exact = ser_ps / float(self.crossbar_speedup)
        else:
            bandwidth = round(self.crossbar_bandwidth_Bps or fastest_Bps)
            exact = float(serialisation_ps(wire_bytes, bandwidth))
        return _rounded_like(ser_ps, exact)

    def port_ps(self, wire_bytes: int, bandwidth_Bps: int, both_ways: bool = False) -> int:
        """Return the time that a packet takes on the link of a network port, which may also
        transmit in the other direction."""
        ser_ps = serialisation_ps(wire_bytes, bandwidth_Bps)
        duplex = self.nic_duplex_efficiency if both_ways else None
        return _rounded_like(ser_ps, ser_ps / (self.nic_efficiency if duplex is None else duplex))


@short_repr()
@dataclass(frozen=True, eq=False)
class PacketResult:
    """Result of a run; times in picoseconds, -1 for never."""

    end_ps: int
    """Time of the last event (or ``until_s``)."""
    message_post_ps: NDArray[np.int64]
    """(n_messages,) int64; length 0 if messages were not recorded."""
    message_finish_ps: NDArray[np.int64]
    """(n_messages,) int64; length 0 if messages were not recorded."""
    rank_finish_ps: NDArray[np.int64]
    """(n_ranks,) int64."""
    group_finish_ps: NDArray[np.int64]
    """(n_groups,) int64. -1 if any rank of the group did not finish."""
    link_packets: NDArray[np.int64]
    """(n_links,) int64. Packets that left on each link."""
    link_bytes: NDArray[np.int64]
    """(n_links,) int64. Wire bytes."""
    link_busy_ps: NDArray[np.int64]
    """(n_links,) int64. Time that the link transmitted."""
    link_stalls: NDArray[np.int64]
    """(n_links,) int64. Stalls as defined in docs/packet-model.md."""
    link_stall_ps: NDArray[np.int64]
    """(n_links,) int64. Their time."""
    exposed_ps: NDArray[np.int64]
    """(n_ranks, n_kinds) int64. Time that the first stream of a rank has spent in steps of each of
    the program's kinds of communication."""

    @property
    def packet_hops(self) -> int:
        """Links traversed by all packets, injection and ejection among them."""
        return int(self.link_packets.sum())


def _rounded_like(ser_ps: int, exact_ps: float) -> int:
    """Round a time to the largest power of ten that divides a serialisation and is at most a
    hundredth of the time: a clock of single picoseconds, which 1365333 would need, is slow.
    """
    unit = 1
    while ser_ps % (10 * unit) == 0 and 1000 * unit <= exact_ps:
        unit *= 10
    return max(1, round(exact_ps / unit) * unit)


def _numeric(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_ps(seconds: float) -> int:
    """Round a duration to picoseconds, half to even."""
    return round(seconds * PS_PER_S)


def serialisation_ps(wire_bytes: int, bandwidth_Bps: int) -> int:
    """Return time that ``wire_bytes`` take on a link, in picoseconds, at least 1."""
    return max(1, (wire_bytes * PS_PER_S + bandwidth_Bps // 2) // bandwidth_Bps)
