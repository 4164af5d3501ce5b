"""Alarms as rows and as one page, ready to show (04 §5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from controlplane.accounts.scopes import Scope
from controlplane.alarms.models import Alarm, Delivery, Occurrence
from controlplane.alarms.rules import RULES, headline
from controlplane.figures.numerals import Figure, count, duration, span
from controlplane.telemetry.queries import marker
from controlplane.ui.frame.shown_text import visible
from controlplane.ui.frame.verdicts import Verdict
from controlplane.ui.watch.session_rows import session_href

SHOWN = 50
SEVERITIES = {
    "critical": Verdict("critical", "alarm", "alarm"),
    "warning": Verdict("warning", "watch", "watch"),
    "info": Verdict("info", "info", "quiet"),
}
STATES = {
    "firing": Verdict("firing", "alarm", "alarm"),
    "acknowledged": Verdict("acknowledged", "ok", "watch"),
    "resolved": Verdict("resolved", "ok", "ok"),
}
CAUSES = {
    "expired": "It had expired: originals are kept for less time than agents ask for them.",
    "lost": "The store no longer had it: data was lost, by a restart or by a fault.",
    "store_error": "The store did not answer.",
    "decrypt_error": "It is stored, and the key that opens it is gone.",
}


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """owner: who took it on, "" for nobody. age: since it began, or how long it lasted."""

    uid: str
    title: str
    severity: Verdict
    state: Verdict
    tenant: str
    first_at: datetime
    last_at: datetime
    count: Figure
    owner: str
    age: str
    is_critical: bool


def alarm_rows(alarms: Iterable[Alarm], now: datetime) -> list[AlarmRow]:
    return [alarm_row(alarm, now) for alarm in alarms]


def alarm_row(alarm: Alarm, now: datetime) -> AlarmRow:
    over = alarm.resolved_at or now
    return AlarmRow(
        uid=alarm.uid,
        title=visible(headline(alarm.rule, alarm.count, alarm.subject, alarm.node)),
        severity=SEVERITIES[alarm.severity],
        state=STATES[alarm.state],
        tenant=alarm.tenant.label if alarm.tenant else "",
        first_at=alarm.first_at,
        last_at=alarm.last_at,
        count=count(alarm.count),
        owner=alarm.acked_by.email if alarm.acked_by else "",
        age=span((over - alarm.first_at).total_seconds()),
        is_critical=alarm.is_open and alarm.severity == "critical",
    )


@dataclass(frozen=True, slots=True)
class SeenRow:
    """One occurrence. session_href, request: "" where there is none."""

    at: datetime
    number: Figure
    session: str
    session_href: str
    turn: int | None
    request: str
    marker: str
    component: str
    tokens: Figure | None
    node: str
    cause: str
    detail: str


def seen_rows(alarm: Alarm) -> list[SeenRow]:
    """Newest first."""
    return [_seen(alarm, found) for found in alarm.occurrences.order_by("-id")[:SHOWN]]


def _seen(alarm: Alarm, occurrence: Occurrence) -> SeenRow:
    has_page = bool(alarm.tenant and occurrence.session)
    return SeenRow(
        at=occurrence.at,
        number=count(occurrence.number),
        session=occurrence.session,
        session_href=session_href(alarm.tenant.uid, occurrence.session)
        if alarm.tenant and has_page
        else "",
        turn=occurrence.turn,
        request=occurrence.request,
        marker=occurrence.marker,
        component=occurrence.component,
        tokens=None if occurrence.tokens is None else count(occurrence.tokens),
        node=occurrence.node,
        cause=occurrence.cause,
        detail=visible(occurrence.detail),
    )


@dataclass(frozen=True, slots=True)
class LifeRow:
    """A moment in the life of a marker. at: None where the moment is not kept."""

    at: datetime | None
    icon: str
    tone: str
    what: str
    said: str


def life_of(scope: Scope, alarm: Alarm) -> tuple[str, Sequence[LifeRow]]:
    """The marker that was lost last, and what is known of it; ("", ()) without one."""
    lost = alarm.occurrences.exclude(marker="").order_by("-id").first()
    if lost is None or alarm.tenant is None:
        return "", ()
    known = marker(scope, alarm.tenant.uid, lost.marker)
    rows: list[LifeRow] = []
    if known is not None:
        record = known.record
        rows += _before(record.created_at, record.component, record.saved_tokens)
        if record.last_replayed_at:
            said = "The marker went out again in place of its text."
            rows.append(LifeRow(_at(record.last_replayed_at), "replay", "", "Last replayed", said))
        if record.last_expanded_at and record.expands:
            said = f"Given back to the model {count(record.expands)} times."
            rows.append(
                LifeRow(_at(record.last_expanded_at), "expand", "", "Last given back", said)
            )
    turn = f"Turn {lost.turn}: the model" if lost.turn else "The model"
    said = f"{turn} asked for it, and the answer said that the text is gone."
    rows.append(LifeRow(lost.at, "expand", "is-alarm", "Asked for, not found", said))
    return lost.marker, rows


def _before(at: int | None, component: str, tokens: int | None) -> Iterable[LifeRow]:
    if at is None:
        return
    size = f", {count(tokens)} tokens," if tokens is not None else ""
    yield LifeRow(
        _at(at), "write", "", "Created", f"By `{component}`: a text{size} was replaced by it."
    )


@dataclass(frozen=True, slots=True)
class HistoryRow:
    at: datetime
    what: str
    who: str
    note: str
    result: Verdict | None = None


def history(alarm: Alarm) -> list[HistoryRow]:
    """Every change of state and every message, newest first."""
    steps = [HistoryRow(s.at, s.what, s.who, s.note) for s in alarm.steps.all()]
    sent = [_told(each) for each in alarm.deliveries.select_related("channel").all()[:SHOWN]]
    return sorted([*steps, *sent], key=lambda row: row.at, reverse=True)


def _told(delivery: Delivery) -> HistoryRow:
    at = delivery.finished_at or delivery.created_at
    where = f"{delivery.channel.get_kind_display()} {delivery.channel.name}"
    return HistoryRow(at, f"told: {delivery.event}", where, "", delivery_verdict(delivery))


def delivery_verdict(delivery: Delivery) -> Verdict:
    if delivery.state == Delivery.State.DELIVERED:
        said = str(delivery.http_status or "accepted")
        took = f" in {duration(delivery.took_ms)}" if delivery.took_ms is not None else ""
        return Verdict(f"{said}{took}", "ok", "ok")
    if delivery.state == Delivery.State.GIVEN_UP:
        return Verdict("given up", "no", "alarm")
    if not delivery.attempt:
        return Verdict("waiting", "wait", "quiet")
    return Verdict(f"failed {delivery.attempt} of 6 times", "wait", "watch")


@dataclass(frozen=True, slots=True)
class Cause:
    """The node's own class of the last loss, in words; what it rests on."""

    name: str
    words: str
    counts: Sequence[tuple[str, Figure]]


def cause_of(alarm: Alarm) -> Cause | None:
    """None for a rule that is not about a loss."""
    if not RULES[alarm.rule].is_loss:
        return None
    by_cause: dict[str, int] = {}
    for cause, number in alarm.occurrences.values_list("cause", "number"):
        by_cause[cause or "unknown"] = by_cause.get(cause or "unknown", 0) + number
    if not by_cause:
        return None
    name = max(by_cause, key=lambda each: by_cause[each])
    counts = [(each, count(number)) for each, number in sorted(by_cause.items())]
    return Cause(name, CAUSES.get(name, "The node could not tell why."), counts)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
