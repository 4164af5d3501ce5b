"""The embedded node's view of the control plane, with real threads and a real file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from controlplane.accounts.actions import create_tenant, issue_key
from controlplane.accounts.models import Organisation, Tenant
from controlplane.fleet import upkeep
from controlplane.fleet.queries import acknowledgement
from controlplane.fleet.source import EmbeddedSource, GoneError
from dataplane.core import resource
from tests.patience import PATIENCE_S

NEVER_S = 3600.0
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def deployment(transactional_db: None, organisation: Organisation) -> Tenant:
    return create_tenant(organisation, slug="orchid", by=None)


@pytest.fixture
def source() -> Iterator[EmbeddedSource]:
    made = EmbeddedSource(poll_s=NEVER_S)
    yield made
    made.close()


async def test_the_first_discovery_is_everything_and_each_can_be_fetched(
    deployment: Tenant, source: EmbeddedSource
) -> None:
    found = await source.discover(None, wait_s=0)

    assert found.resync
    for change in found.changes:
        fetched = await source.fetch(change)
        assert fetched.envelope.version == change.version
        assert resource.hash_of(fetched.body) == change.hash


async def test_nothing_new_is_said_after_the_wait(
    deployment: Tenant, source: EmbeddedSource
) -> None:
    first = await source.discover(None, wait_s=0)

    assert await source.discover(first.cursor, wait_s=0.05) == resource.Discovery(first.cursor, [])


async def test_a_commit_in_this_process_wakes_whoever_waits(
    deployment: Tenant, source: EmbeddedSource
) -> None:
    cursor = (await source.discover(None, wait_s=0)).cursor
    waiting = asyncio.ensure_future(source.discover(cursor, wait_s=NEVER_S))
    await asyncio.sleep(0.05)

    key, _ = await sync_to_async(issue_key)(deployment, "a", None)

    async with asyncio.timeout(PATIENCE_S):
        found = await waiting
    assert [(one.type, one.name) for one in found.changes] == [
        (resource.AUTH_INDEX, key.key_hash[0])
    ]


async def test_a_commit_of_another_process_is_found_by_looking(deployment: Tenant) -> None:
    source = EmbeddedSource(poll_s=0.02)
    cursor = (await source.discover(None, wait_s=0)).cursor
    waiting = asyncio.ensure_future(source.discover(cursor, wait_s=NEVER_S))
    await asyncio.sleep(0.05)

    await asyncio.to_thread(write_past_django, Path(connection.settings_dict["NAME"]))

    async with asyncio.timeout(PATIENCE_S):
        found = await waiting
    source.close()
    assert [(one.type, one.version) for one in found.changes] == [(resource.PRICES, 2)]


@pytest.fixture
def looked() -> Iterator[list[datetime]]:
    """When each look was."""
    ran: list[datetime] = []
    upkeep.register(ran.append)
    yield ran
    del upkeep._steps[ran.append]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a server's database is looked at")
async def test_while_nobody_writes_the_database_is_not_looked_at(
    deployment: Tenant, looked: list[datetime]
) -> None:
    source = EmbeddedSource(poll_s=0.01)
    cursor = (await source.discover(None, wait_s=0)).cursor
    looked.clear()

    await source.discover(cursor, wait_s=0.3)

    source.close()
    assert len(looked) <= 3  # at its beginning and at its end, and once after what the first wrote


async def test_a_moment_that_a_step_waits_for_is_a_reason_to_look(
    deployment: Tenant, looked: list[datetime]
) -> None:
    moment = timezone.now() + timedelta(milliseconds=100)
    upkeep.register(looked.append, lambda: moment if moment > timezone.now() else None)
    source = EmbeddedSource(poll_s=0.01)
    cursor = (await source.discover(None, wait_s=0)).cursor

    await source.discover(cursor, wait_s=1.0)

    source.close()
    after = [at for at in looked if at >= moment]
    assert (after[0] - moment).total_seconds() < 0.8


def write_past_django(file: Path) -> None:
    """What a second process would commit, so that no hint is given in this one."""
    with sqlite3.connect(file) as other:
        other.execute("UPDATE fleet_changelog SET sequence = sequence + 1")
        other.execute(
            "UPDATE fleet_publishedresource SET version = version + 1,"
            " sequence = (SELECT sequence FROM fleet_changelog) WHERE type = ?",
            (resource.PRICES,),
        )
    other.close()


async def test_an_ack_is_kept(deployment: Tenant, source: EmbeddedSource) -> None:
    found = await source.discover(None, wait_s=0)
    change = next(one for one in found.changes if one.type == resource.TENANT)
    answer = resource.Ack(
        "n1", "b1", change.type, change.name, change.epoch, change.version, change.hash,
        status="ack", serving=(change.epoch, change.version),
    )  # fmt: skip

    await source.ack([answer])

    assert (await sync_to_async(acknowledgement)(deployment)).status == "ack"


async def test_what_is_not_published_cannot_be_fetched(
    deployment: Tenant, source: EmbeddedSource
) -> None:
    with pytest.raises(GoneError):
        await source.fetch(resource.Change(resource.TENANT, "ten_gone", 1, 1, ""))


async def test_a_closed_source_is_no_longer_hinted(
    deployment: Tenant, source: EmbeddedSource
) -> None:
    await source.discover(None, wait_s=0)
    source.close()

    await sync_to_async(issue_key)(deployment, "a", None)
