"""Routing, identity and credentials of a running node: 03-proxy-and-recovery.md 10.1.

Cases 4 and 11 to 14 are in test_credentials.py.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest
import websockets
from websockets.asyncio.client import connect

from dataplane.adapters.door.gatekeeper import Gatekeeper
from tests.dataplane.gateway import TA, TB, tenants
from tests.dataplane.gateway_cases.served import AGENT, LONG, Serve, Served, with_output

BODY = with_output("short")
NOBODY = "cg_live_" + "C" * 26
JWT = "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0"


def names_of(served: Served) -> set[str]:
    """Header names of the newest request that the provider got."""
    return {name.decode().lower() for name, _ in served.simulator.requests[-1].headers}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/v1/messages", id="01-bare"),
        pytest.param("/anthropic/v1/messages", id="01-prefixed"),
        pytest.param("/t/acme/anthropic/v1/messages", id="01-narrowed"),
    ],
)
async def test_every_spelling_of_an_address_reaches_the_same_upstream_path(
    served: Served, path: str
) -> None:
    answer = await served.post(BODY, path=path, x_context_guru_session="s")

    assert answer.status_code == 200
    assert served.simulator.requests[-1].path == "/v1/messages"
    assert not [name for name in names_of(served) if name.startswith("x-context-guru-")]


@pytest.mark.parametrize(
    ("headers", "forwarded"),
    [
        pytest.param(
            {"authorization": f"Bearer {TA}", "x-api-key": "sk-1"},
            {"x-api-key": "sk-1"},
            id="02-authorization",
        ),
        pytest.param(
            {"x-api-key": TA, "authorization": "Bearer sk-1"},
            {"authorization": "Bearer sk-1"},
            id="02-x-api-key",
        ),
        pytest.param(
            {"authorization": f"Apikey {TA}", "x-api-key": "sk-1"},
            {"x-api-key": "sk-1"},
            id="02-another-scheme",
        ),
        pytest.param(
            [("authorization", JWT), ("authorization", f"Bearer {TA}"), ("x-api-key", "sk-1")],
            {"x-api-key": "sk-1"},
            id="03-repeated-header",
        ),
    ],
)
async def test_a_tenant_key_is_found_in_any_slot_and_never_forwarded(
    served: Served, headers: Any, forwarded: dict[str, str]
) -> None:
    answer = await served.send("POST", "/v1/messages", content=BODY, headers=headers)

    assert answer.status_code == 200
    got = served.simulator.requests[-1]
    for slot in ("authorization", "x-api-key", "x-context-guru-token"):
        assert got.header(slot) == forwarded.get(slot)


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        pytest.param({"x-api-key": "sk-of-nobody-we-know"}, "unbound_key", id="05"),
        pytest.param({"authorization": f"Bearer {NOBODY}"}, "bad_token", id="06"),
        pytest.param({"authorization": f"Bearer {TA[:-1]}"}, "unbound_key", id="06-truncated"),
        pytest.param({"authorization": "Bearer"}, "no_token", id="07-scheme-alone"),
        pytest.param({}, "no_token", id="07-nothing"),
    ],
)
async def test_who_cannot_be_told_is_refused_in_the_dialects_envelope(
    served: Served, headers: dict[str, str], name: str
) -> None:
    answer = await served.send("POST", "/v1/messages", content=BODY, headers=headers)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (401, name)
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["www-authenticate"] == 'Bearer realm="context-guru"'
    error = answer.json()
    assert (error["type"], error["error"]["type"]) == ("error", "authentication_error")
    assert error["request_id"] == answer.headers["x-context-guru-request-id"]
    assert served.refused() == {"auth": 1}
    assert served.sent == []


async def test_case_08_only_failures_are_throttled(served: Served) -> None:
    node = served.gateway.node
    node.door.gatekeeper = Gatekeeper(node.snapshots, failures_per_minute=10, clock=lambda: 90.0)
    bad = {"x-context-guru-token": NOBODY}

    answers = [
        await served.send("POST", "/v1/messages", content=BODY, headers=bad) for _ in range(11)
    ]
    good = await served.post(BODY)

    assert [answer.status_code for answer in answers] == [401] * 10 + [429]
    assert answers[-1].headers["x-cg-error"] == "auth_throttled"
    assert answers[-1].headers["retry-after"] == "60"
    assert "x-should-retry" not in answers[-1].headers
    assert good.status_code == 200
    assert served.refused() == {"auth": 10, "rate_limit": 1}


async def test_case_09_a_disabled_tenant_is_told_the_recorded_reason(serve: Serve) -> None:
    specs = tenants(status="disabled", status_reason="unpaid")

    async with serve(specs=specs) as served:
        answer = await served.post(BODY)

        assert (answer.status_code, answer.headers["x-cg-error"]) == (403, "account_disabled")
        assert "unpaid" in answer.json()["error"]["message"]
        assert served.refused("acme") == {"forbidden": 1}


async def test_case_10_without_a_provider_key_the_tenant_is_charged_and_not_the_process(
    served: Served,
) -> None:
    answer = await served.send(
        "POST", "/v1/messages", content=BODY, headers={"x-context-guru-token": TA}
    )

    assert (answer.status_code, answer.headers["x-cg-error"]) == (401, "no_provider_key")
    assert served.refused("acme") == {"no_provider_key": 1}
    assert served.refused() == {}
    assert served.sent == []


@pytest.mark.parametrize(
    ("path", "status", "name"),
    [
        pytest.param("/t/other/v1/messages", 403, "tenant_mismatch", id="15-other-tenant"),
        pytest.param(f"/t/{TA}/v1/messages", 400, "token_in_url", id="15-token"),
        pytest.param(f"/t/%63{TA[1:]}/v1/messages", 400, "token_in_url", id="15-token-in-escapes"),
        pytest.param(f"/v1/messages?key={TA}", 400, "token_in_url", id="15-token-in-query"),
        pytest.param(f"/v1/messages?k=%63{TA[1:]}", 400, "token_in_url", id="15-query-in-escapes"),
    ],
)
async def test_an_address_narrows_and_never_authenticates(
    served: Served, caplog: pytest.LogCaptureFixture, path: str, status: int, name: str
) -> None:
    with caplog.at_level("DEBUG"):
        answer = await served.post(BODY, path=path)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (status, name)
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("headrace"))
    assert f"cg.refused name={name}" in ours
    assert TA not in ours


async def test_case_16_what_describes_the_way_here_is_not_forwarded(served: Served) -> None:
    kept = {"anthropic-beta": "a,b", "x-stainless-lang": "python", "idempotency-key": "k"}
    headers = {
        "cookie": "session=1",
        "forwarded": "for=10.0.0.1",
        "x-forwarded-for": "10.0.0.1",
        "connection": "x-foo",
        "x-foo": "1",
        **kept,
    }

    answer = await served.send("POST", "/v1/messages", content=BODY, headers=AGENT | headers)

    assert answer.status_code == 200
    got = served.simulator.requests[-1]
    assert {name: got.header(name) for name in kept} == kept
    assert not names_of(served) & {"cookie", "forwarded", "x-forwarded-for", "x-foo"}
    assert got.header("connection") != "x-foo"


async def test_case_17_an_upstream_cannot_plant_cookies_or_alternatives(served: Served) -> None:
    kept = {"request-id": "req_1", "anthropic-ratelimit-requests-limit": "50"}
    planted = {"set-cookie": ["a=1", "b=2"], "alt-svc": 'h3=":443"'}
    served.simulator.script({"content": "hi", "headers": {**kept, **planted}})

    answer = await served.post(BODY)

    assert {name: answer.headers[name] for name in kept} == kept
    assert not set(planted) & set(answer.headers)


@pytest.mark.parametrize(
    ("headers", "member"),
    [
        pytest.param({"anthropic-version": "2023-06-01"}, "has_more", id="18-anthropic"),
        pytest.param({}, "object", id="18-openai"),
    ],
)
async def test_models_are_asked_of_the_family_whose_header_is_there(
    served: Served, headers: dict[str, str], member: str
) -> None:
    answer = await served.send("GET", "/v1/models?limit=3&a=%2F", headers=AGENT | headers)

    assert answer.status_code == 200
    assert member in answer.json()
    assert served.simulator.requests[-1].path == "/v1/models?limit=3&a=%2F"


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ("/v1/things/a%2Fb%20c", "/v1/things/a%2Fb%20c"),
        ("/openai/v1/files/%C3%A9%3Fx?q=1", "/v1/files/%C3%A9%3Fx?q=1"),
        ("/v1/models%20HTTP/1.1%0D%0Ax-evil:%201", "/v1/models%20HTTP/1.1%0D%0Ax-evil:%201"),
    ],
)
async def test_escapes_in_an_address_arrive_as_they_were_spelt(
    served: Served, sent: str, got: str
) -> None:
    answer = await served.send("GET", sent, headers=AGENT)

    assert answer.status_code == 404  # the provider's
    assert "x-cg-error" not in answer.headers
    assert served.simulator.requests[-1].path == got


async def test_case_19_counting_tokens_is_about_the_body_as_it_came(served: Served) -> None:
    body = with_output(LONG)

    answer = await served.post(body, path="/v1/messages/count_tokens")

    assert answer.json()["input_tokens"] > 0
    assert served.sent == [body]
    assert served.stats()["stash_live"] == 0
    assert served.stats()["requests"] == 0


async def test_case_20_a_compressed_chunked_answer_passes_as_it_is(served: Served) -> None:
    packed = gzip.compress(b'{"object":"list","data":[]}')
    chunks = [b64encode(part).decode() for part in (packed[:9], packed[9:])]
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    served.simulator.script({"raw_b64": chunks, "headers": headers})

    request = served.http.build_request(
        "POST",
        served.gateway.url + "/v1/embeddings",
        content=b'{"input":"x"}',
        headers=AGENT | {"accept-encoding": "gzip"},
    )
    answer = await served.http.send(request, stream=True)
    raw = b"".join([part async for part in answer.aiter_raw()])
    await answer.aclose()

    assert raw == packed
    assert answer.headers["content-encoding"] == "gzip"
    assert served.simulator.requests[-1].header("accept-encoding") == "gzip"


@pytest.mark.parametrize("path", ["/v1/responses", "/openai/v1/responses"])
async def test_case_21_a_websocket_is_told_before_its_handshake_that_http_is_spoken_here(
    served: Served, path: str
) -> None:
    address = served.gateway.url.replace("http://", "ws://") + path

    with pytest.raises(websockets.InvalidStatus) as refused:
        await connect(address, proxy=None, additional_headers=AGENT)

    response = refused.value.response
    assert (response.status_code, response.headers["x-cg-error"]) == (426, "unsupported_upgrade")
    assert response.headers["x-should-retry"] == "false"
    assert response.headers["x-context-guru-request-id"]
    assert response.headers["upgrade"] == "HTTP/1.1"
    told = json.loads(response.body or b"")["error"]
    assert told["code"] == "cg_unsupported_upgrade"
    assert "HTTP" in told["message"]
    assert served.refused() == {"unsupported_upgrade": 1}


async def test_an_upgrade_that_reaches_the_node_as_http_gets_the_same_answer(
    served: Served,
) -> None:
    headers = AGENT | {"upgrade": "websocket"}  # without `connection` no server acts on it

    answer = await served.send("GET", "/anthropic/v1/messages", headers=headers)

    assert (answer.status_code, answer.headers["x-cg-error"]) == (426, "unsupported_upgrade")
    assert answer.json()["type"] == "error"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="22-direct"),
        pytest.param({"x-forwarded-for": "10.0.0.1"}, 403, id="22-relayed"),
        pytest.param(
            {"x-forwarded-for": "10.0.0.1", "authorization": "Bearer m-token"},
            200,
            id="22-relayed-with-token",
        ),
        pytest.param(
            {"x-forwarded-for": "10.0.0.1", "authorization": "Bearer m-toke"},
            403,
            id="22-relayed-with-another-token",
        ),
    ],
)
async def test_metrics_are_for_direct_local_peers_and_the_bearer_of_the_token(
    serve: Serve, headers: dict[str, str], status: int
) -> None:
    async with serve(metrics_token="m-token") as served:
        answer = await served.send("GET", "/metrics", headers=headers)

        assert answer.status_code == status
        if status == 200:
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        else:
            assert answer.json()["error"]["code"] == "view_forbidden"


STATS_KEYS = """
requests tokens_before tokens_after saved_tokens savings_pct wasted_tokens bounces adjusted_saved
components attempted_tokens frozen_tokens savings_pct_attempted savings_pct_new_input
fresh_input_tokens cache_read_tokens cache_write_tokens output_tokens usage_unparsed
usage_unreadable cg_added_ms_avg upstream_ms_avg upstream_ms_avg_bypassed sse_streamed
sse_buffered sse_buffered_pct sse_ttfb_ms_avg sse_ttfb_ms_avg_buffered sse_expand_after_stream
frozen_hits frozen_dropped frozen_repaired frozen_flips compaction_resets
expand_unresolved_malformed expand_unresolved_missing expand_unresolved_missing_by
expand_unresolved_never_minted expand_unresolved_foreign_session adjudicate_stray stash_live
stash_capacity stash_bytes stash_max_bytes stash_refused stash_missing stash_expired
stash_revived scope tenant node uptime_s snapshot rewrite_failures store client_disconnects
upstream_rounds
"""


async def test_case_23_a_tenants_key_shows_that_tenants_numbers_alone(served: Served) -> None:
    await served.post(BODY)
    await served.post(BODY)

    mine = await served.send("GET", "/stats", headers={"x-context-guru-token": TA})
    other = await served.send("GET", "/stats", headers={"x-context-guru-token": TB})
    whole = await served.send("GET", "/stats")
    nobody = await served.send("GET", "/stats", headers={"x-forwarded-for": "10.0.0.1"})

    assert (mine.json()["scope"], mine.json()["requests"]) == ("tenant", 2)
    assert (other.json()["tenant"], other.json()["requests"]) == ("ten_birch", 0)
    assert (whole.json()["scope"], whole.json()["requests"]) == ("process", 2)
    assert (nobody.status_code, nobody.headers["x-cg-error"]) == (403, "view_forbidden")
    assert set(STATS_KEYS.split()) - set(mine.json()) == set()
    assert mine.json().keys() == whole.json().keys()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/messages", 405), ("POST", "/v2/messages", 404), ("GET", "/nothing", 404)],
)
async def test_what_is_not_served_is_named(
    served: Served, method: str, path: str, status: int
) -> None:
    answer = await served.send(method, path, headers=AGENT)

    assert answer.status_code == status
    assert answer.headers["x-should-retry"] == "false"
    assert served.sent == []


@pytest.mark.parametrize(
    ("path", "told", "is_anthropic"),
    [
        ("/messages", "POST /v1/messages is meant: add /v1 at its end.", True),
        ("/v1/v1/messages", "POST /v1/messages is meant: take /v1 off its end.", True),
        ("//v1/messages", "POST /v1/messages is meant: take the slash off its end.", True),
        ("/openai/responses", "POST /openai/v1/responses is meant: add /v1 at its end.", False),
    ],
)
async def test_a_base_url_that_is_not_right_is_told_so_and_nothing_goes_upstream(
    served: Served, path: str, told: str, *, is_anthropic: bool
) -> None:  # N-09
    url = served.gateway.url + path
    answer = await served.http.post(url, content=BODY, headers=AGENT)

    said = answer.json()
    assert (answer.status_code, answer.headers["x-cg-error"]) == (404, "wrong_base_url")
    assert answer.headers["x-should-retry"] == "false"
    assert said["error"]["message"].endswith(told)
    assert (said.get("type") == "error") is is_anthropic
    assert served.simulator.requests == []
