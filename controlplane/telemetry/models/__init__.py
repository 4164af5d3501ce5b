"""The tables of the telemetry database (04 §1.6). Times are ms since the epoch, UTC."""

from __future__ import annotations

from controlplane.telemetry.models.buckets import (
    Bucket,
    ComponentBucket,
    MonthlySpend,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.models.live import LiveEvent
from controlplane.telemetry.models.records import (
    ContentBlob,
    MarkerRecord,
    RequestRecord,
    SessionRecord,
)
from controlplane.telemetry.models.streams import CredentialUse, NodeStream, TelemetryGap

__all__ = [
    "Bucket",
    "ComponentBucket",
    "ContentBlob",
    "CredentialUse",
    "LiveEvent",
    "MarkerRecord",
    "MonthlySpend",
    "NodeStream",
    "RequestRecord",
    "SessionRecord",
    "SignalBucket",
    "TelemetryGap",
    "TrafficBucket",
]
