"""The log for programs: who may read it, its window, and how it hangs up (04 §6.5)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator

from controlplane.accounts.models import Tenant, User
from controlplane.accounts.tokens import TokenTerms, issue_token, revoke_token
from controlplane.live import socket
from controlplane.live.hub import Hub
from controlplane.live.readers import still_open
from controlplane.live.snapshots import build
from controlplane.live.socket import LiveSocket
from tests.fakes.livelog import MemoryLog
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])
MASK = "component.mask"


class Program:
    """A client of the socket."""

    def __init__(
        self, hub: Hub, token: str = "", *, peer: str = "192.0.2.1", forwarded: str = ""
    ) -> None:
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        headers += [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
        self._wire = WebsocketCommunicator(LiveSocket(hub), socket.PATH, headers=headers)
        self._wire.scope["client"] = (peer, 1)

    async def connect(self) -> None:
        accepted, _ = await self._wire.connect(timeout=PATIENCE_S)
        assert accepted

    async def say(self, **wish: Any) -> None:
        await self._wire.send_to(text_data=json.dumps(wish))

    async def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self._wire.receive_from(timeout=PATIENCE_S))
        return found

    async def ask(self, **wish: Any) -> dict[str, Any]:
        await self.say(**wish)
        return await self.hear()

    async def closed_with(self) -> int:
        """The code; whatever else comes before it is passed over."""
        while True:
            message = await self._wire.receive_output(timeout=PATIENCE_S)
            if message["type"] == "websocket.close":
                return int(message["code"])

    async def close(self) -> None:
        await self._wire.disconnect(timeout=PATIENCE_S)


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
async def hub(log: MemoryLog) -> AsyncIterator[Hub]:
    made = Hub(log, build, still_open, look_s=0.02)
    made.start()
    yield made
    await made.stop()


@pytest.fixture
def token(admin: User, tenant: Tenant) -> str:
    return issue_token(admin, "reader", admin)[1]


async def reading(hub: Hub, token: str, cursor: int | None = None, *, topic: str = MASK) -> Program:
    """Connected and subscribed; the hello is heard."""
    program = Program(hub, token)
    await program.connect()
    assert await program.hear() == {"op": "ok"}
    said = await program.ask(op="subscribe", topics=[topic], cursor=cursor)
    assert said == {"op": "ok", "topics": [topic]}
    return program


async def test_messages_arrive_as_they_were_logged(
    hub: Hub, log: MemoryLog, token: str, tenant: Tenant
) -> None:
    program = await reading(hub, token)
    assert "oldest_seq" in await program.hear()
    log.append(MASK, key="1", tenant=tenant.uid, bucket_ts=10_000)

    said = await program.hear()

    assert (said["v"], said["seq"], said["topic"]) == (1, 1, MASK)
    assert (said["tenant"], said["data"]) == (tenant.uid, {"bucket_ts": 10_000})
    await program.close()


async def test_a_token_may_come_as_the_first_message_too(hub: Hub, token: str) -> None:
    program = Program(hub)
    await program.connect()

    assert await program.ask(op="auth", token=token) == {"op": "ok"}
    await program.close()


@pytest.mark.parametrize(
    ("forwarded", "closed"), [("10.0.0.5, 203.0.113.7", True), ("203.0.113.7, 10.0.0.5", False)]
)
async def test_a_tokens_networks_are_those_in_front_of_a_named_proxy(
    hub: Hub, admin: User, settings: Any, forwarded: str, *, closed: bool
) -> None:
    settings.TRUSTED_PROXIES = ("10.0.0.0/24",)
    terms = TokenTerms(ip_allow=["10.0.0.0/8"])
    _, inside = await sync_to_async(issue_token)(admin, "inside", admin, terms)
    program = Program(hub, peer="10.0.0.9", forwarded=forwarded)
    await program.connect()

    await program.say(op="auth", token=inside)

    if closed:
        assert await program.closed_with() == socket.UNAUTHENTICATED
    else:
        assert await program.hear() == {"op": "ok"}
        await program.close()


@pytest.mark.parametrize(
    "first",
    [
        pytest.param({"op": "auth", "token": "cg_api_none"}, id="an unknown token"),
        pytest.param({"op": "subscribe", "topics": [MASK]}, id="no token"),
    ],
)
async def test_nobody_reads_without_a_token(hub: Hub, first: dict[str, Any], db: None) -> None:
    program = Program(hub)
    await program.connect()
    await program.say(**first)

    assert await program.closed_with() == socket.UNAUTHENTICATED


async def test_whoever_says_nothing_is_hung_up_on(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    monkeypatch.setattr(socket, "SPEAK_S", 0.02)
    program = Program(hub)
    await program.connect()

    assert await program.closed_with() == socket.UNAUTHENTICATED


async def test_another_organisations_messages_never_arrive_not_even_on_resume(
    hub: Hub, log: MemoryLog, token: str, tenant: Tenant, other_tenant: Tenant
) -> None:
    for each in (tenant, other_tenant, tenant):
        log.append(MASK, key="1", tenant=each.uid)
    program = await reading(hub, token, cursor=0)
    await program.hear()
    log.append(MASK, key="2", tenant=other_tenant.uid)
    log.append(MASK, key="3", tenant=tenant.uid)

    heard = [await program.hear() for _ in range(2)]

    assert {said["tenant"] for said in heard} == {tenant.uid}
    assert [said["seq"] for said in heard] == [3, 5]
    await program.close()


async def test_a_token_without_the_permission_is_told_so(
    hub: Hub, admin: User, tenant: Tenant
) -> None:
    terms = TokenTerms(scopes=("config:read",))
    _, token = await sync_to_async(issue_token)(admin, "narrow", admin, terms)
    program = Program(hub, token)
    await program.connect()
    await program.hear()
    await program.say(op="subscribe", topics=[MASK])

    assert await program.closed_with() == socket.FORBIDDEN


async def test_a_token_that_is_revoked_reads_no_more(
    hub: Hub, admin: User, tenant: Tenant, log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "RECHECK_S", 0.0)
    monkeypatch.setattr(socket, "BEAT_S", 0.05)
    row, token = await sync_to_async(issue_token)(admin, "reader", admin)
    program = await reading(hub, token)
    await sync_to_async(revoke_token)(row, admin)

    assert await program.closed_with() == socket.UNAUTHENTICATED


async def test_a_cursor_that_is_too_old_closes_with_its_own_code(hub: Hub, token: str) -> None:
    program = await reading(hub, token, cursor=99)

    assert await program.closed_with() == socket.TOO_OLD


async def test_a_full_window_waits_for_acknowledgement_and_then_gets_the_newest(
    hub: Hub, log: MemoryLog, token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "WINDOW", 2)
    program = await reading(hub, token)
    await program.hear()
    for n in range(2):
        log.append(MASK, key=str(n), tenant=tenant.uid)
    heard = [(await program.hear())["seq"] for _ in range(2)]
    for _ in range(10):
        log.append(MASK, key="the same", tenant=tenant.uid)
    (reader,) = hub._readers
    await until(lambda: [frame.seq for frame in reader.waiting] == [12])

    await program.say(op="ack", seq=2)

    assert (heard, (await program.hear())["seq"]) == ([1, 2], 12)
    await program.close()


async def test_no_progress_for_too_long_is_the_end(
    hub: Hub, log: MemoryLog, token: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "WINDOW", 1)
    monkeypatch.setattr(socket, "STUCK_S", 0.05)
    program = await reading(hub, token)
    log.append(MASK, key="1", tenant=tenant.uid)

    assert await program.closed_with() == socket.SLOW


async def test_a_server_that_stops_says_so(hub: Hub, token: str) -> None:
    program = await reading(hub, token)

    hub.farewell()

    assert await program.closed_with() == socket.DEPLOY


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("no json", "bad_request", id="no JSON"),
        pytest.param('{"op": "dance"}', "unknown_op", id="an unknown op"),
        pytest.param('{"op": "subscribe", "topics": []}', "live.topics", id="no topic"),
    ],
)
async def test_what_makes_no_sense_is_said_and_the_connection_goes_on(
    hub: Hub, token: str, text: str, code: str
) -> None:
    program = Program(hub, token)
    await program.connect()
    await program.hear()
    await program._wire.send_to(text_data=text)

    said = await program.hear()
    assert (said["op"], said["code"]) == ("error", code)
    assert await program.ask(op="ping") == {"op": "ok"}
    await program.close()
