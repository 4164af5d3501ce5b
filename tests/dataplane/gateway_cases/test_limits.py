"""Limits and bodies on a running node: 03-proxy-and-recovery.md 10.2."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dataplane.core.resource import Limits
from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import AGENT, Serve, Served, with_output
from tests.patience import PATIENCE_MS, PATIENCE_S, until

MIB = 1 << 20
AT = 1_800_000_000 // 60 * 60
SUMMARY = "Your task is to create a detailed summary of the conversation."
KEY = {"x-context-guru-token": TA}


async def head(served: Served, *lines: str, key: str = TA) -> tuple[Any, asyncio.StreamWriter]:
    """Open a connection and send the head of a Messages request, no body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.gateway.url[17:]))
    start = ["POST /v1/messages HTTP/1.1", "host: x", f"x-context-guru-token: {key}"]
    writer.write("\r\n".join([*start, "x-api-key: sk-1", *lines, "", ""]).encode())
    await writer.drain()
    return reader, writer


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    async with asyncio.timeout(PATIENCE_S):
        raw = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = raw.strip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        body = await reader.readexactly(int(headers["content-length"]))
    return int(status.split()[1]), headers, body


# ---- per tenant -------------------------------------------------------------------------------


@pytest.fixture
async def twice_a_minute(serve: Serve) -> AsyncIterator[Served]:
    specs = tenants(limits=Limits(rpm=2))
    async with serve(specs=specs, test_clock=True) as running:
        yield running


async def test_case_25_the_third_request_of_a_minute_waits_for_the_next_one(
    twice_a_minute: Served,
) -> None:
    served = twice_a_minute
    for second in (1, 20):
        assert (await served.post(b"{}", x_headrace_now=str(AT + second))).status_code != 429

    refused = await served.post(b"{}", x_headrace_now=str(AT + 40))
    later = await served.post(b"{}", x_headrace_now=str(AT + 60))

    assert refused.status_code == 429
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert refused.headers["x-cg-error"] == "rate_limited"
    assert refused.headers["retry-after"] == "20"
    assert "x-should-retry" not in refused.headers
    assert later.status_code != 429
    assert len(served.sent) == 3
    assert served.refused("acme") == {"rate_limit": 1}


async def test_case_25_the_body_of_a_refused_request_is_never_asked_for(serve: Serve) -> None:
    async with serve(specs=tenants(limits=Limits(rpm=1)), test_clock=True) as served:
        await served.post(b"{}", x_headrace_now=str(AT))
        reader, writer = await head(
            served, f"x-headrace-now: {AT}", "expect: 100-continue", "content-length: 9"
        )

        status, _, _ = await answer(reader)
        writer.close()

    assert status == 429


async def test_the_rate_of_one_tenant_is_not_that_of_another(twice_a_minute: Served) -> None:
    served = twice_a_minute
    for _ in range(3):
        await served.post(b"{}", x_headrace_now=str(AT))

    other = AGENT | {"x-context-guru-token": "cg_live_" + "B" * 26, "x-headrace-now": str(AT)}
    answered = await served.send("POST", "/v1/messages", content=b"{}", headers=other)

    assert answered.status_code != 429


@contextlib.asynccontextmanager
async def open_stream(served: Served) -> AsyncIterator[None]:
    served.simulator.script({"content": "slow", "events": 3, "gap_ms": 100_000})
    body = with_output("x", stream=True)
    async with served.http.stream(
        "POST", served.gateway.url + "/v1/messages", content=body, headers=AGENT
    ):
        yield


async def test_case_26_one_request_at_a_time_is_one_stream_or_one_compaction(
    serve: Serve,
) -> None:
    async with serve(specs=tenants(limits=Limits(concurrency=1))) as served:
        url = served.gateway.url + "/compact"
        async with open_stream(served):
            refused = await served.http.post(url, content=b"{}", headers=KEY)
            other = await served.http.post(
                url, content=b"{}", headers={"x-context-guru-token": "cg_live_" + "B" * 26}
            )
        await served.settled()
        later = await served.http.post(url, content=b"{}", headers=KEY)

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "concurrency_limited")
    assert refused.headers["retry-after"] == "1"
    assert (other.status_code, later.status_code) == (200, 200)
    assert served.refused("acme") == {"concurrency": 1}


# ---- the process ------------------------------------------------------------------------------


async def test_case_35_a_full_node_says_so_to_those_it_knows(serve: Serve) -> None:
    async with serve(node_inflight_max=1) as served:
        async with open_stream(served):
            url = served.gateway.url + "/v1/messages"
            refused = await served.http.post(url, content=b"{}", headers=AGENT)
            stranger = await served.http.post(url, content=b"{}")

        await served.settled()

    assert refused.status_code == 503
    assert refused.json()["error"]["type"] == "overloaded_error"
    assert refused.headers["x-cg-error"] == "overloaded"
    assert refused.headers["retry-after"] == "1"
    assert "x-should-retry" not in refused.headers
    assert stranger.status_code == 401
    assert served.refused("acme") == {"overloaded": 1}


async def test_large_bodies_wait_for_a_place_and_small_ones_do_not(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.adapters.door.limits.ROOM_WAIT_S", PATIENCE_S)
    large, small = with_output("x" * 5000), with_output("x")
    async with serve(big_body_bytes=4000, big_body_slots=1) as served:
        url = served.gateway.url + "/v1/messages"
        served.simulator.script({"head_delay_ms": 100 * PATIENCE_MS}, {"content": "ok"})
        async with asyncio.TaskGroup() as group:
            first = group.create_task(served.http.post(url, content=large, headers=AGENT))
            await until(lambda: len(served.sent) == 1)
            second = group.create_task(served.http.post(url, content=large, headers=AGENT))
            passed = await served.http.post(url, content=small, headers=AGENT)
            await until(lambda: served.gateway.node.door.inflight == 2)
            assert len(served.sent) == 2
            first.cancel()
        assert passed.status_code == second.result().status_code == 200
        assert len(served.sent) == 3


async def test_a_large_body_that_finds_no_place_is_refused(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataplane.adapters.door.limits.ROOM_WAIT_S", 0.05)
    large = with_output("x" * 5000)
    async with serve(big_body_bytes=4000, big_body_slots=0) as served:
        announced = await served.post(large)
        counted = await served.http.post(
            served.gateway.url + "/v1/messages", content=chunks(large, 1000), headers=AGENT
        )

    assert (announced.status_code, counted.status_code) == (503, 503)
    assert counted.headers["x-cg-error"] == "overloaded"


# ---- sizes ------------------------------------------------------------------------------------


async def chunks(body: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(body), size):
        yield body[at : at + size]


async def test_case_27_an_announced_body_that_is_too_large_is_not_waited_for(
    served: Served,
) -> None:
    reader, writer = await head(served, f"content-length: {33 * MIB}", "expect: 100-continue")

    status, headers, body = await answer(reader)

    assert status == 413
    assert json.loads(body)["error"]["type"] == "request_too_large"
    assert (headers["x-cg-error"], headers["connection"]) == ("body_too_large", "close")
    assert headers["x-should-retry"] == "false"
    assert await reader.read() == b""
    writer.close()
    await served.settled()
    assert served.refused("acme") == {"body_too_large": 1}


async def test_case_28_a_counted_body_is_refused_once_it_is_too_large(served: Served) -> None:
    reader, writer = await head(served, "transfer-encoding: chunked")
    piece = b"x" * MIB

    async def send() -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()

    sending = asyncio.create_task(send())  # noqa: TID251  cancelled below
    status, headers, _ = await answer(reader)
    assert (status, headers["connection"]) == (413, "close")
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    sending.cancel()
    writer.close()
    await served.settled()

    assert served.refused("acme") == {"body_too_large": 1}
    assert served.sent == []


async def test_case_28_a_client_that_sends_on_can_still_read_the_answer(served: Served) -> None:
    answered = await served.http.post(
        served.gateway.url + "/v1/messages", content=chunks(b"x" * 34 * MIB, MIB), headers=AGENT
    )

    assert answered.status_code == 413


@pytest.mark.parametrize(
    ("path", "sent"), [("/compact", 200), ("/v1/responses/compact", 404), ("/v1/messages", 413)]
)
async def test_only_what_makes_conversations_smaller_may_send_more(
    serve: Serve, path: str, sent: int
) -> None:
    async with serve(body_max=2000, body_max_compaction=4000) as served:
        fits = await served.post(b"x" * 3000, path=path)
        exceeds = await served.post(b"x" * 5000, path=path)

    assert (fits.status_code, exceeds.status_code) == (sent, 413)


async def test_case_29_an_agents_own_summary_request_goes_through_verbatim(
    served: Served,
) -> None:
    """As large as any turn may be: nothing in a head tells a summary from another turn."""
    text = "x" * (30 * MIB)
    told = [{"role": "user", "content": text}, {"role": "user", "content": SUMMARY}]
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": told}).encode()

    answered = await served.post(body)

    assert answered.status_code == 200
    assert served.sent == [body]
    assert served.stats()["bypassed"] == {"agent_compaction": 1}


async def test_case_30_a_body_that_stops_coming_is_given_up(serve: Serve) -> None:
    specs = tenants(limits=Limits(concurrency=1))
    async with serve(specs=specs, body_idle_timeout_s=0.2) as served:
        reader, writer = await head(served, "content-length: 100")
        writer.write(b'{"model":')

        status, headers, _ = await answer(reader)
        writer.close()
        await served.settled()
        later = await served.post(b"{}")

    assert (status, headers["x-cg-error"]) == (408, "body_timeout")
    assert "x-should-retry" not in headers
    assert later.status_code != 429


async def test_case_31_a_bad_key_is_refused_without_being_told_to_continue(
    served: Served,
) -> None:
    reader, writer = await head(
        served, "expect: 100-continue", "content-length: 9", key="cg_live_" + "C" * 26
    )

    status, headers, _ = await answer(reader)
    writer.close()

    assert (status, headers["x-cg-error"]) == (401, "bad_token")


async def test_case_31_a_good_key_is_told_to_continue(served: Served) -> None:
    reader, writer = await head(served, "expect: 100-continue", "content-length: 2")

    async with asyncio.timeout(PATIENCE_S):
        told = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"{}")
    status, _, _ = await answer(reader)
    writer.close()

    assert told.startswith(b"HTTP/1.1 100 ")
    assert status == 400
    assert served.sent == [b"{}"]
