"""The trail as pages read it, and whether it is whole (04 §5.12, 6.1, 8.8)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from controlplane.audit import chain
from controlplane.audit.models import AuditEvent, TrailHead

PAGE = 50
LARGEST_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Narrow the trail; "" and None do not. action: a name or a prefix ending in ".".

    text: in the labels of the actor or the object, or in the reason. until is exclusive.
    """

    actor: str = ""
    action: str = ""
    subject: str = ""
    via: str = ""
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class TrailPage:
    """Newest first. older: the `before` of the next page, None on the last."""

    events: Sequence[AuditEvent]
    older: int | None


def trail(
    organisations: Collection[str] | None,
    filters: Filters | None = None,
    *,
    before: int | None = None,
    limit: int = PAGE,
) -> TrailPage:
    """Events of these organisations (their uids); None is the whole deployment.

    before: the seq that the page ends above; pages stay put while events are appended.
    """
    found = matching(organisations, filters or Filters())
    if before is not None:
        found = found.filter(seq__lt=before)
    limit = max(1, min(limit, LARGEST_PAGE))
    events = list(found.order_by("-seq")[: limit + 1])
    older = events[limit - 1].seq if len(events) > limit else None
    return TrailPage(events[:limit], older)


def matching(organisations: Collection[str] | None, filters: Filters) -> QuerySet[AuditEvent]:
    """The same, all of them."""
    return _visible(organisations).filter(_matching(filters))


def _visible(organisations: Collection[str] | None) -> QuerySet[AuditEvent]:
    if organisations is None:
        return AuditEvent.objects.all()
    return AuditEvent.objects.filter(organisation_uid__in=[uid for uid in organisations if uid])


def _matching(filters: Filters) -> Q:
    exact = {"actor_uid": filters.actor, "object_uid": filters.subject, "via": filters.via}
    wanted = Q(**{name: value for name, value in exact.items() if value})
    if filters.action:
        is_prefix = filters.action.endswith(".")
        wanted &= Q(**{"action__startswith" if is_prefix else "action": filters.action})
    if filters.text:
        fields = ("actor_label", "object_label", "reason")
        texts = [Q(**{f"{field}__icontains": filters.text}) for field in fields]
        wanted &= texts[0] | texts[1] | texts[2]
    return wanted & _during(filters)


def _during(filters: Filters) -> Q:
    since = Q(at__gte=filters.since) if filters.since else Q()
    return since & (Q(at__lt=filters.until) if filters.until else Q())


def actions(organisations: Collection[str] | None) -> QuerySet[AuditEvent, str]:
    """The names of everything that was done there, sorted."""
    names = _visible(organisations).order_by("action").values_list("action", flat=True)
    return names.distinct()


@dataclass(frozen=True, slots=True)
class Verification:
    """events: how many hold together from the first on. broken_at: the seq where they stop to,
    None for a whole trail; problem says how.
    """

    events: int
    first_hash: str
    last_hash: str
    broken_at: int | None = None
    problem: str = ""


def verify() -> Verification:
    """Walk the whole trail: each event follows the one before it, and the newest is the head."""
    count, first, last = 0, "", ""
    for event in AuditEvent.objects.order_by("seq").iterator():
        if problem := _misfit(event, count + 1, last):
            return Verification(count, first, last, event.seq, problem)
        count, last = event.seq, event.hash
        first = first or event.hash
    head = TrailHead.objects.filter(id=1).first()
    if head is not None and (head.seq, head.hash) != (count, last):
        return Verification(count, first, last, count + 1, "Events are missing at the end.")
    return Verification(count, first, last)


def _misfit(event: AuditEvent, seq: int, prev_hash: str) -> str:
    if event.seq != seq:
        return "Events are missing before this one."
    if event.prev_hash != prev_hash:
        return "This event does not follow the one before it."
    if event.hash != chain.hash_of(event, prev_hash):
        return "This event is not what was recorded."
    return ""
