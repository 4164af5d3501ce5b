"""Texts that requests were sent without, kept for tenants who agreed to it (04 §8.7).

A node scrubs and cuts them; here is asked once more whether the tenant agrees, so that what was on
its way when somebody withdrew is not written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import zstandard
from django.db import transaction
from django.db.models import Count
from msgspec.structs import replace

from controlplane.accounts.actions import subject_of
from controlplane.accounts.capture import captured_among
from controlplane.accounts.models import Tenant
from controlplane.audit.actions import Actor, record
from controlplane.databases import TELEMETRY, Turn, take_turn
from controlplane.telemetry.inserting import Row
from controlplane.telemetry.models import ContentBlob, RequestRecord
from controlplane.telemetry.record_rows import uid_of
from dataplane.core.pipeline.rewritten import TEXT_MAX_BYTES, TEXTS_MAX
from dataplane.core.uplink import RequestRow

READ_TEXT = "content:read"
PATH_MAX = 64


def consented(rows: Sequence[RequestRow]) -> list[RequestRow]:
    """The rows, without texts of tenants who do not agree now.

    Asked within the transaction that writes them: a purge that follows a withdrawal waits for its
    end, and so finds what was written on the word of the earlier consent.
    """
    asked = {row.tenant for row in rows if row.captured}
    agreed = captured_among(asked) if asked else frozenset()
    return [row if row.captured and row.tenant in agreed else _bare(row) for row in rows]


def _bare(row: RequestRow) -> RequestRow:
    if not (row.captured or row.texts or row.texts_left_out):
        return row
    return replace(row, captured=False, texts=[], texts_left_out=0)


def text_rows(rows: Sequence[RequestRow]) -> Iterator[Row]:
    """Columns of ContentBlob, of requests that are stored."""
    holding = [row for row in rows if row.texts]
    if not holding:
        return
    uids = [uid_of(row) for row in holding]
    numbers = dict(RequestRecord.objects.filter(uid__in=uids).values_list("uid", "pk"))
    for row in holding:
        for seq, text in enumerate(row.texts[:TEXTS_MAX]):
            yield {
                "request_id": numbers[uid_of(row)],
                "seq": seq,
                "path": text.path[:PATH_MAX],
                "before_tokens": text.before_tokens,
                "after_tokens": text.after_tokens,
                "before_z": packed(text.before),
                "after_z": packed(text.after),
                "components": json.dumps(text.components),
                "redactions": text.redactions,
                "is_cut": text.is_cut,
            }


def packed(text: str) -> bytes:
    """No more than a node would have sent, whoever sent it."""
    return zstandard.compress(text.encode("utf-8", "replace")[:TEXT_MAX_BYTES])


def unpacked(packed: bytes | memoryview) -> str:
    return zstandard.decompress(bytes(packed)).decode("utf-8", "ignore")


def purge(tenant: Tenant, by: Actor | None) -> int:
    """Delete every text that is kept of the tenant; how many there were."""
    own = {"tenant_uid": tenant.uid, "captured": True}
    with transaction.atomic(using=TELEMETRY):
        take_turn(Turn.REPORTS, TELEMETRY)
        gone, _ = ContentBlob.objects.filter(request__tenant_uid=tenant.uid).delete()
        RequestRecord.objects.filter(**own).update(captured=False, texts_left_out=0)
    record("content.purge", subject_of(tenant), by, after={"texts": gone})
    return gone


@dataclass(frozen=True, slots=True)
class KeptText:
    """One text before and after, as ContentBlob has it."""

    path: str
    before: str
    after: str
    before_tokens: int
    after_tokens: int
    components: Sequence[str]
    redactions: int
    is_cut: bool


def read(tenant: Tenant, request: RequestRecord, *, by: Actor) -> list[KeptText]:
    """The texts of a request of the tenant; leaves a line in the trail, which holds no text.

    The caller has checked that `by` may read content of the tenant.
    """
    found = [_kept(row) for row in ContentBlob.objects.filter(request=request).order_by("seq")]
    read_ = {"session": request.session_uid, "request": request.uid, "texts": len(found)}
    record("content.read", subject_of(tenant), by, after=read_)
    return found


def _kept(row: ContentBlob) -> KeptText:
    return KeptText(
        row.path,
        unpacked(row.before_z),
        unpacked(row.after_z),
        row.before_tokens,
        row.after_tokens,
        row.components,
        row.redactions,
        row.is_cut,
    )


def counts(requests: Iterable[int]) -> dict[int, int]:
    """How many texts are kept of each request that has any, by its number."""
    rows = ContentBlob.objects.filter(request__in=list(requests)).values_list("request")
    return dict(rows.annotate(n=Count("pk")))


def kept_of(tenant: Tenant) -> int:
    """How many texts are kept of the tenant."""
    return ContentBlob.objects.filter(request__tenant_uid=tenant.uid).count()
