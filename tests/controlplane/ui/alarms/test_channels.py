"""Channels through the client: secrets shown once, and whose network a webhook reaches."""

from __future__ import annotations

import re

from django.utils import timezone

from controlplane.accounts.models import Tenant, User
from controlplane.alarms.delivering import deliver, deliver_due
from controlplane.alarms.models import Channel
from tests.controlplane.alarms.conftest import Receiver
from tests.controlplane.alarms.conftest import receiver as receiver
from tests.controlplane.ui.conftest import Browser


def test_a_channel_is_added_with_a_secret_shown_once_and_tested(
    browser: Browser, manager: User, tenant: Tenant, receiver: Receiver
) -> None:
    terms = {"name": "on-call", "kind": "webhook", "target": receiver.url, "least": "warning"}
    there, everyone = "/settings/channels/acme", browser(manager)

    refused = everyone.post(there, terms)
    assert refused.status_code == 422
    made = everyone.post(there, {**terms, "allow_private": "on"})
    secret = re.findall(r'id="plaintext"[^>]*>([^<]+)<', made.content.decode())[0]
    listed = everyone.get(there).content.decode()

    assert secret not in listed
    assert "hooks/7" not in listed
    uid = Channel.objects.get().uid
    everyone.post(f"{there}/{uid}/test")
    deliver_due(timezone.now(), deliver)
    assert [letter.headers["X-CG-Event"] for letter in receiver.letters] == ["test"]
    assert "200" in everyone.get(f"{there}/{uid}").content.decode()
    everyone.post(f"{there}/{uid}/remove")
    assert not Channel.objects.exists()


def test_an_admin_may_not_point_a_webhook_at_the_deployments_own_network(
    browser: Browser, admin: User, manager: User, tenant: Tenant, receiver: Receiver
) -> None:
    terms = {"name": "on-call", "kind": "webhook", "target": receiver.url, "least": "warning"}
    there = "/settings/channels/acme"
    private = {**terms, "allow_private": "on"}

    assert browser(admin).post(there, private).status_code == 422
    browser(manager).post(there, private)
    place = f"{there}/{Channel.objects.get().uid}"
    moved = {**terms, "target": "http://127.0.0.1:22/"}
    assert browser(admin).post(place, moved).status_code == 422
    assert browser(admin).post(place, {**terms, "name": "renamed"}).status_code == 302
    assert Channel.objects.get().allow_private
