"""Tenants, keys and upstreams: what changes, what is published, what is written down."""

from __future__ import annotations

import hashlib
import re

import msgspec
import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from controlplane.accounts.actions import (
    change_organisation,
    change_tenant,
    choose_upstream,
    create_organisation,
    create_tenant,
    issue_key,
    revoke_key,
    set_disabled,
)
from controlplane.accounts.models import DataPlaneKey, Membership, Organisation, Tenant, User
from controlplane.accounts.queries import chosen_upstreams, keys_of
from controlplane.accounts.upstreams import UpstreamTerms, create_upstream, move_upstream
from controlplane.audit.models import AuditEvent
from controlplane.fleet import queries
from dataplane.core import resource

LOCAL = "http://127.0.0.1:9100"
HERE = UpstreamTerms(allow_private=True)


def entries(shard: str) -> list[resource.AuthEntry]:
    found = queries.published(resource.AUTH_INDEX, shard)
    assert found is not None
    return msgspec.json.decode(found.body, type=list[resource.AuthEntry])


def tenant_body(tenant: Tenant) -> resource.TenantBody:
    found = queries.published(resource.TENANT, tenant.uid)
    assert found is not None
    return msgspec.json.decode(found.body, type=resource.TenantBody)


def test_a_key_has_the_shape_of_the_wire_and_only_its_digest_is_kept(tenant: Tenant) -> None:
    key, plaintext = issue_key(tenant, "laptop", None)

    assert re.fullmatch(r"cg_live_[A-Z2-7]{26}", plaintext)
    assert key.key_hash == hashlib.sha256(plaintext.encode()).hexdigest()
    assert key.prefix == plaintext[8:16]
    row = DataPlaneKey.objects.filter(pk=key.pk).values().get()
    assert plaintext not in str(row)


def test_an_issued_key_is_in_the_shard_of_its_first_digit_until_it_is_revoked(
    tenant: Tenant,
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    entry = (key.key_hash, resource.TOKEN_KIND, tenant.uid, key.principal)

    assert entries(key.key_hash[0]) == [entry]
    revoke_key(key, None)
    assert entries(key.key_hash[0]) == []


def test_a_key_that_replaces_another_keeps_its_principal(tenant: Tenant) -> None:
    first, _ = issue_key(tenant, "ci", None)
    second, _ = issue_key(tenant, "ci", None, replaces=first)
    unrelated, _ = issue_key(tenant, "ci", None)

    assert second.principal == first.principal != unrelated.principal


def test_a_key_cannot_take_over_the_principal_of_another_tenant(
    tenant: Tenant, other_tenant: Tenant
) -> None:
    theirs, _ = issue_key(other_tenant, "ci", None)

    with pytest.raises(ValidationError):
        issue_key(tenant, "ci", None, replaces=theirs)


def test_a_key_needs_a_label(tenant: Tenant) -> None:
    with pytest.raises(ValidationError):
        issue_key(tenant, "  ", None)


def test_revoking_twice_is_recorded_once(tenant: Tenant) -> None:
    key, _ = issue_key(tenant, "laptop", None)

    revoke_key(key, None)
    revoke_key(key, None)

    assert AuditEvent.objects.filter(action="key.revoke").count() == 1
    assert not any(each.is_live(timezone.now()) for each in keys_of(tenant))


def test_live_keys_are_listed_before_revoked_ones(tenant: Tenant) -> None:
    first, _ = issue_key(tenant, "first", None)
    second, _ = issue_key(tenant, "second", None)
    revoke_key(second, None)

    assert list(keys_of(tenant)) == [first, second]


def test_no_key_or_digest_enters_the_trail(tenant: Tenant) -> None:
    key, plaintext = issue_key(tenant, "laptop", None)

    trail = str(list(AuditEvent.objects.values()))
    assert plaintext not in trail
    assert key.key_hash not in trail


def test_a_chosen_upstream_is_published_by_name(tenant: Tenant) -> None:
    create_upstream(name="lab", dialect="anthropic", base_url=LOCAL, by=None, terms=HERE)
    choose_upstream(tenant, "anthropic", "lab", None)

    assert tenant_body(tenant).upstreams == {"anthropic": "lab"}
    assert chosen_upstreams(tenant)["anthropic"].base_url == LOCAL


def test_choosing_again_replaces_and_the_trail_has_both_names(tenant: Tenant) -> None:
    create_upstream(name="lab", dialect="openai", base_url=LOCAL, by=None, terms=HERE)
    create_upstream(name="live", dialect="openai", base_url="https://api.openai.com", by=None)
    choose_upstream(tenant, "openai", "lab", None)
    choose_upstream(tenant, "openai", "live", None)

    event = AuditEvent.objects.filter(action="tenant.choose_upstream").first()
    assert event is not None
    assert (event.before, event.after) == ({"openai": "lab"}, {"openai": "live"})


@pytest.mark.parametrize("name", ["absent", "http://127.0.0.1:9100"])
def test_a_tenant_cannot_choose_what_is_not_on_the_allow_list(tenant: Tenant, name: str) -> None:
    with pytest.raises(ValidationError):
        choose_upstream(tenant, "anthropic", name, None)


def test_an_upstream_of_another_dialect_cannot_be_chosen(tenant: Tenant) -> None:
    create_upstream(name="lab", dialect="openai", base_url=LOCAL, by=None, terms=HERE)

    with pytest.raises(ValidationError):
        choose_upstream(tenant, "anthropic", "lab", None)


def test_moving_an_upstream_reaches_the_nodes(tenant: Tenant) -> None:
    upstream = create_upstream(name="lab", dialect="openai", base_url=LOCAL, by=None, terms=HERE)
    move_upstream(upstream, base_url="http://127.0.0.1:9200", by=None)

    found = queries.published(resource.NODE, "default")
    assert found is not None
    node = msgspec.json.decode(found.body, type=resource.NodeBody)
    assert [one.base_url for one in node.upstreams] == ["http://127.0.0.1:9200"]


def test_a_disabled_tenant_is_published_with_its_reason_and_comes_back(tenant: Tenant) -> None:
    set_disabled(tenant, reason="unpaid", by=None)
    assert (tenant_body(tenant).status, tenant_body(tenant).status_reason) == ("disabled", "unpaid")

    set_disabled(tenant, reason="", by=None)
    assert (tenant_body(tenant).status, tenant_body(tenant).status_reason) == ("active", "")


@pytest.mark.parametrize("slug", ["", "A", "1st", "a", "no_underscore", "x" * 41, "ok\n"])
def test_a_slug_that_cannot_stand_in_a_path_is_refused(
    organisation: Organisation, slug: str
) -> None:
    with pytest.raises(ValidationError):
        create_tenant(organisation, slug=slug, by=None)


def test_who_changes_one_thing_undoes_nothing_that_somebody_else_changed_meanwhile(
    tenant: Tenant,
) -> None:
    loaded_before = Tenant.objects.select_related("organisation").get()
    change_tenant(tenant, rpm_limit=60, by=None)
    change_organisation(tenant.organisation, name=None, policy={"max_token_days": 7}, by=None)

    change_tenant(loaded_before, label="Orchid", by=None)
    stricter = {"llm_components": "deny"}
    change_organisation(loaded_before.organisation, name=None, policy=stricter, by=None)

    found = Tenant.objects.select_related("organisation").get()
    policy = found.organisation.policy
    assert (found.label, found.rpm_limit) == ("Orchid", 60)
    assert (policy["max_token_days"], policy["llm_components"]) == (7, "deny")


def test_a_slug_is_unique_in_its_organisation_only(
    tenant: Tenant, other_tenant: Tenant, organisation: Organisation
) -> None:
    assert tenant.slug == other_tenant.slug
    with pytest.raises(ValidationError):
        create_tenant(organisation, slug=tenant.slug, by=None)


def test_an_organisation_slug_is_unique(organisation: Organisation) -> None:
    with pytest.raises(ValidationError):
        create_organisation(name="Again", slug=organisation.slug, by=None)


@transaction.atomic
def issue_and_fail(tenant: Tenant) -> None:
    issue_key(tenant, "laptop", None)
    raise ZeroDivisionError


def test_a_failed_change_leaves_neither_trail_nor_publication(tenant: Tenant) -> None:
    before = (AuditEvent.objects.count(), queries.changes_since(None).cursor)

    with pytest.raises(ZeroDivisionError):
        issue_and_fail(tenant)

    assert (AuditEvent.objects.count(), queries.changes_since(None).cursor) == before


@pytest.mark.parametrize(
    ("role", "place"), [("manager", "acme"), ("admin", None), ("owner", "acme")]
)
def test_the_database_refuses_a_membership_whose_role_and_place_do_not_match(
    organisation: Organisation, role: str, place: str | None
) -> None:
    user = User.objects.create_user("a@example.com", "x")

    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(
            user=user, role=role, organisation=organisation if place else None
        )


def test_the_database_refuses_a_second_membership_of_the_same_kind(
    organisation: Organisation, manager: User
) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(user=manager, role="manager", organisation=None)


def test_the_database_refuses_an_address_in_capitals(db: None) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(email="Ada@example.com")
