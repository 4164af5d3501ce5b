"""Who may read the stream, whose figures it carries, and when it ends (04 §6.4, 8.4, A-02)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client

from controlplane.accounts import websessions
from controlplane.accounts.models import Membership, Tenant, User, WebSession
from controlplane.live.hub import Hub
from controlplane.live.log import LiveLog
from controlplane.live.readers import still_open
from controlplane.live.snapshots import build
from controlplane.live.sse import EventStreams
from controlplane.telemetry.models import ComponentBucket, LiveEvent, SignalBucket
from controlplane.telemetry.queries.windows import now_ms
from tests import house
from tests.controlplane.conftest import person
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])
RESETS = 200
MASK = "/live/stream?topics=component.mask"


class Stream:
    """One request of a browser; what it was sent, as it came."""

    def __init__(self, url: str, cookie: str, **headers: str) -> None:
        path, _, query = url.partition("?")
        given = {"host": "testserver", "cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"}
        raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in (given | headers).items()]
        self.scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": raw,
            "client": ("192.0.2.1", 40_000),
        }
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.status = 0
        self.body = b""

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.sent.put(message)

    async def frames(self, until: str) -> list[dict[str, Any]]:
        """Every frame up to the first of that type, with its cursor; all of them at the end."""
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(PATIENCE_S):
            while True:
                message = await self.sent.get()
                if message["type"] == "http.response.start":
                    self.status = message["status"]
                    continue
                self.body += message["body"]
                found += [frame_of(block) for block in blocks(message["body"])]
                if not message["more_body"] or any(f["type"] == until for f in found):
                    return found


def blocks(body: bytes) -> list[str]:
    return [block for block in body.decode().split("\n\n") if "data: " in block]


def frame_of(block: str) -> dict[str, Any]:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    return {"type": fields["event"], "id": fields.get("id"), **json.loads(fields["data"])}


Open = Callable[..., Awaitable[Stream]]


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    made = Hub(LiveLog(), build, still_open, look_s=0.02)
    made.start()
    yield made
    await made.stop()


@pytest.fixture
async def browse(hub: Hub) -> AsyncIterator[Open]:
    """Opens a stream as the person; nobody for None."""
    async with asyncio.TaskGroup() as group:
        opened: list[Stream] = []

        async def stream(user: User | None, url: str = MASK, **headers: str) -> Stream:
            cookie = await sync_to_async(signed_in)(user) if user else "nobody"
            made = Stream(url, cookie, **headers)
            opened.append(made)
            group.create_task(EventStreams(hub)(made.scope, made.receive, made.send))
            return made

        yield stream
        for each in opened:
            each.gone.set()


def signed_in(user: User) -> str:
    client = Client()
    client.force_login(user)
    return str(client.cookies[settings.SESSION_COOKIE_NAME].value)


def raised(tenant: Tenant, n: int, *, component: str = "mask", at: int | None = None) -> int:
    """A gate of the tenant has held n times in one bucket; the number of the message."""
    at = at or now_ms() // 10_000 * 10_000
    SignalBucket.objects.update_or_create(
        resolution_s=10, bucket_at=at, tenant_uid=tenant.uid, component=component,
        signal="cached_prefix", kind="gate", defaults={"n": n, "requests": 1},
    )  # fmt: skip
    ComponentBucket.objects.update_or_create(
        resolution_s=10, bucket_at=at, tenant_uid=tenant.uid, component=component,
        defaults={"runs": 1},
    )  # fmt: skip
    return logged(tenant, component, at)


def logged(tenant: Tenant, component: str, at: int) -> int:
    event = LiveEvent.objects.create(
        topic=f"component.{component}", type="bucket", key=f"{component}/{at}",
        tenant_uid=tenant.uid, payload={"bucket_ts": at}, at=now_ms(),
    )  # fmt: skip
    return int(event.seq)


@pytest.fixture
def admin(organisation: Any, tenant: Tenant) -> User:
    return person(Membership.Role.ADMIN, organisation)


async def counts(stream: Stream) -> dict[str, int]:
    frames = await stream.frames("bucket")
    found: dict[str, int] = frames[-2 if frames[-1]["type"] == "tiles" else -1]["data"]["of"][
        "candidates"
    ]
    return found


async def test_a_gate_count_arrives_as_the_whole_bucket_with_the_figures_of_the_window(
    browse: Open, admin: User, tenant: Tenant
) -> None:
    stream = await browse(admin)
    assert [frame["type"] for frame in await stream.frames("hello")] == ["hello"]

    seq = await sync_to_async(raised)(tenant, 7)

    frames = await stream.frames("tiles")
    bucket, tiles = frames[-2:]
    assert bucket["data"]["of"]["candidates"] == {"cached_prefix": 7}
    assert tiles["data"]["gate-cached_prefix"] == ["7", "", False]
    assert (bucket["id"], tiles["id"]) == (None, str(seq))


async def test_the_figures_of_all_tenants_are_added_up(
    browse: Open, manager: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    stream = await browse(manager)
    await stream.frames("hello")
    at = now_ms() // 10_000 * 10_000
    await sync_to_async(raised)(tenant, 7, at=at)
    await sync_to_async(raised)(other_tenant, 5, at=at)

    last: dict[str, int] = {}
    async with asyncio.timeout(PATIENCE_S):
        while last != {"cached_prefix": 12}:
            last = await counts(stream)


async def test_another_organisations_figures_are_never_on_it(
    browse: Open, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    stream = await browse(admin)
    await stream.frames("hello")
    await sync_to_async(raised)(other_tenant, 999)
    await sync_to_async(raised)(tenant, 7)

    await stream.frames("tiles")

    assert b"999" not in stream.body
    assert other_tenant.uid.encode() not in stream.body


async def test_nor_when_it_is_resumed(
    browse: Open, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    before = await sync_to_async(raised)(other_tenant, 999)
    await sync_to_async(raised)(other_tenant, 998)
    await sync_to_async(raised)(tenant, 7)
    stream = await browse(admin, f"{MASK}&cursor={before}")

    await stream.frames("tiles")

    assert re.findall(rb'"cached_prefix":(\d+)', stream.body) == [b"7", b"1"]
    assert other_tenant.uid.encode() not in stream.body


async def test_a_foreign_tenant_is_absent_like_an_unknown_one(
    browse: Open, admin: User, other_tenant: Tenant
) -> None:
    for name in (other_tenant.uid, "nobody"):
        stream = await browse(admin, f"{MASK}&tenant={name}")
        await stream.frames("the end")
        assert stream.status == 404


@pytest.mark.parametrize(
    ("url", "status"),
    [
        pytest.param("/live/stream", 400, id="no topic"),
        pytest.param("/live/stream?topics=alarms", 400, id="no name of a topic"),
        pytest.param(
            "/live/stream?topics=" + "alarm," * 30 + "node", 200, id="the same topic twice"
        ),
        pytest.param("/live/elsewhere", 404, id="another path"),
    ],
)
async def test_what_cannot_be_served_is_refused(
    browse: Open, admin: User, url: str, status: int
) -> None:
    stream = await browse(admin, url)
    await stream.frames("hello")

    assert stream.status == status


async def test_nobody_reads_without_signing_in(browse: Open) -> None:
    stream = await browse(None)
    await stream.frames("the end")

    assert (stream.status, json.loads(stream.body)["code"]) == (401, "auth.missing")


async def test_a_person_who_is_not_active_reads_nothing(browse: Open, admin: User) -> None:
    cookie_of = browse(admin)
    await sync_to_async(User.objects.filter(pk=admin.pk).update)(is_active=False)
    stream = await cookie_of
    await stream.frames("the end")

    assert stream.status == 401


@pytest.mark.parametrize("deed", ["signs out", "is revoked"])
async def test_a_session_that_ends_ends_its_streams(
    browse: Open, admin: User, monkeypatch: pytest.MonkeyPatch, hub: Hub, deed: str
) -> None:
    monkeypatch.setattr("controlplane.live.hub.SESSIONS_S", 0.02)
    await hub.stop()
    quick = Hub(LiveLog(), build, still_open, look_s=0.02)
    quick.start()
    cookie = await sync_to_async(signed_in)(admin)
    stream = Stream(MASK, cookie)
    serving = asyncio.ensure_future(EventStreams(quick)(stream.scope, stream.receive, stream.send))
    await stream.frames("hello")

    await sync_to_async(ended)(cookie, deed)

    assert (await stream.frames("bye"))[-1]["reason"] == "signed_out"
    async with asyncio.timeout(PATIENCE_S):
        await serving
    assert len(quick) == 0
    await quick.stop()


def ended(cookie: str, deed: str) -> None:
    if deed == "signs out":
        websessions.close(cookie)
    else:
        websessions.revoke(WebSession.objects.get(sid=websessions.sid_of(cookie)), None)


async def test_last_event_id_resumes_like_the_parameter(
    browse: Open, admin: User, tenant: Tenant
) -> None:
    first = await sync_to_async(raised)(tenant, 1)
    second = await sync_to_async(raised)(tenant, 2, at=now_ms() // 10_000 * 10_000 - 10_000)
    stream = await browse(admin, MASK, last_event_id=str(first))

    frames = await stream.frames("tiles")

    assert [frame["type"] for frame in frames] == ["hello", "bucket", "tiles"]
    assert frames[-1]["id"] == str(second)


async def test_a_page_that_leaves_gives_its_place_back(browse: Open, admin: User, hub: Hub) -> None:
    stream = await browse(admin)
    await stream.frames("hello")
    assert len(hub) == 1

    stream.gone.set()

    await until(lambda: not len(hub))


async def test_a_client_that_stops_reading_is_hung_up_on(
    hub: Hub, admin: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.live.sse.WRITE_S", 0.05)
    stream = Stream(MASK, await sync_to_async(signed_in)(admin))
    begun = asyncio.Event()

    async def stuck(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.body":
            begun.set()
            await asyncio.sleep(3600)

    async with asyncio.timeout(PATIENCE_S):
        await EventStreams(hub)(stream.scope, stream.receive, stuck)
    assert begun.is_set()
    assert len(hub) == 0


async def test_a_seventh_stream_of_one_person_is_told_to_wait(browse: Open, admin: User) -> None:
    for _ in range(6):
        await (await browse(admin)).frames("hello")
    stream = await browse(admin)
    await stream.frames("the end")

    assert (stream.status, json.loads(stream.body)["code"]) == (429, "live.too_many")


MOMENTS = ("before it is answered", "after the head", "after the first event", "during a send")


@pytest.mark.parametrize("moment", MOMENTS)
async def test_case_d_01_connections_that_are_reset_give_everything_back(
    browse: Open, hub: Hub, admin: User, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.live.sse.WRITE_S", 0.05)
    cookie = await sync_to_async(signed_in)(admin)
    before = len(asyncio.all_tasks())
    for _ in range(RESETS // len(MOMENTS)):
        stream = Stream(MASK, cookie)
        async with asyncio.timeout(PATIENCE_S):
            await EventStreams(hub)(stream.scope, stream.receive, reset_at(moment, stream))

    assert len(hub) == 0
    assert len(asyncio.all_tasks()) <= before
    await (await browse(admin)).frames("hello")


def reset_at(moment: str, stream: Stream) -> Callable[[dict[str, Any]], Awaitable[None]]:
    """A send of a connection that is gone from that moment on."""
    if moment == MOMENTS[0]:
        stream.gone.set()

    async def send(message: dict[str, Any]) -> None:
        is_head = message["type"] == "http.response.start"
        if not is_head or moment == "after the head":
            stream.gone.set()
        if not is_head and moment == "during a send":
            await asyncio.sleep(3600)

    return send


class SlowStream(Stream):
    delay_s = 0.0  # for every message that it reads

    async def send(self, message: dict[str, Any]) -> None:
        await asyncio.sleep(self.delay_s)
        await super().send(message)


async def test_case_d_02_a_slow_viewer_and_a_normal_one_end_on_the_exact_total(
    hub: Hub, admin: User, tenant: Tenant
) -> None:
    case = json.loads((house.ROOT / "tests" / "data" / "cases" / "D-02.json").read_text())
    burst, cookie = case["setup"]["burst"], await sync_to_async(signed_in)(admin)
    at = now_ms() // 10_000 * 10_000
    streams = [SlowStream(MASK, cookie) for _ in case["setup"]["viewers"]]
    total = {burst["gate"]: case["expect"]["final_value_all_viewers"]}
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for stream, viewer in zip(streams, case["setup"]["viewers"], strict=True):
            stream.delay_s = viewer["read_delay_ms"] / 1000
            group.create_task(EventStreams(hub)(stream.scope, stream.receive, stream.send))
            await stream.frames("hello")
        for n in range(100, burst["n"] + 1, 100):
            await sync_to_async(raised)(tenant, n, at=at)

        for stream in streams:
            while await counts(stream) != total:
                continue
            stream.gone.set()
