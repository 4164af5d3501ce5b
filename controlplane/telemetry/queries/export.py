"""The request records of a filter as a file: lines of JSON, or CSV that a spreadsheet may open."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Max

from controlplane.accounts.scopes import Scope
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries.reach import reach
from controlplane.telemetry.queries.requests import RequestFilter, below, chosen
from dataplane.core.text.redacted import scrubbed

NDJSON, CSV = "ndjson", "csv"
CHUNK = 2_000
MAY = "export:create"
COLUMNS = (
    "uid", "at", "tenant_uid", "session_uid", "thread", "turn", "node_id", "route", "provider",
    "model", "effective_hash", "variant", "arm", "origin", "status", "outcome", "error_code",
    "bypassed", "cache_phase", "streamed", "sse_buffered", "rounds", "tokens_before",
    "tokens_after", "attempted_tokens", "saved_unique", "fresh_input", "cache_read", "cache_write",
    "cache_write_1h", "output", "cost_usd", "saved_usd", "accounting", "usage_miss", "priced_by",
    "added_ms", "upstream_ms", "first_byte_ms", "serve_ms", "expands", "expand_tokens",
    "expand_missing", "expand_malformed", "ending",
)  # fmt: skip
_AT = COLUMNS.index("at")
# A cell that begins like this is a formula to a spreadsheet, full-width signs included, also after
# blanks that it strips.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of the file, and how many records they are."""

    body: bytes
    rows: int


def export(scope: Scope, wanted: RequestFilter, form: str) -> Iterator[Piece]:
    """The records newest first, of tenants that may be exported. Money is text; unknown is null, in
    CSV empty. Text is scrubbed of credentials, which a client may have named its session by.

    Rows stored after the export began are not in it. Raises django.db.DatabaseError when the
    database cannot be read, KeyError for an unknown form.
    """
    write = {NDJSON: _json_lines, CSV: _csv_lines}[form]
    newest = RequestRecord.objects.aggregate(pk=Max("pk"))["pk"] or 0
    rows = chosen(reach(scope, wanted.tenant, MAY), wanted).filter(pk__lte=newest)
    if form == CSV:
        yield Piece(_csv_lines([COLUMNS]), 0)
    rest = rows
    while chunk := list(rest.values_list(*COLUMNS, "pk")[:CHUNK]):
        yield Piece(write([row[:-1] for row in chunk]), len(chunk))
        rest = below(rows, wanted, at=chunk[-1][_AT], pk=chunk[-1][-1])


def _json_lines(rows: list[tuple[object, ...]]) -> bytes:
    lines = (json.dumps(dict(zip(COLUMNS, map(_plain, row), strict=True))) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _plain(value: object) -> object:
    if isinstance(value, str):
        return scrubbed(value)
    return value if value is None or isinstance(value, int | float) else f"{value:f}"


def _csv_lines(rows: list[tuple[object, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """Text of a client as text: a spreadsheet must not compute it. Numbers stay numbers."""
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{scrubbed(value)}"
    return _plain(value)
