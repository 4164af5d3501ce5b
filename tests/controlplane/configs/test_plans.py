"""Plans and the use of presets (04 §1.2, 3.2, 4.8)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controlplane.accounts.actions import create_tenant
from controlplane.accounts.models import Organisation, Tenant, User
from controlplane.accounts.scopes import scope_of_user
from controlplane.audit.models import AuditEvent
from controlplane.configs.actions import save_version
from controlplane.configs.documents import document_of, org_default
from controlplane.configs.models import ConfigVersion, EffectiveRevision
from controlplane.configs.plans import Proposal, apply_plan, make_plan
from controlplane.configs.preset_rows import preset_rows
from controlplane.configs.presets import Beginning, create_preset
from controlplane.configs.problems import PlanExpiredError, PlanStaleError, StateError
from controlplane.configs.usage import usage_of
from dataplane.core.config.presets import BUILT_IN
from dataplane.core.config.problems import ConfigError

LEAN = "pipeline: [format, mask]\n"


def counts() -> tuple[int, int, int]:
    return (
        ConfigVersion.objects.count(),
        EffectiveRevision.objects.count(),
        AuditEvent.objects.count(),
    )


def test_a_plan_says_what_would_change_and_changes_nothing(tenant: Tenant, admin: User) -> None:
    before = counts()

    plan = make_plan([Proposal(document_of(tenant), LEAN)], "lean", admin)

    assert counts() == before
    (affected,) = plan.affected
    assert affected["tenant"] == tenant.uid
    assert any("Removes `dedup`" in sentence for sentence in affected["sentences"])
    assert plan.base == {document_of(tenant).uid: "d0"}
    assert "+pipeline: [format, mask]" in plan.diff[0]["unified"]


def test_carrying_out_a_plan_saves_all_of_it_once(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    documents = [document_of(tenant), org_default(organisation)]
    texts = (LEAN, "mode: observe\n")
    plan = make_plan(list(map(Proposal, documents, texts)), "both", admin)

    versions = apply_plan(plan, documents, admin)

    assert [version.source for version in versions] == list(texts)
    assert {version.origin for version in versions} == {"api"}
    assert AuditEvent.objects.filter(action="plan.apply").count() == 1
    with pytest.raises(StateError):
        apply_plan(plan, documents, admin)


def test_a_plan_is_stale_once_anything_below_it_moved(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    document = document_of(tenant)
    plan = make_plan([Proposal(document, LEAN)], "lean", admin)
    save_version(org_default(organisation), "mode: observe\n", "observe", admin)
    before = counts()

    with pytest.raises(PlanStaleError):
        apply_plan(plan, [document], admin)
    assert counts() == before


def test_a_plan_is_good_for_a_day(tenant: Tenant, admin: User) -> None:
    plan = make_plan([Proposal(document_of(tenant), LEAN)], "lean", admin)
    plan.expires_at -= timedelta(hours=25)
    plan.save(update_fields=["expires_at"])

    with pytest.raises(PlanExpiredError):
        apply_plan(plan, [document_of(tenant)], admin)


def test_a_plan_of_wrong_texts_names_the_problems_of_all_of_them(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    wrong = [
        Proposal(document_of(tenant), "pipeline: [msk]\n"),
        Proposal(org_default(organisation), "mod: sync\n"),
    ]
    with pytest.raises(ConfigError) as refused:
        make_plan(wrong, "wrong", admin)

    named = [one.document.name for one in refused.value.problems if one.document]
    assert named == ["acme/orchid", "acme"]


def test_usage_lists_tenants_and_presets_following_and_pinned(
    tenant: Tenant, organisation: Organisation, admin: User
) -> None:
    lean = create_preset(organisation, "lean", Beginning(source=LEAN, message="x"), admin)
    text = "extends: lean@1\n"
    create_preset(organisation, "leaner", Beginning(source=text, message="x"), admin)
    follower = create_tenant(organisation, slug="follower", by=None)
    create_tenant(organisation, slug="bystander", by=None)
    save_version(document_of(tenant), "preset: leaner\n", "leaner", admin)
    save_version(document_of(follower), "preset: lean\n", "lean", admin)

    usage = usage_of("lean", lean.organisation, [organisation])

    assert [(user.kind, user.name, user.pinned, user.via) for user in usage.users] == [
        ("tenant", "acme/follower", None, ""),
        ("tenant", "acme/orchid", 1, "leaner"),
        ("preset", "leaner", 1, ""),
    ]
    assert (usage.following, usage.pinned) == (1, 2)


def test_the_list_of_presets_shows_the_packaged_ones_and_ones_own(
    tenant: Tenant, other_tenant: Tenant, admin: User
) -> None:
    first = Beginning(source=LEAN, message="x", cloned_from="house@0")
    create_preset(tenant.organisation, "lean", first, admin)
    create_preset(other_tenant.organisation, "theirs", Beginning(source=LEAN, message="x"), None)

    rows = preset_rows(scope_of_user(admin))

    assert [row.name for row in rows] == [*(preset.name for preset in BUILT_IN), "lean"]
    lean = rows[-1]
    assert (lean.pipeline, lean.is_lossy, lean.calls_model) == (("format", "mask"), True, False)
    assert lean.base_changed


@pytest.mark.parametrize("count", [1, 12])
def test_listing_presets_takes_the_same_number_of_queries_for_one_and_for_many(
    organisation: Organisation, admin: User, django_assert_num_queries: object, count: int
) -> None:
    for number in range(count):
        create_preset(organisation, f"lean-{number}", Beginning(source=LEAN, message="x"), admin)
    scope = scope_of_user(admin)

    with django_assert_num_queries(6):  # type: ignore[operator]
        assert len(preset_rows(scope)) == len(BUILT_IN) + count
