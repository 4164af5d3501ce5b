"""What a node serves when a resource is wrong: the earlier, and why (03 §9.3, 9.5; 08 §K-13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dataplane.adapters.serving.lastgood import LastGood
from dataplane.adapters.serving.snapshots import Snapshots
from dataplane.core import resource
from dataplane.core.components import components
from dataplane.core.config.check import check
from dataplane.core.config.layers import Context
from dataplane.core.config.resolve import host_of

TENANT = "ten_1"


@dataclass
class Shelf:
    """A control plane that hands out what lies on it and keeps the answers."""

    found: resource.Resource
    acks: list[resource.Ack] = field(default_factory=list)

    async def discover(self, cursor: int | None, *, wait_s: float) -> resource.Discovery:
        one = self.found.envelope
        change = resource.Change(one.type, one.name, one.epoch, one.version, one.hash)
        return resource.Discovery((cursor or 0) + 1, [change])

    async def fetch(self, change: resource.Change) -> resource.Resource:
        return self.found

    async def ack(self, acks: Sequence[resource.Ack]) -> None:
        self.acks += acks


def tenant_body(version: int, **members: Any) -> resource.Resource:
    """A tenant that runs `mask`, with some members of its document changed or added."""
    effective = check("pipeline: [mask]\n", context=Context(components())).effective
    assert effective is not None
    document = {**effective.document, **members}
    host = host_of(effective.document)
    variant = resource.Variant("base", version, "", "base", host, document)
    body = msgspec.json.encode(resource.TenantBody(TENANT, "orchid", "Orchid", {}, [variant]))
    head = resource.Envelope(resource.TENANT, TENANT, 1, version, resource.hash_of(body))
    return resource.Resource(head, body)


def node(shelf: Shelf, directory: Path) -> Snapshots:
    return Snapshots(shelf, LastGood(directory), "node-1", "boot-1")


WRONG = {
    "a key of a newer release": ({"hedging": {"enabled": True}}, "config.unknown_key", "/hedging"),
    "a component that was removed": (
        {"pipeline": ["mask", "gone"]}, "config.unknown_component", "/pipeline/1",
    ),
    "a value that was withdrawn": ({"mode": "async"}, "config.unsupported_value", "/mode"),
    "a schema of a newer release": (
        {"schema_version": 99}, "config.schema_too_new", "/schema_version",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("members", "code", "path"), WRONG.values(), ids=WRONG.keys())
async def test_case_k_13_what_does_not_validate_leaves_the_earlier_document_serving(
    tmp_path: Path, members: dict[str, Any], code: str, path: str
) -> None:
    shelf = Shelf(tenant_body(1))
    snapshots = node(shelf, tmp_path)
    await snapshots.refresh()
    before = snapshots.tenants[TENANT]

    shelf.found = tenant_body(2, **members)
    await snapshots.refresh()

    refused = shelf.acks[-1]
    assert snapshots.tenants[TENANT] is before
    assert (refused.status, refused.version, refused.serving) == ("nack", 2, (1, 1))
    assert (code, path) in {(one["code"], one["path"]) for one in refused.errors}
    assert snapshots.nacks[code] == 1


async def test_case_k_13_a_node_that_starts_again_serves_what_was_last_good(
    tmp_path: Path,
) -> None:
    shelf = Shelf(tenant_body(1))
    await node(shelf, tmp_path).refresh()
    shelf.found = tenant_body(2, hedging={})
    await node(shelf, tmp_path).refresh()

    again = node(shelf, tmp_path)
    again.restore()

    assert again.tenants[TENANT].version == (1, 1)


async def test_case_k_13_without_an_earlier_document_the_tenant_is_not_there_and_the_answer_says_so(
    tmp_path: Path,
) -> None:
    shelf = Shelf(tenant_body(1, hedging={}))
    snapshots = node(shelf, tmp_path)

    await snapshots.refresh()

    assert snapshots.tenants == {}
    assert (shelf.acks[-1].status, shelf.acks[-1].serving) == ("nack", None)


async def test_a_body_that_was_changed_on_its_way_is_refused(tmp_path: Path) -> None:
    shelf = Shelf(tenant_body(1))
    shelf.found = resource.Resource(shelf.found.envelope, shelf.found.body + b" ")

    await node(shelf, tmp_path).refresh()

    assert [one["code"] for one in shelf.acks[-1].errors] == ["hash_mismatch"]


class TornShelf(Shelf):
    """One on which a second change is announced that cannot be fetched."""

    async def discover(self, cursor: int | None, *, wait_s: float) -> resource.Discovery:
        found = await super().discover(cursor, wait_s=wait_s)
        gone = resource.Change(resource.TENANT, "ten_2", 1, 1, "sha256:0")
        return resource.Discovery(found.cursor, [*found.changes, gone])

    async def fetch(self, change: resource.Change) -> resource.Resource:
        if change.name != TENANT:
            raise ConnectionError("the control plane went away")
        return await super().fetch(change)


async def test_what_began_to_serve_is_kept_although_a_later_change_could_not_be_fetched(
    tmp_path: Path,
) -> None:
    snapshots = node(TornShelf(tenant_body(1)), tmp_path)

    with pytest.raises(ConnectionError):
        await snapshots.refresh()

    assert TENANT in snapshots.tenants
    again = node(Shelf(tenant_body(1)), tmp_path)
    again.restore()
    assert TENANT in again.tenants


class SilentShelf(Shelf):
    """One whose server is away for the first tries."""

    tries, away = 0, 3

    async def discover(self, cursor: int | None, *, wait_s: float) -> resource.Discovery:
        self.tries += 1
        if self.tries <= self.away:
            raise ConnectionRefusedError("nobody there")
        return await super().discover(cursor, wait_s=wait_s)


async def test_a_source_that_is_away_is_logged_when_that_begins_and_not_at_every_try(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = SilentShelf(tenant_body(1))
    serving = node(shelf, tmp_path)

    tried = [await serving.try_refresh() for _ in range(4)]
    shelf.away = 5
    tried.append(await serving.try_refresh())

    assert tried == [False, False, False, True, False]
    assert caplog.messages == ["cg.snapshot_refresh_failed nobody there"] * 2
