"""The deployment's allow-list of providers; a manager's matter (04 §1.2, 6.3, 8.6)."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from controlplane.accounts import upstream_urls
from controlplane.accounts import upstreams as accounts
from controlplane.accounts.models import Secret, Upstream
from controlplane.accounts.queries import upstreams
from controlplane.api import account_schemas as schemas
from controlplane.api import shown_accounts as shown
from controlplane.api.access import deployment, plain
from controlplane.api.conditions import is_unchanged, quoted, unchanged_since
from controlplane.api.operations import operation
from controlplane.api.refusals import invalid, not_found

router = Router(tags=["upstreams"])
WRITE = "upstream:write"


@operation(
    router, "GET", "/upstreams", scope=WRITE, tenancy="deployment",
    response={200: schemas.UpstreamsOut},
)  # fmt: skip
def list_upstreams(request: HttpRequest) -> dict[str, Any]:
    """The whole list, also what is not offered at present."""
    deployment(request, WRITE)
    return {"items": [shown.upstream(row) for row in upstreams()]}


@operation(
    router, "POST", "/upstreams", scope=WRITE, tenancy="deployment",
    response={201: schemas.UpstreamOut},
)  # fmt: skip
def add_upstream(request: HttpRequest, body: schemas.NewUpstream, response: HttpResponse) -> Any:
    """A provider that tenants may choose by its name."""
    by = deployment(request, WRITE).principal
    made = accounts.create_upstream(
        name=body.name, dialect=body.dialect, base_url=body.base_url, by=by, terms=_terms(body)
    )
    response.headers["Location"] = f"/api/v1/upstreams/{made.uid}"
    return Status(201, _answered(made, response))


@operation(
    router, "GET", "/upstreams/{uid}", scope=WRITE, tenancy="deployment", cached=True,
    response={200: schemas.UpstreamOut},
)  # fmt: skip
def get_upstream(request: HttpRequest, uid: str, response: HttpResponse) -> Any:
    """One upstream, by uid or name."""
    found = _upstream(request, uid)
    answered = _answered(found, response)
    return Status(304, None) if is_unchanged(request, answered.etag) else answered


@operation(
    router, "PUT", "/upstreams/{uid}", scope=WRITE, tenancy="deployment", conditional=True,
    response={200: schemas.UpstreamOut},
)  # fmt: skip
def put_upstream(
    request: HttpRequest, uid: str, body: schemas.UpstreamTerms, response: HttpResponse
) -> Any:
    """All of its terms at once; every tenant that chose it follows."""
    found = _upstream(request, uid)
    unchanged_since(request, shown.upstream_etag(found))
    by = deployment(request, WRITE).principal
    changed = accounts.change_upstream(found, _terms(body, found), base_url=body.base_url, by=by)
    return _answered(changed, response)


@operation(
    router, "DELETE", "/upstreams/{uid}", scope=WRITE, tenancy="deployment", response={204: None}
)  # fmt: skip
def end_upstream(request: HttpRequest, uid: str) -> Any:
    """Refused while a tenant uses it."""
    accounts.remove_upstream(_upstream(request, uid), deployment(request, WRITE).principal)
    return Status(204, None)


@operation(
    router, "POST", "/upstreams/{uid}/check", scope=WRITE, tenancy="deployment",
    response={200: schemas.CheckedUpstream},
)  # fmt: skip
def check_upstream(request: HttpRequest, uid: str) -> schemas.CheckedUpstream:
    """Whether its address keeps the rules now: what its name leads to may have changed."""
    found = _upstream(request, uid)
    try:
        upstream_urls.checked(found.base_url, accounts.rules_of(found))
    except ValidationError as refused:
        rule = str((refused.params or {}).get("rule", "form"))
        return schemas.CheckedUpstream(ok=False, rule=rule, detail=" ".join(refused.messages))
    return schemas.CheckedUpstream(ok=True, rule="", detail="Its address keeps every rule.")


def _terms(body: schemas.UpstreamTerms, earlier: Upstream | None = None) -> accounts.UpstreamTerms:
    """earlier: keeps what the API has no word for."""
    return accounts.UpstreamTerms(
        allow_insecure=body.allow_insecure,
        allow_private=body.allow_private,
        key_secret=_secret(body.key_secret),
        key_header=body.key_header,
        allow_server_state=body.allow_server_state,
        wan_compression=earlier.wan_compression if earlier else False,
        proxy_url=earlier.proxy_url if earlier else "",
        header_timeout_s=body.header_timeout_s,
        enabled=body.enabled,
    )


def _secret(uid: str) -> Secret | None:
    if not uid:
        return None
    found = Secret.objects.filter(uid=uid, organisation=None, tenant=None).first()
    if found is None:
        raise invalid("/key_secret", "The deployment holds no such secret.")
    return found


def _upstream(request: HttpRequest, uid: str) -> Upstream:
    deployment(request, WRITE)
    rows = Upstream.objects.select_related("key_secret")
    found = rows.filter(uid=plain(uid)).first() or rows.filter(name=uid).first()
    if found is None:
        raise not_found()
    return found


def _answered(row: Upstream, response: HttpResponse) -> schemas.UpstreamOut:
    answered = shown.upstream(row)
    response.headers["ETag"] = quoted(answered.etag)
    return answered
