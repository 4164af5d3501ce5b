"""When an alarm opens, goes on, fires again and is over (04 §1.5, 5.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils import timezone

from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.alarms import channels
from controlplane.alarms.actions import (
    acknowledge,
    end_acknowledgements,
    forget,
    remind,
    resolve,
    silence,
)
from controlplane.alarms.channels import Terms
from controlplane.alarms.models import Alarm, Delivery, Step
from controlplane.alarms.opening import FIRST_KEPT, LAST_KEPT, settle, sight
from controlplane.alarms.rules import RULES, headline
from controlplane.audit.models import AuditEvent
from tests.controlplane.alarms.conftest import MARKER, NOW, later, loss, opened


def steps(alarm: Alarm) -> list[str]:
    return list(alarm.steps.values_list("what", flat=True))


def test_a_loss_opens_one_critical_alarm_with_its_evidence(tenant: Tenant) -> None:
    alarm = opened(tenant.uid)
    seen = alarm.occurrences.get()

    assert (alarm.severity, alarm.state, alarm.tenant) == ("critical", "firing", tenant)
    assert (seen.session, seen.turn, seen.marker, seen.cause) == ("s1", 41, MARKER, "lost")
    assert steps(alarm) == ["opened"]


def test_what_is_seen_again_extends_the_alarm_that_is_open(tenant: Tenant) -> None:
    first = opened(tenant.uid)

    assert sight([loss(tenant.uid, at=later(minutes=1)), loss(tenant.uid)]) == []

    first.refresh_from_db()
    assert (first.count, first.last_at) == (3, later(minutes=1))
    assert Alarm.objects.count() == 1


@pytest.mark.parametrize("other", [{"node": "node-c"}, {"rule": "stash_missing"}, {"subject": "s"}])
def test_another_node_rule_or_subject_is_another_alarm(
    tenant: Tenant, other: dict[str, str]
) -> None:
    opened(tenant.uid)

    assert len(sight([loss(tenant.uid, **other)])) == 1


def test_the_database_refuses_a_second_open_alarm_of_a_fingerprint(tenant: Tenant) -> None:
    alarm = opened(tenant.uid)
    alarm.pk, alarm.uid = None, "alm_other"

    with pytest.raises(IntegrityError):
        alarm.save(force_insert=True)


def test_a_rule_that_nobody_knows_opens_nothing(tenant: Tenant) -> None:
    assert sight([loss(tenant.uid, rule="no_such_rule")]) == []


def test_a_loss_of_a_tenant_that_nobody_knows_is_said_to_the_deployment(db: None) -> None:
    alarm = opened("ten_unknown")

    assert (alarm.tenant, alarm.subject) == (None, "ten_unknown")


def test_a_loss_in_another_session_fires_an_acknowledged_alarm_again(
    tenant: Tenant, admin: User
) -> None:
    """Case D-13 of 08: acknowledging does not hide the second one."""
    alarm = acknowledge(opened(tenant.uid), "looking", by=admin)

    assert sight([loss(tenant.uid)]) == []
    alarm.refresh_from_db()
    assert alarm.state == "acknowledged"

    assert sight([loss(tenant.uid, session="s2")]) == [alarm]
    alarm.refresh_from_db()
    assert alarm.state == "firing"
    assert steps(alarm) == ["opened", "acknowledged", "fired again"]


def test_only_the_first_and_the_last_occurrences_are_kept(tenant: Tenant) -> None:
    sight(loss(tenant.uid, turn=turn) for turn in range(1, FIRST_KEPT + LAST_KEPT + 51))

    turns = list(Alarm.objects.get().occurrences.values_list("turn", flat=True))
    assert turns == [*range(1, 101), *range(151, 1051)]


def test_what_is_over_for_long_is_forgotten_and_what_is_open_never_is(
    tenant: Tenant, admin: User, organisation: Organisation
) -> None:
    terms = Terms(name="on-call", kind="email", target="on-call@example.com")
    channels.add(organisation, terms, by=admin)
    over, stays = opened(tenant.uid), opened(tenant.uid, node="node-c")
    resolve(over, "moved to sqlite", by=admin)
    now = timezone.now()
    Delivery.objects.update(created_at=now, state="delivered", finished_at=now)

    assert forget(now + timedelta(days=29)) == (0, 0)
    assert forget(now + timedelta(days=31)) == (3, 0)
    assert forget(now + timedelta(days=401)) == (0, 1)

    assert list(Alarm.objects.all()) == [stays]
    assert {step.alarm for step in Step.objects.all()} == {stays}


def test_acknowledging_needs_a_comment_keeps_the_owner_and_is_in_the_trail(
    tenant: Tenant, admin: User
) -> None:
    alarm = opened(tenant.uid)
    with pytest.raises(ValidationError):
        acknowledge(alarm, "  ", by=admin)

    held = acknowledge(alarm, "the disk is being replaced", by=admin)

    assert (held.state, held.acked_by) == ("acknowledged", admin)
    event = AuditEvent.objects.get(action="alarm.acknowledge")
    assert (event.object_uid, event.actor_label) == (alarm.uid, admin.email)
    assert event.reason == "the disk is being replaced"


def test_a_resolved_alarm_takes_no_more_answers_and_the_next_loss_is_a_new_one(
    tenant: Tenant, admin: User
) -> None:
    alarm = resolve(opened(tenant.uid), "store moved to sqlite", by=admin)

    for answer in (acknowledge, resolve):
        with pytest.raises(ValidationError):
            answer(alarm, "again", by=admin)
    (again,) = sight([loss(tenant.uid)])
    assert again != alarm


def test_an_acknowledgement_that_ran_out_fires_again(tenant: Tenant, admin: User) -> None:
    alarm = acknowledge(opened(tenant.uid), "an hour", by=admin, until=later(hours=1))

    assert end_acknowledgements(later(minutes=59)) == 0
    assert end_acknowledgements(later(minutes=61)) == 1
    alarm.refresh_from_db()
    assert alarm.state == "firing"


def test_a_loss_never_resolves_by_itself_and_a_full_store_does(tenant: Tenant) -> None:
    lost, full = sight([loss(tenant.uid), loss(tenant.uid, rule="stash_refused")])

    assert settle("expand_missing", (), later(hours=1)) == 0
    assert settle("stash_refused", (full.fingerprint,), later(hours=1)) == 0
    assert settle("stash_refused", (), later(hours=1)) == 1
    full.refresh_from_db()
    lost.refresh_from_db()
    assert (full.state, lost.state) == ("resolved", "firing")


def test_an_alarm_that_comes_and_goes_stays_open(tenant: Tenant) -> None:
    for minute in (0, 5, 10):
        sight([loss(tenant.uid, rule="stash_refused", at=later(minutes=minute))])
        settle("stash_refused", (), later(minutes=minute + 1))

    assert Alarm.objects.filter(state="firing").count() == 1
    assert settle("stash_refused", (), later(minutes=45)) == 1


def test_reminders_come_every_four_hours_until_somebody_takes_it_on(
    tenant: Tenant, admin: User
) -> None:
    alarm = opened(tenant.uid)

    assert [remind(later(hours=hours)) for hours in (3.9, 4, 5, 7.9, 8)] == [0, 1, 0, 0, 1]
    acknowledge(alarm, "mine", by=admin)
    assert remind(later(hours=13)) == 0


def test_a_silence_of_a_critical_alarm_lasts_a_day_at_most(tenant: Tenant, admin: User) -> None:
    alarm = opened(tenant.uid)
    now = timezone.now()

    with pytest.raises(ValidationError, match="24 hours"):
        silence(alarm, now + timedelta(hours=25), "planned", by=admin)
    silence(alarm, now + timedelta(hours=2), "planned", by=admin)

    alarm.refresh_from_db()
    assert alarm.state == "firing"
    assert steps(alarm) == ["opened", Step.What.SILENCED]


@pytest.mark.parametrize("key", RULES)
def test_every_rule_says_what_happened_and_what_to_do(key: str) -> None:
    rule = RULES[key]

    assert "{" not in headline(key, 1) + headline(key, 2000)
    assert rule.steps
    assert rule.means.endswith(".")
    assert not (rule.is_loss and rule.clears_itself)


def test_now_is_the_moment_of_the_first_sighting(tenant: Tenant) -> None:
    assert opened(tenant.uid).first_at == NOW


def test_an_alarm_is_resolved_with_its_step_and_its_message_or_not_at_all(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (full,) = sight([loss(tenant.uid, rule="stash_refused")])

    def break_off(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("controlplane.alarms.notices.queue", break_off)
    with pytest.raises(RuntimeError):
        settle("stash_refused", (), later(hours=1))

    full.refresh_from_db()
    assert full.state != Alarm.State.RESOLVED
