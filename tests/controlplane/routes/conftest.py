"""A deployment that every walk begins from and is rolled back to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.transaction import atomic, set_rollback
from django.test import Client

from controlplane.accounts.actions import create_organisation, create_tenant
from controlplane.configs.actions import ensure_server_default
from tests.controlplane.sites import Site, deployed


@pytest.fixture(scope="module")
def deployment(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """Built once: every test of the walk begins from it and is rolled back to it."""
    with django_db_blocker.unblock(), atomic("default"), atomic("telemetry"):
        ensure_server_default()
        acme, globex = (
            create_organisation(name=name.title(), slug=name, by=None)
            for name in ("acme", "globex")
        )
        own, other = (create_tenant(each, slug="orchid", by=None) for each in (acme, globex))
        yield deployed(own, other)
        for database in ("default", "telemetry"):
            set_rollback(True, using=database)


@pytest.fixture
def site(db: None, deployment: Site) -> Site:
    """The deployment, with clients whose cookies are this test's own."""
    clients = {}
    for visitor, client in deployment.clients.items():
        clients[visitor] = Client()
        clients[visitor].cookies = copy.deepcopy(client.cookies)
    return Site(clients, deployment.places)
