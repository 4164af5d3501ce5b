"""What a tenant whose sessions rest is told, on its document and on its Overview (04 §2.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from controlplane.accounts.models import Tenant, User
from controlplane.configs.actions import save_version
from controlplane.configs.checking import checked_as
from controlplane.configs.documents import document_of
from controlplane.configs.rested import rested, rested_under
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.queries.windows import now_ms
from dataplane.core.config.deployment import Rested, basis_of
from dataplane.core.uplink import RequestRow
from tests.controlplane.telemetry.batches import batch, row
from tests.controlplane.ui.conftest import Browser, browser

DAY_MS = 86_400_000
MINUTE_MS = 60_000
CODE = "advice.cold_cache_pays"
# The last two turns of the recorded session audit-1: tokens that could have gone, read, written.
AUDIT_1 = ((35_662, 0, 44_255), (0, 44_255, 2264))
TOLD = Rested("0.10", rests=1, sessions=1, tokens=35_662)


__all__ = ["browser"]


@pytest.fixture(autouse=True)
def _nothing_remembered(db: None) -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def turns(tenant: Tenant, ago_ms: int = DAY_MS, **changed: Any) -> list[RequestRow]:
    began = now_ms() - ago_ms
    fields = {"model": "claude-sonnet-5", "session": "audit-1", "fresh_input": 0, **changed}
    return [
        row(
            number,
            tenant=tenant.uid,
            at=began + number * MINUTE_MS,
            cold_held=held,
            cache_read=read,
            cache_write=written,
            **fields,
        )
        for number, (held, read, written) in enumerate(AUDIT_1)
    ]


def seen(rows: list[RequestRow], seq: int = 1) -> None:
    """The newest of them have just come; those that are older came when they were made."""
    for number, each in enumerate(rows):
        ingest(batch(seq + number, [each], sent_at=each.at), received_at=each.at)


def test_the_recorded_session_would_have_spared_ten_cents(tenant: Tenant) -> None:
    seen(turns(tenant))

    assert rested(tenant.uid) == TOLD


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"ago_ms": 8 * DAY_MS}, id="longer than a week ago"),
        pytest.param({"origin": "keepalive"}, id="pings of ours"),
        pytest.param({"model": "house-model"}, id="no price"),
    ],
)
def test_what_does_not_count_is_not_told(tenant: Tenant, changed: dict[str, Any]) -> None:
    seen(turns(tenant, **changed))

    assert rested(tenant.uid) is None


def test_another_tenants_rest_is_not_told(tenant: Tenant, other_tenant: Tenant) -> None:
    seen(turns(other_tenant))

    assert rested(tenant.uid) is None


def test_turns_without_a_known_usage_are_left_out_and_said(tenant: Tenant) -> None:
    first, last = turns(tenant)
    seen([first, *turns(tenant, usage_known=False)[1:]])

    found = rested(tenant.uid)

    assert last.cold_held == 0
    assert found is not None
    assert (found.usd, found.unpriced) == ("0.09", 1)
    assert "1 turns without a known price or usage are left out" in basis_of(found)


def test_a_week_with_lost_reports_is_a_lower_bound(tenant: Tenant) -> None:
    first, last = turns(tenant)
    seen([first])
    seen([last], seq=4)

    found = rested(tenant.uid)

    assert found is not None
    assert not found.is_whole
    assert "lower bound" in basis_of(found)


def test_the_document_is_told_until_it_switches_it_on(tenant: Tenant, admin: User) -> None:
    seen(turns(tenant))
    document = document_of(tenant)

    def told(text: str) -> list[str]:
        problems = checked_as(document, text, admin).problems
        return [one.message for one in problems if one.code == CODE]

    (advice,) = told("pipeline: [mask]\n")
    assert "$0.10" in advice
    assert told("pipeline: [mask]\ncomponents: {mask: {cold_cache: true}}\n") == []
    assert told("pipeline: [dedup]\n") == []


def test_the_overview_of_the_tenant_says_it_and_leads_to_the_document(
    tenant: Tenant, admin: User, browser: Browser
) -> None:
    seen(turns(tenant))
    client = browser(admin)

    own = client.get("/?tenant=orchid").content.decode()
    everyones = client.get("/").content.decode()

    assert "would have spared about $0.10 in the last week" in own
    assert 'href="/config/orchid"' in own
    assert "would have spared" not in everyones


def test_a_tenant_that_has_it_on_is_not_told(tenant: Tenant, admin: User) -> None:
    seen(turns(tenant))
    on = "pipeline: [mask]\ncomponents: {mask: {cold_cache: true}}\n"
    save_version(document_of(tenant), on, "try it", admin)

    assert rested_under(tenant) is None
