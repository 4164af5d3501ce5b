"""A change answers when the nodes that report have it, or says which have not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connections
from django.test import Client
from django.urls import reverse

from controlplane.accounts.actions import (
    create_organisation,
    create_tenant,
    issue_key,
    set_disabled,
)
from controlplane.accounts.models import Tenant, User
from controlplane.configs.actions import ensure_server_default
from controlplane.fleet import presence, queries, spreading
from controlplane.fleet.actions import forget_node, record_acks
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.fleet.spreading import Spread, collecting, until_served
from controlplane.telemetry import queries as telemetry
from controlplane.telemetry.actions import remove_node
from controlplane.telemetry.models import NodeStream
from controlplane.telemetry.queries.windows import now_ms
from dataplane.core import resource
from tests.controlplane.conftest import person
from tests.controlplane.fleet.test_publishing import ack
from tests.controlplane.ui.watched import a_stream
from tests.patience import blocking_until

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "telemetry"])


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom nobody answers is not waited for."""
    monkeypatch.setattr(spreading, "WAIT_S", 0.01)


def answer(node: str, boot: str = "boot-1", *, follows: bool = True, **more: Any) -> None:
    """The process has everything that is published, and reports."""
    a_stream(node, boot_id=boot)
    acks = [ack(row, node_id=node, boot_id=boot, **more) for row in PublishedResource.objects.all()]
    record_acks(acks, follows=follows)


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    ensure_server_default()
    organisation = create_organisation(name="Acme", slug="acme", by=None)
    made = create_tenant(organisation, slug="orchid", by=None)
    answer("node-a")
    return made


def disabled(tenant: Tenant) -> Spread:
    with collecting() as published:
        set_disabled(tenant, reason="unpaid", by=None)
    return until_served(published.newest.values())


def test_a_node_that_has_not_answered_is_named(tenant: Tenant) -> None:
    assert disabled(tenant) == Spread(waiting=("node-a",))

    answer("node-a")
    head = PublishedResource.objects.get(type=resource.TENANT)
    assert until_served([head]) == Spread(served=("node-a",))


def test_every_process_of_a_node_has_to_answer(tenant: Tenant) -> None:
    answer("node-a", "boot-2")
    disabled(tenant)

    answer("node-a", "boot-1")
    assert disabled_so_far() == Spread(waiting=("node-a",))
    answer("node-a", "boot-2")
    assert disabled_so_far() == Spread(served=("node-a",))


def disabled_so_far() -> Spread:
    return until_served([PublishedResource.objects.get(type=resource.TENANT)])


@pytest.mark.parametrize(
    "end", [{"stopped_at": 1}, {"last_at": 1}], ids=["said good-bye", "silent for long"]
)
def test_a_process_that_has_ended_is_not_waited_for(tenant: Tenant, end: dict[str, int]) -> None:
    answer("node-b")
    a_stream("node-a", **end)

    assert disabled(tenant) == Spread(waiting=("node-b",))


def test_a_node_that_refuses_is_named_as_that(tenant: Tenant) -> None:
    disabled(tenant)
    head = PublishedResource.objects.get(type=resource.TENANT)
    record_acks([ack(head, "nack", node_id="node-a", boot_id="boot-1", serving=None)])

    assert disabled_so_far() == Spread(refused=("node-a",))


def test_a_node_with_a_bundle_is_not_waited_for_and_named(tenant: Tenant) -> None:
    answer("node-z", follows=False)

    disabled(tenant)
    answer("node-a")
    found = queries.acknowledgement(tenant)

    assert (found.status, found.apart, found.nodes) == ("ack", ("node-z",), 1)


def test_it_is_waited_for_until_the_last_has_answered(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "WAIT_S", 60.0)
    found: list[Spread] = []
    waiting = threading.Thread(target=lambda: found.append(disabled_and_closed(tenant)))
    waiting.start()
    changed = PublishedResource.objects.filter(type=resource.TENANT, version=2)
    blocking_until(changed.exists)
    assert not found

    answer("node-a")
    waiting.join()

    assert found == [Spread(served=("node-a",))]


def disabled_and_closed(tenant: Tenant) -> Spread:
    try:
        return disabled(tenant)
    finally:
        connections.close_all()


# ---- every way to change something -----------------------------------------------------------


@pytest.fixture
def manager(tenant: Tenant) -> User:
    return person("manager", None)


Deed = Callable[[Client, Tenant], Any]


def post(client: Client, path: str, **form: Any) -> Any:
    return client.post(path, form)


PAGES: dict[str, Deed] = {
    "disabling": lambda c, t: post(c, reverse("ui:switch", args=[t.slug]), reason="unpaid"),
    "limits": lambda c, t: post(
        c, reverse("ui:limits", args=[t.slug]), label="x", rpm_limit=3, concurrent_limit=0
    ),
    "a key": lambda c, t: post(
        c, reverse("ui:keys", args=[t.slug]), label="laptop", kind="live"
    ),
    "a revoked key": lambda c, t: post(
        c, reverse("ui:revoke", args=[t.slug, issue_key(t, "b", None)[0].uid])
    ),
    "an upstream": lambda c, t: post(
        c, reverse("ui:upstream-list"), name="claude", dialect="anthropic",
        base_url="https://api.example", header_timeout_s=0, enabled="on",
    ),
    "a document": lambda c, t: post(
        c, reverse("ui:config-text", args=[t.slug]), source="pipeline: []\n", message="none",
        based_on=0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_every_page_that_changes_what_nodes_run_says_who_does_not_have_it(
    name: str, tenant: Tenant, manager: User
) -> None:
    client = Client()
    client.force_login(manager)

    found = PAGES[name](client, tenant)

    assert found.status_code < 400, found.content.decode()[-2000:]
    assert found["x-headrace-waiting"] == "node-a"
    said = [str(message) for message in get_messages(found.wsgi_request)]
    assert any("node-a" in sentence for sentence in said) or found.status_code == 200


def test_a_reading_waits_for_nobody_and_says_nothing(tenant: Tenant, manager: User) -> None:
    disabled(tenant)
    client = Client()
    client.force_login(manager)

    assert "x-headrace-waiting" not in client.get("/tenants").headers


# ---- a node that left ------------------------------------------------------------------------


def states() -> dict[str, str]:
    return {node.node_id: node.state for node in telemetry.nodes()}


def test_a_node_says_what_it_serves_or_that_is_said(tenant: Tenant) -> None:
    answer("node-z", follows=False)
    a_stream("node-mute", first_at=1)
    assert states() == {"node-a": "synced", "node-mute": "unsaid", "node-z": "synced"}

    disabled(tenant)

    assert states() == {"node-a": "pending", "node-mute": "unsaid", "node-z": "apart"}


def test_a_bundle_of_something_that_was_never_published_is_another_document(
    tenant: Tenant,
) -> None:
    a_stream("node-z")
    row = PublishedResource.objects.get(type=resource.TENANT)
    stranger = ack(row, node_id="node-z", boot_id="boot-1")
    record_acks([resource.Ack(**{**as_dict(stranger), "name": "ten_local"})], follows=False)

    assert states()["node-z"] == "apart"


def as_dict(of: resource.Ack) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__dataclass_fields__}


def test_a_node_that_ended_in_good_order_has_left_and_can_be_removed(
    tenant: Tenant, manager: User
) -> None:
    client = Client()
    client.force_login(manager)
    page = reverse("ui:remove-node", args=["node-a"])
    client.post(page)
    assert states() == {"node-a": "synced"}

    a_stream("node-a", stopped_at=now_ms())
    assert states() == {"node-a": "left"}
    client.post(page)

    assert states() == {}
    assert not NodeAck.objects.exists()
    answer("node-a")
    assert states() == {"node-a": "synced"}


def test_what_a_new_life_of_a_node_answers_replaces_what_the_ended_ones_did(
    tenant: Tenant,
) -> None:
    a_stream("node-a", stopped_at=1)

    answer("node-a", "boot-2")

    assert set(NodeAck.objects.values_list("boot_id", flat=True)) == {"boot-2"}


def test_of_nodes_that_nobody_heard_of_yet_none_is_called_ended(tenant: Tenant) -> None:
    NodeStream.objects.all().delete()

    assert presence.heard().may_live(("node-a", "boot-1"))
    a_stream("node-a", boot_id="boot-2")
    assert not presence.heard().may_live(("node-a", "boot-1"))
    remove_node("node-a", by=None)
    forget_node("node-a", by=None)
