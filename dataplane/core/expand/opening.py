"""Which relay a response gets. Source: 03-proxy-and-recovery.md 2.9."""

from __future__ import annotations

from dataplane.core.expand.body import BodyRelay
from dataplane.core.expand.body_responses import ResponsesBody
from dataplane.core.expand.plain import PlainRelay, PlainStream
from dataplane.core.expand.relay import EVENT_STREAM, JSON, Relay, is_answer
from dataplane.core.expand.stream_anthropic import AnthropicSplice
from dataplane.core.expand.stream_openai import OpenAiSplice
from dataplane.core.expand.stream_responses import ResponsesSplice
from dataplane.core.expand.terms import PLAIN, Terms
from dataplane.core.wire.message import Dialect

_FIRST_ERROR = 400


def open_relay(
    *,
    dialect: Dialect,
    status: int,
    content_type: str,
    interceptable: bool,
    terms: Terms = PLAIN,
) -> Relay:
    """The relay for one client response, chosen by the head of its first upstream response.

    interceptable: a tool of ours is declared on the request, or was on an earlier turn of the
    session; the request asks for one choice, and the body has no content encoding. terms: of a
    Responses request.
    """
    if not interceptable or status >= _FIRST_ERROR:
        return _plain(dialect, status, content_type)
    if dialect is Dialect.OPENAI_RESPONSES:
        return _responses(status, content_type, terms)
    if is_answer(status, content_type, EVENT_STREAM):
        return AnthropicSplice() if dialect is Dialect.ANTHROPIC else OpenAiSplice()
    if is_answer(status, content_type, JSON):
        return BodyRelay(dialect)
    return _plain(dialect, status, content_type)


def _responses(status: int, content_type: str, terms: Terms) -> Relay:
    if is_answer(status, content_type, EVENT_STREAM):
        return ResponsesSplice(terms)
    if is_answer(status, content_type, JSON):
        return ResponsesBody(terms)
    return _plain(Dialect.OPENAI_RESPONSES, status, content_type)


def _plain(dialect: Dialect, status: int, content_type: str) -> Relay:
    if is_answer(status, content_type, EVENT_STREAM):
        return PlainStream(dialect)
    return PlainRelay(dialect, is_error=status >= _FIRST_ERROR)
