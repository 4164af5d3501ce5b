"""Tenants, their keys and upstreams as pages (04 §5.9 and 5.13)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.actions import create_tenant, issue_key
from controlplane.accounts.models import DataPlaneKey, Organisation, Tenant, User
from controlplane.accounts.queries import chosen_upstreams
from controlplane.accounts.upstreams import create_upstream
from controlplane.audit.models import AuditEvent
from controlplane.fleet.models import PublishedResource
from controlplane.telemetry.queries.windows import now_ms
from dataplane.core import resource
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.answering import answered
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import a_stream, traffic
from tests.fakes.node import NOTHING, FakeNode

PAGE = "/tenants/orchid"


def text_of(client: Client, path: str = PAGE) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


# ---- the list ---------------------------------------------------------------------------------


def test_the_list_shows_the_tenants_of_ones_own_organisation(
    browser: Browser,
    admin: User,
    tenant: Tenant,
    other_tenant: Tenant,
    node: Callable[[FakeNode], None],
) -> None:
    """What the process that answers has counted itself is not asked: it served none of it."""
    node(FakeNode(NOTHING))
    traffic(tenant.uid, requests=7)
    traffic(other_tenant.uid, requests=9)

    page = text_of(browser(admin), "/tenants")

    assert page.count('<tr><th scope="row">') == 1
    assert ">7 </td>" in page
    assert "nothing lost" in page
    assert "Globex" not in page


@pytest.mark.parametrize(
    ("counted", "others", "said"),
    [
        pytest.param({"requests": 7}, "report", "nothing lost", id="whole"),
        pytest.param({"requests": 7}, "silent", "none known, reports are missing", id="partial"),
        pytest.param({"requests": 7, "expand_missing": 1}, "report", "1 lost", id="lost"),
        pytest.param({"requests": 7, "stash_missing": 2}, "silent", "2 lost", id="on replay"),
    ],
)
def test_nothing_is_called_safe_that_was_not_wholly_reported(
    browser: Browser, admin: User, tenant: Tenant, counted: dict[str, int], others: str, said: str
) -> None:
    traffic(tenant.uid, **counted)
    a_stream("node-b", last_at=now_ms() - (60_000 if others == "silent" else 0))

    page = text_of(browser(admin), "/tenants")

    assert said in page
    assert ("lower bound" in page) == (others == "silent")


def test_an_open_alarm_about_a_loss_leaves_no_row_calm(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    traffic(tenant.uid, requests=7)
    opened(tenant.uid)

    page = text_of(browser(admin), "/tenants")

    assert "an earlier loss is open" in page
    assert "nothing lost" not in page


def test_without_figures_the_list_says_no_data(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    assert text_of(browser(admin), "/tenants").count('<span class="word">no data</span>') == 3


def test_two_organisations_may_use_one_slug_and_both_are_reached(
    browser: Browser, manager: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    client = browser(manager)
    links = re.findall(r'href="(/tenants/[^"]+)"', text_of(client, "/tenants"))

    assert links == [f"/tenants/{tenant.uid}", f"/tenants/{other_tenant.uid}"]
    assert "Acme" in text_of(client, links[0])
    assert "Globex" in text_of(client, links[1])


@pytest.mark.parametrize("count", [1, 50])
def test_the_list_takes_the_same_number_of_queries_for_one_tenant_and_for_fifty(
    browser: Browser,
    admin: User,
    organisation: Organisation,
    django_assert_num_queries: Callable[[int], object],
    count: int,
) -> None:
    for number in range(count):
        create_tenant(organisation, slug=f"tenant-{number}", by=None)
    client = browser(admin)
    client.get("/login")  # the first request of a machine also writes it down

    with django_assert_num_queries(13):  # type: ignore[attr-defined]
        client.get("/tenants")


def test_somebody_without_a_role_is_told_why_the_list_is_empty(
    browser: Browser, tenant: Tenant
) -> None:
    stranger = User.objects.create_user("stranger@example.com", "a long enough one")

    assert "No tenant is yours to see" in text_of(browser(stranger), "/tenants")


# ---- isolation and permissions ----------------------------------------------------------------


def test_a_tenant_of_another_organisation_is_not_found(
    browser: Browser, admin: User, other_tenant: Tenant
) -> None:
    key, _ = issue_key(other_tenant, "theirs", None)
    client = browser(admin)

    for handle in (other_tenant.slug, other_tenant.uid):
        page = f"/tenants/{handle}"
        assert client.get(page).status_code == 404
        assert client.post(f"{page}/keys", {"label": "x"}).status_code == 404
        assert client.post(f"{page}/upstreams", {}).status_code == 404
        assert client.post(f"{page}/keys/{key.uid}/revoke").status_code == 404


def test_a_key_of_another_tenant_is_not_found_under_ones_own(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    key, _ = issue_key(other_tenant, "theirs", None)

    assert browser(admin).post(f"{PAGE}/keys/{key.uid}/revoke").status_code == 404
    key.refresh_from_db()
    assert key.revoked_at is None


def test_a_viewer_sees_no_action_and_the_server_refuses_each(
    browser: Browser, viewer: User, tenant: Tenant
) -> None:
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)
    key, _ = issue_key(tenant, "laptop", None)
    client = browser(viewer)

    page = text_of(client)
    refused = [
        client.post(f"{PAGE}/keys", {"label": "mine"}),
        client.get(f"{PAGE}/keys/{key.uid}/revoke"),
        client.post(f"{PAGE}/keys/{key.uid}/revoke"),
        client.post(f"{PAGE}/upstreams", {"dialect": "anthropic", "upstream": "claude"}),
    ]

    assert "laptop" in page
    assert "Read the document" in page
    assert re.findall(r'<form[^>]*action="(/tenants[^"]*)"', page) == []
    assert "Revoke" not in page
    assert [answer.status_code for answer in refused] == [403] * 4
    assert "This account may not do that." in refused[0].content.decode()
    assert DataPlaneKey.objects.filter(revoked_at=None).count() == 1


# ---- the document -----------------------------------------------------------------------------


def test_a_document_that_nobody_wrote_is_the_deployments(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    page = text_of(browser(admin))

    assert "follows the default" in page
    assert "this tenant has written none of its own" in page


def test_the_page_says_what_the_node_runs_and_since_when(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    assert "waiting for a node" in text_of(browser(admin))

    answered(tenant, status="ack")

    page = text_of(browser(admin))
    assert 'running on 1 node since <time datetime="2026-11-30T14:27:00+00:00"' in page


def test_a_node_that_refuses_is_shown_with_its_problems(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    problem = {
        "code": "config.unknown_component",
        "severity": "error",
        "path": "/pipeline/0",
        "key": None,
        "component": None,
        "line": None,
        "column": None,
        "column_utf16": None,
        "end_line": None,
        "end_column": None,
        "message": "There is no component msk.",
        "reason": None,
    }
    answered(tenant, status="nack", serving_version=4, errors=[problem])

    page = text_of(browser(admin))

    assert "refused by the node" in page
    assert "still serves version 4" in page
    assert "There is no component msk." in page
    assert "server_default@v1:line" in page


# ---- keys and upstreams -----------------------------------------------------------------------


def test_a_new_key_is_shown_once_with_lines_to_paste(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client = browser(admin)

    answer = client.post(f"{PAGE}/keys", {"label": "laptop"})
    page = answer.content.decode()
    (plaintext,) = set(re.findall(r"cg_live_[A-Z2-7]{26}", page))

    assert "no-store" in answer["cache-control"]
    assert page.count(plaintext) == 12  # itself, and the lines of ten clients
    assert "export ANTHROPIC_BASE_URL=http://testserver/anthropic" in page
    assert plaintext not in text_of(client)
    assert f"cg_live_{plaintext[8:16]}…" in text_of(client)


def test_a_key_without_a_label_is_not_issued(browser: Browser, admin: User, tenant: Tenant) -> None:
    answer = browser(admin).post(f"{PAGE}/keys", {"label": " "})

    assert answer.status_code == 422
    assert "Name who or what will use the key." in answer.content.decode()
    assert not DataPlaneKey.objects.exists()


def test_revoking_asks_first_and_then_does_it(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    key, _ = issue_key(tenant, "laptop", None)
    client = browser(admin)
    asked = text_of(client, f"{PAGE}/keys/{key.uid}/revoke")
    key.refresh_from_db()
    assert key.revoked_at is None

    answer = client.post(f"{PAGE}/keys/{key.uid}/revoke")

    key.refresh_from_db()
    assert "Revoke laptop?" in asked
    assert answer["location"] == f"{PAGE}#keys"
    assert key.revoked_at is not None
    assert "revoked <time" in text_of(client)


def test_an_upstream_is_chosen_by_name(browser: Browser, admin: User, tenant: Tenant) -> None:
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)
    client = browser(admin)

    answer = client.post(f"{PAGE}/upstreams", {"dialect": "anthropic", "upstream": "claude"})

    assert answer.status_code == 302
    assert chosen_upstreams(tenant)["anthropic"].name == "claude"
    assert "api.example" not in text_of(client)


@pytest.mark.parametrize("name", ["https://api.example", "nobody", ""])
def test_what_is_not_on_the_list_is_refused(
    browser: Browser, admin: User, tenant: Tenant, name: str
) -> None:
    create_upstream(name="claude", dialect="anthropic", base_url="https://api.example", by=None)

    answer = browser(admin).post(f"{PAGE}/upstreams", {"dialect": "anthropic", "upstream": name})

    assert answer.status_code == 422
    assert chosen_upstreams(tenant) == {}


def test_limits_are_set_on_the_page_and_reach_the_node(
    browser: Browser, admin: User, tenant: Tenant
) -> None:
    client, wanted = browser(admin), {"label": "Orchid", "rpm_limit": "60", "concurrent_limit": "4"}

    wrong = client.post("/tenants/orchid/limits", {**wanted, "rpm_limit": "-1"})
    done = client.post("/tenants/orchid/limits", wanted)

    assert (wrong.status_code, done.status_code) == (422, 302)
    published = PublishedResource.objects.get(type=resource.TENANT, name=tenant.uid)
    body = json.loads(bytes(published.body))
    assert body["limits"] == {"rpm": 60, "concurrency": 4}
    assert 'value="60"' in client.get("/tenants/orchid").content.decode()
    event = AuditEvent.objects.get(action="tenant.change")
    assert event.after == {"label": "Orchid", "rpm_limit": 60, "concurrent_limit": 4}


def test_a_viewer_reads_the_limits(browser: Browser, viewer: User, tenant: Tenant) -> None:
    page = browser(viewer).get("/tenants/orchid").content.decode()

    assert "<dt>Requests per minute</dt><dd>no limit</dd>" in page
    assert "Set the limits" not in page
