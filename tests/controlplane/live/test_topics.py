"""Every topic of the register is published by what it says it tells of, and no other is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from controlplane import topics
from controlplane.accounts.models import Membership, Tenant, User
from controlplane.accounts.scopes import scope_of_user
from controlplane.alarms import actions as alarms
from controlplane.alarms.opening import settle
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of
from controlplane.fleet.actions import record_acks
from controlplane.jobs.actions import run_if_due
from controlplane.jobs.registry import Job
from controlplane.live.messages import Message
from controlplane.live.readers import Asked, RefusedError, view_of
from controlplane.telemetry.actions import ingest
from controlplane.telemetry.models import LiveEvent
from controlplane.topics import TOPICS, tell, topic_of
from dataplane.core import resource
from dataplane.core.resource import Ack
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.conftest import person
from tests.controlplane.telemetry.batches import NOW, batch, delta, row

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])


@dataclass(frozen=True)
class Deed:
    """What somebody or something does, and the messages that follow, as topic and type."""

    do: Callable[[Tenant, User], Any]
    told: set[tuple[str, str]]


def report(tenant: Tenant, _by: User) -> None:
    sent = batch(1, [row(1, tenant=tenant.uid)], deltas=[delta(tenant=tenant.uid)])
    ingest(sent, received_at=NOW)


def ack(tenant: Tenant, _by: User) -> None:
    said = Ack("node-a", "b", resource.TENANT, tenant.uid, 1, 1, "sha256:0", "ack", (1, 1))
    record_acks([said, said])


def acknowledged(tenant: Tenant, by: User) -> None:
    alarms.acknowledge(opened(tenant.uid), "mine", by=by)


def resolved(tenant: Tenant, by: User) -> None:
    alarms.resolve(opened(tenant.uid), "done", by=by)


def silenced(tenant: Tenant, by: User) -> None:
    until = timezone.now() + timedelta(hours=1)
    alarms.silence(opened(tenant.uid), until, "planned", by=by)


def settled(tenant: Tenant, _by: User) -> None:
    opened(tenant.uid, rule="error_rate")
    settle("error_rate", (), timezone.now())


def saved(tenant: Tenant, by: User) -> None:
    save_version(document_of(tenant), "pipeline: []\n", "none", by, based_on=0)


def job_done(_tenant: Tenant, _by: User) -> None:
    run_if_due(Job("a_job", 60, lambda: "done"))


def job_failed(_tenant: Tenant, _by: User) -> None:
    run_if_due(Job("a_job", 60, lambda: str(1 // 0)))


DEEDS = {
    "a report": Deed(
        report,
        {
            ("overview", "tiles"),
            ("component", "bucket"),
            ("requests", "count"),
            ("sessions", "count"),
            ("session", "turn"),
        },
    ),
    "an alarm": Deed(lambda tenant, _: opened(tenant.uid), {("alarm", "opened")}),
    "one of the deployment": Deed(
        lambda _, __: opened(""), {("alarm", "opened"), ("system", "health")}
    ),
    "an acknowledgement": Deed(acknowledged, {("alarm", "opened"), ("alarm", "changed")}),
    "a resolution": Deed(resolved, {("alarm", "opened"), ("alarm", "resolved")}),
    "a silence": Deed(silenced, {("alarm", "changed"), ("system", "health")}),
    "what settles by itself": Deed(settled, {("alarm", "resolved")}),
    "an answer of a node": Deed(ack, {("node", "state"), ("system", "health")}),
    "a saved version": Deed(saved, {("config", "version"), ("config", "effective")}),
    "a job": Deed(job_done, {("job", "done"), ("system", "health")}),
    "a failed job": Deed(job_failed, {("job", "failed"), ("system", "health")}),
}


def told() -> set[tuple[str, str]]:
    rows = LiveEvent.objects.values_list("topic", "type")
    return {(topic.partition(".")[0], kind) for topic, kind in rows}


@pytest.mark.parametrize("name", DEEDS)
def test_what_happened_is_told(name: str, tenant: Tenant, manager: User) -> None:
    LiveEvent.objects.all().delete()

    DEEDS[name].do(tenant, manager)

    assert DEEDS[name].told <= told()
    for topic in LiveEvent.objects.values_list("topic", flat=True):
        assert topic_of(topic) is not None


def test_every_topic_and_type_is_told_by_some_deed() -> None:
    shown = set().union(*(deed.told for deed in DEEDS.values()))

    assert shown == {(topic.name, kind) for topic in TOPICS.values() for kind in topic.types}


def test_many_changes_of_one_transaction_are_one_message(tenant: Tenant) -> None:
    LiveEvent.objects.all().delete()
    with transaction.atomic():
        for n in range(20):
            tell("config", "effective", tenant=tenant.uid, data={"number": n})
        assert not LiveEvent.objects.exists()

    assert [event.payload for event in LiveEvent.objects.all()] == [{"number": 19}]


def test_a_change_that_is_undone_is_not_told() -> None:
    LiveEvent.objects.all().delete()
    with transaction.atomic():
        tell("node", "state", "node-a")
        transaction.set_rollback(True)

    assert not LiveEvent.objects.exists()


def asked(*names: str, tenant: str = "") -> Asked:
    return Asked(None, frozenset(names), tenant, None)


@pytest.mark.parametrize(
    "topic",
    ["alarms", "alarm.x", "component", "component.", "component.maskk", "session.x", "job.",
     "session.ten_nobody.s1", "component.mask x", "Overview", "\r\n"],
)  # fmt: skip
def test_a_topic_that_nobody_publishes_is_refused_by_name(topic: str, manager: User) -> None:
    with pytest.raises(RefusedError) as refused:
        view_of(scope_of_user(manager), asked("overview", topic))

    assert (refused.value.status, refused.value.code) == (
        HTTPStatus.BAD_REQUEST,
        "live.unknown_topic",
    )
    assert repr(topic) in refused.value.detail
    assert "alarm" in refused.value.detail


@pytest.mark.parametrize("topic", [t for t in TOPICS if TOPICS[t].takes == "system:read"])
def test_what_is_the_deployments_takes_its_permission(
    topic: str, organisation: Any, manager: User
) -> None:
    view_of(scope_of_user(manager), asked(topic))

    with pytest.raises(RefusedError) as refused:
        view_of(scope_of_user(person(Membership.Role.ADMIN, organisation)), asked(topic))

    assert refused.value.code == "auth.role_missing"


def test_nodes_are_everybodys_and_alarms_of_the_deployment_are_not(
    tenant: Tenant, admin: User
) -> None:
    view = view_of(scope_of_user(admin), asked("node", "alarm", tenant=tenant.slug))
    seen = [
        view.sees(Message(1, 1, topic, "state", "", tenant=uid))
        for topic, uid in (("node", ""), ("alarm", ""), ("alarm", tenant.uid), ("alarm", "ten_x"))
    ]

    assert seen == [True, False, True, False]


def test_a_message_that_no_register_knows_cannot_be_told() -> None:
    with pytest.raises(KeyError):
        tell("nodes", "state")
    with pytest.raises(ValueError, match="no messages of type"):
        tell("node", "states")


def test_the_register_names_topics_as_readers_give_them() -> None:
    assert topics.named().startswith("overview, component.NAME, requests")
