"""Bodies of pages and API: how much is taken in, for how long, of how many at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.test import Client

from controlplane import bodies
from controlplane.accounts.models import User
from controlplane.accounts.tokens import TokenTerms, issue_token
from controlplane.bodies import BEFORE_SIGN_IN, IN_ALL, LARGE_AT_ONCE, LARGEST, OF_ONE_SITE, Bodies
from controlplane.cli.management.commands.serve import Protocol
from dataplane.door import Door
from tests.controlplane.conftest import PASSWORD
from tests.patience import PATIENCE_S, until

KIB = 1 << 10


async def nobody(_headers: dict[bytes, bytes]) -> bool:
    return False


async def somebody(_headers: dict[bytes, bytes]) -> bool:
    return True


class Sender:
    """One request: what it sends, and what it is answered. stalls: nothing follows the chunks."""

    def __init__(
        self,
        chunks: Iterable[bytes],
        *,
        peer: str = "192.0.2.1",
        stalls: bool = False,
        **headers: str,
    ) -> None:
        self.waiting = list(chunks)
        self.stalls = stalls
        self.stalled = asyncio.Event()
        self.taken = 0
        self.sent: list[dict[str, Any]] = []
        named = {"transfer-encoding": "chunked", **headers}
        self.scope = {
            "type": "http", "method": "POST", "path": "/login", "client": (peer, 5),
            "headers": [(n.replace("_", "-").encode(), v.encode()) for n, v in named.items()],
        }  # fmt: skip

    async def receive(self) -> dict[str, Any]:
        if not self.waiting:
            self.stalled.set()
            await asyncio.Event().wait()
        chunk = self.waiting.pop(0)
        self.taken += len(chunk)
        return {
            "type": "http.request",
            "body": chunk,
            "more_body": bool(self.waiting) or self.stalls,
        }

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def ask(self, gate: Bodies, application: bodies.Application | None = None) -> None:
        await gate.within_bounds(application or echo, self.scope, self.receive, self.send)

    @property
    def answer(self) -> tuple[int, str]:
        start, body = self.sent
        return start["status"], json.loads(body["body"]).get("code", "")


async def echo(_scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    assert not message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send(
        {"type": "http.response.body", "body": json.dumps({"n": len(message["body"])}).encode()}
    )


async def test_a_body_arrives_whole_however_it_was_cut() -> None:
    client = Sender([b"x" * KIB] * 64)

    await client.ask(Bodies(nobody))

    assert json.loads(client.sent[1]["body"]) == {"n": 64 * KIB}


async def test_a_request_without_a_body_is_not_looked_at() -> None:
    client = Sender([b""])
    client.scope["headers"] = [(b"content-length", b"0")]

    await client.ask(Bodies(nobody))

    assert client.answer == (200, "")


@pytest.mark.parametrize(
    ("is_known", "limit"),
    [(nobody, BEFORE_SIGN_IN), (somebody, LARGEST)],
    ids=["stranger", "known"],
)
async def test_a_body_in_chunks_is_refused_when_it_is_too_large(is_known: Any, limit: int) -> None:
    client = Sender([b"x" * 32 * KIB] * 1000)

    await client.ask(Bodies(is_known))

    assert client.answer == (413, "request.too_large")
    assert json.loads(client.sent[1]["body"])["limit_bytes"] == limit
    assert client.taken <= limit + 32 * KIB


async def test_a_body_that_says_how_large_it_is_is_refused_before_it_comes() -> None:
    client = Sender([b"x"], content_length=str(BEFORE_SIGN_IN + 1))

    await client.ask(Bodies(nobody))

    assert (client.answer, client.taken) == ((413, "request.too_large"), 0)


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "STRANGERS_S", 0.05)
    client = Sender([b"email="], stalls=True)

    async with asyncio.timeout(PATIENCE_S):
        await client.ask(Bodies(nobody))

    assert client.answer == (408, "request.body_timeout")


@pytest.mark.parametrize("name", ["IDLE_S", "TOTAL_S"])
async def test_a_large_body_of_somebody_known_has_limits_of_its_own(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(bodies, name, 0.05)
    client = Sender([b"x" * 2 * BEFORE_SIGN_IN], stalls=True)

    async with asyncio.timeout(PATIENCE_S):
        await client.ask(Bodies(somebody))

    assert client.answer == (408, "request.body_timeout")


async def test_unfinished_bodies_are_bounded_for_each_address_and_in_all() -> None:
    gate = Bodies(nobody)
    sites = [f"192.0.2.{number}" for number in range(1, 1 + IN_ALL // OF_ONE_SITE)]
    stalled = [Sender([b"x"], peer=site, stalls=True) for site in sites for _ in range(OF_ONE_SITE)]
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        tasks = [group.create_task(client.ask(gate)) for client in stalled[:OF_ONE_SITE]]
        await asyncio.gather(*(client.stalled.wait() for client in stalled[:OF_ONE_SITE]))
        one_more = Sender([b"x"], peer=sites[0], stalls=True)
        await one_more.ask(gate)
        whole = Sender([b"x"], peer=sites[0])
        await whole.ask(gate)
        tasks += [group.create_task(client.ask(gate)) for client in stalled[OF_ONE_SITE:]]
        await asyncio.gather(*(client.stalled.wait() for client in stalled))
        elsewhere = Sender([b"x"], peer="198.51.100.1", stalls=True)
        await elsewhere.ask(gate)
        for task in tasks:
            task.cancel()

    assert one_more.answer == elsewhere.answer == (503, "request.too_many_bodies")
    assert (b"retry-after", b"1") in one_more.sent[0]["headers"]
    assert whole.answer == (200, "")
    freed = Sender([b"x"], peer=sites[0])
    await freed.ask(gate)
    assert freed.answer == (200, "")


async def test_large_bodies_are_bounded_and_their_places_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "LARGE_WAIT_S", 0.05)
    gate, going_on = Bodies(somebody), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await going_on.wait()
        await echo(scope, receive, send)

    def large() -> Sender:
        return Sender([b"x" * 2 * BEFORE_SIGN_IN])

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for _ in range(LARGE_AT_ONCE):
            group.create_task(large().ask(gate, slow))
        one_more = large()
        await asyncio.sleep(0)
        await one_more.ask(gate)
        going_on.set()
    after = large()
    await after.ask(gate)

    assert one_more.answer == (503, "request.too_many_bodies")
    assert after.answer == (200, "")


async def test_a_client_that_leaves_is_forgotten() -> None:
    gate = Bodies(nobody)

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    for _ in range(2 * IN_ALL):
        client = Sender([])
        await gate.within_bounds(echo, client.scope, gone, client.send)

    assert client.sent == []
    assert gate._unfinished.total() == 0


class Narrow(Protocol):
    """The protocol of `serve`, in a process that has 40 descriptors left."""

    door = Door(lambda: 40)


@contextlib.asynccontextmanager
async def listening(application: bodies.Application) -> AsyncIterator[uvicorn.Server]:
    """A real server, on a free port."""
    config = uvicorn.Config(application, port=0, http=Narrow, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server._serve())
        await until(lambda: server.started or serving.done())
        try:
            yield server
        finally:
            server.force_exit = server.should_exit = True


UNFINISHED = b"POST /login HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\nemail="
WHOLE = b"POST %s HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx"


async def test_unfinished_bodies_heads_and_idle_connections_silence_nobody() -> None:
    gate = Bodies(nobody)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await gate.within_bounds(echo, scope, receive, send)

    async with asyncio.timeout(PATIENCE_S), listening(application) as server:
        port = server.servers[0].sockets[0].getsockname()[1]
        senders = []
        for said in [UNFINISHED] * 80 + [b"POST /v1/messages HT", b""] * 40:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            senders.append(writer)
            await asyncio.sleep(0)

        answers = []
        for path in (b"/v1/messages", b"/login"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(WHOLE % path)
            answers.append(await reader.readline())
            writer.close()
        kept = len(server.server_state.connections)
        for writer in senders:
            writer.transport.abort()

    assert answers == [b"HTTP/1.1 200 OK\r\n"] * 2
    assert kept <= Narrow.door.most == 20


@pytest.mark.django_db(transaction=True)
async def test_a_token_of_the_api_and_a_session_are_known_and_nothing_else(
    admin: User, settings: Any
) -> None:
    settings.NODE_TOKEN = "cg_node_of_the_test"
    _, token = await sync_to_async(issue_token)(
        admin, "ci", admin, TokenTerms(scopes=["config:read"])
    )
    browser = Client()
    await sync_to_async(browser.post)("/login", {"email": admin.email, "password": PASSWORD})
    await sync_to_async(browser.get)("/")
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"

    known = [
        {b"authorization": f"Bearer {token}".encode()},
        {b"authorization": b"bearer cg_node_of_the_test"},
        {b"cookie": cookie.encode()},
    ]
    unknown = [
        {},
        {b"authorization": b"Bearer " + token[:-1].encode() + b"A"},
        {b"authorization": b"Basic eDp5"},
        {b"cookie": f"{settings.SESSION_COOKIE_NAME}=made-up".encode()},
        {b"cookie": b"\xff=;;=\x00"},
    ]

    assert [await bodies.is_known(each) for each in known] == [True] * 3
    assert [await bodies.is_known(each) for each in unknown] == [False] * 5
