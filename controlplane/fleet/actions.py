"""Publish resources and record what nodes answer (03 §9.1, 9.2, 9.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial

from django.db import transaction
from django.utils import timezone

from controlplane.audit.actions import Actor, Subject
from controlplane.audit.actions import record as enter
from controlplane.fleet import presence
from controlplane.fleet.bodies import body_of
from controlplane.fleet.hints import hint
from controlplane.fleet.models import ChangeLog, NodeAck, PublishedResource
from controlplane.fleet.spreading import collect
from controlplane.topics import tell
from dataplane.core import resource

AUTH_SHARDS = "0123456789abcdef"
DEFAULT = "default"
ResourceName = tuple[str, str]


@transaction.atomic
def publish(changed: Iterable[ResourceName], *, by: str) -> list[PublishedResource]:
    """New versions of those of the (type, name) whose body differs from what is published.

    Runs in the caller's transaction, so that a change and its publication commit together.
    """
    log = _locked_log()
    written = [found for type_, name in changed if (found := _publish_one(type_, name, log, by))]
    if written:
        log.save(update_fields=["sequence"])
        transaction.on_commit(partial(collect, written))
        transaction.on_commit(hint)
    return written


def publish_deployment(*, by: str) -> None:
    """What every node needs before any tenant: all auth shards, the upstreams, the prices."""
    shards = [(resource.AUTH_INDEX, shard) for shard in AUTH_SHARDS]
    publish([*shards, (resource.NODE, DEFAULT), (resource.PRICES, DEFAULT)], by=by)


def _publish_one(type_: str, name: str, log: ChangeLog, by: str) -> PublishedResource | None:
    """log: locked, so nobody else publishes meanwhile; its number is raised here, not saved."""
    body = body_of(type_, name)
    digest = resource.hash_of(body)
    found = PublishedResource.objects.filter(type=type_, name=name).first()
    if found and found.hash == digest and found.epoch == log.epoch:
        return None
    log.sequence += 1
    published = found or PublishedResource(type=type_, name=name, version=0)
    published.epoch = log.epoch
    published.version += 1
    published.sequence = log.sequence
    published.hash = digest
    published.body = body
    published.published_at = timezone.now()
    published.published_by = by
    published.save()
    return published


def _locked_log() -> ChangeLog:
    """The row of the change log; locked until commit, so numbers become visible in order."""
    return ChangeLog.objects.select_for_update().get_or_create(id=1)[0]


@transaction.atomic
def record_acks(acks: Sequence[resource.Ack], *, follows: bool = True) -> None:
    """Keep each process's last answer to each version. follows: it takes new ones by itself."""
    for process in {(ack.node_id, ack.boot_id) for ack in acks}:
        _forget_earlier_lives(*process)
    for ack in acks:
        _record(ack, follows=follows)


def _forget_earlier_lives(node_id: str, boot_id: str) -> None:
    """What processes of the node answered that have ended, when a new one begins."""
    rows = NodeAck.objects.filter(node_id=node_id)
    if not rows.filter(boot_id=boot_id).exists():
        gone = [boot for node, boot in presence.heard().ended if node == node_id]
        rows.filter(boot_id__in=gone).delete()


@transaction.atomic
def forget_node(node_id: str, *, by: Actor | None) -> None:
    """One that left and does not come back: what it answered is forgotten. If it is heard again,
    it is there again.
    """
    NodeAck.objects.filter(node_id=node_id).delete()
    enter("node.remove", Subject(node_id, node_id), by)
    tell("node", "state", node_id, data={"node": node_id})


def _record(ack: resource.Ack, *, follows: bool) -> None:
    epoch, version = ack.serving or (None, None)
    NodeAck.objects.update_or_create(
        node_id=ack.node_id,
        boot_id=ack.boot_id,
        type=ack.type,
        name=ack.name,
        epoch=ack.epoch,
        version=ack.version,
        defaults={
            "follows": follows,
            "hash": ack.hash,
            "status": ack.status,
            "serving_epoch": epoch,
            "serving_version": version,
            "errors": list(ack.errors),
            "warnings": list(ack.warnings),
            "build_ms": ack.build_ms,
            "answered_at": datetime.fromtimestamp(ack.applied_at, UTC)
            if ack.applied_at
            else timezone.now(),
        },
    )
