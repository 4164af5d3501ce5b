"""Saving a document: its text to the letter, its problems at once, its way to the nodes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from django.db import IntegrityError, transaction

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import ensure_server_default, save_version
from controlplane.configs.documents import DEFAULT_SOURCE, document_of, server_default
from controlplane.configs.models import ConfigDocument, ConfigVersion, EffectiveRevision
from controlplane.configs.queries import current_revision, tenant_document, versions
from controlplane.fleet import queries
from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import check_document
from dataplane.core.config.problems import ConfigError

MASK_5 = """\
# keep more
pipeline: [mask]
components:
  mask: {keep_recent: 5}
"""


def published_variant(tenant: Tenant) -> resource.Variant:
    found = queries.published(resource.TENANT, tenant.uid)
    assert found is not None
    (variant,) = msgspec.json.decode(found.body, type=resource.TenantBody).variants
    return variant


def tenant_version(tenant: Tenant) -> int:
    found = queries.published(resource.TENANT, tenant.uid)
    assert found is not None
    return found.envelope.version


def test_a_saved_text_is_kept_to_the_letter_with_author_and_message(
    tenant: Tenant, admin: User
) -> None:
    version = save_version(document_of(tenant), MASK_5, " keep five ", admin)

    assert (version.number, version.source, version.message) == (1, MASK_5, "keep five")
    assert version.author == admin
    assert version.canonical == '{"components":{"mask":{"keep_recent":5}},"pipeline":["mask"]}'
    assert tenant_document(tenant).source == MASK_5


def test_saving_publishes_at_once_what_a_node_accepts(tenant: Tenant, admin: User) -> None:
    save_version(document_of(tenant), MASK_5, "keep five", admin)

    variant = published_variant(tenant)
    assert variant.document["pipeline"] == ["mask"]
    assert variant.document["components"]["mask"]["keep_recent"] == 5
    compiled = check_document(variant.document, components())
    assert [step.declaration.name for step in compiled.steps] == ["mask"]
    assert compiled.host == variant.host
    assert variant.config_hash == f"sha256:{compiled.effective.effective_hash}"


def test_host_keys_travel_with_the_variant(tenant: Tenant, admin: User) -> None:
    text = "pipeline: [format]\nmode: observe\ninject_expand: never\ncache: {mode: off}\n"
    save_version(document_of(tenant), text, "observe", admin)

    assert published_variant(tenant).host == resource.Host(
        mode="observe", inject_expand="never", cache_mode="off"
    )


def test_every_problem_is_reported_and_nothing_is_stored(tenant: Tenant, admin: User) -> None:
    before = (ConfigVersion.objects.count(), AuditEvent.objects.count(), tenant_version(tenant))

    with pytest.raises(ConfigError) as refused:
        save_version(document_of(tenant), "mod: sync\npipeline: [mask, mist]\n", "wrong", admin)

    found = [(one.code, one.line) for one in refused.value.problems if one.severity == "error"]
    assert [line for _, line in found] == [1, 2]
    assert found[0][0] == "config.unknown_key"
    after = (ConfigVersion.objects.count(), AuditEvent.objects.count(), tenant_version(tenant))
    assert after == before


def test_the_same_text_again_is_the_same_version(tenant: Tenant, admin: User) -> None:
    first = save_version(document_of(tenant), MASK_5, "keep five", admin)
    events = AuditEvent.objects.count()

    assert save_version(document_of(tenant), MASK_5, "again", admin) == first
    assert AuditEvent.objects.count() == events


def test_a_change_of_comments_is_a_version_that_reaches_no_node(
    tenant: Tenant, admin: User
) -> None:
    first = save_version(document_of(tenant), MASK_5, "keep five", admin)
    before = tenant_version(tenant)
    second = save_version(document_of(tenant), MASK_5 + "# why\n", "explain", admin)

    assert second.number == 2
    assert second.content_hash == first.content_hash
    assert tenant_version(tenant) == before


def test_going_back_to_an_earlier_text_is_a_new_version_and_a_new_revision(
    tenant: Tenant, admin: User
) -> None:
    document = document_of(tenant)
    for text in (MASK_5, "pipeline: []\n", MASK_5):
        save_version(document, text, "change", admin)

    assert [version.number for version in versions(document)] == [3, 2, 1]
    revision = current_revision(tenant)
    assert revision is not None
    assert revision.number == 4
    assert published_variant(tenant).id == "v4"


def test_a_save_is_in_the_trail_with_both_hashes(tenant: Tenant, admin: User) -> None:
    first = save_version(document_of(tenant), MASK_5, "keep five", admin)
    second = save_version(document_of(tenant), "pipeline: []\n", "stop", admin)

    event = AuditEvent.objects.filter(action="config.save").first()
    assert event is not None
    assert event.actor_label == admin.email
    assert event.before == {"version": 1, "content_hash": first.content_hash}
    assert event.after == {"version": 2, "content_hash": second.content_hash, "message": "stop"}


def test_a_new_tenant_follows_the_server_default(tenant: Tenant) -> None:
    found = tenant_document(tenant)

    assert found.follows
    assert found.source == DEFAULT_SOURCE.read_text()
    assert found.document.kind == "tenant"
    assert published_variant(tenant).document["pipeline"] == [
        "format", "dedup", "mask", "collapse", "cachesplit"
    ]  # fmt: skip


def test_a_changed_default_reaches_followers_and_fills_in_what_others_left_out(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    own = create_tenant(organisation, slug="own", by=None)
    save_version(document_of(own), "pipeline: [format]\n", "mine", admin)
    save_version(server_default(), "pipeline: [dedup]\nmode: observe\n", "observe", None)

    assert published_variant(tenant).document["pipeline"] == ["dedup"]
    assert published_variant(own).document["pipeline"] == ["format"]
    assert published_variant(own).host.mode == "observe"


def test_the_packaged_default_has_neither_errors_nor_warnings(db: None) -> None:
    head = ensure_server_default().head

    assert head is not None
    assert head.warnings == []


def test_a_second_start_keeps_an_edited_default(db: None) -> None:
    ensure_server_default()
    save_version(server_default(), "pipeline: []\n", "off", None)
    ensure_server_default()

    head = server_default().head
    assert head is not None
    assert head.source == "pipeline: []\n"


def test_nothing_of_one_tenants_document_reaches_another(
    tenant: Tenant, other_tenant: Tenant, admin: User
) -> None:
    before = tenant_version(other_tenant)
    save_version(document_of(tenant), MASK_5, "keep five", admin)

    assert tenant_version(other_tenant) == before
    assert tenant_document(other_tenant).follows


def test_the_database_refuses_a_second_server_default_and_a_tenant_document_without_tenant(
    db: None,
) -> None:
    ensure_server_default()
    for kind in ("server_default", "tenant"):
        with pytest.raises(IntegrityError), transaction.atomic():
            ConfigDocument.objects.create(kind=kind)


def test_the_database_refuses_a_number_that_is_taken(tenant: Tenant, admin: User) -> None:
    version = save_version(document_of(tenant), MASK_5, "keep five", admin)
    version.pk, version.uid = None, "ver_other"

    with pytest.raises(IntegrityError), transaction.atomic():
        version.save(force_insert=True)
    assert EffectiveRevision.objects.filter(tenant=tenant).count() == 2


@pytest.mark.parametrize("saves", [1, 6])
def test_listing_versions_takes_one_query(
    tenant: Tenant, admin: User, django_assert_num_queries: Any, saves: int
) -> None:
    document = document_of(tenant)
    for number in range(saves):
        save_version(document, f"pipeline: []\n# {number}\n", "change", admin)

    with django_assert_num_queries(1):
        assert len([version.author for version in versions(document)]) == saves
