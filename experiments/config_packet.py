"""The ``[machine.packet]`` section: how routers and end points treat packets."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from experiments.fields import (
    BandwidthBps,
    Number,
    Section,
    SizeBytes,
    SizeOrZeroBytes,
    Text,
    TimeS,
    known,
)
from netsim.errors import NetcosimError
from netsim.packet.model import (
    CONGESTION_CONTROLS,
    DELIVERIES,
    RAIL_POLICIES,
    ROUTERS,
    PacketConfig,
)
from netsim.packet.presets import PACKET_PRESETS, with_packet_preset
from netsim.parameters import NamesIn, ReadIf
from netsim.units import short_name

_PACKET_KEYS = (
    "packet_bytes", "header_bytes", "buffer_bytes", "router_latency_s", "send_overhead_s",
    "recv_overhead_s", "copy_s_per_byte",
)  # fmt: skip

_WITH_RENDEZVOUS = ReadIf(
    ("eager_limit_bytes",),
    lambda limit: limit is not None,
    "machine.packet.eager_limit_bytes is given",
)


_CROSSBAR: dict[str, Any] = {"beside": {"router": "input-queued"}}
_CONGESTION: dict[str, Any] = {"beside": {"congestion_control": "per-flow-throttle"}}


class PacketPresetKey(Section):
    """The key of ``[machine.packet]`` that stands for others."""

    preset: Annotated[Text | None, NamesIn(PACKET_PRESETS)] = Field(
        default=None,
        description="named packet model, whose keys can be replaced",
        examples=["merlin"],
    )


class PacketSection(Section):
    """``[machine.packet]``: see `netsim.packet.model.PacketConfig`."""

    packet_bytes: SizeBytes = Field(
        default=2048, description="largest payload of a packet, 1 B to 1 MiB"
    )
    header_bytes: SizeOrZeroBytes = Field(
        default=0, description="extra bytes of each packet on the wire", examples=[40]
    )
    buffer_bytes: SizeBytes = Field(
        default=16384,
        description="input buffer per (link, channel); at least one whole packet",
        examples=["64 KiB"],
    )
    router_latency_s: TimeS = Field(
        default=100e-9, description="from the arrival of a packet's head until it is routed"
    )
    send_overhead_s: TimeS = Field(
        default=0.0,
        description="processor time of the rank for each message it sends",
        examples=["300 ns"],
    )
    recv_overhead_s: TimeS = Field(
        default=0.0,
        description="processor time of the rank for each message it receives",
        examples=["300 ns"],
    )
    copy_s_per_byte: Number = Field(
        default=0.0,
        ge=0,
        description="processor time of the rank for each byte it receives",
        examples=[1e-11],
    )
    eager_limit_bytes: SizeOrZeroBytes | None = Field(
        default=None,
        description="larger messages between nodes go by rendezvous: request, clear-to-send, data; "
        "by default none does",
        examples=["16 KiB"],
    )
    control_bytes: Annotated[SizeBytes, _WITH_RENDEZVOUS] = Field(
        default=64, description="payload of a request and of a clear-to-send, 1 B to packet_bytes"
    )
    rail_policy: Annotated[Text, known("rail policy", RAIL_POLICIES)] = Field(
        default=RAIL_POLICIES[0],
        description="how messages use the ports of a node that has several: the packets of each "
        "dealt over all ports, each message on the next port, or each rank on its own",
    )
    router: Annotated[Text, known("router", ROUTERS)] = Field(
        default="output-queued",
        description="an ideal switch, or FIFOs at the inputs and a crossbar",
    )
    crossbar_bandwidth_Bps: BandwidthBps | None = Field(
        default=None,
        description="bandwidth of each crossbar port; by default that of the fastest link",
        examples=["4 GB/s"],
        json_schema_extra=_CROSSBAR,
    )
    crossbar_speedup: Number | Text | None = Field(
        default=None,
        description='crossbar bandwidth over that of the input\'s link, above 0 or "unlimited"; '
        "excludes crossbar_bandwidth",
        examples=[1.5],
        json_schema_extra=_CROSSBAR,
    )
    output_buffer_bytes: SizeBytes | None = Field(
        default=None,
        description="output buffer per (link, channel), at least one packet; by default "
        "buffer_bytes",
        examples=["32 KiB"],
        json_schema_extra=_CROSSBAR,
    )
    arbitration: Text | None = Field(
        default=None,
        description='which packet crosses first: "least-recently-served" (default), "round-robin", '
        'or "merlin-lru" with the ties of SST\'s merlin',
        examples=["round-robin"],
        json_schema_extra=_CROSSBAR,
    )
    crossing_requires: Text | None = Field(
        default=None,
        description='what a packet needs to cross: "output-space" (default), or also a "credit" of '
        "the next buffer, as in BookSim2",
        examples=["credit"],
        json_schema_extra=_CROSSBAR,
    )
    delivery: Annotated[Text, known("delivery", DELIVERIES)] = Field(
        default="tail",
        description="which end of a packet must have arrived for it to count; SST's merlin counts "
        "the head, one serialization early",
    )
    congestion_control: Annotated[Text, known("congestion control", CONGESTION_CONTROLS)] = Field(
        default="none",
        description="per-flow-throttle slows a source down towards a destination whose queue is "
        "long; it approximates Slingshot, whose rules are not public",
    )
    congestion_threshold_bytes: SizeBytes = Field(
        default=32768,
        description="bytes that may wait for an ejection link before it counts as congested",
        json_schema_extra=_CONGESTION,
    )
    congestion_delay_s: TimeS = Field(
        default=1e-6,
        description="from the congestion until the source knows of it",
        json_schema_extra=_CONGESTION,
    )
    congestion_recovery_s: TimeS = Field(
        default=5e-6,
        description="time after which a flow is twice as fast again, above 0",
        json_schema_extra=_CONGESTION,
    )

    @model_validator(mode="after")
    def _congestion_keys_are_used(self) -> PacketSection:
        if self.congestion_control == "none":
            for key in self.model_fields_set - {"congestion_control"}:
                if key.startswith("congestion_"):
                    raise NetcosimError(f"{short_name(key)} needs congestion_control")
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> PacketSection:
        PacketConfig(**self.model_dump())
        return self

    @model_serializer(mode="wrap")
    def _without_idle_options(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Options that came later count in a point's content, and so in its draws, once used."""
        fields, given = type(self).model_fields, dump(self)
        later = [key for key in given if key not in _PACKET_KEYS]
        idle = {key for key in later if given[key] == fields[key].default}
        return {key: value for key, value in given.items() if key not in idle}

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, given: Any) -> Any:
        return with_packet_preset(given) if isinstance(given, dict) else given
