"""Provider keys and bound agent keys on a running node: cases 4 to 6 and 10 to 14 of
03-proxy-and-recovery.md 10.1.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from dataplane.core.resource import AGENT_KEY_KIND
from dataplane.simulator.server import Recorded
from tests.dataplane.gateway import TA, TenantSpec, tenants
from tests.dataplane.gateway_cases.served import AGENT, Serve, Served

HELD = "sk-ant-held-by-the-gateway"
BOUND = "sk-proj-an-agents-own-key"
BY_NAME: dict[str, Any] = {"upstream": {"key_ref": "main"}, "secrets": {"main": HELD}.get}
BY_ENVIRONMENT: dict[str, Any] = {
    "upstream": {"key_env": "PROVIDER_KEY"},
    "environment": {"PROVIDER_KEY": HELD},
}
KEY = {"x-context-guru-token": TA}
MESSAGE = json.dumps(
    {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
).encode()
held = pytest.mark.parametrize(
    "settings", [pytest.param(BY_NAME, id="name"), pytest.param(BY_ENVIRONMENT, id="variable")]
)


def slots(request: Recorded) -> dict[str, str]:
    names = (b"authorization", b"x-api-key", b"x-goog-api-key", b"x-provider")
    return {n.decode(): v.decode() for n, v in request.headers if n.lower() in names}


# ---- a key that we hold -----------------------------------------------------------------------


@held
async def test_case_12_only_the_held_key_reaches_the_provider(
    serve: Serve, settings: dict[str, Any]
) -> None:
    theirs = KEY | {"x-api-key": "mine", "authorization": "Bearer mine", "x-goog-api-key": "mine"}
    async with serve(**settings) as served:
        for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/embeddings"):
            await served.send("POST", path, content=MESSAGE, headers=theirs)

    as_anthropic = {"x-api-key": HELD}
    assert list(map(slots, served.simulator.requests)) == [
        as_anthropic,
        as_anthropic,
        {"authorization": f"Bearer {HELD}"},
    ]


async def test_a_tenant_needs_no_provider_key_where_one_is_held(serve: Serve) -> None:
    async with serve(**BY_NAME) as served:
        answer = await served.send("POST", "/v1/messages", content=MESSAGE, headers=KEY)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("header", "sent"),
    [("x-provider", HELD), ("Authorization", f"Bearer {HELD}")],
)
async def test_the_held_key_goes_where_the_upstream_wants_it(
    serve: Serve, header: str, sent: str
) -> None:
    upstream = {"key_ref": "main", "header": header}
    async with serve(upstream=upstream, secrets={"main": HELD}.get) as served:
        theirs = AGENT | {"x-provider": "mine"}
        await served.send("POST", "/v1/messages", content=MESSAGE, headers=theirs)

    found = slots(served.simulator.requests[0])
    assert found.pop(header.lower()) == sent
    assert HELD not in found.values()
    assert "x-api-key" not in found


async def test_the_key_is_read_at_every_request(serve: Serve) -> None:
    keys = {"main": "sk-old"}
    async with serve(upstream={"key_ref": "main"}, secrets=keys.get) as served:
        await served.post(MESSAGE)
        keys["main"] = "sk-new"
        await served.post(MESSAGE)

    found = [slots(request)["x-api-key"] for request in served.simulator.requests]
    assert found == ["sk-old", "sk-new"]


@pytest.mark.parametrize("key", [None, "", "  ", "sk-\r\nx-evil: 1", "sk-✓"])
async def test_case_11_a_held_key_that_is_missing_is_no_reason_to_send_the_callers(
    serve: Serve, key: str | None
) -> None:
    async with serve(upstream={"key_env": "K"}, environment={"K": key} if key else {}) as served:
        answer = await served.post(MESSAGE)

    assert answer.status_code == 502
    assert answer.headers["x-cg-error"] == "upstream_credential_missing"
    assert answer.headers["x-should-retry"] == "false"
    assert served.sent == []
    assert served.refused("acme") == {"no_upstream": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/v1/files", id="13-files"),
        pytest.param("GET", "/v1/responses/resp_1", id="13-response"),
        pytest.param("POST", "/v1/messages/batches", id="13-batches"),
        ("DELETE", "/v1/models/ft:mine"),
        ("GET", "/v1/models/../files"),
        ("GET", "/v1/models/%2e%2e%2ffiles"),
        ("GET", "/v1/models/a/permissions"),
        ("GET", "/v1/organizations/me"),
        ("POST", "/v1/conversations"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("DELETE", "/v1/embeddings"),
    ],
)
async def test_case_13_what_belongs_to_the_account_is_closed(
    serve: Serve, method: str, path: str
) -> None:
    async with serve(**BY_NAME) as served:
        url = served.http.build_request(method, served.gateway.url, headers=AGENT).url
        request = served.http.build_request(
            method, url.copy_with(raw_path=path.encode()), headers=AGENT
        )
        answer = await served.http.send(request)
        await served.settled()

    assert (answer.status_code, answer.headers["x-cg-error"]) == (403, "route_forbidden")
    assert served.simulator.requests == []
    assert served.refused("acme") == {"forbidden": 1}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/models", b""),
        ("GET", "/v1/models/gpt-5.6", b""),
        ("POST", "/v1/chat/completions", MESSAGE),
        ("POST", "/v1/responses", b'{"model":"m","input":"Hello"}'),
        ("POST", "/v1/messages/count_tokens", MESSAGE),
        ("POST", "/v1/embeddings", b'{"model":"e","input":"Hello"}'),
    ],
)
async def test_what_stands_on_its_own_is_open(
    serve: Serve, method: str, path: str, body: bytes
) -> None:
    async with serve(**BY_NAME) as served:
        answer = await served.send(method, path, content=body, headers=AGENT)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param({"previous_response_id": "resp_1"}, {}, id="14-previous"),
        pytest.param({"conversation": "conv_1"}, {}, id="14-conversation"),
        pytest.param({}, {"content-encoding": "gzip"}, id="14-compressed"),
        pytest.param({"input": [{"type": "item_reference", "id": "msg_1"}]}, {}, id="14-item"),
        pytest.param({"input": [{"id": "msg_1"}]}, {}, id="14-item-without-type"),
        pytest.param({"prompt": {"id": "pmpt_1"}}, {}, id="14-prompt"),
        pytest.param(
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
            {},
            id="14-file",
        ),
        pytest.param({"tools": [{"vector_store_ids": ["vs_1"]}]}, {}, id="14-vector-store"),
        pytest.param({"tools": [{"container": "cntr_1"}]}, {}, id="14-container"),
        pytest.param(None, {}, id="14-unreadable"),
    ],
)
@pytest.mark.parametrize("path", ["", "/input_tokens", "/compact"])
async def test_case_14_what_another_tenant_may_have_stored_is_closed(
    serve: Serve, body: dict[str, Any] | None, headers: dict[str, str], path: str
) -> None:
    written = {"model": "m", "input": "Hello", **(body or {})}
    raw = json.dumps(written).encode() if body is not None else b'{"a":1,"a":2}'
    async with serve(**BY_NAME) as served:
        answer = await served.send(
            "POST", "/v1/responses" + path, content=raw, headers=AGENT | headers
        )

    assert (answer.status_code, answer.headers["x-cg-error"]) == (403, "server_state_forbidden")
    assert answer.json()["error"]["code"] == "cg_server_state_forbidden"
    assert served.sent == []


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/v1/messages", {"type": "container_upload", "file_id": "file_1"}),
        ("/v1/messages/count_tokens", {"type": "container_upload", "file_id": "file_1"}),
        ("/v1/chat/completions", {"type": "file", "file": {"file_id": "file_1"}}),
    ],
)
async def test_every_dialect_names_what_it_would_not_let_pass(
    serve: Serve, path: str, content: dict[str, Any]
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": [content]}]}
    async with serve(**BY_NAME) as served:
        answer = await served.send("POST", path, content=json.dumps(body).encode(), headers=AGENT)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (403, "server_state_forbidden")
    assert "messages[0].content[0]." in answer.json()["error"]["message"]
    assert served.sent == []


async def test_with_a_held_key_the_caller_chooses_no_part_of_the_account(serve: Serve) -> None:
    chosen = {
        "openai-organization": "org_1",
        "openai-project": "proj_1",
        "anthropic-workspace-id": "wrkspc_1",
        "anthropic-user-profile-id": "up_1",
    }
    async with serve(**BY_NAME) as served:
        await served.send("POST", "/v1/messages", content=MESSAGE, headers=AGENT | chosen)

    (request,) = served.simulator.requests
    assert not chosen.keys() & {name.decode().lower() for name, _ in request.headers}


async def test_case_14_an_upstream_may_allow_what_it_stored(serve: Serve) -> None:
    body = b'{"model":"m","input":"Hello","previous_response_id":"resp_1"}'
    upstream = {"key_ref": "main", "allow_server_state": True}
    async with serve(upstream=upstream, secrets={"main": HELD}.get) as served:
        await served.post(body, path="/v1/responses")

    assert served.sent == [body]


async def test_with_the_callers_key_everything_is_the_callers_own(served: Served) -> None:
    body = b'{"model":"m","input":"Hello","previous_response_id":"resp_1"}'
    await served.post(body, path="/v1/responses")
    await served.send("GET", "/v1/files", headers=AGENT)

    assert [request.path for request in served.simulator.requests] == [
        "/v1/responses",
        "/v1/files",
    ]


async def test_the_held_key_is_in_no_log_and_no_representation(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serve(**BY_ENVIRONMENT) as served:
        await served.post(MESSAGE)

    assert HELD not in caplog.text
    assert HELD not in repr(served.gateway.node.settings)


# ---- a caller's key that is bound to a tenant -------------------------------------------------


def bound() -> list[TenantSpec]:
    return [*tenants()[:1], TenantSpec("cedar", BOUND, principal="pc", kind=AGENT_KEY_KIND)]


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": BOUND},
        {"authorization": f"Bearer {BOUND}"},
        {"authorization": f"Apikey {BOUND}"},
    ],
)
async def test_case_4_a_bound_key_says_whose_request_it_is_and_goes_on(
    serve: Serve, headers: dict[str, str]
) -> None:
    async with serve(specs=bound()) as served:
        await served.send("POST", "/v1/messages", content=MESSAGE, headers=headers)

        assert slots(served.simulator.requests[0]) == headers
        assert served.stats("cedar")["requests"] == 1


async def test_a_token_wins_over_a_bound_key(serve: Serve) -> None:
    async with serve(specs=bound()) as served:
        await served.send(
            "POST", "/v1/messages", content=MESSAGE, headers=KEY | {"x-api-key": BOUND}
        )

        assert served.stats("acme")["requests"] == 1
        assert served.stats("cedar")["requests"] == 0


async def test_case_6_an_unknown_token_is_not_helped_by_a_bound_key(serve: Serve) -> None:
    unknown = {"x-context-guru-token": "cg_live_" + "C" * 26, "x-api-key": BOUND}
    async with serve(specs=bound()) as served:
        answer = await served.send("POST", "/v1/messages", content=MESSAGE, headers=unknown)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (401, "bad_token")


async def test_a_bound_key_is_no_token(serve: Serve) -> None:
    async with serve(specs=bound()) as served:
        answer = await served.send(
            "POST", "/v1/messages", content=MESSAGE, headers={"x-context-guru-token": BOUND}
        )

    assert answer.headers["x-cg-error"] == "bad_token"


async def test_case_5_a_key_that_nobody_bound_is_refused(serve: Serve) -> None:
    async with serve(specs=bound()) as served:
        answer = await served.send(
            "POST", "/v1/messages", content=MESSAGE, headers={"x-api-key": "sk-nobodys-key-at-all"}
        )

    assert (answer.status_code, answer.headers["x-cg-error"]) == (401, "unbound_key")
