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
from netsim.packet.presets import with_packet_preset
from netsim.parameters import ReadIf
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


class PacketSection(Section):
    """``[machine.packet]``: see `netsim.packet.model.PacketConfig`."""

    packet_bytes: SizeBytes = 2048
    header_bytes: SizeOrZeroBytes = 0
    buffer_bytes: SizeBytes = 16384
    router_latency_s: TimeS = 100e-9
    send_overhead_s: TimeS = 0.0
    recv_overhead_s: TimeS = 0.0
    copy_s_per_byte: Annotated[Number, Field(ge=0)] = 0.0
    eager_limit_bytes: SizeOrZeroBytes | None = None
    control_bytes: Annotated[SizeBytes, _WITH_RENDEZVOUS] = 64
    rail_policy: Annotated[Text, known("rail policy", RAIL_POLICIES)] = RAIL_POLICIES[0]
    router: Annotated[Text, known("router", ROUTERS)] = "output-queued"
    crossbar_bandwidth_Bps: BandwidthBps | None = None
    crossbar_speedup: Number | Text | None = None
    output_buffer_bytes: SizeBytes | None = None
    arbitration: Text | None = None
    crossing_requires: Text | None = None
    delivery: Annotated[Text, known("delivery", DELIVERIES)] = "tail"
    congestion_control: Annotated[Text, known("congestion control", CONGESTION_CONTROLS)] = "none"
    congestion_threshold_bytes: SizeBytes = 32768
    congestion_delay_s: TimeS = 1e-6
    congestion_recovery_s: TimeS = 5e-6

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
