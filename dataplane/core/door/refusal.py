"""Errors that the gateway itself answers, in the caller's own envelope.

Messages are constants: never an exception's text, never an upstream address.
Source: 03-proxy-and-recovery.md 1.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Refusal:
    """One named answer. retry: whether the SDKs may send the request again.

    counted: the reason under which it is counted, "" for not at all. retry_after_s: 0 for none.
    """

    name: str
    status: int
    type: str
    message: str
    counted: str = ""
    retry: bool = False
    retry_after_s: int = 0


def _refusals(*known: Refusal) -> dict[str, Refusal]:
    return {refusal.name: refusal for refusal in known}


PAGE, PAGE_SCHEMA = "page", 1  # 05-scoped-recovery-and-image-offload.md A3
_AUTH, _FORBIDDEN, _INVALID = "authentication_error", "permission_error", "invalid_request_error"
REFUSALS = _refusals(
    Refusal("no_token", 401, _AUTH, "The request carries no tenant key.", "auth"),
    Refusal("bad_token", 401, _AUTH, "The tenant key is unknown or was revoked.", "auth"),
    Refusal("unbound_key", 401, _AUTH, "No tenant key came with this provider key.", "auth"),
    Refusal(
        "no_provider_key",
        401,
        _AUTH,
        "The request carries no provider key, and this upstream expects the caller's own.",
        "no_provider_key",
    ),
    Refusal("account_disabled", 403, _FORBIDDEN, "This tenant is disabled.", "forbidden"),
    Refusal(
        "route_forbidden", 403, _FORBIDDEN,
        "This address is closed where the gateway holds the provider key.", "forbidden",
    ),
    Refusal(
        "server_state_forbidden", 403, _FORBIDDEN,
        "What the provider stored is closed where the gateway holds the provider key.",
        "forbidden",
    ),
    Refusal(
        "host_forbidden", 403, _FORBIDDEN,
        "Host is no name of this machine: HEADRACE_ALLOWED_HOSTS lists more of them.", "forbidden",
    ),
    Refusal(
        "cross_site", 403, _FORBIDDEN,
        "A page of another site may not use what is open to this machine.", "forbidden",
    ),
    Refusal("tenant_mismatch", 403, _FORBIDDEN, "The key belongs to another tenant.", "forbidden"),
    Refusal("view_forbidden", 403, _FORBIDDEN, "This view is not open to you.", "forbidden"),
    Refusal("not_found", 404, "not_found_error", "There is nothing at this address."),
    Refusal(
        "wrong_base_url", 404, "not_found_error",
        "There is nothing at this address: the base URL in the client's settings is not right.",
        "bad_request",
    ),
    Refusal("method_not_allowed", 405, "not_found_error", "This address has no such method."),
    Refusal("expired", 410, "not_found_error", "The original has expired."),
    Refusal("deleted", 410, "not_found_error", "The original was deleted."),
    Refusal(
        "not_text", 415, _INVALID, "The original is no text, and only text has pages.",
        "bad_request",
    ),
    Refusal(
        "invalid_range", 400, _INVALID,
        "limit is 0 or 4 to 262144 bytes, offset is the first byte of a character of the original, "
        "and with a query offset is 0.",
        "bad_request",
    ),
    Refusal(
        "invalid_request", 400, _INVALID,
        "offset and limit are whole numbers, and a query has at most 1024 characters.",
        "bad_request",
    ),
    Refusal("bad_body", 400, _INVALID, "The request body could not be read.", "bad_request"),
    Refusal(
        "token_in_url",
        400,
        _INVALID,
        "A key must not be part of the address: addresses end up in logs.",
        "bad_request",
    ),
    Refusal(
        "body_timeout", 408, _INVALID, "The request body did not arrive.", "bad_request", retry=True
    ),
    Refusal(
        "body_too_large",
        413,
        "request_too_large",
        "The request body is larger than this gateway accepts.",
        "body_too_large",
    ),
    Refusal(
        "auth_throttled",
        429,
        "rate_limit_error",
        "Too many failed sign-ins from this address.",
        "rate_limit",
        retry=True,
        retry_after_s=60,
    ),
    Refusal(
        "rate_limited", 429, "rate_limit_error", "This tenant's requests per minute are used up.",
        "rate_limit", retry=True,
    ),
    Refusal(
        "concurrency_limited", 429, "rate_limit_error",
        "This tenant has as many requests running as it may.",
        "concurrency", retry=True, retry_after_s=1,
    ),
    Refusal(
        "unsupported_upgrade", 426, _INVALID,
        "This address is not served over websockets. Send the request over HTTP, with POST.",
        "unsupported_upgrade",
    ),
    Refusal(
        "no_upstream", 502, "api_error", "No upstream serves this route for this tenant.",
        "no_upstream",
    ),
    Refusal(
        "upstream_credential_missing", 502, "api_error",
        "The gateway's key for this provider is missing.", "no_upstream",
    ),
    Refusal(
        "upstream_address_refused", 502, "api_error",
        "The provider's name leads to an address that this gateway may not connect to.",
        "upstream_error",
    ),
    Refusal(
        "upstream_error", 502, "api_error", "The provider could not be reached.",
        "upstream_error", retry=True,
    ),
    Refusal(
        "upstream_timeout", 502, "api_error", "The provider did not answer in time.",
        "upstream_error", retry=True,
    ),
    Refusal(
        "overloaded", 503, "overloaded_error", "This gateway is at its limit.",
        "overloaded", retry=True, retry_after_s=1,
    ),
    Refusal(
        "draining", 503, "overloaded_error", "This gateway is shutting down.",
        "overloaded", retry=True, retry_after_s=1,
    ),
    Refusal(
        "not_ready", 503, "overloaded_error", "This gateway has no configuration yet.",
        "overloaded", retry=True, retry_after_s=1,
    ),
    Refusal(
        "recovery_unavailable", 503, "api_error", "The original cannot be read now.",
        retry=True, retry_after_s=1,
    ),
)  # fmt: skip


def body_of(refusal: Refusal, family: str, *, request_id: str, detail: str = "") -> bytes:
    """The response body. family: "anthropic", "openai", PAGE for a page of an original, or "" for
    the gateway's other routes.
    """
    if family == PAGE:
        code = "unauthorized" if refusal.type == _AUTH else refusal.name
        return msgspec.json.encode({"schema_version": PAGE_SCHEMA, "error": {"code": code}})
    message = f"{refusal.message} {detail}".strip()
    envelope: dict[str, Any]
    if family == "anthropic":
        error = {"type": refusal.type, "message": message}
        envelope = {"type": "error", "error": error, "request_id": request_id}
    elif family == "openai":
        code = f"cg_{refusal.name}"
        envelope = {
            "error": {"message": message, "type": refusal.type, "param": None, "code": code}
        }
    else:
        envelope = {"error": {"code": refusal.name, "message": message}}
    return msgspec.json.encode(envelope)


def headers_of(refusal: Refusal, *, request_id: str) -> list[tuple[bytes, bytes]]:
    """The response headers, without content-length."""
    headers = [
        (b"content-type", b"application/json"),
        (b"x-cg-error", refusal.name.encode()),
        (b"x-context-guru-request-id", request_id.encode()),
    ]
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b'Bearer realm="context-guru"'))
    if refusal.status == HTTPStatus.UPGRADE_REQUIRED:
        headers.append((b"upgrade", b"HTTP/1.1"))
    if not refusal.retry:
        headers.append((b"x-should-retry", b"false"))
    elif refusal.retry_after_s:
        headers.append((b"retry-after", str(refusal.retry_after_s).encode()))
    return headers
