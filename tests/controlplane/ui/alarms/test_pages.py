"""Alarms and the bell through the client (04 §5.3)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from tests.controlplane.alarms.conftest import opened
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.reading import text_of
from tests.controlplane.ui.watched import a_session
from tests.fakes.node import FakeNode

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])
Register = Callable[[FakeNode], None]


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
