"""ETag, If-Match and If-None-Match: nobody overwrites what they have not seen (04 §4.8, 6.1)."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest

from controlplane.api.refusals import RefusedError
from controlplane.configs.models import ConfigDocument
from controlplane.configs.plans import etag_of
from controlplane.configs.problems import StaleBaseError


def quoted(etag: str) -> str:
    return f'"{etag}"'


def is_unchanged(request: HttpRequest, etag: str) -> bool:
    """Whether the reader has this state already."""
    return quoted(etag) in _listed(request, "if-none-match")


def based_on(request: HttpRequest, document: ConfigDocument) -> int:
    """The number of the version that the caller has seen, 0 for none.

    428 without If-Match (or If-None-Match: * for a first version), 412 when it is not the newest.
    """
    number = document.head.number if document.head else 0
    match = _listed(request, "if-match")
    if not match:
        if _listed(request, "if-none-match") != ["*"]:
            raise _required(document)
        match = [quoted(etag_of(document))] if number == 0 else []
    if quoted(etag_of(document)) not in match and match != ["*"]:
        raise failed(document)
    return number


def unchanged_since(request: HttpRequest, etag: str) -> None:
    """428 without If-Match, 412 when what the caller has seen is not what there is."""
    match = _listed(request, "if-match")
    if match and (quoted(etag) in match or match == ["*"]):
        return
    status, code = HTTPStatus.PRECONDITION_REQUIRED, "precondition.required"
    detail = "Send If-Match with the ETag of what you have read."
    if match:
        status, code = HTTPStatus.PRECONDITION_FAILED, "precondition.failed"
        detail = "It was changed since you read it. Read it again."
    refused = RefusedError(status, code, detail, current_etag=etag)
    refused.headers["ETag"] = quoted(etag)
    raise refused


def _listed(request: HttpRequest, header: str) -> list[str]:
    parts = (part.strip() for part in request.headers.get(header, "").split(","))
    return [part.removeprefix("W/") for part in parts if part]


def _required(document: ConfigDocument) -> RefusedError:
    detail = "Send If-Match with the ETag of the document that you have read."
    refused = RefusedError(HTTPStatus.PRECONDITION_REQUIRED, "precondition.required", detail)
    refused.headers["ETag"] = quoted(etag_of(document))
    return refused


def failed(document: ConfigDocument) -> RefusedError:
    """With the current state and who wrote it, and where to see what happened since."""
    head = document.head
    etag = etag_of(document)
    author = head.author.email if head and head.author else "system"
    refused = RefusedError(
        HTTPStatus.PRECONDITION_FAILED,
        "precondition.failed",
        f"Version {head.number if head else 0} was saved meanwhile.",
        current_etag=etag,
        author=author,
        message=head.message if head else "",
        diff=f"/api/v1/documents/{document.uid}/merge",
    )
    refused.headers["ETag"] = quoted(etag)
    return refused


def overtaken(lost: StaleBaseError) -> RefusedError:
    document = lost.head.document
    document.head = lost.head
    return failed(document)
