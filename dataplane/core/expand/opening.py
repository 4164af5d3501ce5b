"""Which relay a response gets. Source: 03-proxy-and-recovery.md 2.9."""

from __future__ import annotations

from dataplane.core.expand.body import BodyRelay
from dataplane.core.expand.plain import PlainRelay, PlainStream
from dataplane.core.expand.relay import EVENT_STREAM, JSON, Relay, is_answer
from dataplane.core.expand.stream_anthropic import AnthropicSplice
from dataplane.core.expand.stream_openai import OpenAiSplice
from dataplane.core.wire.message import Dialect

_FIRST_ERROR = 400


def open_relay(
    *,
    dialect: Dialect,
    status: int,
    content_type: str,
    interceptable: bool,
    stores: bool = True,
) -> Relay:
    """The relay for one client response, chosen by the head of its first upstream response.

    interceptable: a tool of ours is declared on the request, or was on an earlier turn of the
    session; the request asks for one choice, and the body has no content encoding. stores: the
    provider keeps the response, as a Responses request may forbid.
    """
    if is_answer(status, content_type, EVENT_STREAM):
        spliced = interceptable and dialect is not Dialect.OPENAI_RESPONSES
        return _stream(dialect) if spliced else PlainStream(dialect)
    if interceptable and is_answer(status, content_type, JSON):
        return BodyRelay(dialect, stores=stores)
    return PlainRelay(dialect, is_error=status >= _FIRST_ERROR)


def _stream(dialect: Dialect) -> Relay:
    return AnthropicSplice() if dialect is Dialect.ANTHROPIC else OpenAiSplice()
