"""What happens by the clock happens before a node looks for changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils import timezone

from controlplane.accounts import vault
from controlplane.accounts.actions import create_organisation, create_tenant, issue_key
from controlplane.accounts.models import DataPlaneKey
from controlplane.accounts.queries import held_key
from controlplane.configs.actions import ensure_server_default
from controlplane.fleet import upkeep
from controlplane.fleet.source import EmbeddedSource
from dataplane.core import resource


@pytest.fixture
def step() -> Iterator[list[datetime]]:
    """Notes when it ran; one before it fails."""
    ran: list[datetime] = []

    def fail(_now: datetime) -> None:
        raise DatabaseError("locked")

    upkeep.register(fail)
    upkeep.register(ran.append)
    yield ran
    del upkeep._steps[fail], upkeep._steps[ran.append]


def test_a_step_that_the_database_refuses_holds_up_no_other(db: None, step: list[datetime]) -> None:
    upkeep.run()

    assert len(step) == 1


def expiring_key() -> DataPlaneKey:
    ensure_server_default()
    organisation = create_organisation(name="Acme", slug="acme", by=None)
    tenant = create_tenant(organisation, slug="orchid", by=None)
    key, _ = issue_key(tenant, "a", None, expires_at=timezone.now() + timedelta(hours=1))
    vault.put_secret(None, "anthropic", "sk-held", kind="provider_key", by=None)
    return key


@pytest.mark.django_db(transaction=True)
async def test_a_look_for_changes_finds_expired_keys_gone_and_held_keys_ready() -> None:
    key = await sync_to_async(expiring_key)()
    source = EmbeddedSource()
    cursor = (await source.discover(None, wait_s=0)).cursor
    assert held_key("anthropic") == "sk-held"

    await DataPlaneKey.objects.filter(pk=key.pk).aupdate(expires_at=timezone.now())
    found = await source.discover(cursor, wait_s=0)

    source.close()
    assert [(one.type, one.name) for one in found.changes] == [
        (resource.AUTH_INDEX, key.key_hash[0])
    ]
