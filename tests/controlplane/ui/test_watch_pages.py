"""Alarms, sessions, requests, nodes, system and channels through the client (04 section 5)."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from tests.controlplane.ui.conftest import Browser

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])
EMPTY = {
    "/alarms": "No open alarms",
    "/sessions": "No session yet",
    "/requests": "No request yet",
    "/nodes": "No node yet",
    "/system": "No job has run yet",
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
