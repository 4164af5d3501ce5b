"""Server default, organisation default, preset, tenant: what is merged and whom it reaches.

Source: 04-controlplane-and-dashboard.md 3.2, 3.3, 3.6.
"""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import follow_default, promote, restored, save_version
from controlplane.configs.documents import document_of, org_default, server_default
from controlplane.configs.models import ConfigVersion, EffectiveRevision, Preset
from controlplane.configs.presets import Beginning, archive_preset, create_preset
from controlplane.configs.problems import StaleBaseError
from controlplane.configs.queries import current_revision, tenant_document
from controlplane.fleet import queries as fleet
from dataplane.core import resource
from dataplane.core.config.problems import ConfigError

LEAN = "pipeline: [format, mask]\ncomponents:\n  mask: {keep_recent: 4}\n"


def running(tenant: Tenant) -> EffectiveRevision:
    found = current_revision(tenant)
    assert found is not None
    return found


def keep_recent(tenant: Tenant) -> int:
    found: int = running(tenant).effective["components"]["mask"]["keep_recent"]
    return found


@pytest.fixture
def lean(organisation: Organisation, admin: User) -> Preset:
    return create_preset(organisation, "lean", Beginning(source=LEAN, message="first"), admin)


def test_the_organisation_default_stands_between_the_server_default_and_the_tenant(
    tenant: Tenant, other_tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    save_version(org_default(organisation), "components: {mask: {keep_recent: 6}}\n", "six", admin)

    assert keep_recent(tenant) == 6
    assert keep_recent(other_tenant) == 3
    assert tenant_document(tenant).follows
    save_version(document_of(tenant), "components: {mask: {keep_recent: 7}}\n", "seven", admin)
    assert keep_recent(tenant) == 7
    layers = [layer["layer"] for layer in running(tenant).inputs]
    assert layers == ["server_default", "org_default", "tenant"]


def test_every_value_of_a_revision_has_its_origin_with_a_line(tenant: Tenant, admin: User) -> None:
    save_version(document_of(tenant), "components:\n  mask:\n    keep_recent: 7\n", "seven", admin)

    origins = running(tenant).origins
    assert origins["/components/mask/keep_recent"] == {
        "layer": "tenant", "name": "acme/orchid", "version": 1, "line": 3,
    }  # fmt: skip
    assert origins["/components/mask/min_tokens"]["layer"] == "server_default"
    assert origins["/store/backend"] == {
        "layer": "default", "name": "schema1", "version": None, "line": None,
    }  # fmt: skip


def test_a_revision_says_why_it_came_and_who_caused_it(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    save_version(org_default(organisation), "mode: observe\n", "observe", admin)

    assert (running(tenant).reason, running(tenant).caused_by) == ("default_changed", admin.email)


def test_a_saved_preset_reaches_nobody_until_it_is_promoted(
    tenant: Tenant, lean: Preset, admin: User
) -> None:
    save_version(document_of(tenant), "preset: lean\n", "lean", admin)
    second = save_version(lean.document, LEAN.replace("4", "9"), "nine", admin, based_on=1)

    assert keep_recent(tenant) == 4
    promote(second, "it worked in the lab", admin)
    assert keep_recent(tenant) == 9
    assert running(tenant).reason == "preset_promoted"
    assert running(tenant).inputs[-1]["layer"] == "preset"


def test_a_promotion_gives_each_follower_one_revision_and_the_pinned_none(
    tenant: Tenant, organisation: Organisation, lean: Preset, admin: User
) -> None:
    pinned = create_tenant(organisation, slug="pinned", by=None)
    save_version(document_of(tenant), "preset: lean\n", "lean", admin)
    save_version(document_of(pinned), "preset: lean@1\n", "lean 1", admin)
    before = running(tenant).number, running(pinned).number
    second = save_version(lean.document, LEAN.replace("4", "9"), "nine", admin)

    promote(second, "nine", admin)
    promote(second, "again", admin)

    assert (running(tenant).number, running(pinned).number) == (before[0] + 1, before[1])
    assert keep_recent(pinned) == 4


def test_rolling_back_a_preset_writes_no_text(tenant: Tenant, lean: Preset, admin: User) -> None:
    save_version(document_of(tenant), "preset: lean\n", "lean", admin)
    first = ConfigVersion.objects.get(document=lean.document, number=1)
    promote(save_version(lean.document, LEAN.replace("4", "9"), "nine", admin), "nine", admin)
    count = ConfigVersion.objects.count()

    first.document.refresh_from_db()
    promote(first, "nine was too much", admin)

    assert keep_recent(tenant) == 4
    assert ConfigVersion.objects.count() == count
    assert running(tenant).reason == "rollback"
    event = AuditEvent.objects.filter(action="preset.rollback").get()
    assert (event.before, event.after) == ({"promoted": 2}, {"promoted": 1})


def test_a_preset_may_extend_another(tenant: Tenant, lean: Preset, admin: User) -> None:
    text = "extends: lean\ncomponents: {mask: {min_tokens: 50}}\n"
    create_preset(tenant.organisation, "leaner", Beginning(source=text, message="x"), admin)
    save_version(document_of(tenant), "preset: leaner\n", "leaner", admin)

    mask = running(tenant).effective["components"]["mask"]
    assert (mask["keep_recent"], mask["min_tokens"]) == (4, 50)
    first = ConfigVersion.objects.get(document=lean.document, number=1)
    promote(save_version(first.document, LEAN.replace("4", "5"), "five", admin), "five", admin)
    assert keep_recent(tenant) == 5


def test_another_organisations_preset_does_not_exist_here(
    other_tenant: Tenant, lean: Preset
) -> None:
    with pytest.raises(ConfigError) as refused:
        save_version(document_of(other_tenant), "preset: lean\n", "theirs", None)
    assert refused.value.problems[0].code == "config.preset_not_found"
    assert "lean" not in str(refused.value.problems[0].suggestions)


def test_a_packaged_name_and_a_taken_one_are_refused(lean: Preset, admin: User) -> None:
    for name in ("house", "lean", "Not A Name"):
        with pytest.raises(ValidationError):
            create_preset(lean.organisation, name, Beginning(source=LEAN, message="x"), admin)


def test_an_archived_preset_is_advised_against_and_keeps_its_users(
    tenant: Tenant, organisation: Organisation, lean: Preset, admin: User
) -> None:
    save_version(document_of(tenant), "preset: lean\n", "lean", admin)
    archive_preset(lean, admin)
    archive_preset(lean, admin)

    kept = save_version(document_of(tenant), "preset: lean\nmode: observe\n", "observe", admin)
    fresh = create_tenant(organisation, slug="fresh", by=None)
    new = save_version(document_of(fresh), "preset: lean\n", "lean", admin)

    assert "config.preset_archived" not in {one["code"] for one in kept.warnings}
    assert "config.preset_archived" in {one["code"] for one in new.warnings}
    assert AuditEvent.objects.filter(action="preset.archive").count() == 1


def test_following_the_default_again_is_a_version_and_numbering_goes_on(
    tenant: Tenant, admin: User
) -> None:
    document = document_of(tenant)
    first = save_version(document, "pipeline: []\n", "off", admin)
    stone = follow_default(document, "the default is better", admin, based_on=1)
    assert stone is not None
    assert tenant_document(tenant).follows
    third = save_version(document, "pipeline: []\n", "off again", admin, based_on=2)

    assert [first.number, stone.number, third.number] == [1, 2, 3]
    assert len({first.etag, stone.etag, third.etag}) == 3
    assert not tenant_document(tenant).follows
    assert follow_default(document, "back", admin) == follow_default(document, "twice", admin)


def test_a_restored_text_is_a_new_version(tenant: Tenant, admin: User) -> None:
    document = document_of(tenant)
    first = save_version(document, "pipeline: []\n", "off", admin)
    save_version(document, "pipeline: [format]\n", "on", admin)

    back = restored(first, "on was wrong", admin)

    assert back is not None
    assert (back.number, back.source, back.origin) == (3, first.source, "rollback")


def test_a_save_on_an_older_version_is_refused_with_the_newest(tenant: Tenant, admin: User) -> None:
    document = document_of(tenant)
    save_version(document, "pipeline: []\n", "off", admin, based_on=0)

    with pytest.raises(StaleBaseError) as lost:
        save_version(document, "pipeline: [format]\n", "mine", admin, based_on=0)
    assert lost.value.head.message == "off"


def test_a_default_that_breaks_a_tenant_changes_nothing(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    plain = Beginning(source="pipeline: [format]\n", message="lossless")
    lean = create_preset(organisation, "plain", plain, admin)
    save_version(document_of(tenant), "preset: plain\nstore: {enabled: false}\n", "bare", admin)
    before = server_default().head, running(tenant).number
    promoted = lean.document.promoted

    broken = save_version(lean.document, "pipeline: [dedup]\n", "dedup", admin)
    with pytest.raises(ConfigError):
        promote(broken, "break it", admin)

    lean.document.refresh_from_db()
    assert lean.document.promoted == promoted
    assert (server_default().head, running(tenant).number) == before


def test_a_policy_of_the_organisation_decides_over_its_documents(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    organisation.policy = {**organisation.policy, "irreversible_marker_modes": "deny"}
    organisation.save(update_fields=["policy"])
    text = "pipeline: [mask]\ncomponents: {mask: {marker_mode: off}}\n"

    with pytest.raises(ConfigError) as refused:
        save_version(document_of(tenant), text, "for good", admin)
    assert "config.irreversible_mode" in {one.code for one in refused.value.problems}


def test_the_database_keeps_versions_and_revisions_as_they_were_written(
    tenant: Tenant, admin: User
) -> None:
    save_version(document_of(tenant), "pipeline: []\n", "off", admin)
    for model in (ConfigVersion, EffectiveRevision):
        with pytest.raises(DatabaseError), transaction.atomic():
            model._default_manager.update(schema_version=9)


def test_a_tenant_publishes_once_per_change(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    found = fleet.published(resource.TENANT, tenant.uid)
    assert found is not None
    save_version(org_default(organisation), "mode: observe\n", "observe", admin)

    after = fleet.published(resource.TENANT, tenant.uid)
    assert after is not None
    assert after.envelope.version == found.envelope.version + 1
