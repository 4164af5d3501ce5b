"""What the answer to a replayed turn says: billed tokens, or what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw

from dataplane.core.wire.sse import SseParser
from dataplane.core.wire.usage import Reading, Usage, UsageMeter

METERS = {"anthropic": "anthropic", "openai": "openai-chat"}
LONGEST_ERROR = 300  # characters


class _Message(msgspec.Struct):
    """`message_start` carries its usage one level down."""

    usage: Raw = Raw(b"null")


class _Body(msgspec.Struct):
    usage: Raw = Raw(b"null")
    message: _Message | None = None


def usage_of(body: bytes, dialect: str, content_type: str) -> Usage | None:
    """Billed tokens of a JSON body or an event stream; None when they are not stated."""
    meter = UsageMeter(METERS[dialect])
    parts = stream_events(body) if content_type.startswith("text/event-stream") else iter([body])
    for part in parts:
        try:
            read = msgspec.json.decode(part, type=_Body)
        except msgspec.DecodeError:
            continue  # `[DONE]`, and events that are no objects
        meter.offer(read.usage)
        if read.message is not None:
            meter.offer(read.message.usage)
    result = meter.result()
    return result.usage if result.reading is Reading.READ else None


def stream_events(body: bytes) -> Iterator[bytes]:
    return (event.data for event in SseParser().feed(body) if event.data)


def error_of(body: bytes) -> str:
    """The beginning of an error body as text on one line."""
    text = " ".join(body.decode("utf-8", "replace").split())
    return text if len(text) <= LONGEST_ERROR else f"{text[:LONGEST_ERROR]}…"


def count_in(headers: Mapping[str, str], name: str) -> int | None:
    written = headers.get(name, "")
    return int(written) if written.isdecimal() else None
