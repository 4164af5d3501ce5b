"""Keys of a tenant and agent keys bound to it; a tenant's beginning and end (04 §5.13)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from controlplane.accounts.actions import issue_key, set_disabled
from controlplane.accounts.agent_keys import bind_agent_key
from controlplane.accounts.models import AgentKeyBinding, DataPlaneKey, Tenant, User
from tests.controlplane.ui.conftest import Browser

PAGE = "/tenants/orchid"
AGENT_KEY = "sk-ant-" + "k" * 20


def test_a_key_is_issued_with_a_kind_and_an_end(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)

    client.post(f"{PAGE}/keys", {"label": "CI", "kind": "test", "expires": "30"})
    key = DataPlaneKey.objects.get()
    page = client.get(PAGE).content.decode()

    assert key.kind == "test"
    assert key.expires_at is not None
    assert timedelta(days=29) < key.expires_at - timezone.now() <= timedelta(days=30)
    assert "<td>test</td>" in page


def test_an_expired_key_is_shown_as_expired_and_cannot_be_rotated(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "old", None, expires_at=timezone.now() + timedelta(days=1))
    DataPlaneKey.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    client = browser(admin)

    page = client.get(PAGE).content.decode()
    answer = client.post(f"{PAGE}/keys/{key.uid}/rotate", {"overlap": "24"})

    assert "expired <time" in page
    assert "Rotate…" not in page
    assert answer.status_code == 422
    assert "revoked or expired cannot be rotated" in answer.content.decode()


def test_rotating_shows_the_new_key_and_ends_the_old_one_after_the_overlap(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    client = browser(admin)
    asked = client.get(f"{PAGE}/keys/{key.uid}/rotate").content.decode()

    answer = client.post(f"{PAGE}/keys/{key.uid}/rotate", {"overlap": "1"})

    key.refresh_from_db()
    assert "Rotate laptop?" in asked
    assert len(set(re.findall(r"cg_live_[A-Z2-7]{26}", answer.content.decode()))) == 1
    assert "no-store" in answer["cache-control"]
    assert key.expires_at is not None
    assert timedelta(minutes=59) < key.expires_at - timezone.now() <= timedelta(hours=1)


def test_an_agent_key_is_bound_and_never_shown(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)

    client.post(f"{PAGE}/agent-keys", {"label": "Cline", "agent_key": AGENT_KEY})
    page = client.get(PAGE).content.decode()

    assert '<th scope="row">Cline</th>' in page
    assert AGENT_KEY not in page


@pytest.fixture
def both(tenant: Tenant, other_tenant: Tenant) -> Tenant:
    """A tenant; another one has bound the agent key."""
    bind_agent_key(other_tenant, AGENT_KEY, "theirs", None)
    return tenant


@pytest.mark.parametrize(
    ("agent_key", "status", "sentence"),
    [
        pytest.param("short", 422, "A key has at least 20 characters.", id="key.too_short"),
        pytest.param(AGENT_KEY, 409, "bound to another tenant", id="key.bound_elsewhere"),
    ],
)
def test_an_agent_key_that_cannot_be_bound_is_refused_in_words_and_not_echoed(
    browser: Browser, admin: User, both: Tenant, agent_key: str, status: int, sentence: str
) -> None:
    answer = browser(admin).post(f"{PAGE}/agent-keys", {"label": "Cline", "agent_key": agent_key})
    page = answer.content.decode()

    assert answer.status_code == status
    assert sentence in page
    assert f'value="{agent_key}"' not in page
    assert "Globex" not in page
    assert AgentKeyBinding.objects.count() == 1


def test_unbinding_asks_first(browser: Browser, admin: User, tenant: Tenant) -> None:
    bound = bind_agent_key(tenant, AGENT_KEY, "Cline", None)
    client = browser(admin)
    path = f"{PAGE}/agent-keys/{bound.uid}/unbind"

    assert "Unbind Cline?" in client.get(path).content.decode()
    assert AgentKeyBinding.objects.exists()
    assert client.post(path)["location"] == f"{PAGE}#agent-keys"
    assert not AgentKeyBinding.objects.exists()


# ---- a tenant's beginning and end -------------------------------------------------------------


def test_a_new_tenant_leads_to_its_connect_page(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    organisation = tenant.organisation.uid

    answer = browser(admin).post(
        "/new-tenant", {"organisation": organisation, "slug": "fern", "label": ""}
    )

    made = Tenant.objects.get(slug="fern")
    assert answer["location"] == f"/connect/{made.uid}"
    assert made.label == "fern"


@pytest.mark.parametrize(
    ("slug", "sentence"), [("Not good", "2 to 40 lower-case letters"), ("orchid", "already exists")]
)
def test_a_tenant_that_cannot_be_is_refused_beside_its_form(
    browser: Browser, admin: User, tenant: Tenant, slug: str, sentence: str
) -> None:
    answer = browser(admin).post(
        "/new-tenant", {"organisation": tenant.organisation.uid, "slug": slug}
    )

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert f'value="{slug}"' in answer.content.decode()


def test_nobody_makes_a_tenant_in_an_organisation_that_is_not_theirs(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    answer = browser(admin).post(
        "/new-tenant", {"organisation": other_tenant.organisation.uid, "slug": "fern"}
    )

    assert answer.status_code == 422
    assert not Tenant.objects.filter(slug="fern").exists()


def test_disabling_takes_a_reason_that_everybody_reads(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)

    without = client.post(f"{PAGE}/switch", {"reason": " "})
    client.post(f"{PAGE}/switch", {"reason": "unpaid"})

    tenant.refresh_from_db()
    assert without.status_code == 422
    assert tenant.disabled_reason == "unpaid"
    assert "traffic turned away: unpaid" in client.get(PAGE).content.decode()


def test_enabling_asks_first_and_a_late_reason_never_enables(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    set_disabled(tenant, reason="unpaid", by=None)
    client = browser(admin)

    client.post(f"{PAGE}/switch", {"reason": "moved"})
    tenant.refresh_from_db()
    assert tenant.disabled_reason == "moved"

    assert "Enable orchid?" in client.get(f"{PAGE}/switch").content.decode()
    client.post(f"{PAGE}/switch")
    tenant.refresh_from_db()
    assert tenant.disabled_at is None
