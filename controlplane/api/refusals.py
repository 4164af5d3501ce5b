"""The one shape in which the API refuses (04 §2.4, 6.2): application/problem+json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

from controlplane.audit.origin import current
from controlplane.storage import Trouble

MEDIA_TYPE = "application/problem+json"
TITLES = {
    "config.invalid": "Configuration rejected",
    "not_found": "Not found",
    "request.invalid": "The request does not fit its schema",
    "precondition.failed": "Somebody else was faster",
    "precondition.required": "Say which state you have seen",
}


class RefusedError(Exception):
    """What the API says no with. more: further members of the envelope."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.more = more
        self.headers: dict[str, str] = {}


def not_found(what: str = "") -> RefusedError:
    """For an unknown object and a foreign one alike. what: as the caller named it."""
    said = f"There is no {what} that you may see." if what else "There is nothing here."
    return RefusedError(HTTPStatus.NOT_FOUND, "not_found", said)


def storage_refusal(trouble: Trouble) -> RefusedError:
    """What the disk or the database did not take."""
    return RefusedError(trouble.status, trouble.code, f"{trouble.fact} {trouble.next_step}")


def invalid(path: str, message: str, code: str = "request.invalid") -> RefusedError:
    """One field of the request; path: JSON pointer into the body, or the name of a parameter."""
    return RefusedError(
        HTTPStatus.UNPROCESSABLE_ENTITY, code, message, errors=[field_error(path, message, code)]
    )


def field_error(path: str, message: str, code: str) -> dict[str, Any]:
    return {"code": code, "severity": "error", "path": path, "message": message}


def answer(request: HttpRequest, refused: RefusedError) -> HttpResponse:
    """The envelope; members that a refusal does not set are empty, so that readers need no ifs."""
    body: dict[str, Any] = {
        "type": f"/docs/errors/{refused.code}",
        "title": TITLES.get(refused.code, refused.status.phrase),
        "status": int(refused.status),
        "code": refused.code,
        "request_id": current().request_id,
        "detail": refused.detail,
        "errors": [],
        "warnings": [],
        "advice": [],
        "truncated": False,
        **refused.more,
    }
    response = HttpResponse(
        "" if request.method == "HEAD" else json.dumps(body, ensure_ascii=False),
        status=refused.status,
        content_type=MEDIA_TYPE,
    )
    for name, value in {"Cache-Control": "no-store", **refused.headers}.items():
        response.headers[name] = value
    return response


def of_fields(errors: Iterable[Mapping[str, Any]]) -> RefusedError:
    """What a request schema says, one object a field (04 §2.4)."""
    found = [_of_field(error) for error in errors]
    codes = {error["code"] for error in found}
    code = codes.pop() if len(codes) == 1 else "request.invalid"
    detail = "; ".join(f"{error['path']}: {error['message']}" for error in found)
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, code, detail, errors=found)


def _of_field(error: Mapping[str, Any]) -> dict[str, Any]:
    place, *steps = (str(step) for step in error.get("loc", ()))
    inside = "".join(f"/{step}" for step in steps[1:])
    path = inside if place == "body" else "/".join(steps)
    if error.get("type") == "extra_forbidden":
        return field_error(path, "This field is not known here.", "request.unknown_field")
    return field_error(path, str(error.get("msg", "is not valid")), "request.invalid")
