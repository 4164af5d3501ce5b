"""Before and after, and the gates in front of it (04 §5.7, 5.13, 8.7)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from controlplane.accounts.capture import Gate, allow, consent
from controlplane.accounts.models import Tenant, User
from controlplane.audit.models import AuditEvent
from controlplane.telemetry.captured import packed
from controlplane.telemetry.models import ContentBlob, RequestRecord
from tests.controlplane.conftest import person
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import IMAGE, a_session

pytestmark = pytest.mark.django_db
BEFORE = f"first\nthe hushed\u202e log {IMAGE}\n" + "same\n" * 20
AFTER = "first\n<<cg:c9f0f895fb98ab91>>\n" + "same\n" * 20


def first_turn(tenant: Tenant) -> RequestRecord:
    return RequestRecord.objects.filter(tenant_uid=tenant.uid, turn=1).get()


def with_texts(tenant: Tenant, **said: Any) -> str:
    """A session whose first turn has a kept text; the address of its comparison."""
    a_session(tenant.uid)
    turn = first_turn(tenant)
    RequestRecord.objects.filter(pk=turn.pk).update(captured=True, **said)
    ContentBlob.objects.create(
        request=turn, seq=0, path="messages[2]", before_tokens=400, after_tokens=12,
        before_z=packed(BEFORE), after_z=packed(AFTER), components=["format", "mask"],
        redactions=2, is_cut=True,
    )  # fmt: skip
    return f"/sessions/{tenant.uid}/s1/texts/{turn.uid}"


def page_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


# ---- reading -----------------------------------------------------------------------------------


def test_the_texts_of_a_turn_are_compared_and_the_reading_leaves_a_line(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    place, client = with_texts(tenant, texts_left_out=3), browser(admin)

    assert place in page_of(client, f"/sessions/{tenant.uid}/s1")
    asked = page_of(client, place)
    assert "hushed" not in asked
    assert not AuditEvent.objects.filter(action="content.read").exists()
    answer = client.post(place)

    page = answer.content.decode()
    assert "no-store" in answer["cache-control"]
    assert "⟨U+202E⟩" in page
    assert "\u202e" not in page
    assert IMAGE not in page
    assert "onerror" in page
    assert '<span class="sr">removed </span>' in page
    assert '<span class="sr">added </span>' in page
    assert "equal line" in page
    for said in ("messages[2]", "400 → 12 tokens", "<code>format</code>, then <code>mask</code>",
                 "taken out", "only the beginning is kept", "3 more changed"):  # fmt: skip
        assert said in page.replace("\N{NO-BREAK SPACE}", " "), said
    event = AuditEvent.objects.get(action="content.read")
    assert event.after == {"session": "s1", "request": first_turn(tenant).uid, "texts": 1}


def test_without_the_permission_there_is_neither_text_nor_link(
    browser: Browser, viewer: User, tenant: Tenant
) -> None:
    place = with_texts(tenant)

    page = page_of(browser(viewer), f"/sessions/{tenant.uid}/s1")

    assert 'data-state="not_permitted"' in page
    assert place not in page
    assert browser(viewer).get(place).status_code == 403
    assert browser(viewer).post(place).status_code == 403
    assert not AuditEvent.objects.filter(action="content.read").exists()


def test_the_page_of_a_request_leads_to_its_texts_for_whoever_may_read_them(
    browser: Browser, admin: User, viewer: User, tenant: Tenant
) -> None:
    place = with_texts(tenant)
    page = f"/requests/{first_turn(tenant).uid}"

    assert f'href="{place}"' in page_of(browser(admin), page)
    assert place not in page_of(browser(viewer), page)


def test_a_turn_of_another_session_or_tenant_is_absent(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    place = with_texts(tenant)
    a_session(tenant.uid, "s2", turns=1)
    foreign = person("admin", other_tenant.organisation, "foreign@example.com")

    assert browser(admin).post(place.replace("/s1/", "/s2/")).status_code == 404
    assert browser(foreign).post(place).status_code == 404


# ---- why there is none -------------------------------------------------------------------------


@pytest.mark.parametrize("gate", Gate)
def test_a_session_without_texts_names_the_gate_and_who_opens_it(
    browser: Browser, admin: User, tenant: Tenant, settings: Any, gate: Gate
) -> None:
    a_session(tenant.uid)
    settings.CAPTURE_CONTENT = gate is not Gate.DEPLOYMENT
    allow(tenant.organisation, allowed=gate is not Gate.ORGANISATION, by=None)
    consent(tenant, agreed=gate is not Gate.TENANT, by=None)

    page = page_of(browser(admin), f"/sessions/{tenant.uid}/s1")

    assert 'data-state="not_captured"' in page
    assert f"not captured; blocked by the {gate}" in page
    opens = {
        Gate.DEPLOYMENT: "HEADRACE_CAPTURE_CONTENT=1",
        Gate.ORGANISATION: "administrator of the organisation",
        Gate.TENANT: "on the page of the tenant",
    }
    assert opens[gate] in page


def test_a_session_from_before_the_consent_says_so(
    browser: Browser, admin: User, tenant: Tenant, settings: Any
) -> None:
    a_session(tenant.uid)
    settings.CAPTURE_CONTENT = True
    allow(tenant.organisation, allowed=True, by=None)
    consent(tenant, agreed=True, by=None)

    page = page_of(browser(admin), f"/sessions/{tenant.uid}/s1")

    assert "blocked by" not in page
    assert "not agreed to when it was sent" in page


def test_a_session_that_nothing_was_taken_from_has_nothing_to_compare(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    a_session(tenant.uid, turns=1)
    turn = first_turn(tenant)
    turn.runs = {"mask": {"kind": "offload", "skipped": True}}
    turn.save(update_fields=["runs"])

    page = page_of(browser(admin), f"/sessions/{tenant.uid}/s1")

    assert 'data-state="nothing_changed"' in page


def test_a_session_whose_requests_are_gone_has_expired(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    with_texts(tenant)
    RequestRecord.objects.all().delete()

    page = page_of(browser(admin), f"/sessions/{tenant.uid}/s1")

    assert 'data-state="expired_by_retention"' in page
    assert not ContentBlob.objects.exists()


# ---- the switches ------------------------------------------------------------------------------


def test_agreeing_says_who_can_read_and_is_shown_with_a_name(
    browser: Browser, admin: User, tenant: Tenant, settings: Any
) -> None:
    settings.CAPTURE_CONTENT = True
    client = browser(admin)
    asked = page_of(client, "/tenants/orchid/texts/agree")
    assert "Operators, administrators and managers can read it" in asked
    assert "incomplete" in asked

    client.post("/members/acme/texts/allow")
    client.post("/tenants/orchid/texts/agree")

    page = page_of(client, "/tenants/orchid")
    assert "changed texts are kept" in page
    assert f"{admin.email} agreed on" in page
    tenant.refresh_from_db()
    assert tenant.capture_content


def test_agreeing_below_a_closed_gate_says_what_it_waits_for(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    answer = browser(admin).post("/tenants/orchid/texts/agree", follow=True)

    assert "It begins when the gate of the deployment opens." in answer.content.decode()


def test_a_withdrawal_offers_to_purge_what_was_kept(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    with_texts(tenant)
    consent(tenant, agreed=True, by=None)
    client = browser(admin)

    offered = client.post("/tenants/orchid/texts/withdraw")
    assert offered["location"] == "/tenants/orchid/texts/purge"
    assert "Purge the kept texts" in page_of(client, "/tenants/orchid/texts/purge")
    client.post("/tenants/orchid/texts/purge")

    assert not ContentBlob.objects.exists()
    assert "No text of this tenant is kept." in page_of(client, "/tenants/orchid/texts/purge")
    assert AuditEvent.objects.get(action="content.purge").actor_label == admin.email


def test_a_withdrawal_with_nothing_kept_leads_back(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    answer = browser(admin).post("/tenants/orchid/texts/withdraw")

    assert answer["location"] == "/tenants/orchid#texts"


def test_an_organisation_closes_the_gate_of_all_its_tenants(
    browser: Browser, admin: User, tenant: Tenant, settings: Any
) -> None:
    settings.CAPTURE_CONTENT = True
    allow(tenant.organisation, allowed=True, by=None)
    consent(tenant, agreed=True, by=None)
    client = browser(admin)
    assert "Close this gate" in page_of(client, "/members/acme")

    client.post("/members/acme/texts/forbid")

    assert "no tenant here keeps any" in page_of(client, "/members/acme")
    assert "not kept: all three gates must be open" in page_of(client, "/tenants/orchid")
