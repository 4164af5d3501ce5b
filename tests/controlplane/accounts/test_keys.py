"""Data-plane keys that expire and rotate, and bound agent keys (04 §1.1, 03 §1.3)."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import msgspec
import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from controlplane.accounts.actions import issue_key, retire_expired, revoke_key, rotate_key
from controlplane.accounts.agent_keys import bind_agent_key, unbind_agent_key
from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant
from controlplane.accounts.problems import BoundElsewhereError, KeyTooShortError
from controlplane.accounts.queries import agent_keys_of, keys_of
from controlplane.audit.models import AuditEvent
from controlplane.fleet import queries
from dataplane.core import resource

AGENT_KEY = "sk-ant-0123456789abcdef"
SOON = timedelta(hours=1)


def digests() -> dict[str, str]:
    """Every published digest with its kind."""
    found: dict[str, str] = {}
    for shard in "0123456789abcdef":
        published = queries.published(resource.AUTH_INDEX, shard)
        assert published is not None
        for digest, kind, _, _ in msgspec.json.decode(
            published.body, type=list[resource.AuthEntry]
        ):
            found[digest] = kind
    return found


def expire(key: DataPlaneKey) -> None:
    DataPlaneKey.objects.filter(pk=key.pk).update(expires_at=timezone.now())


def test_a_key_that_expired_leaves_the_nodes_with_the_next_look(tenant: Tenant) -> None:
    key, _ = issue_key(tenant, "guest", None, expires_at=timezone.now() + SOON)
    assert retire_expired(timezone.now()) == 0
    assert key.key_hash in digests()

    expire(key)

    assert retire_expired(timezone.now()) == 1
    assert key.key_hash not in digests()
    assert retire_expired(timezone.now()) == 0
    assert AuditEvent.objects.filter(action="key.expire").count() == 1
    assert not any(each.is_live(timezone.now()) for each in keys_of(tenant))


def test_a_key_cannot_be_issued_expired(tenant: Tenant) -> None:
    with pytest.raises(ValidationError):
        issue_key(tenant, "late", None, expires_at=timezone.now())


def test_a_kind_is_live_or_test(tenant: Tenant) -> None:
    assert issue_key(tenant, "try", None, kind="test")[0].kind == "test"
    with pytest.raises(ValidationError):
        issue_key(tenant, "try", None, kind="prod")


def test_both_keys_work_during_a_rotation_and_belong_to_one_principal(tenant: Tenant) -> None:
    old, _ = issue_key(tenant, "ci", None, kind="test")

    fresh, _ = rotate_key(old, None, overlap=SOON)

    assert {old.key_hash, fresh.key_hash} <= set(digests())
    assert (fresh.principal, fresh.label, fresh.kind) == (old.principal, "ci", "test")
    assert (fresh.expires_at, old.is_live(timezone.now() + SOON)) == (None, False)
    assert list(keys_of(tenant)) == [fresh, old]


def test_a_key_that_was_revoked_meanwhile_is_not_rotated(tenant: Tenant) -> None:
    key, _ = issue_key(tenant, "ci", None)
    loaded_before = DataPlaneKey.objects.select_related("tenant__organisation").get()
    revoke_key(key, None)

    with pytest.raises(ValidationError):
        rotate_key(loaded_before, None)
    revoke_key(loaded_before, None)

    assert DataPlaneKey.objects.get() == key
    assert AuditEvent.objects.filter(action="key.revoke").count() == 1


def test_without_an_overlap_the_old_key_leaves_at_once(tenant: Tenant) -> None:
    old, _ = issue_key(tenant, "ci", None)

    rotate_key(old, None, overlap=timedelta(0))

    assert old.key_hash not in digests()


def test_rotation_never_lengthens_the_old_key_and_keeps_the_lifetime(tenant: Tenant) -> None:
    until = timezone.now() + SOON
    old, _ = issue_key(tenant, "ci", None, expires_at=until)

    fresh, _ = rotate_key(old, None, overlap=timedelta(days=7))

    assert old.expires_at == until
    assert fresh.expires_at is not None
    assert timedelta(0) < fresh.expires_at - timezone.now() <= SOON


@pytest.mark.parametrize("overlap", [timedelta(days=7, seconds=1), timedelta(seconds=-1)])
def test_an_overlap_of_keys_is_at_most_seven_days(tenant: Tenant, overlap: timedelta) -> None:
    key, _ = issue_key(tenant, "ci", None)

    with pytest.raises(ValidationError):
        rotate_key(key, None, overlap=overlap)


def test_a_revoked_key_cannot_be_rotated(tenant: Tenant) -> None:
    key, _ = issue_key(tenant, "ci", None)
    revoke_key(key, None)

    with pytest.raises(ValidationError):
        rotate_key(key, None)


def test_a_bound_agent_key_is_published_by_its_digest_as_one(tenant: Tenant) -> None:
    binding = bind_agent_key(tenant, f" {AGENT_KEY}\n", "Cline", None)
    digest = hashlib.sha256(AGENT_KEY.encode()).hexdigest()

    assert digests() == {digest: resource.AGENT_KEY_KIND}
    assert list(agent_keys_of(tenant)) == [binding]
    assert AGENT_KEY not in str(list(AuditEvent.objects.values()))

    unbind_agent_key(binding, None)
    assert digests() == {}


def test_a_key_of_twenty_characters_is_long_enough_and_one_of_nineteen_is_not(
    tenant: Tenant,
) -> None:
    assert bind_agent_key(tenant, "k" * 20, "ok", None)
    with pytest.raises(KeyTooShortError) as refused:
        bind_agent_key(tenant, "k" * 19 + "  ", "short", None)

    assert (refused.value.code, refused.value.status) == ("key.too_short", 422)


def test_a_key_that_is_bound_elsewhere_is_never_moved(tenant: Tenant, other_tenant: Tenant) -> None:
    theirs = bind_agent_key(other_tenant, AGENT_KEY, "theirs", None)

    with pytest.raises(BoundElsewhereError) as refused:
        bind_agent_key(tenant, AGENT_KEY, "ours", None)

    assert (refused.value.code, refused.value.status) == ("key.bound_elsewhere", 409)
    assert AgentKeyBinding.objects.get() == theirs


def test_binding_a_key_to_its_tenant_again_changes_nothing(tenant: Tenant) -> None:
    first = bind_agent_key(tenant, AGENT_KEY, "one", None)

    assert bind_agent_key(tenant, AGENT_KEY, "two", None) == first
    assert AuditEvent.objects.filter(action="agent_key.bind").count() == 1


def test_a_credential_of_ours_stands_for_no_provider_key(tenant: Tenant) -> None:
    _, plaintext = issue_key(tenant, "ci", None)

    with pytest.raises(ValidationError, match="Bind the provider's"):
        bind_agent_key(tenant, plaintext, "mistaken", None)
