"""A deployment that every walk begins from and is rolled back to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tests.controlplane.sites import Site, deployed, two_organisations


@pytest.fixture(scope="module")
def deployment(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """Built once: every test of the walk begins from it and is rolled back to it."""
    with two_organisations(django_db_blocker) as (own, other):
        yield deployed(own, other)


@pytest.fixture
def site(db: None, deployment: Site) -> Site:
    """The deployment, with clients whose cookies are this test's own."""
    clients = {}
    for visitor, client in deployment.clients.items():
        clients[visitor] = Client()
        clients[visitor].cookies = copy.deepcopy(client.cookies)
    return Site(clients, deployment.places)
