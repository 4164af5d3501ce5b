"""Idempotency keys and dry runs, around every operation that changes (04 §4.8, 6.1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from controlplane.api.refusals import RefusedError, answer, invalid
from controlplane.arrivals import scope_of_request
from controlplane.audit.actions import Subject, record
from controlplane.configs.models import IdempotencyRecord

KEEP = timedelta(hours=24)
ABANDONED = timedelta(minutes=2)
LONGEST_KEY = 64
LARGEST_RESPONSE = 64 * 1024
KEPT_HEADERS = ("ETag", "Location", "Content-Type")
SALT = "api.retries"
DRY = {"true": True, "1": True, "false": False, "0": False, "": False}
Run = Callable[..., HttpResponse]


def change(run: Run, *, once: str = "", is_tried: bool = True) -> Run:
    """Around an operation that changes something: once per key, undone when it is a dry run.

    once: a member of the answer that is never kept; where it is given again it is null.
    is_tried: whether it has dry runs.
    """

    @wraps(run)
    def changed(request: HttpRequest, **path: Any) -> HttpResponse:
        try:
            key, is_dry = _key(request), _is_dry(request)
            if is_dry and not is_tried:
                raise invalid("dry_run", "This cannot be tried: it is done, or it is not.")
        except RefusedError as refused:
            return answer(request, refused)

        def done() -> HttpResponse:
            return _tried(request, run, path, once) if is_dry else run(request, **path)

        return _kept(request, key, done, once) if key else done()

    return changed


def key_required(request: HttpRequest) -> None:
    """For deeds that a retry must not repeat."""
    if not _key(request):
        detail = "Send an Idempotency-Key, so that a retry does not do it twice."
        raise RefusedError(HTTPStatus.PRECONDITION_REQUIRED, "precondition.required", detail)


def _key(request: HttpRequest) -> str:
    key = request.headers.get("idempotency-key", "").strip()
    if len(key) > LONGEST_KEY or not key.isprintable():
        raise invalid("Idempotency-Key", f"At most {LONGEST_KEY} printable characters.")
    return key


def _is_dry(request: HttpRequest) -> bool:
    wanted = request.GET.get("dry_run", "").lower()
    if wanted not in DRY:
        raise invalid("dry_run", "Write true or false.")
    return DRY[wanted]


def _tried(request: HttpRequest, run: Run, path: dict[str, Any], once: str) -> HttpResponse:
    """Everything up to the commit, and then not; that it was tried is in the trail."""
    with transaction.atomic():
        response = run(request, **path)
        transaction.set_rollback(True)
    principal = scope_of_request(request).principal
    if principal is not None and response.status_code < HTTPStatus.BAD_REQUEST:
        after = {"dry_run": True, "method": request.method}
        record("api.dry_run", Subject("", request.path[:200]), principal, after=after)
    if response.get("Content-Type", "").startswith("application/json") and response.content:
        body = json.loads(_without(once, response.content))
        response.content = json.dumps({**body, "dry_run": True}, ensure_ascii=False).encode()
    return response


def _without(once: str, content: bytes) -> bytes:
    """The answer in which what may be shown a single time is null."""
    body = json.loads(content) if once else None
    if not isinstance(body, dict) or once not in body:
        return content
    return json.dumps({**body, once: None}, ensure_ascii=False).encode()


def _kept(
    request: HttpRequest, key: str, done: Callable[[], HttpResponse], once: str
) -> HttpResponse:
    principal = scope_of_request(request).principal
    if principal is None:
        return done()
    digest = _digest(request)
    try:
        held = _claimed(principal.actor_uid, key, request, digest)
    except RefusedError as refused:
        return answer(request, refused)
    if held.status is not None:
        return _again(held)
    try:
        response = done()
    except BaseException:
        held.delete()
        raise
    _remember(held, response, once)
    return response


def _claimed(principal: str, key: str, request: HttpRequest, digest: str) -> IdempotencyRecord:
    """The record of this request: a new one, or one with the answer that was given before."""
    now = timezone.now()
    IdempotencyRecord.objects.filter(created_at__lt=now - KEEP).delete()
    gone = IdempotencyRecord.objects.filter(principal=principal, key=key, status=None)
    gone.filter(created_at__lt=now - ABANDONED).delete()
    try:
        with transaction.atomic():
            return IdempotencyRecord.objects.create(
                principal=principal,
                key=key,
                method=request.method or "",
                path=request.path[:300],
                request_hash=digest,
                created_at=now,
            )
    except IntegrityError:
        held = IdempotencyRecord.objects.get(principal=principal, key=key)
    if held.request_hash != digest:
        raise invalid(
            "Idempotency-Key", "This key was used for another request.", "idempotency.key_reused"
        )
    if held.status is None:
        detail = "The first request with this key is still running."
        raise RefusedError(HTTPStatus.CONFLICT, "idempotency.in_progress", detail)
    return held


def _digest(request: HttpRequest) -> str:
    """Keyed, because a body may hold a password: whoever reads the record can try none on it."""
    head = f"{request.method} {request.get_full_path()} {request.headers.get('if-match', '')}\n"
    return salted_hmac(SALT, head.encode() + request.body, algorithm="sha256").hexdigest()


def _remember(held: IdempotencyRecord, response: HttpResponse, once: str) -> None:
    """What was refused changed nothing, so a retry is a new try and not the old answer; nor is an
    answer given again that is too large to keep.
    """
    text = _without(once, response.content).decode()
    if response.status_code >= HTTPStatus.BAD_REQUEST or len(text) > LARGEST_RESPONSE:
        held.delete()
        return
    held.status = response.status_code
    held.response = text
    held.headers = {name: response[name] for name in KEPT_HEADERS if response.has_header(name)}
    held.save(update_fields=["status", "response", "headers"])


def _again(held: IdempotencyRecord) -> HttpResponse:
    response = HttpResponse(held.response, status=held.status)
    for name, value in held.headers.items():
        response.headers[name] = value
    response.headers["Idempotent-Replay"] = "true"
    return response
