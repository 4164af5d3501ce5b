"""Plans: look before a change, then make exactly that one (04 §4.8, 6.3)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from controlplane.api import schemas, shown
from controlplane.api.access import checked_write, plain, readable, scope_of, writable
from controlplane.api.conditions import quoted
from controlplane.api.limits import CHECKS
from controlplane.api.operations import operation
from controlplane.api.refusals import RefusedError, not_found
from controlplane.api.retries import key_required
from controlplane.api.targets import document_named
from controlplane.configs import visible
from controlplane.configs.models import Plan
from controlplane.configs.plans import Proposal, apply_plan, make_plan

router = Router(tags=["plans"])
WRITE = "rollout:write"


@operation(
    router, "POST", "/plans", scope=WRITE, tenancy="organisation", rate=CHECKS,
    response={201: schemas.PlanOut},
)  # fmt: skip
def create_plan(request: HttpRequest, body: schemas.NewPlan, response: HttpResponse) -> Any:
    """Check and try a change of one or more documents; nothing live is touched."""
    proposals = []
    for change in body.changes:
        document = document_named(request, change.target)
        if document.pk is None:
            raise not_found()
        checked_write(request, document, WRITE)
        proposals.append(Proposal(document, change.source_yaml))
    principal = scope_of(request).principal
    assert principal is not None  # noqa: S101  Access has turned nobody away
    found = make_plan(proposals, body.message, principal)
    response.headers["ETag"] = quoted(found.plan_hash)
    response.headers["Location"] = f"/api/v1/plans/{found.uid}"
    return Status(201, shown.plan(found))


@operation(
    router, "GET", "/plans/{uid}", scope=WRITE, tenancy="self", response={200: schemas.PlanOut}
)  # fmt: skip
def get_plan(request: HttpRequest, uid: str, response: HttpResponse) -> schemas.PlanOut:
    """One of the caller's plans, as long as they may read what it changes."""
    found = _found(request, uid)
    for document in found.target:
        readable(request, document)
    response.headers["ETag"] = quoted(found.plan_hash)
    return shown.plan(found)


@operation(
    router, "POST", "/plans/{uid}/apply", scope=WRITE, tenancy="self", conditional=True,
    response={200: schemas.Applied},
)  # fmt: skip
def apply(request: HttpRequest, uid: str) -> schemas.Applied:
    """Save all texts of the plan in one transaction, as long as nothing moved since."""
    key_required(request)
    plan = _found(request, uid)
    _matched(request, plan)
    documents = [writable(request, target, WRITE) for target in plan.target]
    principal = scope_of(request).principal
    assert principal is not None  # noqa: S101  Access has turned nobody away
    versions = apply_plan(plan, documents, principal)
    tenants = [version.document.tenant for version in versions]
    is_dry = request.GET.get("dry_run", "").lower() in ("true", "1")
    return schemas.Applied(
        plan=plan.uid,
        versions=[shown.version(version) for version in versions],
        acknowledgements={
            tenant.uid: shown.acknowledgement(tenant)
            for tenant in tenants
            if tenant is not None and not is_dry
        },
    )


def _found(request: HttpRequest, uid: str) -> Plan:
    found = visible.plans(scope_of(request)).filter(uid=plain(uid)).first()
    if found is None:
        raise not_found()
    return found


def _matched(request: HttpRequest, plan: Plan) -> None:
    given = request.headers.get("if-match", "").strip()
    if not given:
        detail = "Send If-Match with the ETag of the plan that you have read."
        raise RefusedError(HTTPStatus.PRECONDITION_REQUIRED, "precondition.required", detail)
    if given not in ("*", quoted(plan.plan_hash)):
        detail = "This is not the plan that you have read."
        raise RefusedError(HTTPStatus.PRECONDITION_FAILED, "precondition.failed", detail)
