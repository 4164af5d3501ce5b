"""Two applications on one port, and a saved document's way to the node beside it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.urls import get_resolver
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.held_keys import held_keys
from controlplane.accounts.models import Organisation, Tenant
from controlplane.accounts.vault import UnreadableSecretsError, put_secret
from controlplane.asgi import Gateway, is_data_plane
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.fleet import running
from controlplane.fleet.queries import Acknowledgement, acknowledgement
from dataplane.core.door.route import FIRST_SEGMENTS
from tests.patience import PATIENCE_S


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages",
        "/anthropic/v1/messages",
        "/openai/v1/chat/completions",
        "/inference/v1/chat/completions",
        "/t/orchid/v1/messages",
        "//v1/messages",
        "/messages",
        "/chat/completions",
        "/responses",
        "/expand",
        "/compact",
        "/stats",
        "/metrics",
        "/healthz",
        "/readyz",
    ],
)
def test_a_path_of_the_data_plane_goes_to_the_node(path: str) -> None:
    assert is_data_plane({"type": "http", "path": path})


@pytest.mark.parametrize(
    "path", ["/", "/login", "/tenants/v1", "/v1beta", "/static/v1", "/api/v1/tenants", "/theme"]
)
def test_any_other_path_is_a_page(path: str) -> None:
    assert not is_data_plane({"type": "http", "path": path, "method": "GET"})


def test_no_page_hides_behind_a_path_of_the_data_plane() -> None:
    resolvers = get_resolver(), get_resolver("controlplane.ui.urls")
    paths = {str(each.pattern) for resolver in resolvers for each in resolver.url_patterns}

    assert "login" in paths
    assert {path.partition("/")[0] for path in paths} & FIRST_SEGMENTS == set()


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_a_probe_of_the_base_address_is_answered_by_the_node(method: str) -> None:  # 08 §W-24
    assert is_data_plane({"type": "http", "path": "/", "method": method})


@pytest.mark.parametrize(
    ("path", "expected"), [("/v1/realtime", True), ("/openai/v1/responses", True), ("/live", False)]
)
def test_a_websocket_on_a_providers_path_is_the_nodes_to_refuse(
    path: str, *, expected: bool
) -> None:
    assert is_data_plane({"type": "websocket", "path": path}) is expected


@pytest.fixture
def deployment(transactional_db: None, organisation: Organisation) -> Tenant:
    return create_tenant(organisation, slug="orchid", by=None)


@pytest_asyncio.fixture
async def gateway(
    deployment: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Gateway]:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    made = Gateway()
    await made.start()
    yield made
    await made.stop()


async def settled(tenant: Tenant) -> Acknowledgement:
    """What the node answered; it is asked again while it has not."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = await sync_to_async(acknowledgement)(tenant)
            if found.status != "pending":
                return found
            await asyncio.sleep(0.02)


async def test_a_saved_document_is_acknowledged_by_the_node_beside_it(
    gateway: Gateway, deployment: Tenant
) -> None:
    first = await settled(deployment)
    document = await sync_to_async(document_of)(deployment)
    await sync_to_async(save_version)(document, "pipeline: [format]\n", "less", None)
    second = await settled(deployment)

    assert (first.status, first.version) == ("ack", 1)
    assert (second.status, second.version, second.serving) == ("ack", 2, 2)


async def test_the_running_node_gives_a_tenant_figures_of_its_own(
    gateway: Gateway, deployment: Tenant
) -> None:
    stats = running.stats(deployment.uid)

    assert stats is not None
    assert stats["requests"] == 0


async def test_starting_twice_starts_one_node(gateway: Gateway) -> None:
    assert await gateway.start() is await gateway.start()


async def test_stopping_leaves_no_node_to_ask(gateway: Gateway) -> None:
    await gateway.stop()

    assert running.stats(None) is None


async def test_a_start_that_fails_says_so_to_the_server(
    deployment: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_TEST_CLOCK", "1")
    monkeypatch.setenv("HEADRACE_BIND", "0.0.0.0:8000")
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, str]:
        return {"type": "lifespan.startup"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Gateway()({"type": "lifespan"}, receive, send)

    assert [message["type"] for message in sent] == ["lifespan.startup.failed"]
    assert "HEADRACE_TEST_CLOCK" in sent[0]["message"]


async def test_the_node_asks_for_the_keys_that_are_held_here_by_name(
    gateway: Gateway, deployment: Tenant
) -> None:
    await sync_to_async(put_secret)(None, "lab", "sk-held", kind="provider_key", by=None)
    await sync_to_async(held_keys.refresh)(timezone.now())
    node = await gateway.start()

    assert node.parts.credentials.secret("lab") == "sk-held"
    assert node.parts.credentials.secret("unknown") is None


async def test_a_start_with_secrets_that_no_key_opens_is_refused_by_name(
    deployment: Tenant, settings: Any
) -> None:
    await sync_to_async(put_secret)(None, "lab", "sk-held", kind="provider_key", by=None)
    settings.SECRET_SEALING_KEYS = (("other", b"k" * 32),)

    with pytest.raises(UnreadableSecretsError, match="lab"):
        await Gateway().start()


async def test_a_style_sheet_is_sent_whole_without_a_warning(db: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = await AsyncClient().get("/static/css/tokens.css")

    assert answer.headers["content-type"].startswith("text/css")
    assert b":root" in answer.content


async def test_metrics_are_one_exposition_of_both_planes(gateway: Gateway) -> None:
    node = gateway._node
    assert node is not None

    page = (await node.pages.process()).decode()

    names = [family.name for family in text_string_to_metric_families(page)]
    assert len(names) == len(set(names))
    assert {"cg_requests", "cp_nodes", "cg_tenant_requests_total"} <= set(names)
