"""Two processes on one PostgreSQL and one Redis, as on two hosts (04 §0.5, standard)."""

from __future__ import annotations

import asyncio
import base64
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from dataplane.simulator import Simulator
from tests.controlplane.cli.processes import Deployment
from tests.controlplane.cli.test_serving import Server, key_in, simulator_in, started
from tests.dataplane.core.build import anthropic_body
from tests.on_postgres import urls
from tests.patience import PATIENCE_MS, PATIENCE_S, blocking_until
from tests.servers import RedisServer, has_postgres, postgres_server

LONG = "a long output line\n" * 300
SHARED = "pipeline: [mask]\ncomponents: {mask: {keep_recent: 0}}\nstore: {backend: redis}\n"


@pytest.fixture
def services(redis_running: RedisServer) -> Iterator[dict[str, str]]:
    """The settings of a deployment on services that are empty."""
    if not has_postgres():
        pytest.skip("postgresql is not installed")
    redis_running.client().flushall()
    address = redis_running.url.removesuffix("0")
    with postgres_server() as directory:
        with psycopg.connect(host=str(directory), user="headrace", dbname="postgres") as server:
            server.autocommit = True
            for name in ("control", "telemetry"):
                server.execute(f"CREATE DATABASE {name}".encode())
        yield {
            **urls(directory),
            "HEADRACE_CHANNEL_REDIS": f"{address}0",
            "HEADRACE_STORE_REDIS_URL": f"{address}2",
            "HEADRACE_STORE_COMMIT_TIMEOUT_MS": str(PATIENCE_MS),
            "HEADRACE_SECRET_KEY": "the same in every process",
            "HEADRACE_SECRET_KEYS": f"k1:{base64.b64encode(bytes(32)).decode()}",
        }


def ask(server: Server, key: str, *outputs: str) -> int:
    headers = {"x-context-guru-token": key, "x-context-guru-session": "s1", "x-api-key": "any"}
    answer = httpx.post(
        f"{server.url}/v1/messages",
        content=anthropic_body(*outputs),
        headers={**headers, "anthropic-version": "2023-06-01"},
        timeout=PATIENCE_S,
    )
    return answer.status_code


def masked(body: bytes) -> str:
    (found,) = re.findall(r"<<cg:[0-9a-f]{16}>>", body.decode())
    return str(found)


def set_up(deployment: Deployment, upstream: str, document: Path) -> dict[str, Any]:
    return deployment.bootstrap(
        "--tenant", "orchid", "--upstream", f"anthropic={upstream}", "--document", str(document)
    )


def wait_for_reports(settings: dict[str, str], wanted: int) -> None:
    """Until the telemetry database holds so many requests."""
    with psycopg.connect(settings["HEADRACE_TELEMETRY_DATABASE_URL"]) as telemetry:
        telemetry.autocommit = True

        def have_come() -> bool:
            row: Any = telemetry.execute("SELECT count(*) FROM telemetry_requestrecord").fetchone()
            return bool(row[0] == wanted)

        blocking_until(have_come)


def sign_in(browser: httpx.Client, server: Server, who: dict[str, str]) -> None:
    page = browser.get(f"{server.url}/login").text
    (token, *_) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    form = {"csrfmiddlewaretoken": token, "email": who["email"], "password": who["password"]}
    answer = browser.post(f"{server.url}/login", data=form, headers={"referer": server.url})
    assert answer.is_redirect, answer.text


def scenario(settings: dict[str, str], simulator: Simulator, place: Path) -> None:
    hosts = [Deployment(place / name, **settings) for name in ("one", "other")]
    document = place / "shared.yaml"
    document.write_text(SHARED)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda host: set_up(host, simulator.url, document), hosts))
    # One of them sets up, the other finds it done.
    (first,) = (each for each in made if each["data_plane_key"])

    with started(hosts[0], "serve") as one, started(hosts[1], "serve") as other:
        for server in (one, other):
            server.wait_for("/readyz")
        assert [ask(server, first["data_plane_key"], LONG) for server in (one, other, one)] == [
            200
        ] * 3

        assert len({masked(each.body) for each in simulator.requests}) == 1
        wait_for_reports(settings, 3)
        with httpx.Client(timeout=PATIENCE_S) as browser:
            sign_in(browser, one, first["admin"])
            # The session that one process opened is good in the other, on the same host name.
            assert "orchid" in browser.get(f"{other.url}/requests").text
            system = browser.get(f"{other.url}/system").text
            assert "PostgreSQL" in system
            assert "Every migration is applied" in system


async def test_two_processes_that_start_at_once_are_one_deployment(
    services: dict[str, str], simulator: Simulator, tmp_path: Path
) -> None:
    await asyncio.to_thread(scenario, services, simulator, tmp_path)


def test_two_folders_on_one_database_leave_the_simulated_provider_where_it_is(
    services: dict[str, str], tmp_path: Path
) -> None:
    one, other = (Deployment(tmp_path / name, **services) for name in ("one", "other"))
    with started(one, "serve") as first:
        first.wait_for("/readyz")
        key = key_in(first.printed)
        assert ask(first, key, LONG) == httpx.codes.OK

        with started(other, "serve") as second:
            second.wait_for("/readyz")
            assert "simulated provider ready" not in second.printed
            assert [ask(each, key, LONG) for each in (second, first)] == [httpx.codes.OK] * 2
            # It takes over when the one that runs it ends, however that ends.
            first.stop(signal.SIGKILL)
            blocking_until(lambda: "simulated provider ready" in second.printed)
            assert simulator_in(second.printed) == simulator_in(first.printed)
            blocking_until(lambda: ask(second, key, LONG) == httpx.codes.OK)
