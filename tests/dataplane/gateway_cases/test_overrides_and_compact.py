"""Overrides, /compact and the forced model: 03 §10.4 (60, 61), 10.10 (141)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dataplane.core.resource import Policy
from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import (
    LONG,
    MASK_ALL,
    Serve,
    Served,
    with_output,
)

OFF = "pipeline: []\n"
NO_MARKER = """\
pipeline: [mask]
components: {mask: {keep_recent: 0, min_tokens: 1, keep_head_chars: 0, marker_mode: "off"}}
"""
ALLOWED = Policy(allow_request_overrides=True)
KEY = {"x-context-guru-token": TA}


@pytest.fixture
async def liberal(serve: Serve) -> AsyncIterator[Served]:
    """A node whose tenant masks every output unless a request asks for something else."""
    async with serve(specs=tenants(MASK_ALL, policy=ALLOWED)) as running:
        yield running


def marked(body: bytes) -> bool:
    return b"<<cg:" in json.dumps(json.loads(body)["messages"]).encode()


# ---- on chat routes ---------------------------------------------------------------------------


async def test_case_60_an_override_without_the_policy_is_ignored_by_name(serve: Serve) -> None:
    async with serve(OFF) as served:
        answer = await served.post(with_output(LONG), x_context_guru_pipeline="mask,nope")

    assert answer.status_code == 200
    assert answer.headers["x-context-guru-override"] == "ignored; reason=not_allowed"
    assert served.sent == [with_output(LONG)]


async def test_a_pipeline_that_policy_allows_runs(liberal: Served) -> None:
    answer = await liberal.post(with_output(LONG), x_context_guru_pipeline="format")

    assert "x-context-guru-override" not in answer.headers
    assert liberal.sent == [with_output(LONG)]
    assert not any(
        n.startswith(b"x-context-guru") for n, _ in liberal.simulator.requests[0].headers
    )


async def test_a_preset_that_policy_allows_runs(serve: Serve) -> None:
    async with serve(specs=tenants(MASK_ALL, policy=ALLOWED)) as served:
        await served.post(with_output(LONG), x_context_guru_preset="off")

    assert served.sent == [with_output(LONG)]


async def test_an_override_that_cannot_be_honoured_leaves_the_configured_pipeline(
    liberal: Served,
) -> None:
    answer = await liberal.post(with_output(LONG), x_context_guru_pipeline="format,nope")

    assert answer.headers["x-context-guru-override"] == "ignored; reason=unknown_component"
    assert marked(liberal.sent[0])


# ---- POST /compact ----------------------------------------------------------------------------


async def compact(served: Served, body: bytes, query: str = "", **headers: str) -> Any:
    spelt = {name.replace("_", "-"): value for name, value in headers.items()}
    return await served.send("POST", "/compact" + query, content=body, headers=KEY | spelt)


async def test_case_60_compact_takes_one_known_pipeline_and_no_unknown_one(
    liberal: Served,
) -> None:
    body = with_output(LONG)

    ignored = await compact(
        liberal, body, "?provider=anthropic", x_context_guru_pipeline="format,nope"
    )
    taken = await compact(liberal, body, "?provider=anthropic", x_context_guru_pipeline="format")
    masked = await compact(
        liberal, body, "?provider=anthropic&preset=off", x_context_guru_pipeline="mask"
    )

    assert ignored.headers["x-context-guru-override"] == "ignored; reason=unknown_component"
    assert marked(ignored.content)
    assert taken.content == body
    assert "x-context-guru-override" not in taken.headers
    assert masked.status_code == 200
    assert liberal.sent == []


async def test_case_61_compact_returns_the_body_without_marker_tool_or_upstream_call(
    serve: Serve,
) -> None:
    async with serve(NO_MARKER) as served:
        answer = await compact(
            served, with_output(LONG), "?provider=anthropic", x_context_guru_session="s1"
        )

        before, after = json.loads(with_output(LONG)), json.loads(answer.content)
        text = after["messages"][2]["content"][0].pop("content")
        before["messages"][2]["content"][0].pop("content")
        assert "<<cg:" not in text
        assert len(text) < len(LONG)
        assert after == before
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-context-guru-session"] == "s1"
        counts = [int(answer.headers[f"x-context-guru-tokens-{n}"]) for n in ("before", "after")]
        assert counts[0] > counts[1] > 0
        assert served.sent == []


async def test_what_compact_removed_its_caller_can_fetch(served: Served) -> None:
    answer = await compact(
        served, with_output(LONG), "?provider=anthropic", x_context_guru_session="s1"
    )
    marker_id = answer.text.partition("<<cg:")[2].partition(">>")[0]

    found = await served.send(
        "GET", f"/expand?id={marker_id}", headers=KEY | {"x-context-guru-session": "s1"}
    )

    assert found.text == LONG
    assert "context_guru_expand" not in json.dumps(json.loads(answer.content)["tools"])


async def test_compact_gives_the_same_replacement_on_every_turn(served: Served) -> None:
    grown = json.loads(with_output(LONG))
    grown["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "?"}]

    first = await compact(served, with_output(LONG), "?provider=anthropic")
    second = await compact(served, json.dumps(grown).encode(), "?provider=anthropic")

    assert json.loads(second.content)["messages"][:3] == json.loads(first.content)["messages"]


async def test_compact_leaves_the_agents_own_turns_uncounted(served: Served) -> None:
    session = {"x_context_guru_session": "s1"}
    grown = json.loads(with_output(LONG))
    grown["messages"] += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": "?"}]
    await compact(served, json.dumps(grown).encode(), "?provider=anthropic", **session)

    await served.post(with_output(LONG), **session)

    assert served.stats()["compaction_resets"] == 0


@pytest.mark.parametrize("provider", ["openai", "responses"])
async def test_compact_speaks_the_other_dialects(served: Served, provider: str) -> None:
    called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    bodies = {
        "openai": {
            "messages": [
                {"role": "user", "content": "Go."},
                {"role": "assistant", "tool_calls": [called]},
                {"role": "tool", "tool_call_id": "c", "content": LONG},
            ]
        },
        "responses": {
            "input": [
                {"role": "user", "content": "Go."},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": LONG},
            ]
        },
    }

    answer = await compact(served, json.dumps(bodies[provider]).encode(), f"?provider={provider}")

    assert "<<cg:" in answer.text


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (b"{bad", ""),
        (b'{"messages": 7}', ""),
        (b'{"no": "list"}', "?provider=anthropic"),
        (b'{"messages": []}', "?provider=of_next_year"),
    ],
)
async def test_whatever_compact_cannot_shape_comes_back_as_it_went_in(
    served: Served, body: bytes, query: str
) -> None:
    answer = await compact(served, body, query)

    assert (answer.status_code, answer.content) == (200, body)


async def test_a_compressed_body_comes_back_with_its_coding(served: Served) -> None:
    answer = await served.http.send(
        served.http.build_request(
            "POST",
            served.gateway.url + "/compact",
            content=b"opaque",
            headers=KEY | {"content-encoding": "of-next-year"},
        ),
        stream=True,
    )

    assert b"".join([chunk async for chunk in answer.aiter_raw()]) == b"opaque"
    assert answer.headers["content-encoding"] == "of-next-year"
    await answer.aclose()


async def test_compact_respects_the_cached_prefix_only_where_it_is_told_to(serve: Serve) -> None:
    """A mask of the tail only: what an earlier call returned is a prefix, unless cache=off."""
    document = MASK_ALL.replace("keep_recent: 0", "keep_recent: 1")
    one = json.loads(with_output(LONG))
    two = json.loads(with_output("another\n" * 60))
    for number, message in enumerate(two["messages"]):
        for block in message["content"] if isinstance(message["content"], list) else ():
            block |= {k: f"toolu_{number}" for k in ("tool_use_id",) if k in block}
    both = {**one, "messages": [*one["messages"], *two["messages"][1:]]}
    async with serve(document) as served:
        await compact(served, json.dumps(one).encode(), "?provider=anthropic")
        kept = await compact(served, json.dumps(both).encode(), "?provider=anthropic&cache=on")
        free = await compact(served, json.dumps(both).encode(), "?provider=anthropic&cache=off")

    assert not marked(kept.content)
    assert marked(free.content)


@pytest.mark.parametrize(
    ("headers", "method", "status", "code"),
    [
        ({}, "POST", 401, "no_token"),
        (KEY, "GET", 405, "method_not_allowed"),
    ],
)
async def test_compact_refuses_as_an_own_route(
    served: Served, headers: dict[str, str], method: str, status: int, code: str
) -> None:
    answer = await served.send(method, "/compact", headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


# ---- the forced model -------------------------------------------------------------------------

FORCED = OFF + "force_model: m2\n"


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        pytest.param(
            b'{ "messages" : [] , "model" : "m\\u0031",  "x": 1.0}',
            b'{ "messages" : [] , "model" : "m2",  "x": 1.0}',
            id="141-replaced",
        ),
        pytest.param(b'{"messages":[]}', b'{"model":"m2","messages":[]}', id="141-inserted"),
        pytest.param(b"{}", b'{"model":"m2"}', id="141-into-nothing"),
        pytest.param(b"{bad", b"{bad", id="141-unparseable"),
        pytest.param(b'{"model":"a","model":"b"}', b'{"model":"a","model":"b"}', id="141-twice"),
    ],
)
async def test_case_141_only_the_model_is_replaced(serve: Serve, body: bytes, sent: bytes) -> None:
    async with serve(FORCED) as served:
        await served.post(body)
        await served.post(body, path="/v1/messages/count_tokens")

    assert served.sent == [sent, body]


async def test_the_model_of_the_process_wins_over_the_documents(serve: Serve) -> None:
    async with serve(FORCED, force_model="m3") as served:
        await served.post(with_output("short"), x_context_guru_bypass="true")

    assert json.loads(served.sent[0])["model"] == "m3"


async def test_a_compressed_request_keeps_its_model(serve: Serve) -> None:
    async with serve(FORCED) as served:
        await served.post(with_output("short"), content_encoding="of-next-year")

    assert served.sent == [with_output("short")]
