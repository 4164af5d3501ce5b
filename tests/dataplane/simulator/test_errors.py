"""What is refused, and in which shape."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.simulator.requests import ANTHROPIC, ASK, OPENAI, RESPOND

ROUTES = [
    pytest.param("/v1/messages", ASK, ANTHROPIC, id="messages"),
    pytest.param("/v1/chat/completions", ASK, OPENAI, id="chat"),
    pytest.param("/v1/responses", RESPOND, OPENAI, id="responses"),
]


@pytest.mark.parametrize(("path", "body", "headers"), ROUTES)
async def test_a_missing_credential_is_401_in_the_shape_of_the_dialect(
    simulator: Simulator,
    http: aiohttp.ClientSession,
    path: str,
    body: dict[str, Any],
    headers: dict[str, str],
) -> None:
    async with http.post(simulator.url + path, json=body) as response:
        error = await response.json()

    assert response.status == 401
    assert ("type" in error) is (headers is ANTHROPIC)
    assert error["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[]", id="03-case-33-array"),
        pytest.param(b'"x"', id="03-case-33-string"),
        pytest.param(b"{bad", id="03-case-33-broken"),
        pytest.param(b"\xef\xbb\xbf{}", id="03-case-33-bom"),
        pytest.param(b'{"model":"\xff"}', id="03-case-33-not-utf8"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"model":"m","max_tokens":1}', id="no-messages"),
        pytest.param(b'{"model":"m","max_tokens":1,"messages":[]}', id="no-message"),
        pytest.param(b'{"model":"m","max_tokens":1,"messages":{}}', id="messages-no-list"),
        pytest.param(b'{"model":"m","max_tokens":1,"messages":[1]}', id="message-no-object"),
        pytest.param(b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}", id="03-case-34-deep"),
    ],
)
@pytest.mark.parametrize(("path", "headers"), [(r.values[0], r.values[2]) for r in ROUTES])
async def test_a_malformed_body_is_400_in_the_shape_of_the_dialect(
    simulator: Simulator,
    http: aiohttp.ClientSession,
    path: str,
    headers: dict[str, str],
    body: bytes,
) -> None:
    async with http.post(simulator.url + path, data=body, headers=headers) as response:
        error = await response.json()

    assert response.status == 400
    assert error["error"]["type"] == "invalid_request_error"
    assert ("type" in error) is (headers is ANTHROPIC)


@pytest.mark.parametrize(
    ("method", "path", "headers", "kind"),
    [
        ("GET", "/v1/messages", ANTHROPIC, "not_found_error"),
        ("POST", "/v1/messages/batches", ANTHROPIC, "not_found_error"),
        ("GET", "/v1/files", OPENAI, "invalid_request_error"),
        ("POST", "/elsewhere", OPENAI, "invalid_request_error"),
    ],
)
async def test_anything_else_is_404_in_the_shape_of_the_dialect(
    simulator: Simulator,
    http: aiohttp.ClientSession,
    method: str,
    path: str,
    headers: dict[str, str],
    kind: str,
) -> None:
    async with http.request(method, simulator.url + path, headers=headers) as response:
        error = await response.json()

    assert (response.status, error["error"]["type"]) == (404, kind)
