"""Requests as rows and as one page, ready to show (04 §5.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.figures.numerals import NO_DATA, Figure, change_usd, count, duration, usd
from controlplane.figures.tiles import Tile
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries import RequestRow, RunRow
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.shown_text import visible
from controlplane.ui.frame.verdicts import Verdict
from controlplane.ui.watch.session_rows import PHASES, session_href, status_of

VERDICTS = {
    "acted fresh": Verdict("acted", "ok", "ok"),
    "replayed": Verdict("replayed", "replay", "accent"),
    "mutated only": Verdict("changed, saved nothing", "even", "quiet"),
    "skipped": Verdict("declined", "even", "quiet"),
    "reverted": Verdict("reverted", "watch", "watch"),
    "discarded": Verdict("discarded", "watch", "watch"),
}
ACCOUNTING = {
    "complete": "usage and price are known",
    "estimated": "estimated: the answer was cut, and its output is what was delivered",
    "partial": "the price is unknown",
    "missing": "the usage is unknown",
}
TIERS = (
    ("Fresh input", "fresh_input"),
    ("Cache read", "cache_read"),
    ("Cache write", "cache_write"),
    ("of it for 1 h", "cache_write_1h"),
    ("Output", "output"),
)
OK = Verdict("ok", "ok", "quiet")


@dataclass(frozen=True, slots=True)
class ListRow:
    uid: str
    at: datetime
    tenant: str
    session: str
    session_href: str
    turn: int
    model: str
    route: str
    status: Verdict
    before: Figure
    after: Figure
    cost: Figure
    took: Figure
    bypassed: str
    missing: int


def list_rows(found: Sequence[RequestRow], labels: Mapping[str, str]) -> list[ListRow]:
    return [_list_row(row, labels) for row in found]


def _list_row(row: RequestRow, labels: Mapping[str, str]) -> ListRow:
    record = row.record
    before, after = _sizes(record)
    return ListRow(
        uid=record.uid,
        at=at(record.at),
        tenant=labels.get(record.tenant_uid, record.tenant_uid),
        session=record.session_uid,
        session_href=session_href(record.tenant_uid, record.session_uid),
        turn=record.turn,
        model=visible(record.model),
        route=record.route,
        status=status_of(record) or OK,
        before=before,
        after=after,
        cost=usd(row.cost_usd),
        took=duration(record.serve_ms),
        bypassed="keep-alive ping" if is_ping(record) else record.bypassed.replace("_", " "),
        missing=record.expand_missing,
    )


def is_ping(record: RequestRecord) -> bool:
    """It is ours and no client's."""
    return record.origin == "keepalive"


def _sizes(record: RequestRecord) -> tuple[Figure, Figure]:
    if not record.shaped:
        sent = Figure("as sent", is_word=True)
        return sent, sent
    return count(record.tokens_before), count(record.tokens_after)


def _spared(row: RequestRow) -> str:
    known = ACCOUNTING.get(row.record.accounting, "")
    if not row.saved_usd:
        return known
    spared = f"{change_usd(row.saved_usd)} spared"
    return f"{spared}; {known}" if row.record.accounting == "estimated" else spared


def tiles_of(row: RequestRow) -> tuple[Tile, ...]:
    record = row.record
    before, after = _sizes(record)
    saved = count(row.saved_gross) if record.shaped else NO_DATA
    return (
        Tile("before", "Arrived", before, "content tokens"),
        Tile("after", "Forwarded", after, "content tokens"),
        Tile("saved", "Saved", saved, f"{count(record.saved_unique)} for the first time"),
        Tile("cost", "Billed", usd(row.cost_usd), _spared(row)),
        Tile("added", "Added", duration(record.added_ms), "by the pipeline"),
        Tile("took", "Whole request", duration(record.serve_ms), "until its last byte"),
    )


def tiers_of(record: RequestRecord) -> list[tuple[str, Figure]]:
    """No usage is no data, never a zero."""
    known = record.accounting != "missing"
    return [(name, count(getattr(record, field)) if known else NO_DATA) for name, field in TIERS]


@dataclass(frozen=True, slots=True)
class RunShown:
    """gates, events: (name, count), the largest first."""

    component: str
    kind: str
    verdict: Verdict
    gross: Figure
    unique: Figure
    took: Figure
    gates: Sequence[tuple[str, Figure]]
    events: Sequence[tuple[str, Figure]]
    error: str


def run_rows(runs: Sequence[RunRow]) -> list[RunShown]:
    return [
        RunShown(
            component=run.component,
            kind=run.kind,
            verdict=VERDICTS[run.verdict],
            gross=count(run.saved_gross),
            unique=count(run.saved_unique),
            took=duration(run.duration_ms),
            gates=_largest(run.gates),
            events=_largest(run.events),
            error=run.error,
        )
        for run in runs
    ]


def _largest(counts: Mapping[str, int]) -> list[tuple[str, Figure]]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(name, count(number)) for name, number in ordered]


def facts_of(record: RequestRecord) -> list[tuple[str, str]]:
    """What identifies it and how it went; a fact that is not known says so."""
    phase = PHASES.get(record.cache_phase)
    said = (
        ("Model", visible(record.model)),
        ("Route", f"{record.route} ({record.provider})"),
        ("Thread", record.thread or "main"),
        ("Status", visible(f"{record.status} {record.error_code}".strip())),
        ("Outcome", record.outcome.replace("_", " ")),
        ("Not shaped", record.bypassed.replace("_", " ")),
        ("Cache", phase.word if phase else record.cache_phase or "unknown"),
        ("Price", record.priced_by or "unknown"),
        ("Stream", _stream(record)),
        ("Upstream rounds", str(record.rounds)),
        ("Recovery call", visible(record.ending.replace("_", " "))),
        ("First byte", str(duration(record.first_byte_ms))),
        ("Provider answered after", str(duration(record.upstream_ms))),
        ("Node", record.node_id),
        ("Configuration", record.effective_hash[:19] or "unknown"),
    )
    return [(name, value) for name, value in said if value]


def _stream(record: RequestRecord) -> str:
    if not record.streamed:
        return "no"
    return "buffered for a recovery" if record.sse_buffered else "read along"


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    marker: str
    verdict: Verdict


def recovery_rows(record: RequestRecord) -> list[RecoveryRow]:
    return [
        RecoveryRow(visible(call["id"]), _recovered(call["found"])) for call in record.recoveries
    ]


def _recovered(outcome: str) -> Verdict:
    if outcome == "resolved":
        return Verdict("given back", "ok", "ok")
    if outcome in {"expired", "lost", "store_error", "decrypt_error"}:
        return Verdict(f"lost: {outcome.replace('_', ' ')}", "alarm", "alarm")
    return Verdict(outcome.replace("_", " "), "even", "quiet")
