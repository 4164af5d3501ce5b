"""The API of version 1: its routers, its refusals, its description (04 §6)."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as SchemaError

from controlplane.accounts import upstream_urls
from controlplane.accounts.problems import AccountError
from controlplane.api import (
    checks,
    documents,
    keys,
    me,
    nodes,
    organisations,
    plans,
    presets,
    prices,
    request_exports,
    secrets,
    session,
    tenant_changes,
    tokens,
    trail,
    upstreams,
)
from controlplane.api.conditions import overtaken
from controlplane.api.described import described
from controlplane.api.operations import too_large
from controlplane.api.parsing import BodyParser
from controlplane.api.refusals import (
    RefusedError,
    answer,
    field_error,
    not_found,
    of_fields,
    storage_refusal,
)
from controlplane.configs.problems import ConfigsError, StaleBaseError
from controlplane.configs.reports import split
from controlplane.storage import trouble_of
from dataplane.core.config.problems import MAX_PROBLEMS, ConfigError, summary
from dataplane.core.config.registry import SCHEMA_VERSION
from dataplane.core.config.source import EditError

log = logging.getLogger("headrace.api")


class Api(NinjaAPI):
    def get_openapi_schema(self, **how: Any) -> Any:
        return described(super().get_openapi_schema(**how))


api = Api(
    title="Headrace",
    version="1",
    description="The control plane of a context-compaction gateway.",
    docs_url=None,
    openapi_url="/openapi.json",
    parser=BodyParser(),
)
for router in (
    session.router,
    me.router,
    organisations.router,
    tenant_changes.router,
    keys.router,
    tokens.router,
    secrets.router,
    upstreams.router,
    prices.router,
    nodes.router,
    trail.router,
    request_exports.router,
    documents.router,
    checks.router,
    presets.router,
    plans.router,
):
    api.add_router("", router)


def refusal_of(problem: Exception) -> RefusedError:
    """What each failure is called in the envelope."""
    if isinstance(problem, RefusedError):
        return problem
    if isinstance(problem, ConfigError):
        return _rejected(problem)
    if isinstance(problem, StaleBaseError):
        return overtaken(problem)
    if isinstance(problem, ConfigsError | AccountError):
        return RefusedError(problem.status, problem.code, str(problem))
    return _of_the_request(problem)


def _of_the_request(problem: Exception) -> RefusedError:
    if isinstance(problem, SchemaError):
        return of_fields(problem.errors)
    if isinstance(problem, ValidationError | EditError):
        return _unfit(problem)
    if isinstance(problem, RequestDataTooBig):
        return too_large()
    if isinstance(problem, HttpError):
        status = HTTPStatus(problem.status_code)
        return RefusedError(status, "request.malformed", "The body cannot be read as JSON.")
    if isinstance(problem, Http404):
        return not_found()
    return _fault(problem)


def _fault(problem: Exception) -> RefusedError:
    """Of the disk, of the database, or else of ours."""
    if (trouble := trouble_of(problem)) is not None:
        log.error("api.%s %s", trouble.code.replace(".", "_"), problem)
        return storage_refusal(trouble)
    log.exception("api.failed", exc_info=problem)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return RefusedError(status, "internal", "This is a fault of ours; it is in the log.")


def _rejected(problem: ConfigError) -> RefusedError:
    found = problem.problems
    return RefusedError(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "config.invalid",
        summary(found),
        **split(found),
        truncated=len(found) >= MAX_PROBLEMS,
        schema_version=SCHEMA_VERSION,
    )


def _unfit(problem: ValidationError | EditError) -> RefusedError:
    if getattr(problem, "code", None) == upstream_urls.CODE:
        return _bad_address(problem)
    fields: dict[str, list[str]] = {"": [str(problem)]}
    if isinstance(problem, ValidationError):
        has_fields = hasattr(problem, "error_dict")
        fields = problem.message_dict if has_fields else {"": problem.messages}
    errors = [
        field_error("" if name in ("", "__all__") else f"/{name}", text, "request.invalid")
        for name, texts in fields.items()
        for text in texts
    ]
    detail = " ".join(error["message"] for error in errors)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return RefusedError(status, "request.invalid", detail, errors=errors)


def _bad_address(problem: Any) -> RefusedError:
    """An outbound address that breaks a rule: the rule's name, never what a name resolves to."""
    status, rule = HTTPStatus.UNPROCESSABLE_ENTITY, (problem.params or {}).get("rule", "form")
    return RefusedError(status, upstream_urls.CODE, " ".join(problem.messages), rule=rule)


def refuse(request: HttpRequest, problem: Exception | type[Exception]) -> HttpResponse:
    problem = problem if isinstance(problem, Exception) else problem()
    return answer(request, refusal_of(problem))


for kind in (Exception, Http404, HttpError, SchemaError):
    api.add_exception_handler(kind, refuse)
