"""How long the pages take that read a million requests, asked as a browser asks (04 §10.2)."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tools.bench.load import percentile
from tools.bench.processes import Server, free_port
from tools.bench.scenarios import Row
from tools.watching import serving

TIMES = 30
SEEDED = "seeded"  # a file beside the databases: how many requests were seeded
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Asked:
    """A page and what it may take; None where 04 names no bound."""

    what: str
    path: str
    within_ms: float | None = None


PAGES = (
    Asked("Overview, 24 h", "/?window=86400", within_ms=300),
    Asked("a component with its gate chart, 6 h", "/components/mask?window=21600", within_ms=120),
    Asked("Components, 24 h", "/components?window=86400"),
    Asked("Sessions", "/sessions", within_ms=150),
    Asked("Sessions, page two", "/sessions?after={session_cursor}", within_ms=150),
    Asked("a session", "{session}"),
    Asked("Requests", "/requests"),
    Asked("Requests that failed (none did)", "/requests?outcome=error"),
    Asked("Requests of one session", "/requests?session={session_name}"),
    Asked("Requests without a price", "/requests?accounting=partial"),
    Asked("Requests on which a gate closed", "/requests?component=mask&gate=cached_prefix"),
    Asked("a request", "{request}"),
    Asked("Alarms", "/alarms"),
    Asked("Nodes", "/nodes"),
    Asked("System", "/system"),
)


def seeded(folder: Path, requests: int) -> None:
    """The deployment with that many rows, made unless it is there."""
    mark = folder / SEEDED
    if mark.exists() and int(mark.read_text()) >= requests:
        return
    for slug in serving.TENANTS:
        serving.tenant(folder, slug, NOWHERE)
    serving.manage(folder, "seed_telemetry", "--requests", str(requests))
    mark.write_text(str(requests))


def rows(folder: Path, requests: int) -> list[Row]:
    seeded(folder, requests)
    (key,) = serving.cookies(folder, 1)
    with serving.served(folder, free_port()) as server:
        return asyncio.run(_measured(server, key))


async def _measured(server: Server, key: str) -> list[Row]:
    headers = {"cookie": f"{serving.COOKIE}={key}"}
    found = []
    async with aiohttp.ClientSession(base_url=server.url, headers=headers) as client:
        named = await _names(client)
        for page in PAGES:
            path, cpu_s = page.path.format(**named), server.cpu_s()
            taken, size = await _asked(client, path)
            cpu_ms = (server.cpu_s() - cpu_s) / (TIMES + 1) * 1000
            found.append(_row(page, taken, cpu_ms, size))
    return found


async def _names(client: aiohttp.ClientSession) -> dict[str, str]:
    """Addresses of a session, of the next page of them and of a request, as the lists link them."""
    sessions = await _text(client, "/sessions")
    requests = await _text(client, "/requests")
    session = re.findall(r'href="(/sessions/[^"?]+)"', sessions)[0]
    cursor = re.findall(r'href="/sessions\?[^"]*after=([^"&]+)', sessions)
    return {
        "session": session,
        "session_name": session.rpartition("/")[2],
        "session_cursor": cursor[0] if cursor else "",
        "request": re.findall(r'href="(/requests/req_[^"?]+)"', requests)[0],
    }


async def _asked(client: aiohttp.ClientSession, path: str) -> tuple[list[float], int]:
    """ms of every time, and the bytes of the page."""
    text = await _text(client, path)
    taken = []
    for _ in range(TIMES):
        started = time.perf_counter()
        text = await _text(client, path)
        taken.append((time.perf_counter() - started) * 1000)
    return taken, len(text.encode())


async def _text(client: aiohttp.ClientSession, path: str) -> str:
    async with client.get(path, allow_redirects=False) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return await answer.text()


def _row(page: Asked, taken: list[float], cpu_ms: float, size: int) -> Row:
    p50, p95 = percentile(taken, 0.5), percentile(taken, 0.95)
    bound = "" if page.within_ms is None else f"< {page.within_ms:g} ms"
    reached = None if page.within_ms is None else p95 < page.within_ms
    value = f"{p95:.0f} ms ({p50:.0f} ms p50, {cpu_ms:.0f} ms CPU, {size >> 10} KiB)"
    return Row(f"{page.what}: p95 of {TIMES}", value, bound, reached)
