"""What an upstream entry says about the way to it, and a node about itself (03 §1.5, 9.1, 9.3)."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from dataplane.core.resource import Kill
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.core.expand import scripts
from tests.dataplane.core.expand.scripts import text, tool_use
from tests.dataplane.gateway_cases.served import LONG, Serve, Served, with_output
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID, done, message, raw, results, x

GZIP = {"content-encoding": "gzip"}


# ---- wan_compression ------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "coding"), [(True, "gzip"), (False, "identity")])
async def test_compressed_answers_are_asked_for_only_where_the_upstream_wants_it(
    serve: Serve, *, asked: bool, coding: str
) -> None:
    async with serve(upstream={"wan_compression": asked}) as served:
        await served.post(with_output("short"), accept_encoding="br")
        await served.post(b"{}", path="/v1/embeddings", accept_encoding="br")

    shaped, passed = served.simulator.requests
    assert shaped.header("accept-encoding") == coding
    assert passed.header("accept-encoding") == "br"


async def test_a_compressed_answer_reaches_the_client_plain_with_the_call_answered(
    serve: Serve,
) -> None:
    first = scripts.anthropic(text(0, "one"), tool_use(1), stop_reason="tool_use")
    after = scripts.anthropic(text(0, "two"))
    async with serve(upstream={"wan_compression": True}) as served:
        await served.post(anthropic_body(X4000))
        served.simulator.requests.clear()
        call = gzip.compress(message(x(X4000_ID)))
        served.simulator.script(
            raw([call], "application/json", headers=GZIP),
            raw([gzip.compress(done())], "application/json", headers=GZIP),
            raw([gzip.compress(first.body)], headers=GZIP),
            raw([gzip.compress(after.body)], headers=GZIP),
        )

        whole = await served.post(anthropic_body(X4000))
        streamed = await served.post(anthropic_body(X4000, stream=True))

        assert whole.content == done()
        assert results(served.sent) == [X4000]
        assert scripts.indices(streamed.content) == [0, 1]
        for answer in (whole, streamed):
            assert "content-encoding" not in answer.headers


async def test_a_compressed_refusal_reaches_the_client_plain(serve: Serve) -> None:
    refusal = {"status": 429, "headers": GZIP | {"retry-after": "7"}}
    async with serve(upstream={"wan_compression": True}) as served:
        served.simulator.script(raw([gzip.compress(b"slow down")], "text/plain", **refusal))

        answer = await served.post(with_output("short"))

    assert (answer.status_code, answer.content) == (429, b"slow down")
    assert answer.headers["retry-after"] == "7"
    assert "content-encoding" not in answer.headers


# ---- header_timeout_s and proxy_url ---------------------------------------------------------


async def test_an_upstream_may_have_a_shorter_patience_than_the_node(serve: Serve) -> None:
    async with serve(upstream={"header_timeout_s": 1}) as served:
        served.simulator.script({"head_delay_ms": 30_000})

        answer = await served.post(with_output("short"))

    assert (answer.status_code, answer.headers["x-cg-error"]) == (502, "upstream_timeout")


@contextlib.asynccontextmanager
async def proxy(seen: list[bytes]) -> AsyncIterator[str]:
    """A forward proxy that notes what it is asked for and answers it itself."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n"))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s" % (len(done()), done())
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_proxy_is_asked_for_the_upstream_by_its_name(serve: Serve) -> None:
    seen: list[bytes] = []
    async with proxy(seen) as address, serve(upstream={"proxy_url": address}) as served:
        snapshots = served.gateway.node.snapshots
        far = {
            n: replace(u, base_url="http://provider.test") for n, u in snapshots.upstreams.items()
        }
        snapshots.upstreams = far

        answer = await served.post(with_output("short"), path="/v1/messages?beta=true")

    assert answer.content == done()
    assert seen == [b"POST http://provider.test/v1/messages?beta=true HTTP/1.1\r\n"]


async def test_a_proxy_that_is_not_there_is_an_upstream_error(serve: Serve) -> None:
    async with serve(upstream={"proxy_url": "http://127.0.0.1:1"}) as served:
        answer = await served.post(with_output("short"))

    assert (answer.status_code, answer.headers["x-cg-error"]) == (502, "upstream_error")
    assert "127.0.0.1" not in answer.text


# ---- what holds for the whole node ----------------------------------------------------------


def of_node(served: Served, **facts: Any) -> None:
    snapshots = served.gateway.node.snapshots
    assert snapshots.node is not None
    snapshots.node = replace(snapshots.node, **facts)


@pytest.mark.parametrize(
    ("kill", "bypassed"),
    [(Kill(bypass=True), {"kill_switch": 1}), (Kill(observe=True), {"observe": 1})],
)
async def test_a_switch_of_the_node_stops_every_tenant(
    served: Served, kill: Kill, bypassed: dict[str, int]
) -> None:
    of_node(served, kill=kill)
    body = with_output(LONG)

    await served.post(body)

    assert served.sent == [body]
    assert served.stats()["bypassed"] == bypassed


async def test_a_node_that_may_remove_nothing_new_still_replays(served: Served) -> None:
    session = {"x_context_guru_session": "s"}
    await served.post(anthropic_body(X4000), **session)
    of_node(served, kill=Kill(no_new_offloads=True))

    await served.post(anthropic_body(X4000, LONG), **session)

    assert f"<<cg:{X4000_ID}>>".encode() in served.sent[1]
    assert b"a long line of output" in served.sent[1]
    gates = [each["gates"] for each in served.stats()["components"].values()]
    assert {"no_new_offloads": 1} in gates


async def test_keys_are_believed_for_as_long_as_the_operator_allows(served: Served) -> None:
    snapshots = served.gateway.node.snapshots
    of_node(served, auth_stale_after_s=60)
    before = await served.post(with_output("short"))
    snapshots.contact_at -= 61

    after = await served.post(with_output("short"))

    assert before.status_code == 200
    assert (after.status_code, after.headers["x-cg-error"]) == (503, "not_ready")
