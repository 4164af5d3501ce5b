"""The API as commands use it: HEADRACE_URL, HEADRACE_TOKEN, and what each refusal exits with."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from controlplane.cli.exits import CONFLICT, INVALID, NOT_PERMITTED, TIMED_OUT, UNEXPECTED
from controlplane.cli.settings import PROFILE, ProfileError, remote_api

TIMEOUT_S = 30.0
patience_s: ContextVar[float] = ContextVar("patience_s", default=TIMEOUT_S)
EXITS = {
    HTTPStatus.UNAUTHORIZED: NOT_PERMITTED,
    HTTPStatus.FORBIDDEN: NOT_PERMITTED,
    HTTPStatus.CONFLICT: CONFLICT,
    HTTPStatus.PRECONDITION_FAILED: CONFLICT,
}


class RemoteError(Exception):
    """A refusal, or no answer at all. exit_code: what the command ends with; body: the envelope."""

    def __init__(self, message: str, exit_code: int, body: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.body = body or {}


@dataclass(frozen=True, slots=True)
class Answer:
    body: Any
    etag: str


class _Stay(HTTPRedirectHandler):
    """A redirect would carry the token to another place."""

    def redirect_request(self, *_: Any) -> None:
        return None


def call(method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """RemoteError for everything but a success. Headers with _ for -."""
    url, token = _deployment()
    sent = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = None if body is None else json.dumps(body).encode()
    if raw is not None:
        sent["Content-Type"] = "application/json"
    if method == "POST":
        sent["Idempotency-Key"] = secrets.token_hex(16)
    request = Request(f"{url}/api/v1{path}", raw, sent, method=method)  # noqa: S310  checked above
    try:
        with build_opener(_Stay).open(request, timeout=patience_s.get()) as response:
            return Answer(_body(response.read()), response.headers.get("ETag", ""))
    except HTTPError as refused:
        raise _refusal(refused) from None
    except TimeoutError:
        said = f"{url} did not answer within {patience_s.get():g} s."
        raise RemoteError(said, TIMED_OUT) from None
    except URLError as silent:
        raise RemoteError(f"{url} does not answer: {silent.reason}", UNEXPECTED) from None


def _deployment() -> tuple[str, str]:
    """Address and token of the deployment that is meant."""
    try:
        url, token = remote_api()
    except ProfileError as problem:
        raise RemoteError(str(problem), UNEXPECTED) from problem
    if not url or not token:
        raise RemoteError(f"Set HEADRACE_URL and HEADRACE_TOKEN, or write {PROFILE}.", UNEXPECTED)
    if urlsplit(url).scheme not in ("http", "https"):
        raise RemoteError("HEADRACE_URL begins with http:// or https://.", UNEXPECTED)
    return url, token


def named(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


def _body(raw: bytes) -> Any:
    return json.loads(raw) if raw else None


def _refusal(refused: HTTPError) -> RemoteError:
    try:
        body = json.loads(refused.read())
    except ValueError:
        return RemoteError(f"{refused.url} answers {refused.code}.", UNEXPECTED)
    code = str(body.get("code", ""))
    exit_code = (
        INVALID if code == "config.invalid" else EXITS.get(HTTPStatus(refused.code), UNEXPECTED)
    )
    return RemoteError(f"{code}: {body.get('detail', '')}", exit_code, body)
