"""Sightings, rows that a node reported, and a real receiver of webhooks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from controlplane.alarms.models import Alarm
from controlplane.alarms.opening import sight
from controlplane.alarms.sightings import Sighting
from controlplane.telemetry.models import RequestRecord

NOW = datetime(2026, 11, 30, 14, 27, 31, tzinfo=UTC)
MARKER = "c9f0f895fb98ab91"


def ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def loss(tenant: str, **said: Any) -> Sighting:
    """An original of session s1 that was asked for on turn 41 and is gone."""
    seen: dict[str, Any] = {
        "rule": "expand_missing",
        "at": NOW,
        "tenant": tenant,
        "node": "node-b",
        "session": "s1",
        "turn": 41,
        "marker": MARKER,
        "component": "mask",
        "cause": "lost",
    }
    return Sighting(**{**seen, **said})


def opened(tenant: str, **said: Any) -> Alarm:
    """The alarm of such a loss."""
    (alarm,) = sight([loss(tenant, **said)])
    return alarm


def request_row(tenant: str, **said: Any) -> RequestRecord:
    """A request as the ingest writes it."""
    fields: dict[str, Any] = {
        "uid": "01kb7m2q4r8s6t0v2w4x6y8z00",
        "at": ms(NOW),
        "node_at": ms(NOW),
        "tenant_uid": tenant,
        "session_uid": "s1",
        "turn": 41,
        "node_id": "node-b",
        "boot_id": "boot-1",
        "route": "messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "status": 200,
        "outcome": "ok",
        "accounting": "complete",
    }
    return RequestRecord.objects.create(**{**fields, **said})


@dataclass(slots=True)
class Letter:
    """One request that a receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Receiver:
    """A server on a free loopback port that keeps what it gets. status: what it answers."""

    url: str
    letters: list[Letter] = field(default_factory=list)
    status: int = 200
    location: str = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver("")

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept.letters.append(Letter(self.path, dict(self.headers), body))
            self.send_response(kept.status)
            if kept.location:
                self.send_header("location", kept.location)
            self.end_headers()
            self.wfile.write(b"taken")

        def log_message(self, *said: Any) -> None:
            """Nothing on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    kept.url = f"http://127.0.0.1:{server.server_address[1]}/hooks/7"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


def later(**span: float) -> datetime:
    return NOW + timedelta(**span)
