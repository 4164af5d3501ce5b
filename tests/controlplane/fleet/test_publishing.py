"""Publishing, the change log and what nodes answer (03 §9.1 to 9.5)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from controlplane.accounts.actions import issue_key
from controlplane.accounts.models import Organisation, Tenant
from controlplane.configs.actions import ensure_server_default
from controlplane.fleet import hints, queries, running
from controlplane.fleet.actions import publish, record_acks
from controlplane.fleet.models import ChangeLog, PublishedResource
from controlplane.fleet.published import all_published
from dataplane.core import resource
from tests.controlplane.ui.watched import a_stream
from tests.fakes.node import FakeNode


def ack(of: PublishedResource, status: str = "ack", **more: Any) -> resource.Ack:
    given = {"node_id": "n1", "boot_id": "b1", "serving": (of.epoch, of.version), **more}
    return resource.Ack(
        type=of.type,
        name=of.name,
        epoch=of.epoch,
        version=of.version,
        hash=of.hash,
        status="nack" if status == "nack" else "ack",
        **given,
    )


def head_of(tenant: Tenant) -> PublishedResource:
    return PublishedResource.objects.get(type=resource.TENANT, name=tenant.uid)


def test_a_deployment_publishes_all_shards_the_upstreams_and_the_prices(db: None) -> None:
    ensure_server_default()

    found = {(row.envelope.type, row.envelope.name) for row in all_published()}
    shards = {(resource.AUTH_INDEX, shard) for shard in "0123456789abcdef"}
    assert found == shards | {(resource.NODE, "default"), (resource.PRICES, "default")}


def test_the_hash_is_that_of_the_exact_body(tenant: Tenant) -> None:
    for found in all_published():
        assert found.envelope.hash == resource.hash_of(found.body)


def test_publishing_what_has_not_changed_makes_no_version(tenant: Tenant) -> None:
    before = queries.changes_since(None)

    assert publish([(resource.TENANT, tenant.uid)], by="test") == []
    assert queries.changes_since(None) == before


def test_each_change_is_the_next_version_of_its_resource_and_the_next_of_the_log(
    tenant: Tenant,
) -> None:
    cursor = queries.changes_since(None).cursor
    key, _ = issue_key(tenant, "a", None)

    found = queries.changes_since(cursor)
    assert [(one.type, one.name, one.version) for one in found.changes] == [
        (resource.AUTH_INDEX, key.key_hash[0], 2)
    ]
    assert found.cursor == cursor + 1
    assert not found.resync


@pytest.mark.parametrize("cursor", [None, 10**9])
def test_an_unknown_cursor_gets_everything_again(tenant: Tenant, cursor: int | None) -> None:
    found = queries.changes_since(cursor)

    assert found.resync
    assert len(found.changes) == PublishedResource.objects.count()


def test_a_raised_epoch_makes_equal_content_a_new_version(tenant: Tenant) -> None:
    ChangeLog.objects.update(epoch=2)

    (published,) = publish([(resource.TENANT, tenant.uid)], by="test")

    assert (published.epoch, published.version) == (2, 2)


def test_an_empty_deployment_has_nothing_to_discover(db: None) -> None:
    assert queries.changes_since(None).changes == []
    assert queries.published(resource.NODE, "default") is None


def test_a_tenant_is_pending_until_a_node_answers_its_newest_version(tenant: Tenant) -> None:
    assert queries.acknowledgement(tenant).status == "pending"

    record_acks([ack(head_of(tenant))])
    found = queries.acknowledgement(tenant)
    assert (found.status, found.version, found.nodes) == ("ack", 1, 1)

    tenant.label = "Renamed"
    tenant.save(update_fields=["label"])
    publish([(resource.TENANT, tenant.uid)], by="test")
    assert queries.acknowledgement(tenant).status == "pending"


def test_one_refusing_node_is_a_nack_with_its_problems(tenant: Tenant) -> None:
    problem = {"code": "config.unknown_key", "path": "/mod"}
    record_acks(
        [
            ack(head_of(tenant), "nack", errors=[problem], serving=(1, 0)),
            ack(head_of(tenant), node_id="n2"),
        ]
    )

    found = queries.acknowledgement(tenant)
    assert (found.status, found.serving, found.nodes) == ("nack", 0, 2)
    assert found.problems == [problem]


def test_a_node_that_answers_again_after_a_restart_is_counted_once(tenant: Tenant) -> None:
    record_acks([ack(head_of(tenant), "nack", serving=None)])
    a_stream("n1", boot_id="b1", stopped_at=1)
    a_stream("n1", boot_id="b2")
    record_acks([ack(head_of(tenant), boot_id="b2", applied_at=1_700_000_000.0)])

    found = queries.acknowledgement(tenant)
    assert (found.status, found.nodes) == ("ack", 1)


def test_an_unpublished_tenant_is_pending_at_no_version(organisation: Organisation) -> None:
    stranger = Tenant(organisation=organisation, slug="new", label="New")

    assert queries.acknowledgement(stranger) == queries.Acknowledgement("pending", 0)


def test_a_change_hints_once_it_is_committed(
    tenant: Tenant, django_capture_on_commit_callbacks: Any
) -> None:
    woken: list[int] = []
    wake = lambda: woken.append(1)  # noqa: E731
    hints.subscribe(wake)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            issue_key(tenant, "a", None)
            assert not woken
        assert woken
    finally:
        hints.unsubscribe(wake)


def test_nothing_of_another_tenant_is_in_a_tenants_body(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    found = queries.published(resource.TENANT, tenant.uid)

    assert found is not None
    assert other_tenant.uid.encode() not in found.body
    assert msgspec.json.decode(found.body, type=resource.TenantBody).tenant == tenant.uid


@pytest.mark.parametrize("tenants", [1, 5])
def test_discovering_takes_two_queries_however_much_there_is(
    organisation: Organisation, django_assert_num_queries: Any, tenants: int
) -> None:
    from controlplane.accounts.actions import create_tenant

    for number in range(tenants):
        create_tenant(organisation, slug=f"t{number}x", by=None)

    with django_assert_num_queries(2):
        queries.changes_since(None)


def test_without_a_node_in_this_process_there_are_no_figures() -> None:
    assert running.stats(None) is None


def test_the_registered_node_is_asked_for_the_tenant() -> None:
    running.register(FakeNode({"tenant": ""}, ten_1={"tenant": "ten_1"}))
    try:
        assert running.stats("ten_1") == {"tenant": "ten_1"}
    finally:
        running.unregister()
