"""Alarms, sessions, requests, nodes, system and channels through the client (04 §5)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.accounts.models import Tenant, User
from controlplane.alarms.models import Alarm
from controlplane.telemetry.models import MarkerRecord, RequestRecord
from controlplane.telemetry.queries.windows import now_ms
from dataplane.adapters.request_ids import new_request_id
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.watched import (
    BREAKS_OUT,
    IMAGE,
    MARKER,
    a_request,
    a_session,
    a_stream,
)
from tests.fakes.node import FakeNode

Register = Callable[[FakeNode], None]
pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])
EMPTY = {
    "/alarms": "No open alarms",
    "/sessions": "No session yet",
    "/requests": "No request yet",
    "/nodes": "No node yet",
    "/system": "Not run yet: alarm_history, pulse",
    "/settings/channels/_deployment": "Nobody is told",
}


@pytest.fixture
def everyone(browser: Browser, manager: User, tenant: Tenant) -> Client:
    """The client of who manages the deployment."""
    return browser(manager)


@pytest.mark.parametrize("path", EMPTY)
def test_an_empty_page_says_why_it_is_empty(everyone: Client, path: str) -> None:
    answer = everyone.get(path)

    assert answer.status_code == 200
    assert EMPTY[path] in answer.content.decode()


def text_of(client: Client, path: str, **query: str) -> str:
    answer = client.get(path, query)
    assert answer.status_code == 200, path
    return answer.content.decode()


# ---- alarms ------------------------------------------------------------------------------------


def test_a_loss_is_red_on_every_page_until_it_is_resolved(
    everyone: Client, tenant: Tenant, manager: User
) -> None:
    alarm = opened(tenant.uid)
    place = f"/alarms/{alarm.uid}"

    for path in ("/", "/tenants", "/alarms", "/sessions"):
        assert "1 original lost on node-b" in text_of(everyone, path), path
    everyone.post(f"{place}/acknowledge", {"comment": "looking at the disk"})
    assert f"{manager.email} has it" in text_of(everyone, "/tenants")
    assert "looking at the disk" in text_of(everyone, place)
    everyone.post(f"{place}/resolve", {"resolution": "moved to sqlite"})
    assert "1 original lost" not in text_of(everyone, "/tenants")
    assert "moved to sqlite" in text_of(everyone, place)


def test_the_bell_says_what_changed_once(everyone: Client, tenant: Tenant) -> None:
    calm = everyone.get("/bell", {"known": ""}).content.decode()
    assert "No open alarms" in calm
    assert "banner" not in calm

    alarm = opened(tenant.uid)
    rung = everyone.get("/bell", {"known": ""}).content.decode()
    assert rung.count('role="alert"') == 1
    assert f"/alarms/{alarm.uid}" in rung
    known = re.findall(r'name="known" value="([^"]*)"', rung)[0]
    assert "banner" not in everyone.get("/bell", {"known": known}).content.decode()


def test_the_page_of_a_loss_shows_its_evidence(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)
    page = text_of(everyone, f"/alarms/{opened(tenant.uid).uid}")

    for said in ("&lt;&lt;cg:c9f0f895fb98ab91&gt;&gt;", "Asked for, not found", "Turn 41", "mask"):
        assert said in page
    assert f'href="/sessions/{tenant.uid}/s1"' in page


def test_an_answer_without_words_is_refused_with_a_reason(everyone: Client, tenant: Tenant) -> None:
    alarm = opened(tenant.uid)

    answer = everyone.post(f"/alarms/{alarm.uid}/acknowledge", {"comment": " "})

    assert answer.status_code == 422
    assert "required" in answer.content.decode()


@pytest.mark.parametrize("act", ["acknowledge", "resolve", "silence"])
def test_a_viewer_sees_an_alarm_and_may_not_answer_it(
    browser: Browser, viewer: User, tenant: Tenant, act: str
) -> None:
    alarm, client = opened(tenant.uid), browser(viewer)
    page = text_of(client, f"/alarms/{alarm.uid}")

    assert "<form" not in page.split('id="main"')[1]
    sent = {"comment": "x", "resolution": "x", "reason": "x", "until": "1"}
    assert client.post(f"/alarms/{alarm.uid}/{act}", sent).status_code == 403
    alarm.refresh_from_db()
    assert alarm.state == "firing"


# ---- sessions and requests ---------------------------------------------------------------------


def test_a_session_shows_its_turns_and_what_was_taken_out(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)

    assert "s1" in text_of(everyone, "/sessions")
    page = text_of(everyone, f"/sessions/{tenant.uid}/s1")
    assert page.count('<td class="tiers">') == 3
    assert "&lt;&lt;cg:c9f0f895fb98ab91&gt;&gt;" in page


def test_a_session_names_what_its_savings_are_a_share_of(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid, attempted_tokens=40_000, fresh_input=1_000, cache_write=5_014)
    a_session(tenant.uid, "s2", turns=1, attempted_tokens=None, cache_read=0)

    page = text_of(everyone, f"/sessions/{tenant.uid}/s1")
    shares = re.findall(r'class="v">([\d.]+)<', page)
    assert shares == ["75.0", "50.0", "33.3", "6.7"]
    assert "of the 40,000 tokens it was allowed to touch" in page
    older = text_of(everyone, f"/sessions/{tenant.uid}/s2").split('id="ratios"')[1]
    assert older.split("</section>")[0].count("no data") == 2


def test_filters_that_hide_everything_say_so(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)

    assert "No session matches" in text_of(everyone, "/sessions", search="zzz")
    assert "No request matches" in text_of(everyone, "/requests", model="zzz")


def test_the_id_in_the_header_of_an_answer_finds_its_request(
    everyone: Client, tenant: Tenant
) -> None:
    said = new_request_id()
    row = a_request(tenant.uid, "s1", 1, uid=said, model="the-one")
    a_request(tenant.uid, "s1", 2, model="another")

    for spelt in (said, f" {said.upper()} ", said.removeprefix("req_")):
        page = text_of(everyone, "/requests", request=spelt)
        assert "the-one" in page
        assert "another" not in page
    assert said in text_of(everyone, f"/requests/{said.removeprefix('req_')}")
    assert row.uid == said


def test_requests_are_paged_without_a_gap(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid, turns=60)
    first = text_of(everyone, "/requests")
    older = re.findall(r'href="(/requests\?[^"]*)">Older', first)[0].replace("&amp;", "&")
    second = text_of(everyone, older)

    uids = re.findall(r'href="/requests/(01kb\d+)"', first + second)
    assert len(uids) == len(set(uids)) == 60


def test_a_request_without_usage_or_price_shows_words_and_no_zero(
    everyone: Client, tenant: Tenant
) -> None:
    row = a_request(
        tenant.uid, "s1", 1, accounting="missing", cost_usd=None, fresh_input=0, shaped=False,
        bypassed="observe",
    )  # fmt: skip

    page = text_of(everyone, f"/requests/{row.uid}")

    assert "no data" in page
    assert "unknown" in page
    assert "$0.00" not in page
    assert "as sent" in page


# ---- nodes and system -------------------------------------------------------------------


def test_nodes_always_say_their_denominator(everyone: Client, tenant: Tenant) -> None:
    a_stream("node-a")
    a_stream("node-d", last_at=1)

    page = text_of(everyone, "/nodes")

    assert "of 1" in page
    assert "1 offline" in page
    assert "Loss counters there are unknown" in page


@pytest.mark.usefixtures("forced")
def test_a_node_says_what_its_environment_sets_above_every_document(everyone: Client) -> None:
    """08 §K-19."""
    a_stream("node-a")

    page = text_of(everyone, "/nodes/node-a")

    assert "HEADRACE_FORCE_MODEL=m9" in page
    assert "HEADRACE_DERIVE=v2" in page


def test_a_node_names_no_tenant_of_others(
    browser: Browser, viewer: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    a_stream("node-a")

    page = text_of(browser(viewer), "/nodes/node-a")

    assert "tenant orchid" in page
    assert other_tenant.uid not in page
    assert browser(viewer).get("/nodes/node-x").status_code == 404


def test_the_product_is_for_managers(browser: Browser, admin: User, tenant: Tenant) -> None:
    assert browser(admin).get("/system").status_code == 403
    assert "/system" not in text_of(browser(admin), "/tenants")


# ---- what holds for all ------------------------------------------------------------------------


def everywhere(tenant: str) -> list[str]:
    """Every page that shows something of a tenant."""
    alarm = Alarm.objects.get(tenant__uid=tenant).uid
    request = RequestRecord.objects.filter(tenant_uid=tenant).latest("id").uid
    single = [
        f"/alarms/{alarm}",
        f"/requests/{request}",
        f"/sessions/{tenant}/s1",
        f"/sessions/{tenant}/s1/markers/{MARKER}",
    ]
    return ["/alarms", "/alarms?state=", "/sessions", "/requests", "/bell", *single]


def test_another_organisation_is_told_nothing(
    browser: Browser, admin: User, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Foreign and unknown answer alike, and no list, count or bell holds a foreign value."""
    a_session(other_tenant.uid, model_names="foreign-model")
    opened(other_tenant.uid, node="foreign-node")
    client = browser(admin)

    lists, single = everywhere(other_tenant.uid)[:5], everywhere(other_tenant.uid)[5:]
    for path in lists:
        page = text_of(client, path)
        assert "foreign-" not in page, path
        assert other_tenant.uid not in page, path
    for path in single:
        assert client.get(path).status_code == 404, path
        assert client.post(path).status_code in {404, 405}, path
    alarm = Alarm.objects.get()
    for act in ("acknowledge", "resolve", "silence"):
        assert client.post(f"/alarms/{alarm.uid}/{act}", {"comment": "x"}).status_code == 404
    assert client.get("/sessions", {"tenant": other_tenant.uid}).status_code == 404


@pytest.mark.parametrize("hostile", [IMAGE, BREAKS_OUT])
def test_what_an_agent_chooses_is_text_on_every_page(
    everyone: Client, tenant: Tenant, hostile: str
) -> None:
    """Case R-22 of 08: session, model, route, tool, component, gate, cause and error."""
    a_session(tenant.uid, hostile, turns=1, model_names=hostile)
    a_session(tenant.uid, model_names=hostile)
    row = a_request(
        tenant.uid, hostile, 9, model=hostile, route=hostile[:30], provider=hostile[:30],
        error_code=hostile, bypassed=hostile, status=400, thread=hostile, node_id=hostile[:30],
        recoveries=[{"id": hostile, "found": hostile}],
        runs={
            hostile: {"kind": "x", "error": hostile, "gates": {hostile: 1}, "events": {hostile: 2}}
        },
    )  # fmt: skip
    MarkerRecord.objects.filter(session_uid="s1").update(component=hostile)
    opened(
        tenant.uid, session=hostile, marker=hostile[:32], component=hostile, cause=hostile[:32],
        node=hostile[:30], detail=hostile,
    )  # fmt: skip
    a_stream(hostile[:30])

    paths = [*everywhere(tenant.uid), f"/requests/{row.uid}", "/nodes", "/"]
    paths += re.findall(r'href="(/sessions/[^"]*)"', text_of(everyone, "/sessions"))
    for path in paths:
        page = text_of(everyone, path)
        assert "<img src=x" not in page, path
        assert "<svg onload" not in page, path
    assert "alert(" in text_of(everyone, f"/requests/{row.uid}")


@pytest.mark.parametrize("path", ["/alarms", "/sessions", "/requests", "/nodes"])
def test_a_list_asks_the_databases_as_often_for_fifty_rows_as_for_one(
    everyone: Client, tenant: Tenant, path: str
) -> None:
    def asked() -> int:
        with (
            CaptureQueriesContext(connections["default"]) as control,
            CaptureQueriesContext(connections["telemetry"]) as telemetry,
        ):
            text_of(everyone, path)
        return len(control) + len(telemetry)

    a_session(tenant.uid, turns=1)
    opened(tenant.uid)
    a_stream("node-0")
    asked()
    one = asked()
    for number in range(1, 40):
        a_session(tenant.uid, f"more-{number}", turns=number)
        opened(tenant.uid, node=f"node-{number}")
        a_stream(f"node-{number}")

    assert asked() == one


def test_a_telemetry_database_that_cannot_be_read_is_said_and_the_rest_goes_on(
    everyone: Client, tenant: Tenant
) -> None:
    with connections["telemetry"].cursor() as cursor:
        for table in ("sessionrecord", "requestrecord", "nodestream"):
            cursor.execute(f"ALTER TABLE telemetry_{table} RENAME TO hidden_{table}")

    for path in ("/sessions", "/requests"):
        page = text_of(everyone, path)
        assert "The telemetry database cannot be read." in page
        assert "Request <code>" in page
    for path in ("/alarms", "/nodes", "/system", "/tenants"):
        text_of(everyone, path)


def test_figures_that_are_a_lower_bound_say_so(everyone: Client, tenant: Tenant) -> None:
    a_session(tenant.uid)
    a_stream("node-a")
    a_stream("node-d", last_at=now_ms() - 60_000)

    assert "1 of 2" in text_of(everyone, "/sessions")
    assert "lower bound" in text_of(everyone, "/sessions")
