"""Sessions, their turns and what was taken out of them, ready to show (04 §5.6, 5.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from controlplane.figures.numerals import Figure, change_usd, count, per_hundred, plural, span, usd
from controlplane.figures.tiles import Tile
from controlplane.telemetry.models import MarkerRecord, RequestRecord
from controlplane.telemetry.queries import RequestRow, RunRow, SessionDetail, SessionRow
from controlplane.ui.frame.moments import at
from controlplane.ui.frame.shown_text import visible
from controlplane.ui.frame.verdicts import Verdict
from controlplane.ui.watch.ratios import Parts, Ratio, ratios

IN_FLIGHT_MS = 300_000  # the shortest lifetime of a provider's cache
TIERS = (("cache_read", "s8"), ("cache_write", "s3"), ("fresh_input", "s1"), ("output", "s4"))
PHASES = {
    "warm": Verdict("warm", "", "warm"),
    "cold": Verdict("cold", "", "cold"),
    "pre_expiry": Verdict("pre-expiry", "", "pre"),
    "first": Verdict("first", "", "first"),
}
MARKER_STATES = {
    "live": Verdict("held", "ok", "ok"),
    "expanded": Verdict("given back", "expand", "accent"),
    "expired": Verdict("expired", "wait", "quiet"),
    "missing": Verdict("lost", "alarm", "alarm"),
}


def session_href(tenant_uid: str, session: str) -> str:
    """ "" for an id that no address can hold."""
    if not session or "/" in session or session in {".", ".."}:
        return ""
    return reverse("ui:session", args=[tenant_uid, session])


@dataclass(frozen=True, slots=True)
class ListRow:
    """One session in the list. is_running: its cost is not settled, a next turn may follow."""

    session: str
    href: str
    tenant: str
    models: str
    turns: Figure
    before: Figure
    after: Figure
    unique: Figure
    cost: Figure
    net: str
    read: Figure
    written: Figure
    expands: Figure
    missing: int
    last_at: datetime
    is_running: bool


def list_rows(found: Sequence[SessionRow], labels: Mapping[str, str], now_ms: int) -> list[ListRow]:
    return [_list_row(row, labels, now_ms) for row in found]


def _list_row(row: SessionRow, labels: Mapping[str, str], now_ms: int) -> ListRow:
    record = row.record
    return ListRow(
        session=record.session_uid,
        href=session_href(record.tenant_uid, record.session_uid),
        tenant=labels.get(record.tenant_uid, record.tenant_uid),
        models=visible(", ".join(row.models)),
        turns=count(record.requests),
        before=count(record.tokens_before),
        after=count(record.tokens_after),
        unique=count(record.saved_unique),
        cost=usd(row.cost_usd),
        net=_net(row),
        read=count(record.cache_read),
        written=count(record.cache_write),
        expands=count(record.expands),
        missing=record.expand_missing,
        last_at=at(record.last_at),
        is_running=now_ms - record.last_at < IN_FLIGHT_MS,
    )


def _net(row: SessionRow) -> str:
    """What was left of the saving, in words; "" for nothing saved."""
    return f"net {change_usd(row.saved_usd)}" if row.saved_usd else ""


def tiles_of(row: SessionRow) -> tuple[Tile, ...]:
    record = row.record
    lasted = span((record.last_at - record.first_at) / 1000)
    unpriced = f"{plural(record.unpriced, 'request')} without a price" if record.unpriced else ""
    return (
        Tile("turns", "Requests", count(record.requests), f"in {lasted}"),
        Tile(
            "lost",
            "Lost",
            count(record.expand_missing),
            "originals asked for and gone",
            tone="is-alarm" if record.expand_missing else "",
        ),
        Tile(
            "unique",
            "Unique saved",
            count(record.saved_unique),
            f"of {count(row.saved_gross)} gross, tokens",
        ),
        Tile(
            "billed", "Billed", usd(row.cost_usd), unpriced or "at the price card of each request"
        ),
        Tile("net", "Net", change_usd(row.saved_usd), "spared, less what models of ours cost"),
        Tile("expands", "Given back", count(record.expands), "originals the model asked for"),
    )


def ratios_of(row: SessionRow) -> tuple[Ratio, ...]:
    record = row.record
    parts = Parts(
        gross=row.saved_gross,
        unique=record.saved_unique,
        attempted=record.attempted_tokens,
        before=record.tokens_before,
        billed_anew=record.fresh_input + record.cache_write,
    )
    return ratios(parts)


@dataclass(frozen=True, slots=True)
class Bar:
    """One part of a bar on a track of 100, as SVG writes it."""

    x: str
    width: str
    look: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """idle: since the turn before, "" for the first. acted: components that took something out."""

    uid: str
    turn: int
    at: datetime
    idle: str
    phase: Verdict | None
    bars: Sequence[Bar]
    tiers: str
    before: Figure
    after: Figure
    acted: Sequence[str]
    note: str
    status: Verdict | None
    missing: int


def turn_rows(detail: SessionDetail) -> tuple[list[TurnRow], Figure]:
    """The turns, and how many tokens the full width of their bars is."""
    widest = max((_billed(turn.record) for turn in detail.turns), default=0)
    rows = [
        _turn(turn, idle, widest) for turn, idle in zip(detail.turns, detail.idle_ms, strict=True)
    ]
    return rows, count(widest)


def _turn(turn: RequestRow, idle_ms: int | None, widest: int) -> TurnRow:
    record = turn.record
    return TurnRow(
        uid=record.uid,
        turn=record.turn,
        at=at(record.at),
        idle="" if idle_ms is None else span(idle_ms / 1000),
        phase=PHASES.get(record.cache_phase),
        bars=bars_of(record, widest),
        tiers=", ".join(f"{count(getattr(record, name))} {_words(name)}" for name, _ in TIERS),
        before=count(record.tokens_before) if record.shaped else Figure("as sent", is_word=True),
        after=count(record.tokens_after) if record.shaped else Figure("as sent", is_word=True),
        acted=[_acted(run) for run in turn.runs if run.verdict in {"acted fresh", "replayed"}],
        note=_note(record),
        status=status_of(record),
        missing=record.expand_missing,
    )


def _acted(run: RunRow) -> str:
    return run.component if run.verdict == "acted fresh" else f"{run.component} (replay)"


def _words(tier: str) -> str:
    return tier.replace("_", " ").replace("fresh input", "fresh")


def _billed(record: RequestRecord) -> int:
    return sum(getattr(record, name) for name, _ in TIERS)


def bars_of(record: RequestRecord, widest: int) -> list[Bar]:
    bars, offset = [], 0
    for name, look in TIERS:
        size = getattr(record, name)
        bars.append(Bar(per_hundred(offset, widest), per_hundred(size, widest), look))
        offset += size
    return bars


def _note(record: RequestRecord) -> str:
    said = ["keep-alive ping"] if record.origin == "keepalive" else []
    if record.bypassed:
        said.append(f"not shaped: {record.bypassed.replace('_', ' ')}")
    if record.compacted:
        said.append("the agent compacted its history")
    if record.expands:
        said.append(f"{count(record.expands)} given back")
    if record.ending:
        said.append(f"recovery call: {visible(record.ending.replace('_', ' '))}")
    return "; ".join(said)


def status_of(record: RequestRecord) -> Verdict | None:
    """None where all is well."""
    if record.outcome == "ok" and record.status < 400:  # noqa: PLR2004  errors of HTTP
        return None
    word = visible(f"{record.status} {record.error_code}".strip())
    if record.outcome == "client_disconnect":
        return Verdict("client left", "no", "quiet")
    return Verdict(word if record.status >= 400 else record.outcome, "watch", "watch")  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class MarkerShown:
    marker: str
    component: str
    tokens: Figure
    state: Verdict
    request: str
    created_at: datetime | None
    href: str


def marker_rows(records: Sequence[MarkerRecord], *, may_read: bool) -> list[MarkerShown]:
    """may_read: whether their originals may be opened; else no link is on the page."""
    return [_marker(record, may_read=may_read) for record in records]


def _marker(record: MarkerRecord, *, may_read: bool) -> MarkerShown:
    place = [record.tenant_uid, record.session_uid, record.marker_id]
    can_open = may_read and bool(session_href(record.tenant_uid, record.session_uid))
    return MarkerShown(
        marker=record.marker_id,
        component=record.component,
        tokens=count(record.saved_tokens),
        state=MARKER_STATES.get(record.state, Verdict("unknown", "unknown", "quiet")),
        request=record.request_uid,
        created_at=at(record.created_at) if record.created_at else None,
        href=reverse("ui:original", args=place) if can_open and record.state != "missing" else "",
    )
