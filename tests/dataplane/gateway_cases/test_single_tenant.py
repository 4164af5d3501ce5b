"""A node with one tenant that asks nobody who they are: case 24 of 03 §10.1."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dataplane.adapters.serving.snapshot_file import FileSource, FixedSource
from dataplane.adapters.stores.sqlite_file import store_path
from dataplane.asgi import Node
from dataplane.core.config.problems import ConfigError
from dataplane.core.serving import single
from dataplane.settings import Settings
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway import TA, listening
from tests.dataplane.gateway_cases.served import MASK_ALL, MASKED, Served
from tests.dataplane.recovery_cases.scripted import X4000, X4000_ID, results, x
from tests.patience import PATIENCE_MS, PATIENCE_S

KEY = {"x-api-key": "sk-mine"}
RELAYED = {"x-forwarded-for": "10.0.0.1"}


@contextlib.asynccontextmanager
async def alone(place: Path, simulator: Simulator, version: int = 1) -> AsyncIterator[Served]:
    upstreams = dict.fromkeys(("anthropic", "openai"), simulator.url)
    settings = Settings(
        place, document=Path("any"), upstreams=upstreams, store_commit_timeout_ms=PATIENCE_MS
    )
    node = Node(settings, FixedSource(single.resources(MASK_ALL, upstreams, version)))
    async with (
        listening(node) as running,
        httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http,
    ):
        yield Served(running, simulator, http)


@pytest.fixture
async def served(tmp_path: Path, simulator: Simulator) -> AsyncIterator[Served]:
    async with alone(tmp_path, simulator) as running:
        yield running


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ({"host": "evil.example"}, "host_forbidden"),
        ({"origin": "https://evil.example"}, "cross_site"),
        ({"sec-fetch-site": "cross-site"}, "cross_site"),
    ],
)
async def test_a_page_in_the_owners_browser_neither_spends_nor_reads(
    served: Served, headers: dict[str, str], name: str
) -> None:
    found = [
        await served.send("POST", "/v1/messages", content=b"{}", headers=KEY | headers),
        await served.send("GET", "/stats", headers=headers),
        await served.send("GET", "/metrics", headers=headers),
        await served.send("GET", "/expand?id=0123456789abcdef", headers=headers),
    ]

    assert [(each.status_code, each.headers["x-cg-error"]) for each in found] == [(403, name)] * 4
    assert served.sent == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param(KEY, 200, id="24-provider-key"),
        pytest.param(KEY | {"authorization": f"Bearer {TA}"}, 200, id="24-our-key"),
        pytest.param({}, 401, id="24-nothing-so-that-the-provider-asks"),
    ],
)
async def test_whoever_comes_is_served_and_only_provider_keys_go_on(
    served: Served, headers: dict[str, str], status: int
) -> None:
    answer = await served.send(
        "POST", "/v1/messages", content=anthropic_body(X4000), headers=headers
    )

    assert answer.status_code == status
    assert "x-cg-error" not in answer.headers
    got = served.simulator.requests[0]
    assert got.header("x-api-key") == headers.get("x-api-key")
    assert got.header("authorization") is None
    assert MASKED.format(id=X4000_ID).encode() in got.body


async def test_case_24_a_session_is_known_by_its_own_name(served: Served) -> None:
    session = KEY | {"x-context-guru-session": "s1"}
    served.simulator.script({"content": [x(X4000_ID)]}, {"content": "done"})
    await served.send("POST", "/v1/messages", content=anthropic_body(X4000), headers=session)

    opened = await served.send("GET", f"/expand?id={X4000_ID}", headers=session)

    assert opened.text == X4000
    assert results(served.sent) == [X4000]
    path = store_path(served.gateway.node.settings.state_dir, "")
    with contextlib.closing(sqlite3.connect(path)) as file:
        known = file.execute("SELECT session FROM session").fetchall()
    # Nobody's key, and the id derived from its words.
    assert set(known) == {(" s1",), (" d859a3c30263287b",)}


@pytest.mark.parametrize("path", ["/stats", "/metrics"])
async def test_case_24_its_figures_are_open(served: Served, path: str) -> None:
    await served.send("POST", "/v1/messages", content=anthropic_body(X4000))

    answer = await served.send("GET", path, headers=RELAYED)

    assert answer.status_code == 200
    if path == "/stats":
        assert (answer.json()["scope"], answer.json()["requests"]) == ("process", 1)


async def test_an_address_of_a_tenant_is_not_narrowed_to_one_that_is_not_there(
    served: Served,
) -> None:
    answer = await served.send("POST", "/t/acme/v1/messages", content=anthropic_body(X4000))

    assert (answer.status_code, answer.headers["x-cg-error"]) == (403, "tenant_mismatch")


async def test_compact_runs_whatever_pipeline_is_asked_for_and_a_conversation_does_not(
    served: Served,
) -> None:
    wish = {"x-context-guru-pipeline": "format"}
    body = anthropic_body(X4000)

    compacted = await served.send("POST", "/compact?provider=anthropic", content=body, headers=wish)
    answer = await served.send("POST", "/v1/messages", content=body, headers=wish)

    assert b"<<cg:" not in compacted.content
    assert "x-context-guru-override" not in compacted.headers
    assert answer.headers["x-context-guru-override"] == "ignored; reason=not_allowed"


async def test_a_changed_document_serves_from_the_next_start(
    tmp_path: Path, simulator: Simulator
) -> None:
    for version in (1, 2):
        async with alone(tmp_path, simulator, version) as served:
            assert served.gateway.node.snapshots.tenants[""].version == (1, version)


async def test_a_node_that_asks_who_calls_does_not_start_from_one_that_did_not(
    tmp_path: Path, simulator: Simulator
) -> None:
    async with alone(tmp_path, simulator):
        pass

    hosted = Node(Settings(tmp_path), FileSource(None))
    async with listening(hosted) as running, httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(running.url + "/v1/messages", content=b"{}")

    assert (answer.status_code, answer.headers["x-cg-error"]) == (503, "not_ready")


def test_a_document_that_does_not_validate_starts_nothing() -> None:
    with pytest.raises(ConfigError):
        single.resources("pipeline: [maskk]\n", {}, version=1)


def test_the_process_says_what_is_wrong_with_its_document(tmp_path: Path) -> None:
    document = tmp_path / "local.yaml"
    document.write_text("pipeline: [maskk]\n")
    ran = subprocess.run(
        [sys.executable, "-c", "from dataplane.asgi import application"],
        env={"HEADRACE_DOCUMENT": str(document), "HEADRACE_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    last = ran.stderr.strip().splitlines()[-1]
    assert ran.returncode == 1
    assert str(document) in ran.stderr
    assert "config.unknown_component" in last
    assert "Traceback" not in ran.stderr
