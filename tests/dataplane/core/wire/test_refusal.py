"""The gateway's own errors, in each caller's envelope (03 §1.7)."""

from __future__ import annotations

import json

import pytest

from dataplane.core.door.refusal import REFUSALS, body_of, headers_of

TABLE = """
no_token 401 authentication_error no auth
bad_token 401 authentication_error no auth
unbound_key 401 authentication_error no auth
no_provider_key 401 authentication_error no no_provider_key
account_disabled 403 permission_error no forbidden
tenant_mismatch 403 permission_error no forbidden
view_forbidden 403 permission_error no forbidden
not_found 404 not_found_error no -
method_not_allowed 405 not_found_error no -
bad_body 400 invalid_request_error no bad_request
token_in_url 400 invalid_request_error no bad_request
body_timeout 408 invalid_request_error yes bad_request
body_too_large 413 request_too_large no body_too_large
auth_throttled 429 rate_limit_error yes rate_limit
unsupported_upgrade 426 invalid_request_error no unsupported_upgrade
no_upstream 502 api_error no no_upstream
upstream_error 502 api_error yes upstream_error
upstream_timeout 502 api_error yes upstream_error
overloaded 503 overloaded_error yes overloaded
draining 503 overloaded_error yes overloaded
not_ready 503 overloaded_error yes overloaded
"""
ROWS = [row.split() for row in TABLE.strip().splitlines()]


@pytest.mark.parametrize(
    ("name", "status", "kind", "retry", "counted"), [pytest.param(*row, id=row[0]) for row in ROWS]
)
def test_every_row_of_the_table_is_answered_as_it_says(
    name: str, status: str, kind: str, retry: str, counted: str
) -> None:
    refusal = REFUSALS[name]
    headers = dict(headers_of(refusal, request_id="R"))

    assert (refusal.status, refusal.type) == (int(status), kind)
    assert refusal.counted == counted.strip("-")
    assert headers[b"x-cg-error"] == name.encode()
    assert headers[b"x-context-guru-request-id"] == b"R"
    assert headers[b"content-type"] == b"application/json"
    assert headers.get(b"x-should-retry") == (None if retry == "yes" else b"false")
    assert (b"www-authenticate" in headers) is (status == "401")


@pytest.mark.parametrize("name", list(REFUSALS))
def test_each_dialect_gets_its_own_envelope(name: str) -> None:
    refusal = REFUSALS[name]
    anthropic, openai, own = (
        json.loads(body_of(refusal, family, request_id="R"))
        for family in ("anthropic", "openai", "")
    )

    message = refusal.message
    assert anthropic == {
        "type": "error",
        "error": {"type": refusal.type, "message": message},
        "request_id": "R",
    }
    assert openai == {
        "error": {"message": message, "type": refusal.type, "param": None, "code": f"cg_{name}"}
    }
    assert own == {"error": {"code": name, "message": message}}


def test_a_detail_stands_behind_the_message() -> None:
    body = json.loads(body_of(REFUSALS["account_disabled"], "", request_id="R", detail="unpaid"))

    assert body["error"]["message"] == "This tenant is disabled. unpaid"


@pytest.mark.parametrize(("name", "seconds"), [("auth_throttled", b"60"), ("overloaded", b"1")])
def test_who_may_retry_is_told_when(name: str, seconds: bytes) -> None:
    assert (b"retry-after", seconds) in headers_of(REFUSALS[name], request_id="R")
