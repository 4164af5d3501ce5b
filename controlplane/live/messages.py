"""What travels on a stream: numbers and states, never text of a request (04 §6.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

VERSION = 1


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the log.

    seq: its place in the log. ts: ms since the epoch. key: a newer message of the same topic and
    key replaces this one. org, tenant: uids, "" for what belongs to the deployment.
    """

    seq: int
    ts: int
    topic: str
    type: str
    key: str
    data: Mapping[str, object] = field(default_factory=dict)
    org: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A message as it is sent: encoded once, whoever reads it.

    identity: what a newer one replaces. seq: of the message, 0 for one about the stream itself.
    """

    identity: tuple[str, str]
    type: str
    payload: bytes
    seq: int = 0


def framed(message: Message, identity: tuple[str, str] | None = None) -> Frame:
    body = {
        "v": VERSION,
        "seq": message.seq,
        "ts": message.ts,
        "topic": message.topic,
        "type": message.type,
        "org": message.org,
        "tenant": message.tenant,
        "key": message.key,
        "data": message.data,
    }
    identity = identity or (message.topic, message.key)
    return Frame(identity, message.type, msgspec.json.encode(body), message.seq)


def control(kind: str, **facts: object) -> Frame:
    """hello, resync or bye: about the stream itself."""
    return Frame(("control", kind), kind, msgspec.json.encode(facts))


def event_stream(frames: Sequence[Frame], head: int) -> bytes:
    """The frames as text/event-stream.

    Only the last one carries the cursor: whoever loses the connection between two frames of one
    look resumes before both, and replacing a bucket twice harms nothing.
    """
    blocks = [b"event: %s\ndata: %s\n\n" % (frame.type.encode(), frame.payload) for frame in frames]
    if blocks:
        blocks[-1] = b"id: %d\n" % head + blocks[-1]
    return b"".join(blocks)
