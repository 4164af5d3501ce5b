"""What holds for all pages that show what happened: empty, foreign, hostile, long, unreadable."""

from __future__ import annotations

import re

import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.accounts.models import Tenant, User
from controlplane.alarms.models import Alarm
from controlplane.telemetry.models import MarkerRecord, RequestRecord
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.reading import text_of
from tests.controlplane.ui.watched import BREAKS_OUT, IMAGE, MARKER, a_request, a_session, a_stream

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])
EMPTY = {
    "/alarms": "No open alarms",
    "/sessions": "No session yet",
    "/requests": "No request yet",
    "/nodes": "No node yet",
    "/system": "Not run yet: alarm_history, pulse",
    "/settings/channels/_deployment": "Nobody is told",
}


@pytest.mark.parametrize("path", EMPTY)
def test_an_empty_page_says_why_it_is_empty(everyone: Client, path: str) -> None:
    answer = everyone.get(path)

    assert answer.status_code == 200
    assert EMPTY[path] in answer.content.decode()


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
