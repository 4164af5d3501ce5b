"""What goes over the socket: recording, events, exact bytes, faults."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
from typing import Any

import aiohttp
import msgspec
import pytest

from dataplane.simulator import Recorded, Simulator, script_header
from tests.dataplane.simulator.requests import ANTHROPIC, ASK, OPENAI, RESPOND
from tests.patience import until

ROUTES = [
    pytest.param("/v1/messages", ASK, ANTHROPIC, id="messages"),
    pytest.param("/v1/chat/completions", ASK, OPENAI, id="chat"),
    pytest.param("/v1/responses", RESPOND, OPENAI, id="responses"),
]


def encoded(*chunks: bytes) -> list[str]:
    return [base64.b64encode(chunk).decode() for chunk in chunks]


async def sent(response: aiohttp.ClientResponse) -> list[bytes]:
    """The body as it came: one entry per chunk of the transfer encoding."""
    pieces, whole = [], b""
    async for piece, ends_chunk in response.content.iter_chunks():
        whole += piece
        if ends_chunk:
            pieces.append(whole)
            whole = b""
    return pieces


async def test_a_request_is_recorded_as_it_came(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    seen: list[Recorded] = []
    simulator.on_request = seen.append
    body = b'{ "model":"m",  "max_tokens":1e1, "messages":[{"role":"user","content":"\\u00e9"}] }'

    async with http.post(
        f"{simulator.url}/v1/messages?beta=true", data=body, headers={**ANTHROPIC, "X-Odd": "Ü"}
    ):
        pass

    assert simulator.requests == seen
    assert (seen[0].method, seen[0].path, seen[0].body) == ("POST", "/v1/messages?beta=true", body)
    assert (b"X-Odd", "Ü".encode()) in seen[0].headers
    assert seen[0].header("x-API-key") == "sk-1"


@pytest.mark.parametrize(("path", "body", "headers"), ROUTES)
async def test_each_event_of_a_stream_is_one_chunk_on_the_wire(
    simulator: Simulator,
    http: aiohttp.ClientSession,
    path: str,
    body: dict[str, Any],
    headers: dict[str, str],
) -> None:
    script = script_header({"events": 200, "gap_ms": 0})

    async with http.post(
        simulator.url + path,
        json={**body, "stream": True},
        headers={**headers, "x-sim-script": script},
    ) as response:
        events = await sent(response)

    assert response.content_type == "text/event-stream"
    assert all(event.endswith(b"\n\n") and event.count(b"\n\n") == 1 for event in events)
    assert sum(b"delta" in event and b"word" in event for event in events) == 200


async def test_an_anthropic_stream_names_its_events_in_order(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    simulator.script({"content": "hi"})

    async with http.post(
        f"{simulator.url}/v1/messages", json={**ASK, "stream": True}, headers=ANTHROPIC
    ) as response:
        events = await sent(response)

    assert [event.partition(b"\n")[0] for event in events] == [
        b"event: message_start",
        b"event: content_block_start",
        b"event: ping",
        b"event: content_block_delta",
        b"event: content_block_stop",
        b"event: message_delta",
        b"event: message_stop",
    ]


async def test_tool_input_is_streamed_in_parts(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    call = {"type": "tool_use", "name": "bash", "input": {"command": "ls -la"}}
    simulator.script({"content": [call], "delta_chars": 5})

    async with http.post(
        f"{simulator.url}/v1/messages", json={**ASK, "stream": True}, headers=ANTHROPIC
    ) as response:
        events = [msgspec.json.decode(event.split(b"data: ")[1]) for event in await sent(response)]

    parts = [event["delta"]["partial_json"] for event in events if "partial_json" in str(event)]
    assert "".join(parts) == '{"command":"ls -la"}'
    assert [len(part) for part in parts] == [0, 5, 5, 5, 5]


async def test_events_can_be_cut_into_small_network_chunks(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    simulator.script({"content": "✓✓✓", "chunk_bytes": 1})

    async with http.post(
        f"{simulator.url}/v1/messages", json={**ASK, "stream": True}, headers=ANTHROPIC
    ) as response:
        chunks = await sent(response)

    assert {len(chunk) for chunk in chunks} == {1}
    assert "✓✓✓".encode() in b"".join(chunks)


@pytest.mark.parametrize("streams", [False, True])
async def test_a_connection_can_be_cut_after_so_many_bytes(
    simulator: Simulator, http: aiohttp.ClientSession, *, streams: bool
) -> None:
    simulator.script({"content": "never whole", "cut_after_bytes": 40})
    host, _, port = simulator.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = msgspec.json.encode({**ASK, "stream": streams})

    writer.write(
        b"POST /v1/messages HTTP/1.0\r\nx-api-key: k\r\ncontent-length: %d\r\n\r\n%b"
        % (len(body), body)
    )
    head, _, received = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()

    assert head.startswith(b"HTTP/1.0 200 ")
    assert len(received) == 40


async def test_raw_bytes_go_out_exactly_with_their_status_and_headers(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    packed = gzip.compress(b"anything")
    script = script_header(
        {
            "raw_b64": encoded(packed[:5], packed[5:]),
            "status": 418,
            "headers": {"content-type": "text/html", "content-encoding": "gzip", "x-a": ["1", "2"]},
        }
    )

    async with http.get(f"{simulator.url}/any/path", headers={"x-sim-script": script}) as response:
        chunks = await sent(response)

    assert response.status == 418
    assert chunks == [packed[:5], packed[5:]]
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["content-type"] == "text/html"
    assert response.headers.getall("x-a") == ["1", "2"]


async def test_a_scripted_body_is_sent_as_it_stands(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    simulator.script({"status": 400, "body": {"odd": ["é"]}, "headers": {"retry-after": "7"}})

    async with http.post(f"{simulator.url}/v1/messages", json=ASK, headers=ANTHROPIC) as response:
        body = await response.read()

    assert (response.status, response.headers["retry-after"]) == (400, "7")
    assert body == '{"odd":["é"]}'.encode()


async def test_rounds_of_one_script_follow_each_other_over_requests(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    script = script_header({"content": "one"}, {"status": 529}, {"content": "three"}, id="s")
    statuses = []

    for _ in range(4):
        async with http.post(
            f"{simulator.url}/v1/messages", json=ASK, headers={**ANTHROPIC, "x-sim-script": script}
        ) as response:
            statuses.append(response.status)

    assert statuses == [200, 529, 200, 200]


@pytest.mark.parametrize("spelled", [b"<<cg:aa>>", rb"\u003c\u003Ccg:aa\u003e\u003E"])
async def test_a_scripted_call_finds_a_marker_however_it_is_spelled_and_never_in_the_tools(
    simulator: Simulator, http: aiohttp.ClientSession, spelled: bytes
) -> None:
    call = {"type": "tool_use", "name": "expand", "input": {"id": {"$marker": 0}}}
    simulator.script({"content": [call]})
    body = (
        b'{"model":"m","max_tokens":1,"tools":[{"name":"x","description":"<<cg:HASH>>"}],'
        b'"messages":[{"role":"user","content":"%b"}]}' % spelled
    )

    async with http.post(f"{simulator.url}/v1/messages", data=body, headers=ANTHROPIC) as response:
        answer = await response.json()

    assert answer["content"][0]["input"] == {"id": "aa"}


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("{", id="not-json"),
        pytest.param(script_header({"content": [{"id": {"$marker": 0}}]}), id="no-such-marker"),
        pytest.param(script_header({"content": [{"type": "text"}]}), id="text-without-text"),
        pytest.param(script_header({"content": [{"text": "x"}]}), id="block-without-type"),
        pytest.param(script_header({"raw_b64": ["%"]}), id="not-base64"),
    ],
)
async def test_a_wrong_script_is_a_500_that_nobody_retries(
    simulator: Simulator, http: aiohttp.ClientSession, header: str
) -> None:
    async with http.post(
        f"{simulator.url}/v1/messages", json=ASK, headers={**ANTHROPIC, "x-sim-script": header}
    ) as response:
        body = await response.json()

    assert (response.status, response.headers["x-should-retry"]) == (500, "false")
    assert body["error"]["type"] == "simulator_script_error"


async def test_a_client_that_leaves_is_noted(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    simulator.script({"events": 20_000, "gap_ms": 20})
    response = await http.post(
        f"{simulator.url}/v1/messages", json={**ASK, "stream": True}, headers=ANTHROPIC
    )
    await response.content.readany()

    response.close()

    await until(lambda: simulator.requests[0].disconnected_at is not None)


async def test_clients_that_leave_in_mid_stream_are_no_errors(
    simulator: Simulator, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Twenty of them, since only some leave just before a write."""
    for _ in range(20):
        simulator.script({"events": 5000, "gap_ms": 0.2})
        response = await http.post(
            f"{simulator.url}/v1/messages", json={**ASK, "stream": True}, headers=ANTHROPIC
        )
        await response.content.readany()
        response.close()

    await until(lambda: None not in [each.disconnected_at for each in simulator.requests])
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_compressed_request_is_recorded_as_it_came_and_understood(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    packed = gzip.compress(msgspec.json.encode(ASK))
    headers = {**ANTHROPIC, "content-encoding": "gzip"}

    async with http.post(f"{simulator.url}/v1/messages", data=packed, headers=headers) as response:
        assert response.status == 200

    assert simulator.requests[0].body == packed


async def test_a_body_of_forty_megabytes_is_accepted(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    messages = [{"role": "user", "content": "x" * (40 << 20)}]
    large = msgspec.json.encode({**ASK, "messages": messages})

    async with http.post(
        f"{simulator.url}/v1/messages", data=io.BytesIO(large), headers=ANTHROPIC
    ) as response:
        answer = await response.json()

    assert answer["usage"]["input_tokens"] == 10 << 20


async def test_the_newest_requests_are_kept() -> None:
    async with (
        Simulator(keep=2) as simulator,
        aiohttp.ClientSession(headers=OPENAI) as http,
    ):
        for number in range(4):
            async with http.get(f"{simulator.url}/v1/models/m{number}"):
                pass

        assert [recorded.path for recorded in simulator.requests] == [
            "/v1/models/m2",
            "/v1/models/m3",
        ]


async def test_a_cleared_simulator_has_forgotten_everything(
    simulator: Simulator, http: aiohttp.ClientSession
) -> None:
    simulator.script({"status": 500})
    simulator.clear()

    async with http.post(f"{simulator.url}/v1/messages", json=ASK, headers=ANTHROPIC) as response:
        assert response.status == 200

    assert len(simulator.requests) == 1
