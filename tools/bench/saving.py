"""From a save in the browser to the running node's acknowledgement, on the embedded server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tools.bench.processes import ROOT, Server, free_port, running, uvicorn

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_BASED_ON = re.compile(r'name="based_on" value="(\d+)"')
_NEWEST = "SELECT max(serving_version) FROM fleet_nodeack WHERE type = 'cg.tenant.v1'"
_GIVE_UP_S = 10


@dataclass(frozen=True)
class Embedded:
    """A running control plane with its node, and how to sign in."""

    server: Server
    email: str
    password: str
    key: str
    database: Path


@contextlib.contextmanager
def embedded(
    upstream: str = "http://127.0.0.1:9", document: str | None = None
) -> Iterator[Embedded]:
    """A deployment of its own, with one tenant. upstream: of all dialects."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        port = free_port()
        env = {"HEADRACE_DATA_DIR": folder, "HEADRACE_BIND": f"127.0.0.1:{port}"}
        arguments = ["manage.py", "bootstrap", "--tenant", "bench", "--json"]
        for dialect in ("anthropic", "openai"):
            arguments += ["--upstream", f"{dialect}={upstream}"]
        if document is not None:
            (Path(folder) / "document.yaml").write_text(document)
            arguments += ["--document", f"{folder}/document.yaml"]
        made = subprocess.run(  # noqa: S603  our own command
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **env},
            check=True,
            capture_output=True,
        )
        printed = json.loads(made.stdout)
        admin, key = printed["admin"], printed["data_plane_key"]
        served = uvicorn("controlplane.asgi:application", port)
        with running(served, port=port, path="/healthz", env=env) as server:
            databases = sorted(Path(folder).rglob("*.sqlite3"))
            found = next(path for path in databases if _has_acks(path))
            yield Embedded(server, admin["email"], admin["password"], key, found)


def _has_acks(path: Path) -> bool:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    return ("fleet_nodeack",) in tables


@contextlib.asynccontextmanager
async def signed_in(where: Embedded) -> AsyncIterator[aiohttp.ClientSession]:
    url = where.server.url
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address, not of a name
    async with aiohttp.ClientSession(headers={"referer": url + "/"}, cookie_jar=jar) as client:
        who = {"email": where.email, "password": where.password}
        await submit(client, url + "/login", "/login", who)
        yield client


async def save_to_acknowledged_ms(where: Embedded, *, times: int) -> list[float]:
    """Milliseconds of each save, from the form's submission to the node's answer."""
    taken = []
    url = where.server.url
    async with signed_in(where) as client:
        for number in range(times):
            before = _acknowledged(where.database)
            source = f"pipeline: [mask]\ncomponents: {{mask: {{keep_recent: {number + 1}}}}}\n"
            page = url + "/config/bench"
            fields = {"source": source, "message": f"bench {number}"}
            started = time.perf_counter()
            await submit(client, page, "/config/bench", fields)
            while _acknowledged(where.database) == before:
                if time.perf_counter() - started > _GIVE_UP_S:
                    raise RuntimeError("the node never answered")
                await asyncio.sleep(0.002)
            taken.append((time.perf_counter() - started) * 1000)
    return taken


async def submit(
    client: aiohttp.ClientSession, page: str, action: str, fields: dict[str, str]
) -> None:
    """Read the form as a browser does, then send it."""
    async with client.get(page) as answer:
        text = await answer.text()
    token, based_on = TOKEN.search(text), _BASED_ON.search(text)
    if token is None:
        raise RuntimeError(f"no form on {page}")
    sent = {**fields, "csrfmiddlewaretoken": token[1]}
    if based_on is not None:
        sent["based_on"] = based_on[1]
    target = page.split("/", 3)
    async with client.post("/".join(target[:3]) + action, data=sent) as answer:
        answer.raise_for_status()


def _acknowledged(database: Path) -> int | None:
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        newest: int | None = connection.execute(_NEWEST).fetchone()[0]
        return newest
