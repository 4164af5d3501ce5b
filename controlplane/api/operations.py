"""How a route is declared: its permission, tenancy and refusals are data on it (04 §6.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, Literal, TypeVar

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from ninja import Router
from ninja.decorators import decorate_view

from controlplane.api import limits, retries
from controlplane.api.access import Access, Tenancy
from controlplane.api.refusals import RefusedError, answer
from controlplane.api.schemas import Problem

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
View = TypeVar("View", bound=Callable[..., Any])
READ = (400, 401, 403, 404, 422, 429)
WRITE = (*READ, 409, 413, 415)
CONDITIONAL = (412, 428)
LISTED = (410,)
LARGEST_BODY = 1 << 20
JSON, YAML = "application/json", "text/yaml"
TEXT = {"type": "string"}
IDEMPOTENCY = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "maxLength": 64},
    "description": "The same key and request within 24 hours get the first answer again.",
}
DRY_RUN = {
    "in": "query",
    "name": "dry_run",
    "schema": {"type": "boolean", "default": False},
    "description": "Do everything up to the commit, and then undo it.",
}
IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "schema": TEXT,
    "description": "The ETag of the state that the change is based on.",
}
IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": TEXT,
    "description": "Answer 304 when the state still has this ETag.",
}


def operation(
    router: Router,
    method: Method,
    path: str,
    *,
    scope: str | None,
    tenancy: Tenancy,
    response: dict[int, Any],
    **how: Any,
) -> Callable[[View], View]:
    """Declare a route. scope: a permission of accounts.roles; "": whoever is signed in, about
    themselves; None: anybody may ask.

    how: conditional (If-Match), cached (If-None-Match), listed (pages), media (of a body, JSON
    otherwise), errors (further statuses), rate (of limits), once (the member of the answer that is
    shown a single time), tried (False where there is no dry run), openapi (further members).
    """
    is_change = method != "GET"
    models = _models(response, tenancy, is_change=is_change, how=how)

    def declare(view: View) -> View:
        rate = how.get("rate") or (limits.WRITES if is_change else limits.READS)
        wrappers = [_guarded(how.get("media", (JSON,)), rate)]
        if is_change:
            is_tried = how.get("tried", True)
            wrappers.insert(0, partial(retries.change, once=how.get("once", ""), is_tried=is_tried))
        decorate_view(*wrappers)(view)
        router.add_api_operation(
            path,
            [method],
            view,
            auth=Access(scope) if scope is not None else None,
            response=models,
            operation_id=view.__name__,
            summary=(view.__doc__ or view.__name__).strip().partition("\n")[0],
            openapi_extra=_extra(scope, tenancy, is_change=is_change, how=how),
        )
        return view

    return declare


def _models(
    response: dict[int, Any], tenancy: Tenancy, *, is_change: bool, how: dict[str, Any]
) -> dict[int, Any]:
    statuses = [*(WRITE if is_change else READ), *how.get("errors", ())]
    statuses += (409,) if tenancy == "tenant" else ()  # several may have the slug
    statuses += CONDITIONAL if how.get("conditional") else ()
    statuses += LISTED if how.get("listed") else ()
    models = {**response, **dict.fromkeys(sorted(set(statuses)), Problem)}
    return {**models, 304: None} if how.get("cached") else models


def _extra(
    scope: str | None, tenancy: Tenancy, *, is_change: bool, how: dict[str, Any]
) -> dict[str, Any]:
    parameters = [IDEMPOTENCY] if is_change else []
    parameters += [DRY_RUN] if is_change and how.get("tried", True) else []
    parameters += [IF_MATCH] if how.get("conditional") else []
    parameters += [IF_NONE_MATCH] if how.get("cached") else []
    extra = {"x-scope": scope, "x-tenancy": tenancy, "parameters": parameters}
    if scope is not None:
        extra["security"] = [{"token": []}, {"session": []}]
    return {**extra, **how.get("openapi", {})}


def _guarded(media: tuple[str, ...], rate: limits.Rate) -> Callable[[retries.Run], retries.Run]:
    """Refuse who asks too often, and a body of another kind before anything is read from it."""

    def around(run: retries.Run) -> retries.Run:
        @wraps(run)
        def guarded(request: HttpRequest, **path: Any) -> HttpResponse:
            allowance = limits.taken(request, rate)
            try:
                if allowance.is_over:
                    raise limits.too_many(allowance)
                if len(request.body) > LARGEST_BODY:  # one in chunks has not said so before
                    raise too_large()
                if request.body and request.content_type not in media:
                    raise _media_type(media)
                response = run(request, **path)
            except RefusedError as refused:
                response = answer(request, refused)
            except RequestDataTooBig:
                response = answer(request, too_large())
            response.headers.setdefault("Cache-Control", "no-store")
            return limits.stated(response, allowance)

        return guarded

    return around


def _media_type(media: tuple[str, ...]) -> RefusedError:
    detail = f"Send the body as {' or '.join(media)}."
    return RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "request.media_type", detail)


def too_large() -> RefusedError:
    detail = f"A body has at most {LARGEST_BODY} bytes."
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return RefusedError(status, "request.too_large", detail, limit_bytes=LARGEST_BODY)
