"""Plans: a change that is tried out and rolled back, agreed to, and then made (04 §1.2, 4.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from controlplane.accounts.models import Tenant
from controlplane.audit.actions import Actor, Subject, record
from controlplane.configs.actions import followers_of, save_version
from controlplane.configs.authors import person_of
from controlplane.configs.checking import checked_as
from controlplane.configs.comparing import Comparison, compare, effective_of, text_side
from controlplane.configs.models import (
    ConfigDocument,
    ConfigVersion,
    EffectiveRevision,
    Plan,
)
from controlplane.configs.problems import PlanExpiredError, PlanStaleError, StateError
from controlplane.configs.reports import Report, report_of
from controlplane.fleet.queries import acknowledgement
from dataplane.core.components import components
from dataplane.core.config.canonical import encode
from dataplane.core.config.diff import between
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.registry import registry
from dataplane.core.config.summary import summarise

GOOD_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text for a document."""

    document: ConfigDocument
    source: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What the proposals would do: tenants whose effective document would be another one."""

    affected: list[dict[str, Any]]
    candidates: dict[str, str]


class _UndoError(Exception):
    """Ends a transaction whose outcome is only looked at."""


def make_plan(proposals: Sequence[Proposal], message: str, by: Actor) -> Plan:
    """Check, compare and try the change; nothing live is touched.

    ConfigError with the problems of all proposals when one does not validate.
    """
    person = person_of(by)
    if person is None:
        raise StateError("Only a person, or a token in a person's name, makes plans.")
    checked = [checked_as(one.document, one.source, by) for one in proposals]
    if any(one.errors for one in checked):
        raise ConfigError([problem for one in checked for problem in one.problems])
    comparisons = [_compared(one, by) for one in proposals]
    tried = _try(proposals, message, by)
    base = {one.document.uid: etag_of(one.document) for one in proposals}
    now = timezone.now()
    return Plan.objects.create(
        created_by=person,
        message=message.strip(),
        target=[one.document.uid for one in proposals],
        base=base,
        candidate={one.document.uid: {"source": one.source} for one in proposals},
        plan_hash=_hash(proposals, base, tried),
        diff=[_diff_json(found) for found in comparisons],
        affected=tried.affected,
        validation=[_validation(report_of(one)) for one in checked],
        expires_at=now + GOOD_FOR,
    )


@transaction.atomic
def apply_plan(plan: Plan, documents: Sequence[ConfigDocument], by: Actor) -> list[ConfigVersion]:
    """Save all of its texts at once; PlanStaleError when anything moved since it was made.

    documents: those of its target that the actor may write; ConfigError, StateError.
    """
    held = Plan.objects.select_for_update().get(pk=plan.pk)
    if held.applied_at is not None:
        raise StateError("This plan was carried out already.")
    if held.expires_at <= timezone.now():
        raise PlanExpiredError("A plan is good for 24 hours. Make a new one.")
    found = {document.uid: document for document in documents}
    proposals = [Proposal(found[uid], held.candidate[uid]["source"]) for uid in held.target]
    base = {one.document.uid: etag_of(one.document) for one in proposals}
    tried = _try(proposals, held.message, by) if base == held.base else None
    if tried is None or _hash(proposals, base, tried) != held.plan_hash:
        raise PlanStaleError("Something that this plan builds on was changed. Make a new one.")
    saved = [_save(one, held.message, by) for one in proposals]
    plan.applied_at = held.applied_at = timezone.now()
    held.save(update_fields=["applied_at"])
    after = {"plan_hash": held.plan_hash, "documents": held.target}
    first = proposals[0].document
    record("plan.apply", Subject(held.uid, held.message, first.organisation_uid), by, after=after)
    return saved


def etag_of(document: ConfigDocument) -> str:
    """Names the state of a document; "d0" while it has no version."""
    return document.head.etag if document.head else "d0"


def _save(proposal: Proposal, message: str, by: Actor) -> ConfigVersion:
    return save_version(
        proposal.document, proposal.source, message, by, origin=ConfigVersion.Origin.API
    )


def _try(proposals: Sequence[Proposal], message: str, by: Actor) -> Tried:
    """Save and resolve as it would be done, look at the outcome, and undo it all."""
    tenants = {tenant.pk: tenant for one in proposals for tenant in followers_of(one.document)}
    before = _current(tenants)
    heads = [(one.document, one.document.head, one.document.promoted) for one in proposals]
    after: dict[int, EffectiveRevision] = {}
    try:
        with transaction.atomic():
            for one in proposals:
                _save(one, message, by)
            after = _current(tenants)
            raise _UndoError
    except _UndoError:
        pass
    finally:
        for document, head, promoted in heads:
            document.head, document.promoted = head, promoted
    changed = [pk for pk in tenants if _digest(after.get(pk)) != _digest(before.get(pk))]
    return Tried(
        [_affected(tenants[pk], before.get(pk), after[pk]) for pk in changed],
        {tenants[pk].uid: after[pk].effective_hash for pk in changed},
    )


def _current(tenants: Mapping[int, Tenant]) -> dict[int, EffectiveRevision]:
    """The newest revision of each."""
    numbered = EffectiveRevision.objects.filter(tenant__in=tenants)
    newest = numbered.values("tenant").annotate(newest=Max("pk")).values("newest")
    found = EffectiveRevision.objects.filter(pk__in=newest)
    return {revision.tenant_id: revision for revision in found}


def _digest(revision: EffectiveRevision | None) -> str:
    return revision.effective_hash if revision else ""


def _affected(
    tenant: Tenant, before: EffectiveRevision | None, after: EffectiveRevision
) -> dict[str, Any]:
    """How one tenant's traffic would change, in sentences."""
    known = components()
    root = registry(known)
    right = effective_of(after)
    changes = between(effective_of(before), right, root, known) if before else None
    said = summarise(changes, right.pipeline, root, known)
    return {
        "tenant": tenant.uid,
        "slug": tenant.slug,
        "organisation": tenant.organisation.slug,
        "effective_hash_before": _digest(before),
        "effective_hash_after": after.effective_hash,
        "sentences": list(said.sentences),
        "impact": list(said.impact),
        "nodes": acknowledgement(tenant).nodes,
    }


def _compared(proposal: Proposal, by: Actor) -> Comparison:
    document = proposal.document
    head = document.head
    left = text_side(document, head.source if head else "", "now", by)
    return compare(left, text_side(document, proposal.source, "planned", by))


def _diff_json(found: Comparison) -> dict[str, Any]:
    return {
        "unified": found.unified,
        "written": None if found.written is None else [asdict(change) for change in found.written],
        "summary": list(found.summary.sentences),
        "impact": list(found.summary.impact),
    }


def _validation(found: Report) -> dict[str, Any]:
    return {"warnings": found.warnings, "advice": found.advice}


def _hash(proposals: Sequence[Proposal], base: Mapping[str, str], tried: Tried) -> str:
    """Of what the reader agreed to: the texts, the states they replace, what would run then."""
    texts = {one.document.uid: one.source for one in proposals}
    agreed = {"base": base, "texts": texts, "candidates": tried.candidates}
    return hashlib.sha256(encode(agreed)).hexdigest()
