"""Every address beside the pages, every kind of visitor, exactly the permitted answer (A-02).

The gateway's own addresses, the providers' routes and the live streams, asked of the process as it
is served, from another machine. A new address fails here until it has a line.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from controlplane.accounts.actions import create_tenant, issue_key
from controlplane.accounts.models import Organisation
from controlplane.accounts.tokens import issue_token
from controlplane.asgi import Gateway
from controlplane.fleet.queries import acknowledgement
from controlplane.live import socket, sse
from dataplane.adapters.own import views
from dataplane.core.door.misspelt import BARE
from dataplane.core.door.route import FIRST_SEGMENTS
from tests.controlplane.conftest import person
from tests.patience import PATIENCE_S

MESSAGE = json.dumps(
    {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
).encode()
VISITORS = (
    "nobody", "own key", "foreign key", "token",
    "foreign", "viewer", "operator", "admin", "manager",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """answers: in the order of VISITORS. The last five are people at a browser."""

    method: str
    path: str
    answers: tuple[int, ...]
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def traffic(own: int, foreign: int, otherwise: int = 401) -> tuple[int, ...]:
    """Keys of tenants open it; a token, a session and nothing at all are refused alike."""
    return (otherwise, own, foreign, *(otherwise,) * 6)


def for_all(answer: int) -> tuple[int, ...]:
    return (answer,) * len(VISITORS)


NO_UPSTREAM = 502  # the caller is known, and the tenant has chosen no provider
CALLED = traffic(NO_UPSTREAM, NO_UPSTREAM)
CHAT = ("/v1/chat/completions", "/openai/v1/chat/completions", "/inference/v1/chat/completions")
LINES = [
    Line("GET", "/healthz", for_all(200)),
    Line("GET", "/readyz", for_all(200)),
    Line("GET", "/stats", traffic(200, 200, 403)),
    Line("GET", "/metrics", for_all(403)),
    Line("GET", "/debug/config/orchid", for_all(403)),
    Line("GET", "/expand?id=0123456789abcdef&session=s1", traffic(404, 404)),
    Line("POST", "/compact?provider=anthropic", traffic(200, 200), MESSAGE),
    Line("POST", "/v1/messages", CALLED, MESSAGE),
    Line("POST", "/v1/messages/count_tokens", CALLED, MESSAGE),
    Line("POST", "/anthropic/v1/messages", CALLED, MESSAGE),
    *(Line("POST", path, CALLED, MESSAGE) for path in CHAT),
    Line("POST", "/v1/responses", CALLED, b'{"model": "m", "input": "Hello"}'),
    Line("GET", "/v1/responses/resp_1", CALLED),
    Line("POST", "/v1/embeddings", CALLED, b"{}"),
    Line("GET", "/v1/models", CALLED),
    Line("POST", "/t/orchid/v1/messages", traffic(NO_UPSTREAM, 403), MESSAGE),
    *(Line("POST", f"/{first}", for_all(404), MESSAGE) for first in sorted(BARE)),
    Line("GET", f"{sse.PATH}?topics=overview&tenant=orchid",
         (401, 401, 401, 401, 404, 200, 200, 200, 200)),
]  # fmt: skip
# Tried with its own protocol: tests/controlplane/live/test_socket.py.
ELSEWHERE = {socket.PATH}
# Taken by the node only when it runs alone.
ALONE = {"/favicon.ico"}


@dataclass
class Site:
    """The process with two tenants, and what each visitor sends. Every request comes from an
    address of its own: failed sign-ins of one address are slowed down.
    """

    gateway: Gateway
    headers: Mapping[str, Mapping[str, str]]
    addresses: Any = field(default_factory=lambda: map("203.0.113.{}".format, itertools.count(1)))

    async def answer(self, visitor: str, line: Line) -> int:
        path, _, query = line.path.partition("?")
        given = {"host": "127.0.0.1", "content-type": "application/json", "x-api-key": "sk-theirs",
                 **self.headers[visitor]}  # fmt: skip
        scope = {
            "type": "http", "http_version": "1.1", "method": line.method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": (next(self.addresses), 4000), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        return await self._status(scope, line.body)

    async def _status(self, scope: dict[str, Any], body: bytes) -> int:
        """Of the answer's head; then the visitor hangs up, for a stream would go on for ever."""
        status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        if scope["path"] != sse.PATH:  # a browser's stream has no body, and so no end of one
            inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                status.set_result(message["status"])

        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            group.create_task(self.gateway(scope, inbox.get, send))
            found = await status
            inbox.put_nowait({"type": "http.disconnect"})
        return found


def visitors(organisation: Organisation, elsewhere: Organisation) -> dict[str, dict[str, str]]:
    own = create_tenant(organisation, slug="orchid", by=None)
    other = create_tenant(elsewhere, slug="birch", by=None)
    manager = person("manager", None)
    people = {role: person(role, organisation) for role in ("viewer", "operator", "admin")}
    people |= {"manager": manager, "foreign": person("admin", elsewhere, "foreign@example.com")}
    found = {name: {"cookie": signed_in(user)} for name, user in people.items()}
    return found | {
        "nobody": {},
        "own key": {"x-context-guru-token": issue_key(own, "first", None)[1]},
        "foreign key": {"x-context-guru-token": issue_key(other, "first", None)[1]},
        "token": {"authorization": f"Bearer {issue_token(manager, 'ci', manager)[1]}"},
    }


def signed_in(user: Any) -> str:
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


@pytest_asyncio.fixture
async def site(
    transactional_db: None,
    organisation: Organisation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Site]:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    elsewhere = await sync_to_async(Organisation.objects.create)(name="Globex", slug="globex")
    headers = await sync_to_async(visitors)(organisation, elsewhere)
    gateway = Gateway()
    await gateway.start()
    for tenant in await sync_to_async(lambda: [*organisation.tenants.all(),
                                               *elsewhere.tenants.all()])():  # fmt: skip
        async with asyncio.timeout(PATIENCE_S):
            while (await sync_to_async(acknowledgement)(tenant)).status == "pending":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    yield Site(gateway, headers)
    await gateway.stop()


async def test_every_visitor_gets_exactly_the_permitted_answer(site: Site) -> None:
    expected = {
        (str(line), visitor): answer
        for line in LINES
        for visitor, answer in zip(VISITORS, line.answers, strict=True)
    }

    found = {
        (str(line), visitor): await site.answer(visitor, line)
        for line in LINES
        for visitor in VISITORS
    }

    assert found == expected


def test_every_address_of_the_gateway_has_a_line() -> None:
    paths = {line.path.partition("?")[0] for line in LINES}

    assert set(views.OWN) - ALONE <= paths
    assert {path.split("/")[1] for path in paths} >= FIRST_SEGMENTS
    assert {sse.PATH} | ELSEWHERE <= paths | ELSEWHERE


def test_every_named_route_of_the_providers_has_a_line() -> None:
    from dataplane.core.door.route import NAMES, match

    named = {
        match(line.path, method=line.method, is_anthropic=False).name
        for line in LINES
        if line.path.startswith(("/v1", "/anthropic", "/openai"))
    }

    assert set(NAMES) == named
