"""Which headers pass, in both directions (03 §1.8 and 2.9, 10.1 (16, 17))."""

from __future__ import annotations

import pytest

from dataplane.core.door.credential import CredentialPlan
from dataplane.core.door.headers import client_headers, upstream_headers
from dataplane.core.door.identity import foreign_slots

KEY = b"cg_live_AAAAAAAAAAAAAAAAAAAAAAAAAA"


def up(
    *headers: tuple[bytes, bytes], coding: bytes | None = None, forwards_clock: bool = False
) -> list[tuple[bytes, bytes]]:
    credential = CredentialPlan(foreign_slots(headers))
    return upstream_headers(headers, credential, coding=coding, forwards_clock=forwards_clock)


@pytest.mark.parametrize(
    "name",
    [
        b"cookie",
        b"forwarded",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-real-ip",
        b"via",
        b"proxy-authorization",
        b"proxy-connection",
        b"connection",
        b"keep-alive",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"expect",
        b"host",
        b"content-length",
        b"x-context-guru-token",
        b"x-context-guru-session",
        b"x-headrace-now",
    ],
)
def test_what_concerns_this_hop_or_this_gateway_does_not_leave(name: bytes) -> None:
    assert up((name, b"1")) == []


@pytest.mark.parametrize(
    "name",
    [
        b"anthropic-version",
        b"anthropic-beta",
        b"openai-organization",
        b"x-stainless-lang",
        b"idempotency-key",
        b"user-agent",
        b"content-type",
        b"content-encoding",
        b"accept-encoding",
        b"x-claude-code-agent-id",
    ],
)
def test_what_concerns_the_provider_leaves_as_it_came(name: bytes) -> None:
    assert up((name, b"a,b")) == [(name, b"a,b")]


def test_case_16_what_connection_names_does_not_leave_either() -> None:
    assert up((b"connection", b"X-Foo, close"), (b"x-foo", b"1"), (b"x-bar", b"2")) == [
        (b"x-bar", b"2")
    ]


def test_order_and_duplicates_are_kept() -> None:
    headers = [(b"anthropic-beta", b"a"), (b"x", b"1"), (b"anthropic-beta", b"b")]

    assert up(*headers) == headers


def test_an_answer_that_is_read_is_asked_for_uncompressed() -> None:
    assert up((b"accept-encoding", b"gzip, br"), coding=b"identity") == [
        (b"accept-encoding", b"identity")
    ]


def test_the_clock_leaves_in_test_mode_only() -> None:
    clock = (b"x-headrace-now", b"5")

    assert up(clock, forwards_clock=True) == [clock]


def test_a_slot_with_one_of_our_keys_leaves_with_none_of_its_values() -> None:
    slots = [(b"authorization", b"Bearer a.jwt"), (b"authorization", b"Bearer " + KEY)]

    assert up(*slots, (b"x-api-key", b"sk-1")) == [(b"x-api-key", b"sk-1")]


@pytest.mark.parametrize(
    "name", [b"Set-Cookie", b"alt-svc", b"Strict-Transport-Security", b"Connection", b"date"]
)
def test_case_17_an_upstream_says_nothing_about_this_origin(name: bytes) -> None:
    assert client_headers([(name, b"x"), (b"Request-Id", b"r")], changed=False) == [
        (b"request-id", b"r")
    ]


def test_what_the_upstreams_connection_names_ends_here() -> None:
    headers = [(b"connection", b"x-hop"), (b"x-hop", b"1"), (b"x-other", b"2")]

    assert client_headers(headers, changed=False) == [(b"x-other", b"2")]


@pytest.mark.parametrize("changed", [False, True])
def test_length_and_coding_are_told_only_of_the_providers_own_bytes(changed: bool) -> None:  # noqa: FBT001
    headers = [(b"content-length", b"5"), (b"content-encoding", b"gzip")]

    assert client_headers(headers, changed=changed) == ([] if changed else headers)


def test_an_event_stream_tells_every_proxy_in_front_not_to_hold_it_back() -> None:  # 08 §W-37
    headers = [
        (b"Content-Length", b"5"),
        (b"Cache-Control", b"max-age=1"),
        (b"X-Accel-Buffering", b"yes"),
        (b"content-type", b"text/event-stream"),
    ]

    assert client_headers(headers, changed=False, streams=True) == [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ]
