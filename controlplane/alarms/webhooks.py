"""One delivery as a signed request (04 §7)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from controlplane.accounts.vault import reveal
from controlplane.alarms.models import Channel, Delivery
from controlplane.alarms.outbound import Answer, post
from controlplane.alarms.signing import signature_header


def send(delivery: Delivery, now: datetime) -> Answer:
    """OutboundError when nobody answered, SealError when the secret does not open."""
    channel, body = delivery.channel, body_of(delivery)
    timestamp_s = int(now.timestamp())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Headrace",
        "X-CG-Delivery": delivery.uid,
        "X-CG-Event": delivery.event,
        "X-CG-Timestamp": str(timestamp_s),
        "X-CG-Signature": signature_header(secrets_of(channel, now), timestamp_s, body),
    }
    return post(channel.target, body, headers, allow_private=channel.allow_private)


def body_of(delivery: Delivery) -> bytes:
    """{id, event, created_at, attempt, and what it is about}."""
    message: dict[str, Any] = {
        "id": delivery.uid,
        "event": delivery.event,
        "created_at": int(delivery.created_at.timestamp() * 1000),
        "attempt": delivery.attempt,
        "test" if delivery.alarm_id is None else "alarm": delivery.payload,
    }
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


def secrets_of(channel: Channel, now: datetime) -> list[str]:
    """The secret, and for a day after its rotation the one before."""
    held = [channel.secret]
    if channel.former_until is not None and now < channel.former_until:
        held.append(channel.former)
    return [reveal(secret) for secret in held if secret is not None]
