"""Clients and providers that misbehave on the connection itself (03 §1.6 and 2.10)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec.structs import replace

from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import AGENT, LONG, Serve, Served, with_output
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID, Json, x
from tests.patience import PATIENCE_MS, PATIENCE_S, until

HEAD = f"POST /v1/messages HTTP/1.1\r\nhost: gateway\r\nx-context-guru-token: {TA}\r\n"
KEYED = HEAD + "x-api-key: sk-agent\r\n"


@contextlib.asynccontextmanager
async def connected(
    served: Served, text: str = ""
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = httpx.URL(served.gateway.url).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode("latin-1"))
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield reader, writer
    finally:
        writer.close()


async def serves(served: Served) -> bool:
    """A good request still gets its answer, and nothing of the bad one is left."""
    answer = await served.post(with_output("short"))
    return answer.status_code == 200 and served.gateway.node.door.inflight == 0


# ---- heads ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "begun",
    [
        pytest.param("", id="nothing"),
        pytest.param("POST /v1/mess", id="half-a-line"),
        pytest.param(KEYED, id="no-end"),
    ],
)
async def test_a_head_that_does_not_come_to_its_end_is_hung_up_on(
    served: Served, monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    with monkeypatch.context() as hurried:
        hurried.setattr("dataplane.server.HEAD_S", 0.3)
        async with connected(served, begun) as (reader, _):
            answer = await reader.read()

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert await serves(served)


async def test_a_header_now_and_then_does_not_keep_a_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hurried:
        hurried.setattr("dataplane.server.HEAD_S", 0.5)
        async with connected(served, KEYED) as (reader, writer):
            with contextlib.suppress(ConnectionError):
                for number in range(1000):
                    writer.write(f"x-drip-{number}: 1\r\n".encode())
                    await writer.drain()
                    await asyncio.sleep(0.05)
                    if reader.at_eof() or reader._buffer:  # type: ignore[attr-defined]
                        break
            assert number < 999
    assert await serves(served)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(KEYED + "x-much: " + "a" * (65 << 10) + "\r\n\r\n", id="one-header"),
        pytest.param(KEYED + "x-endless: " + "a" * (300 << 10), id="a-header-without-end"),
        pytest.param(KEYED + "x-many: 0123456789\r\n" * 6000 + "\r\n", id="many-headers"),
        pytest.param("GET /" + "a" * (70 << 10) + " HTTP/1.1\r\nhost: g\r\n\r\n", id="address"),
    ],
)
async def test_a_head_beyond_64_kib_is_refused_by_its_status(served: Served, head: str) -> None:
    async with connected(served, head) as (reader, _):
        try:
            answer = await reader.read()
        except ConnectionResetError:
            answer = b""  # what was not read of the head destroys the answer on its way

    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")
    assert served.sent == []
    assert await serves(served)


async def test_a_second_request_of_a_connection_has_its_own_ten_seconds(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.server.HEAD_S", 0.5)
    async with connected(served) as (reader, writer):
        for _ in range(3):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: g\r\n\r\n")
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.3)


# ---- framing --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("transfer-encoding: chunked\r\n\r\nxyz\r\n", id="no-chunk-size"),
        pytest.param("transfer-encoding: chunked\r\n\r\n5\r\nabc\r\nzz", id="wrong-size"),
        pytest.param("content-length: 2\r\ncontent-length: 3\r\n\r\n{}", id="two-lengths"),
        pytest.param("content-length: -2\r\n\r\n{}", id="negative-length"),
        pytest.param(
            "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            id="both-framings",
        ),
        pytest.param("x-evil: a\nb: c\x00\r\ncontent-length: 2\r\n\r\n{}", id="control-characters"),
    ],
)
async def test_what_is_framed_wrongly_never_reaches_a_provider(served: Served, rest: str) -> None:
    async with connected(served, KEYED + rest) as (reader, _):
        answer = await reader.read()

    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert served.sent == []
    assert await serves(served)


async def test_a_header_value_cannot_become_two_at_the_provider(served: Served) -> None:
    """Escapes in an address and odd bytes in a value arrive as what they are."""
    await served.post(
        with_output("short"), path="/v1/messages?a=%0d%0ax-evil:%201", x_note="a\tb\x7f"[:3]
    )

    got = served.simulator.requests[0]
    assert got.path == "/v1/messages?a=%0d%0ax-evil:%201"
    assert got.header("x-evil") is None
    assert got.header("x-note") == "a\tb"


# ---- clients that leave ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(KEYED, id="in-the-head"),
        pytest.param(KEYED + "content-length: 100\r\n\r\n", id="before-the-body"),
        pytest.param(KEYED + "content-length: 100\r\n\r\n{", id="in-the-body"),
        pytest.param(KEYED + "transfer-encoding: chunked\r\n\r\n5\r\n{", id="in-a-chunk"),
    ],
)
async def test_a_client_that_leaves_before_it_has_asked_costs_nothing(
    served: Served, sent: str
) -> None:
    async with connected(served, sent):
        await asyncio.sleep(0.1)

    await served.settled()
    assert served.sent == []
    assert await serves(served)


async def test_a_client_that_leaves_while_its_answer_is_awaited_ends_the_call(
    served: Served,
) -> None:
    served.simulator.script({"head_delay_ms": 100 * PATIENCE_MS}, {"content": "ok"})
    body = with_output(LONG).decode()
    async with connected(served, KEYED + f"content-length: {len(body.encode())}\r\n\r\n") as (
        _,
        writer,
    ):
        writer.write(body.encode())
        await until(lambda: bool(served.simulator.requests))

    await served.settled()
    await until(lambda: served.simulator.requests[0].disconnected_at is not None)
    assert served.stats()["client_disconnects"] == 1
    assert await serves(served)


LONG_WAIT = {"head_delay_ms": 100 * PATIENCE_MS}
LONG_STREAM = {"events": 4000, "gap_ms": 20}
REFUSED = {"status": 400, "body": {"no": "shaped body"}}


@pytest.mark.parametrize(
    ("streams", "first", "second"),
    [
        pytest.param(True, {"content": [x(X4000_ID)]}, LONG_STREAM, id="in-a-continued-stream"),
        pytest.param(False, {"content": [x(X4000_ID)]}, LONG_WAIT, id="waiting-for-a-continuation"),
        pytest.param(True, REFUSED, LONG_STREAM, id="in-a-stream-that-was-resent"),
        pytest.param(False, REFUSED, LONG_WAIT, id="waiting-for-a-resend"),
    ],
)
async def test_a_client_that_leaves_ends_the_second_call_too(
    served: Served, first: Json, second: Json, *, streams: bool
) -> None:
    served.simulator.script(first, second, {"content": "ok"})
    body = anthropic_body(X4000, stream=streams)
    async with connected(served, KEYED + f"content-length: {len(body)}\r\n\r\n") as (
        reader,
        writer,
    ):
        writer.write(body)
        if second is LONG_STREAM:
            await reader.readuntil(b"content_block_delta")
        else:
            await until(lambda: len(served.sent) == 2)

    await until(lambda: served.simulator.requests[1].disconnected_at is not None)
    assert served.stats()["client_disconnects"] == 1
    assert await serves(served)


# ---- providers that die ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("round_", "streams", "ends"),
    [
        pytest.param({"cut_after_bytes": 0}, False, "cut", id="after-the-head"),
        pytest.param({"content": "x" * 900, "cut_after_bytes": 400}, False, "cut", id="in-a-body"),
        pytest.param(
            {"content": "x" * 900, "cut_after_events": 3}, True, "error-event", id="in-a-stream"
        ),
        pytest.param(
            {"content": "x", "cut_after_events": 1}, True, "error-event", id="after-the-start"
        ),
    ],
)
async def test_a_provider_that_dies_is_never_taken_for_one_that_ended(
    served: Served, round_: dict[str, object], ends: str, *, streams: bool
) -> None:
    served.simulator.script(round_, {"content": "ok"})
    body = anthropic_body("short", stream=streams)

    try:
        answer = await served.post(body)
    except httpx.RemoteProtocolError:
        found = "cut"
    else:
        found = answer.headers.get("x-cg-error", "")
        if streams and b"event: error" in answer.content:
            found = "error-event"
            assert b"message_stop" not in answer.content

    await served.settled()
    assert found == ends
    assert len(served.sent) == 1
    assert await serves(served)


@contextlib.asynccontextmanager
async def answering(served: Served, said: bytes) -> AsyncIterator[list[bytes]]:
    """A provider that says just these bytes and hangs up; the heads of what it was asked."""
    asked: list[bytes] = []

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(said)
        writer.close()

    snapshots = served.gateway.node.snapshots
    good = snapshots.upstreams
    async with await asyncio.start_server(answers, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        snapshots.upstreams = {name: replace(each, base_url=url) for name, each in good.items()}
        yield asked
    snapshots.upstreams = good


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-ty", id="half-a-head"),
        pytest.param(b"\x00\x01no http\r\n", id="no-http"),
        pytest.param(b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", id="another-protocol"),
        pytest.param(b"HTTP/1.1 600 Odd\r\ncontent-length: 2\r\n\r\n{}", id="status-600"),
        pytest.param(b"HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\n{}", id="status-99"),
    ],
)
async def test_a_provider_without_a_whole_head_is_a_502_and_is_not_asked_twice(
    served: Served, said: bytes
) -> None:
    async with answering(served, said) as asked:
        answer = await served.post(with_output("short"))

    assert (answer.status_code, answer.headers["x-cg-error"]) == (502, "upstream_error")
    assert len(asked) == 1
    assert await serves(served)


async def test_a_header_that_no_server_may_write_costs_itself_and_not_the_answer(
    served: Served,
) -> None:
    odd = b"x-odd: a\x01b\r\nx-long: " + b"a" * 20_000 + b"\r\nx-good: caf\xe9\r\n"
    said = b"HTTP/1.1 200 OK\r\n" + odd + b"content-length: 2\r\n\r\n{}"
    async with answering(served, said):
        answer = await served.post(with_output("short"))

    assert (answer.status_code, answer.content) == (200, b"{}")
    assert "x-odd" not in answer.headers
    assert answer.headers["x-good"] == "caf\xe9"
    assert len(answer.headers["x-long"]) == 20_000
    assert await serves(served)


async def test_an_answer_without_its_body_may_name_its_length(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    said = b'HTTP/1.1 304 Not Modified\r\netag: "a"\r\ncontent-length: 10\r\n\r\n'
    async with answering(served, said):
        headers = AGENT | {"if-none-match": '"a"'}
        answer = await served.send("GET", "/v1/models", headers=headers)

    assert (answer.status_code, answer.headers["etag"]) == (304, '"a"')
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert await serves(served)


# ---- a node that stops ----------------------------------------------------------------------


async def test_a_stream_that_outlasts_the_stop_is_cut_visibly_and_not_counted_as_whole(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="headrace.request")
    async with serve() as served:
        served.simulator.script(LONG_STREAM)
        body = anthropic_body("short", stream=True)
        head = KEYED + f"content-length: {len(body)}\r\n\r\n"
        async with connected(served, head + body.decode()) as (reader, _):
            await reader.readuntil(b"content_block_delta")
            served.gateway._server.should_exit = True
            rest = await reader.read()

    assert b"message_stop" not in rest
    assert not rest.endswith(b"0\r\n\r\n")
    (line,) = (text for text in caplog.messages if text.startswith("cg.request "))
    assert " status=200 outcome=truncated " in line
    await until(lambda: served.simulator.requests[0].disconnected_at is not None)


# ---- a store that stalls --------------------------------------------------------------------


async def test_a_store_that_stalls_costs_the_removals_and_not_the_answers(serve: Serve) -> None:
    async with serve(store_commit_timeout_ms=250) as served:
        await served.post(with_output("warm up"))
        store = served.gateway.node.store
        stalled = asyncio.Event()

        async def stalls(*_: object) -> object:
            async with asyncio.timeout(PATIENCE_S):
                await stalled.wait()
            raise TimeoutError

        store.backend_for("ten_acme")._write = stalls  # type: ignore[attr-defined]
        answers = await asyncio.gather(*(served.post(with_output(LONG + str(n))) for n in range(8)))
        stalled.set()

    assert {answer.status_code for answer in answers} == {200}
    shown = [json.loads(body)["messages"][2]["content"][0]["content"] for body in served.sent[1:]]
    assert sorted(shown) == sorted(LONG + str(n) for n in range(8))
