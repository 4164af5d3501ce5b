"""What the evaluation makes of what nodes reported (04 §1.5, 5.3, 7)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from controlplane.accounts.models import Tenant, User
from controlplane.alarms import watching
from controlplane.alarms.actions import acknowledge, resolve
from controlplane.alarms.models import Alarm, Watermark
from controlplane.alarms.watching import Watch
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.telemetry.models import (
    MarkerRecord,
    NodeStream,
    TelemetryGap,
    TrafficBucket,
)
from tests.controlplane.alarms.conftest import MARKER, NOW, later, ms, request_row

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])


def minute(tenant: str, at: datetime, **counted: Any) -> None:
    """A bucket of one minute in which this was counted; names without a column go to counts."""
    columns = {field.name for field in TrafficBucket._meta.get_fields()}
    TrafficBucket.objects.create(
        resolution_s=60,
        bucket_at=ms(at) - ms(at) % 60_000,
        tenant_uid=tenant,
        counts={name: value for name, value in counted.items() if name not in columns},
        **{name: value for name, value in counted.items() if name in columns},
    )


def lose(tenant: str, **said: Any) -> None:
    """A request whose recovery call found nothing."""
    MarkerRecord.objects.get_or_create(
        tenant_uid=tenant, marker_id=MARKER, component="mask", saved_tokens=6014
    )
    calls = [{"id": MARKER, "found": "lost"}]
    request_row(tenant, expand_missing=1, recoveries=calls, **said)


def open_rules() -> list[str]:
    return sorted(Alarm.objects.exclude(state="resolved").values_list("rule", flat=True))


def test_a_loss_is_seen_once_with_session_turn_marker_and_component(tenant: Tenant) -> None:
    lose(tenant.uid)

    (alarm,) = watching.look_for_losses()
    assert watching.look_for_losses() == []

    seen = alarm.occurrences.get()
    assert (seen.session, seen.turn, seen.marker) == ("s1", 41, MARKER)
    assert (seen.component, seen.tokens, seen.cause, seen.node) == ("mask", 6014, "lost", "node-b")


def test_a_loss_that_happened_while_nobody_looked_is_found_by_the_next_process(
    tenant: Tenant,
) -> None:
    """Case D-13 of 08."""
    Watch()(NOW)
    lose(tenant.uid)

    Watch()(later(hours=3))

    assert Alarm.objects.get().first_at == NOW


def test_a_telemetry_database_that_began_anew_hides_no_loss(tenant: Tenant) -> None:
    lose(tenant.uid)
    watching.look_for_losses()
    Alarm.objects.update(state="resolved")
    Watermark.objects.update(value=4711)

    Watch()(NOW)

    assert Alarm.objects.count() == 2


def test_a_telemetry_database_that_begins_anew_under_a_running_process_hides_no_loss(
    tenant: Tenant,
) -> None:
    watch = Watch()
    watch(NOW)
    Watermark.objects.update(value=4711)
    lose(tenant.uid)

    watch(later(seconds=5))

    assert Alarm.objects.get().occurrences.get().marker == MARKER


def test_signs_of_life_alone_are_looked_at_seldom_and_a_report_at_once(
    tenant: Tenant,
) -> None:
    watch = Watch()
    watch(NOW)
    minute(tenant.uid, NOW, stash_refused=1)

    watch(later(seconds=5))
    assert open_rules() == []
    TelemetryGap.objects.create(
        node_id="n", boot_id="b", kind="rows", from_seq=1, to_seq=1, from_at=1, to_at=2, rows=7
    )
    watch(later(seconds=5))
    assert open_rules() == ["stash_refused", "telemetry_dropped"]


def test_at_rest_everything_is_looked_at_all_the_same(tenant: Tenant) -> None:
    watch = Watch()
    watch(NOW)
    minute(tenant.uid, NOW, stash_refused=1)

    watch(later(seconds=20))

    assert open_rules() == ["stash_refused"]


def test_a_loss_that_was_only_counted_is_an_alarm_too_and_none_is_counted_twice(
    tenant: Tenant,
) -> None:
    lose(tenant.uid)
    minute(tenant.uid, NOW, expand_missing=3, requests=5)

    watching.look(NOW)
    watching.look(later(seconds=5))

    counts = dict(Alarm.objects.values_list("node", "count"))
    assert counts == {"node-b": 1, "": 2}


def test_removals_declined_are_the_leading_sign_and_are_over_after_five_calm_minutes(
    tenant: Tenant,
) -> None:
    minute(tenant.uid, NOW, stash_refused=14, requests=5)

    watching.look(NOW)
    watching.look(later(minutes=4))
    assert (open_rules(), Alarm.objects.get().count) == (["stash_refused"], 14)
    watching.look(later(minutes=7))
    assert open_rules() == []


@pytest.mark.parametrize(
    ("counted", "rules"),
    [
        ({"requests": 100, "errors": 10}, []),
        ({"requests": 100, "errors": 11}, ["error_rate"]),
        ({"requests": 19, "errors": 19}, []),
        ({"requests": 80, "refused": 20}, ["refusal_rate"]),
        ({"requests": 9, "stash_missing": 1}, ["stash_missing"]),
        ({"expands": 98, "unresolved:never_minted": 2}, ["never_minted_rate"]),
        ({"requests": 9, "rewrite_failures": 1}, ["rewrite_failures"]),
        ({"requests": 9, "usage_unreadable": 1}, ["usage_unparsed"]),
        ({"requests": 9, "unpriced": 1}, ["price_missing"]),
        ({"requests": 9, "adjudicate_stray": 1}, ["adjudicate_stray"]),
    ],
)
def test_which_counters_are_an_alarm(
    tenant: Tenant, counted: dict[str, int], rules: list[str]
) -> None:
    minute(tenant.uid, NOW, **counted)

    watching.look(later(seconds=20))

    assert open_rules() == rules


def test_a_rate_that_goes_on_is_said_once_and_again_when_it_is_critical(tenant: Tenant) -> None:
    minute(tenant.uid, NOW, requests=100, errors=30)
    watching.look(later(seconds=20))
    watching.look(later(seconds=25))
    assert (Alarm.objects.get().count, Alarm.objects.get().severity) == (1, "warning")

    minute(tenant.uid, later(minutes=1), requests=100, errors=90)
    watching.look(later(minutes=1))

    assert Alarm.objects.get().severity == "critical"


def test_a_refused_configuration_names_its_problem_until_a_newer_one_is_taken(
    tenant: Tenant,
) -> None:
    resource = PublishedResource.objects.get(type="cg.tenant.v1", name=tenant.uid)
    problem = {"code": "config.unknown_key", "message": "msk is no component"}
    ack = NodeAck.objects.create(
        node_id="node-c",
        boot_id="b",
        type=resource.type,
        name=resource.name,
        epoch=resource.epoch,
        version=resource.version,
        hash=resource.hash,
        status="nack",
        errors=[problem],
        answered_at=NOW,
    )
    watching.look(NOW)

    alarm = Alarm.objects.get()
    assert (alarm.rule, alarm.tenant, alarm.severity) == ("node_nack", tenant, "critical")
    assert "msk is no component" in alarm.occurrences.get().detail
    ack.status = "ack"
    ack.save()
    watching.look(later(seconds=5))
    assert open_rules() == []


def test_a_node_that_fell_silent_is_an_alarm_and_graver_after_ten_minutes(
    tenant: Tenant, manager: User
) -> None:
    NodeStream.objects.create(node_id="node-d", boot_id="b", first_at=1, last_at=ms(NOW))

    watching.look(later(seconds=59))
    assert open_rules() == []
    watching.look(later(seconds=61))
    assert Alarm.objects.get().severity == "warning"
    acknowledge(Alarm.objects.get(), "on my way to the rack", by=manager)
    watching.look(later(minutes=11))
    alarm = Alarm.objects.get()
    assert (alarm.severity, alarm.state) == ("critical", "firing")
    assert alarm.steps.get(what="fired again").note == "It has become critical."


def test_a_silent_node_stays_an_alarm_until_somebody_says_that_it_is_gone(
    tenant: Tenant, manager: User
) -> None:
    NodeStream.objects.create(node_id="node-d", boot_id="b", first_at=1, last_at=ms(NOW))
    watching.look(later(minutes=11))

    watching.look(later(hours=60))
    alarm = Alarm.objects.get()
    assert alarm.state == "firing"

    resolve(alarm, "taken out of service", by=manager)
    watching.look(later(hours=60, seconds=5))
    assert open_rules() == []


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("batches", "telemetry_gap"),
        ("rows", "telemetry_dropped"),
        ("refused", "telemetry_refused"),
    ],
)
def test_what_never_arrived_is_said(db: None, kind: str, rule: str) -> None:
    TelemetryGap.objects.create(
        node_id="node-b", boot_id="b", kind=kind, from_seq=4, to_seq=5, from_at=1, to_at=2, rows=7
    )

    watching.look_at_gaps(NOW, frozenset())

    assert open_rules() == [rule]


@pytest.mark.parametrize("kind", ["batches", "rows"])
def test_what_never_arrived_is_over_when_everything_arrived_for_a_while(
    db: None, kind: str
) -> None:
    gap = {"node_id": "node-b", "boot_id": "b", "kind": kind, "from_at": 1, "to_at": ms(NOW)}
    TelemetryGap.objects.create(from_seq=4, to_seq=5, rows=7, **gap)
    watching.look(NOW)
    TelemetryGap.objects.create(from_seq=8, to_seq=8, rows=7, **gap)
    watching.look(later(minutes=10))

    watching.look(later(minutes=20))
    assert len(open_rules()) == 1
    watching.look(later(minutes=26))
    assert open_rules() == []


@pytest.mark.parametrize(("skew_s", "rules"), [(-31, ["node_skew"]), (31, ["node_skew"]), (30, [])])
def test_a_node_whose_clock_is_wrong_is_an_alarm_until_it_is_right(
    db: None, skew_s: int, rules: list[str]
) -> None:
    heard = {"first_at": ms(NOW), "last_at": ms(NOW)}
    NodeStream.objects.create(node_id="a", boot_id="1", skew_ms=skew_s * 1000, **heard)

    watching.look(later(seconds=5))
    assert open_rules() == rules
    NodeStream.objects.update(skew_ms=10)
    watching.look(later(seconds=10))
    assert open_rules() == []


def reported(node_id: str, at: datetime, **gauges: int) -> None:
    heard = {"first_at": ms(NOW), "last_at": ms(at), "gauges": gauges}
    NodeStream.objects.update_or_create(node_id=node_id, boot_id="1", defaults=heard)


@pytest.mark.parametrize(
    "held",
    [
        {"stash_live": 900, "stash_capacity": 1000},
        {"stash_live": 1, "stash_capacity": 1000, "stash_bytes": 81, "stash_max_bytes": 100},
    ],
)
def test_a_store_of_any_node_that_is_nearly_full_is_an_alarm(
    db: None, held: dict[str, int]
) -> None:
    reported("a", NOW, stash_live=10, stash_capacity=1000)
    reported("b", NOW, **held)
    watching.look(later(seconds=5))

    assert Alarm.objects.get(rule="store_reserve_high").node == "b"
    reported("b", later(seconds=10), stash_live=10, stash_capacity=1000)
    watching.look(later(seconds=15))
    assert open_rules() == []


def test_a_full_disk_of_any_node_is_an_alarm(db: None) -> None:
    reported("b", NOW, disk_used_permille=960)
    watching.look(later(seconds=5))

    alarm = Alarm.objects.get(subject="the store of b")
    assert (alarm.rule, alarm.severity) == ("disk_high", "critical")


def test_a_store_that_did_not_answer_any_node_is_one_alarm(tenant: Tenant, db: None) -> None:
    minute(tenant.uid, NOW, commit_timeouts=2)
    minute("ten_other", NOW, commit_timeouts=1)
    watching.look(later(seconds=5))
    watching.look(later(seconds=10))

    alarm = Alarm.objects.get()
    assert (alarm.rule, alarm.tenant, alarm.count) == ("store_unavailable", None, 3)
    watching.look(later(minutes=6, seconds=30))
    assert open_rules() == []


def test_decisions_that_were_dropped_and_not_made_again_are_an_alarm(tenant: Tenant) -> None:
    minute(tenant.uid, NOW, frozen_dropped=2, frozen_repaired=2)
    watching.look(later(seconds=5))
    assert open_rules() == []

    minute(tenant.uid, later(minutes=1), frozen_dropped=3, frozen_repaired=1)
    watching.look(later(minutes=1, seconds=5))
    alarm = Alarm.objects.get()
    assert (alarm.rule, alarm.tenant, alarm.count) == ("frozen_flips", tenant, 2)
