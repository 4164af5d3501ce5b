"""Cases R-18 and W-37 of 08-field-cases.md on the live channels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import Client

from controlplane.accounts import websessions
from controlplane.accounts.models import Tenant, User
from controlplane.accounts.tokens import issue_token
from controlplane.live import socket
from controlplane.live.hub import Hub
from controlplane.live.log import LiveLog
from controlplane.live.readers import still_open
from controlplane.live.snapshots import build
from controlplane.live.socket import LiveSocket
from controlplane.live.sse import EventStreams
from tests.dataplane.field_cases import casefile
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])
CASE = casefile.load("R-18").turns[0]
ATTACKER = "https://attacker.test"
TOPIC = "topics=component.mask"


@pytest.fixture
async def hub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    monkeypatch.setattr("controlplane.live.hub.SESSIONS_S", 0.5)
    made = Hub(LiveLog(), build, still_open, look_s=0.02)
    made.start()
    yield made
    await made.stop()


def signed_in(user: User) -> str:
    client = Client()
    client.force_login(user)
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


class Stream:
    """A browser's request for the event stream, up to its end or its first event."""

    def __init__(self, hub: Hub, cookie: str, query: str = TOPIC, **headers: str) -> None:
        given = {"host": "testserver", "cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
        raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in (given | headers).items()]
        scope = {
            "type": "http", "method": "GET", "path": "/live/stream",
            "query_string": query.encode(), "headers": raw, "client": ("192.0.2.1", 40_000),
        }  # fmt: skip
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._serving = asyncio.ensure_future(
            EventStreams(hub)(scope, self._disconnected, self._sent.put)
        )

    async def _disconnected(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            return await self._sent.get()

    async def ended(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._serving

    async def left(self) -> None:
        self._gone.set()
        await self.ended()


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        pytest.param("&tenant=basalt", {}, 404, id="b-another-tenants-page"),
        pytest.param("", {"origin": ATTACKER}, 403, id="c-foreign-origin"),
        pytest.param("", {"origin": "null"}, 403, id="c-no-origin-at-all"),
        pytest.param("", {"sec_fetch_site": "cross-site"}, 403, id="c-cross-site"),
        pytest.param("", {"origin": "https://testserver"}, 200, id="its-own-page"),
    ],
)
async def test_case_r_18_a_stream_opens_for_its_own_page_and_its_own_tenants_alone(
    hub: Hub, admin: User, other_tenant: Tenant, query: str, headers: dict[str, str], status: int
) -> None:
    stream = Stream(hub, await sync_to_async(signed_in)(admin), TOPIC + query, **headers)

    head = await stream.next()

    assert head["status"] == status
    assert len(hub) == (status == 200)
    await stream.left()


async def test_case_r_18_a_stream_does_not_open_without_a_session(hub: Hub, db: None) -> None:
    stream = Stream(hub, "nobody")

    assert (await stream.next())["status"] == 401
    assert len(hub) == 0
    await stream.left()


async def test_case_r_18_an_open_stream_ends_when_its_person_signs_out(
    hub: Hub, admin: User, tenant: Tenant
) -> None:
    cookie = await sync_to_async(signed_in)(admin)
    stream = Stream(hub, cookie)
    assert (await stream.next())["status"] == 200

    await sync_to_async(websessions.close)(cookie)

    await stream.ended()
    assert len(hub) == 0


async def connected(hub: Hub, **headers: str) -> tuple[bool, int | str | None]:
    """Whether a socket with these headers is accepted, else the code that it is closed with."""
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"host", b"testserver"))
    wire = WebsocketCommunicator(LiveSocket(hub), socket.PATH, headers=raw)
    accepted, code = await wire.connect(timeout=PATIENCE_S)
    await wire.disconnect(timeout=PATIENCE_S)
    return accepted, code


async def test_case_r_18_a_socket_knows_no_cookie_and_no_foreign_page(
    hub: Hub, admin: User, tenant: Tenant
) -> None:
    cookie = await sync_to_async(signed_in)(admin)
    _, token = await sync_to_async(issue_token)(admin, "reader", admin)
    name = settings.SESSION_COOKIE_NAME

    accepted, code = await connected(hub, cookie=f"{name}={cookie}", origin=ATTACKER)
    with_token = await connected(hub, authorization=f"Bearer {token}", origin=ATTACKER)
    unknown = await connected(hub, authorization="Bearer cg_api_nobodys")
    program = await connected(hub, authorization=f"Bearer {token}")

    assert accepted is CASE.expect["ws_accept"] is False
    assert code in CASE.expect["close_or_status"]
    assert with_token == (False, socket.FORBIDDEN)
    assert unknown == (False, socket.UNAUTHENTICATED)
    assert program[0]
    assert len(hub) == 0


async def test_case_w_37_proxies_are_told_to_hold_back_no_event(
    hub: Hub, admin: User, tenant: Tenant
) -> None:
    stream = Stream(hub, await sync_to_async(signed_in)(admin))

    headers = {name.decode(): value.decode() for name, value in (await stream.next())["headers"]}

    assert headers["content-type"].startswith("text/event-stream")
    assert {"no-cache", "no-transform"} <= set(headers["cache-control"].split(", "))
    assert headers["x-accel-buffering"] == "no"
    assert not {"content-length", "content-encoding"} & set(headers)
    await stream.left()
