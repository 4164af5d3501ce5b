"""Each event is bound to the one before it, and pages of the trail stay put (04 §8.8, 5.12)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from controlplane.audit import queries
from controlplane.audit.actions import Subject, record
from controlplane.audit.models import AuditEvent, TrailHead
from controlplane.audit.origin import Origin, coming_from
from controlplane.audit.queries import Filters, trail, verify
from controlplane.cli import main as headrace
from tests.controlplane.conftest import drop_trigger

pytestmark = pytest.mark.django_db
HERE, THERE = "org_1", "org_2"


def write(count: int = 5, organisation: str = HERE, **more: Any) -> list[AuditEvent]:
    subject = Subject("ten_1", "orchid", organisation)
    return [record("tenant.touch", subject, None, after={"n": n}, **more) for n in range(count)]


@pytest.fixture
def unlocked() -> Iterator[Any]:
    """A cursor of somebody who can get past the triggers."""
    with connection.cursor() as cursor:
        drop_trigger(cursor, "audit_auditevent_no_update", "audit_auditevent")
        yield cursor


def test_a_trail_that_nobody_touched_is_whole() -> None:
    events = write()

    found = verify()
    assert (found.events, found.broken_at) == (5, None)
    assert (found.first_hash, found.last_hash) == (events[0].hash, events[-1].hash)
    assert [event.prev_hash for event in events] == ["", *(e.hash for e in events[:-1])]


def test_an_empty_trail_is_whole() -> None:
    assert verify() == queries.Verification(0, "", "")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE audit_auditevent SET actor_label = 'nobody' WHERE seq = 3",
        "UPDATE audit_auditevent SET after = '{\"n\": 9}' WHERE seq = 3",
        "UPDATE audit_auditevent SET at = '2020-01-01 00:00:00' WHERE seq = 3",
        "UPDATE audit_auditevent SET organisation_uid = '' WHERE seq = 3",
        "UPDATE audit_auditevent SET reason = 'because' WHERE seq = 3",
        "UPDATE audit_auditevent SET prev_hash = 'x' WHERE seq = 3",
        "UPDATE audit_auditevent SET hash = 'x' WHERE seq = 3",
    ],
)
def test_a_changed_event_is_named(unlocked: Any, change: str) -> None:
    write()
    unlocked.execute(change)

    found = verify()
    assert (found.events, found.broken_at) == (2, 3)


@pytest.mark.parametrize(("gone", "broken_at"), [(1, 2), (3, 4), (5, 5)])
def test_a_removed_event_is_missed_wherever_it_stood(gone: int, broken_at: int) -> None:
    write()
    AuditEvent.objects.filter(seq=gone).delete()

    assert verify().broken_at == broken_at


def test_events_appended_by_hand_at_the_end_are_noticed() -> None:
    last = write()[-1]
    last.pk, last.uid, last.seq = None, "aud_forged", 6
    last.save(force_insert=True)

    assert verify().broken_at == 6


def test_headrace_audit_verify_says_whether_the_trail_is_whole(
    unlocked: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write()
    assert headrace.main(["audit", "verify"]) == 0
    assert capsys.readouterr().out.startswith("5 events, from ")

    unlocked.execute("UPDATE audit_auditevent SET action = 'x' WHERE seq = 4")
    assert headrace.main(["audit", "verify"]) == 3
    assert capsys.readouterr().out.startswith("broken at event 4: ")


def test_an_event_carries_where_it_came_from() -> None:
    with coming_from(Origin(via="ui", ip="192.0.2.1", request_id="abcdefgh")):
        (inside,) = write(1)
    (outside,) = write(1)

    assert (inside.via, inside.ip, inside.request_id) == ("ui", "192.0.2.1", "abcdefgh")
    assert (outside.via, outside.ip, outside.actor_kind) == ("system", "", "system")


def test_pages_stay_put_while_events_are_appended() -> None:
    write(7)
    first = trail(None, limit=3)
    write(2)
    second = trail(None, before=first.older, limit=3)
    third = trail(None, before=second.older, limit=3)

    assert [[e.seq for e in page.events] for page in (first, second, third)] == [
        [7, 6, 5], [4, 3, 2], [1],
    ]  # fmt: skip
    assert third.older is None


def test_an_exactly_full_last_page_has_no_next_one() -> None:
    write(3)

    assert trail(None, limit=3).older is None


def test_a_reader_sees_the_events_of_their_organisations_alone() -> None:
    write(2)
    write(3, THERE)
    write(1, "")

    assert len(trail(None).events) == 6
    assert {e.organisation_uid for e in trail([HERE]).events} == {HERE}
    assert {e.organisation_uid for e in trail([HERE, ""]).events} == {HERE}
    assert trail([]).events == []


def test_filters_narrow_the_trail() -> None:
    record("key.issue", Subject("key_1", "laptop", HERE), None, reason="new machine")
    record("key.revoke", Subject("key_1", "laptop", HERE), None)
    record("tenant.create", Subject("ten_1", "orchid", HERE), None)
    now = timezone.now()

    def actions(**filters: Any) -> list[str]:
        return [event.action for event in trail(None, Filters(**filters)).events]

    assert actions(action="key.") == ["key.revoke", "key.issue"]
    assert actions(action="key.issue") == ["key.issue"]
    assert actions(subject="ten_1") == ["tenant.create"]
    assert actions(text="MACHINE") == ["key.issue"]
    assert actions(text="orch") == ["tenant.create"]
    assert actions(via="ui") == []
    assert actions(since=now) == []
    assert len(actions(until=now, since=now - timedelta(hours=1))) == 3


def test_the_trail_has_one_head() -> None:
    write(4)

    head = TrailHead.objects.get()
    assert (head.seq, head.hash) == (4, verify().last_hash)
