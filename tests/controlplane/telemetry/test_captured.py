"""Kept texts: only for who agrees now, as long as the request, and gone when purged (04 §8.7)."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.accounts.capture import allow, consent
from controlplane.accounts.models import Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.telemetry import captured, retention
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.models import ContentBlob, RequestRecord
from controlplane.telemetry.retention import Limits
from dataplane.core.pipeline.rewritten import TEXT_MAX_BYTES, TEXTS_MAX
from dataplane.core.uplink import RequestRow, TextRow
from tests.controlplane.telemetry.batches import NOW, batch, row

pytestmark = pytest.mark.django_db
TEXT = TextRow(
    "messages[2]", "a long output\nof a tool", "<<cg:91c9568c40c8d8d1>>", 400, 12,
    ["format", "mask"], redactions=1,
)  # fmt: skip


@pytest.fixture
def agreed(tenant: Tenant, settings: Any) -> Tenant:
    settings.CAPTURE_CONTENT = True
    allow(tenant.organisation, allowed=True, by=None)
    return consent(tenant, agreed=True, by=None)


def told(tenant: Tenant, number: int = 1, **changed: Any) -> RequestRow:
    fields: dict[str, Any] = {"tenant": tenant.uid, "captured": True, "texts": [TEXT], **changed}
    return row(number, **fields)


def test_a_text_is_kept_packed_and_read_with_a_line_in_the_trail(
    agreed: Tenant, admin: User
) -> None:
    ingest(batch(1, [told(agreed, texts_left_out=2)]), received_at=NOW)

    record = RequestRecord.objects.get()
    assert (record.captured, record.texts_left_out) == (True, 2)
    blob = ContentBlob.objects.get()
    assert bytes(blob.before_z)[:4] == b"\x28\xb5\x2f\xfd"  # zstd
    (text,) = captured.read(agreed, record, by=admin)
    assert (text.before, text.after, text.components) == (TEXT.before, TEXT.after, TEXT.components)
    assert (text.path, text.redactions) == ("messages[2]", 1)
    event = AuditEvent.objects.get(action="content.read")
    assert event.after == {"session": "s1", "request": record.uid, "texts": 1}
    assert event.actor_label == admin.email


def test_what_arrives_after_a_withdrawal_is_not_written(agreed: Tenant) -> None:
    consent(agreed, agreed=False, by=None)

    ingest(batch(1, [told(agreed)]), received_at=NOW)

    assert not ContentBlob.objects.exists()
    record = RequestRecord.objects.get()
    assert (record.captured, record.tokens_before) == (False, 1000)


def test_a_node_cannot_have_texts_kept_of_a_tenant_that_nobody_knows() -> None:
    ingest(batch(1, [row(1, captured=True, texts=[TEXT])]), received_at=NOW)
    ingest(batch(2, [row(2, captured=False, texts=[TEXT])]), received_at=NOW)

    assert not ContentBlob.objects.exists()


def test_no_more_is_kept_than_a_node_may_send(agreed: Tenant) -> None:
    large = TextRow("m" * 500, "é" * TEXT_MAX_BYTES, "b")

    ingest(batch(1, [told(agreed, texts=[large] * (TEXTS_MAX + 1))]), received_at=NOW)

    assert ContentBlob.objects.count() == TEXTS_MAX
    assert captured.unpacked(ContentBlob.objects.all()[0].before_z) == "é" * (TEXT_MAX_BYTES // 2)


def test_a_text_goes_with_its_request(agreed: Tenant) -> None:
    ingest(batch(1, [told(agreed, n) for n in range(4)]), received_at=NOW)

    retention.purge(NOW, Limits(request_rows=1), disk=lambda: 0.0)

    kept = RequestRecord.objects.values_list("pk", flat=True)
    assert set(ContentBlob.objects.values_list("request_id", flat=True)) == set(kept)


def test_a_purge_takes_the_texts_of_one_tenant_and_leaves_the_figures(
    agreed: Tenant, other_tenant: Tenant, admin: User
) -> None:
    allow(other_tenant.organisation, allowed=True, by=None)
    consent(other_tenant, agreed=True, by=None)
    ingest(batch(1, [told(agreed), told(other_tenant, 2)]), received_at=NOW)

    assert captured.purge(agreed, admin) == 1

    assert captured.kept_of(agreed) == 0
    assert captured.kept_of(other_tenant) == 1
    assert RequestRecord.objects.get(tenant_uid=agreed.uid).tokens_before == 1000
    assert AuditEvent.objects.get(action="content.purge").after == {"texts": 1}
