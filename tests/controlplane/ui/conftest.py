"""People in front of the pages, and a node behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from controlplane.accounts.models import Membership, Organisation, Tenant, User
from controlplane.fleet import running
from tests.controlplane.conftest import person
from tests.fakes.node import FakeNode

Browser = Callable[[User], Client]


@pytest.fixture
def viewer(organisation: Organisation) -> User:
    return person(Membership.Role.VIEWER, organisation)


@pytest.fixture
def browser() -> Browser:
    """A client in which the person has signed in."""

    def signed_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return signed_in


@pytest.fixture
def node() -> Iterator[Callable[[FakeNode], None]]:
    """Registers a node for the test."""
    yield running.register
    running.unregister()


@pytest.fixture
def everyone(browser: Browser, manager: User, tenant: Tenant) -> Client:
    """The client of who manages the deployment."""
    return browser(manager)
