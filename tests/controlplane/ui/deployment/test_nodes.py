"""Nodes and the product itself through the client (04 §5.11, 5.15)."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.accounts.models import Tenant, User
from tests.controlplane.ui.conftest import Browser
from tests.controlplane.ui.reading import text_of
from tests.controlplane.ui.watched import a_stream

pytestmark = pytest.mark.django_db(databases=["default", "telemetry"])


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
