"""Look at what was observed, and say what is wrong (04 §1.5, 5.3, 7).

Losses are looked for every second, the rest every five, less often while nothing is reported but
signs of life. Everything is read from what the node reports left in the telemetry database, so a
restart in between misses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Set
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, transaction

from controlplane.alarms import levels, windows
from controlplane.alarms.actions import end_acknowledgements, remind
from controlplane.alarms.models import Alarm, Severity
from controlplane.alarms.opening import open_rules, settle, sight
from controlplane.alarms.sightings import Sighting
from controlplane.alarms.windows import Window
from controlplane.telemetry.models import TelemetryGap
from controlplane.telemetry.queries import Loss
from dataplane.core.expand.endings import ENDINGS, counted_as

log = logging.getLogger("headrace.alarms")
EVERY, AT_REST = timedelta(seconds=5), timedelta(seconds=20)
# Rule, counter, and for how long it has to be zero before the alarm resolves by itself.
COUNTED = (
    ("expand_missing", "expand_missing", timedelta(minutes=15)),
    ("stash_missing", "stash_missing", timedelta(minutes=15)),
    ("stash_refused", "stash_refused", timedelta(minutes=5)),
    ("rewrite_failures", "rewrite_failures", timedelta(minutes=15)),
    ("usage_unparsed", "usage_unparsed", timedelta(minutes=15)),
    ("usage_unparsed", "usage_unreadable", timedelta(minutes=15)),
    ("price_missing", "unpriced", timedelta(minutes=15)),
    ("frozen_flips", "frozen_flips", timedelta(minutes=5)),
    ("store_unavailable", "commit_timeouts", timedelta(minutes=5)),
    ("adjudicate_stray", "adjudicate_stray", timedelta(minutes=15)),
    *((each.name, counted_as(each.name), timedelta(minutes=15)) for each in ENDINGS if each.alert),
)


# What has one cause for all tenants, and is told once.
OF_ALL = frozenset({"store_unavailable"})


class Watch:
    """The clock of the evaluation in this process."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._seen: tuple[int, ...] | None = None

    def __call__(self, now: datetime) -> None:
        """One look. A telemetry database that cannot be read is no reason to stop looking."""
        try:
            if not self._is_due(now):
                look_for_losses()
                return
            windows.follow_a_new_database()
            look_for_losses()
            self._last, self._seen = now, windows.newest()
            look(now)
        except DatabaseError:
            log.warning("alarm.evaluation_postponed", exc_info=True)

    def _is_due(self, now: datetime) -> bool:
        if self._last is None or now - self._last >= AT_REST:
            return True
        return now - self._last >= EVERY and windows.newest() != self._seen


watch = Watch()


def look_for_losses() -> list[Alarm]:
    """Alarms that requests since the last look opened or fired again."""
    found: list[Alarm] = []
    lost = windows.new_losses()
    if lost:
        with transaction.atomic():
            found = sight(_loss(each) for each in lost)
            windows.losses_read(lost)
    return found


def _loss(lost: Loss) -> Sighting:
    return Sighting(
        rule="expand_missing",
        tenant=lost.tenant_uid,
        node=lost.node_id,
        at=_at(lost.at),
        session=lost.session_uid,
        turn=lost.turn or None,
        request=lost.request_uid,
        marker=lost.marker_id,
        component=lost.component,
        tokens=lost.saved_tokens,
        cause=lost.cause,
    )


def look(now: datetime) -> None:
    """Every rule that is not about a single request."""
    counted, is_open = windows.windows(now), open_rules()
    look_for_losses()  # after the counters were read, so that none of theirs is without its row
    look_at_gaps(now, is_open)
    _apply(list(rises(counted, windows.alarmed(now), now)), now, is_open & COUNTED_RULES)
    for rules, see in LEVELS:
        _apply(list(see(counted, now)), now, is_open & set(rules), is_level=True)
    end_acknowledgements(now)
    remind(now)


def rises(
    counted: list[Window], seen: dict[tuple[str, str], int], now: datetime
) -> Iterator[Sighting]:
    """What was counted and is not in an alarm yet; number 0 where all of it is."""
    whole = [windows.together(counted)]
    for rule, name, clear_after in COUNTED:
        for window in whole if rule in OF_ALL else counted:
            total = window.total(name, since=now - windows.LONGEST)
            fresh = max(0, total - seen.get((rule, window.tenant), 0))
            if fresh or window.total(name, since=now - clear_after) > 0:
                yield Sighting(
                    rule=rule,
                    tenant=window.tenant,
                    at=now,
                    number=fresh,
                    detail=DETAILS.get(name, ""),
                )


def look_at_gaps(now: datetime, is_open: Set[str]) -> None:
    """What did not arrive; over once nothing has been missing for a while. is_open: rules."""
    rows = windows.new_gaps()
    if rows:
        with transaction.atomic():
            sight(_gap(row, now) for row in rows)
            windows.gaps_read(rows)
    lately = Alarm.objects.filter(last_at__gt=now - windows.LONGEST)
    for rule in is_open & GAP_RULES:
        settle(rule, lately.filter(rule=rule).values_list("fingerprint", flat=True), now)


def _gap(row: TelemetryGap, now: datetime) -> Sighting:
    rule, detail = GAPS[row.kind]
    return Sighting(
        rule=rule,
        at=now,
        node=row.node_id,
        number=max(1, row.rows),
        detail=detail.format(row=row),
    )


def _apply(
    found: list[Sighting], now: datetime, rules: Set[str], *, is_level: bool = False
) -> None:
    """Sight what is news, and settle what is no longer observed. rules: those with open alarms."""
    fingerprints = {sighting.fingerprint for sighting in found}
    news = [sighting for sighting in found if sighting.number]
    if is_level:
        news = not_said(news)
    sight(news)
    for rule in rules:
        settle(rule, fingerprints, now)


def not_said(found: list[Sighting]) -> list[Sighting]:
    """A condition that goes on is said once, and again when it has become critical."""
    if not found:
        return []
    said = dict(
        Alarm.objects.filter(fingerprint__in={sighting.fingerprint for sighting in found})
        .exclude(state=Alarm.State.RESOLVED)
        .values_list("fingerprint", "severity")
    )
    return [
        sighting
        for sighting in found
        if sighting.fingerprint not in said
        or (sighting.severity == Severity.CRITICAL != said[sighting.fingerprint])
    ]


See = Callable[[list[Window], datetime], Iterator[Sighting]]
GAPS = {
    "batches": ("telemetry_gap", "batches {row.from_seq} to {row.to_seq}"),
    "rows": ("telemetry_dropped", "request rows"),
    "refused": ("telemetry_refused", "of batch {row.from_seq}"),
}
GAP_RULES = frozenset(rule for rule, _ in GAPS.values())
COUNTED_RULES = frozenset(rule for rule, _, _ in COUNTED)
DETAILS = {
    "expand_missing": "counted without a row: outside a conversation, or the row was dropped",
    "stash_refused": "the texts stayed in their requests",
    "usage_unparsed": "unknown form",
    "usage_unreadable": "could not be read",
}
LEVELS: tuple[tuple[tuple[str, ...], See], ...] = (
    (("error_rate", "refusal_rate", "never_minted_rate"), levels.shares),
    (("store_reserve_high", "disk_high"), levels.stores),
    (("node_offline",), levels.silent),
    (("node_skew",), levels.skewed),
    (("node_nack",), levels.refusals),
)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
