"""What the W cases of 08-field-cases.md ask for beyond their files: format and streaming."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import zstandard

from dataplane.simulator import Simulator
from tests.dataplane.field_cases.casefile import Told
from tests.dataplane.field_cases.stepwise import stepwise
from tests.dataplane.gateway import tenants
from tests.dataplane.gateway_cases.served import AGENT, Serve, Served, serving, with_output
from tests.dataplane.recovery_cases.scripted import done, raw
from tests.patience import PATIENCE_S

OFF = "pipeline: []\n"
STREAMED = with_output("short", stream=True)
CHAT = json.dumps(
    {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
).encode()
SSE = {"content-type": "text/event-stream; charset=utf-8"}


# ---- sibling routes and probes ----------------------------------------------------------------


async def test_case_w_23_a_failed_count_changes_nothing_for_the_next_one(served: Served) -> None:
    body = with_output("x" * 4000)
    missing, counted = b'{"type":"error"}', b'{"input_tokens":1187}'
    served.simulator.script(
        raw([missing], "application/json", status=404), raw([counted], "application/json")
    )
    path = "/v1/messages/count_tokens?beta=true"

    answers = [await served.post(body, path=path) for _ in range(2)]
    turn = await served.post(body)

    assert [(each.status_code, each.content) for each in answers] == [
        (404, missing),
        (200, counted),
    ]
    assert turn.status_code == 200
    assert served.sent[:2] == [body, body]
    assert served.stats()["requests"] == 1


@pytest.mark.parametrize("path", ["/", "/anthropic", "/openai/v1", "/t/acme/anthropic"])
@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
async def test_case_w_24_a_probe_of_a_base_address_finds_something_there(
    served: Served, method: str, path: str
) -> None:
    answer = await served.send(method, path)

    assert (answer.status_code, answer.content) == (204, b"")
    assert "www-authenticate" not in answer.headers
    assert served.sent == []
    assert served.stats()["all_requests"] == served.gateway.node.stats()["all_requests"] == 0
    assert served.refused() == {}


@pytest.mark.parametrize(
    ("path", "shape"),
    [("/v1/messages", {"type", "error", "request_id"}), ("/v1/chat/completions", {"error"})],
)
async def test_case_w_35_above_the_limit_the_answer_is_a_413_in_the_providers_shape(
    serve: Serve, path: str, shape: set[str]
) -> None:
    async with serve(body_max=1000) as served:
        answer = await served.post(b"x" * 1001, path=path)

    assert answer.status_code == 413
    assert answer.json().keys() == shape
    assert answer.json()["error"]["message"]
    assert served.sent == []


# ---- content coding ---------------------------------------------------------------------------

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", CODINGS)
async def test_case_w_15_the_usage_of_a_compressed_body_is_read(serve: Serve, coding: str) -> None:
    told = done(cache_read_input_tokens=64)
    packed = CODINGS[coding](told)
    headers = {"content-encoding": coding, "content-length": str(len(packed))}
    async with serve(OFF) as served:
        served.simulator.script(raw([packed], "application/json", headers=headers))

        answer = await served.post(with_output("short"))

    assert answer.content == told
    assert "content-encoding" not in answer.headers
    assert served.stats()["cache_read_tokens"] == 64
    assert served.stats()["usage_unreadable"] == 0


async def test_case_w_15_a_coding_that_nobody_here_reads_is_passed_on_with_its_name(
    serve: Serve,
) -> None:
    packed = b"\x0b\x02\x80brotli\x03"
    async with serve(OFF) as served:
        served.simulator.script(raw([packed], headers={"content-encoding": "br"}))
        request = served.http.build_request(
            "POST", served.gateway.url + "/v1/messages", content=STREAMED, headers=AGENT
        )
        answer = await served.http.send(request, stream=True)
        body = b"".join([chunk async for chunk in answer.aiter_raw()])
        await served.settled()

        assert (body, answer.headers["content-encoding"]) == (packed, "br")
        assert served.stats()["usage_unreadable"] == 1


# ---- streams ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/messages", STREAMED), ("/v1/chat/completions", CHAT)]
)
@pytest.mark.parametrize("document", [OFF, "pipeline: [mask]\n"], ids=["plain", "spliced"])
async def test_case_w_37_no_stream_may_be_held_back_or_recoded_on_its_way(
    serve: Serve, document: str, path: str, body: bytes
) -> None:
    async with serve(document) as served:
        answer = await served.post(body, path=path)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache, no-transform"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in answer.headers


async def test_case_w_40_a_long_stream_is_not_cut_as_long_as_something_comes(
    serve: Serve,
) -> None:
    pings = [b'event: ping\ndata: {"type":"ping"}\n\n'] * 15
    end = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    async with serve(OFF, silence_timeout_s=1.5, first_byte_timeout_s=1.5) as served:
        served.simulator.script(raw([*pings, end], gap_ms=125))

        answer = await served.post(STREAMED)

    assert answer.content == b"".join([*pings, end])


async def test_case_w_40_a_stream_that_falls_silent_ends_with_an_error_event(
    serve: Serve,
) -> None:
    ping = b'event: ping\ndata: {"type":"ping"}\n\n'
    async with serve(OFF, silence_timeout_s=0.2) as served:
        served.simulator.script(raw([ping, b"late"], gap_ms=5000))

        answer = await served.post(STREAMED)

        assert answer.status_code == 200
        assert answer.content.startswith(ping + b"event: error\n")
        assert b"late" not in answer.content
        assert served.gateway.node.telemetry.of("ten_acme").counts["outcome_truncated"] == 1


@pytest.mark.parametrize("document", [OFF, "pipeline: [mask]\n"], ids=["plain", "spliced"])
async def test_case_w_41_each_event_is_with_the_client_before_the_next_one_is_written(
    document: str, tmp_path: Path, simulator: Simulator
) -> None:
    """The provider waits for the client, so whoever collects events waits for ever."""
    events = tuple(_delta(number) for number in range(10))
    end = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    told = Told(200, SSE, (_OPENING, *events, end))
    async with stepwise(told) as provider, asyncio.timeout(PATIENCE_S):
        simulator.url = provider.url
        async with (
            serving(tmp_path, simulator)(specs=tenants(document)) as served,
            served.http.stream(
                "POST", served.gateway.url + "/v1/messages", content=STREAMED, headers=AGENT
            ) as answer,
        ):
            received = await _one_at_a_time(answer, told, provider.step)

    assert received == told.body


_OPENING = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","model":"m",'
    b'"usage":{"input_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
)


def _delta(number: int) -> bytes:
    delta = b'{"type":"text_delta","text":"%d"}' % number
    written = b'{"type":"content_block_delta","index":0,"delta":%b}' % delta
    return b"event: content_block_delta\ndata: %b\n\n" % written


async def _one_at_a_time(answer: httpx.Response, told: Told, step: Callable[[], None]) -> bytes:
    """Ask for the next chunk once the whole of the one before is here."""
    received, awaited = b"", 0
    wanted = [len(b"".join(told.chunks[: n + 1])) for n in range(len(told.chunks))]
    async for piece in answer.aiter_raw():
        received += piece
        while awaited < len(wanted) and len(received) >= wanted[awaited]:
            awaited += 1
            step()
    return received
