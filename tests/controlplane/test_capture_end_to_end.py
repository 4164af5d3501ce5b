"""Texts on their way through the process that is both: agent, node, report, page (04 §8.7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async

from controlplane.accounts.actions import choose_upstream, create_tenant, issue_key
from controlplane.accounts.capture import Gate, allow, consent
from controlplane.accounts.models import Organisation, Tenant
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream
from controlplane.asgi import Gateway
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.fleet.queries import acknowledgement
from controlplane.telemetry.captured import unpacked
from controlplane.telemetry.models import ContentBlob, RequestRecord
from dataplane.simulator import Simulator
from tests.dataplane.core.build import anthropic_body
from tests.dataplane.gateway_cases.served import MASK_ALL
from tests.patience import PATIENCE_S

SECRET = "sk-ant-api03-" + "a1B2c3" * 6
OUTPUT = f"export ANTHROPIC_API_KEY={SECRET}\n" + "a long line of output\n" * 60
KEYS = {"host": "127.0.0.1", "x-api-key": "sk-agent-header-secret", "cookie": "id=headers-too"}


class Stage:
    """The process, its tenant and an agent."""

    def __init__(self, gateway: Gateway, tenant: Tenant, key: str) -> None:
        self._http = httpx.AsyncClient(
            transport=httpx.ASGITransport(gateway), base_url="http://127.0.0.1", timeout=PATIENCE_S
        )
        self._headers = {**KEYS, "x-context-guru-token": key, "x-context-guru-session": "s1"}
        self.tenant = tenant

    async def send(self, number: int) -> None:
        body = anthropic_body(f"{number} {OUTPUT}")
        answer = await self._http.post("/v1/messages", content=body, headers=self._headers)
        assert answer.status_code == 200, answer.text
        await eventually(lambda: RequestRecord.objects.count() == number)

    async def settled(self) -> None:
        await eventually(lambda: acknowledgement(self.tenant).status == "ack")


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await sync_to_async(holds)():  # noqa: ASYNC110  rows announce themselves to nobody
            await asyncio.sleep(0.02)


def deployed(organisation: Organisation, provider: str) -> tuple[Tenant, str]:
    tenant = create_tenant(organisation, slug="orchid", by=None)
    terms = UpstreamTerms(allow_insecure=True, allow_private=True)
    create_upstream(name="lab", dialect="anthropic", base_url=provider, by=None, terms=terms)
    choose_upstream(tenant, "anthropic", "lab", None)
    save_version(document_of(tenant), MASK_ALL, "mask everything", None)
    return tenant, issue_key(tenant, "agent", None)[1]


@pytest_asyncio.fixture
async def stage(
    transactional_db: None,
    organisation: Organisation,
    simulator: Simulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> AsyncIterator[Stage]:
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path))
    settings.CAPTURE_CONTENT = True
    tenant, key = await sync_to_async(deployed)(organisation, simulator.url)
    gateway = Gateway()
    await gateway.start()
    yield Stage(gateway, tenant, key)
    await gateway.stop()


async def agree(stage: Stage) -> None:
    await sync_to_async(allow)(stage.tenant.organisation, allowed=True, by=None)
    await sync_to_async(consent)(stage.tenant, agreed=True, by=None)
    await stage.settled()


@sync_to_async
def everything_kept() -> list[str]:
    rows = ContentBlob.objects.order_by("id")
    return [unpacked(each) for row in rows for each in (row.before_z, row.after_z)]


async def test_a_changed_text_is_kept_before_and_after_without_its_credential(
    stage: Stage,
) -> None:
    await agree(stage)

    await stage.send(1)

    before, after = await everything_kept()
    assert "a long line of output" in before
    assert "ANTHROPIC_API_KEY=«secret»" in before
    assert "<<cg:" in after
    for secret in (SECRET, "headers"):
        assert secret not in before + after
    record = await RequestRecord.objects.aget()
    assert record.captured
    text = await ContentBlob.objects.aget()
    assert (text.path, text.components, text.redactions) == ("messages[2]", ["mask"], 1)


@pytest.mark.parametrize("gate", Gate)
async def test_one_closed_gate_keeps_every_text_from_being_kept(
    stage: Stage, settings: Any, gate: Gate
) -> None:
    settings.CAPTURE_CONTENT = gate is not Gate.DEPLOYMENT
    organisation = stage.tenant.organisation
    await sync_to_async(allow)(organisation, allowed=gate is not Gate.ORGANISATION, by=None)
    await sync_to_async(consent)(stage.tenant, agreed=gate is not Gate.TENANT, by=None)
    await stage.settled()

    await stage.send(1)

    assert await everything_kept() == []
    assert not (await RequestRecord.objects.aget()).captured


async def test_a_withdrawal_that_the_node_has_acknowledged_holds_for_the_next_request(
    stage: Stage,
) -> None:
    await agree(stage)
    await stage.send(1)

    await sync_to_async(consent)(stage.tenant, agreed=False, by=None)
    await stage.settled()
    await stage.send(2)

    assert len(await everything_kept()) == 2
    assert [row.captured async for row in RequestRecord.objects.order_by("id")] == [True, False]
