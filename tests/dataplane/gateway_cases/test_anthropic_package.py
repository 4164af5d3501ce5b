"""Case 111 of 03-proxy-and-recovery.md 10.7: the unmodified `anthropic` package and a node."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anthropic
import pytest

from dataplane.adapters.door.gatekeeper import Gatekeeper
from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import LONG, Serve, Served, with_output

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
TOOLS: list[Any] = [{"name": "bash", "input_schema": {"type": "object", "properties": {}}}]
PNG = b64encode(b"\x89PNG\r\n\x1a\n" * 50).decode()
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
EXPAND = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": {"$marker": 0}}}


class Got(NamedTuple):
    """What the package made of the answer. events: of a stream, spelt out."""

    message: anthropic.types.Message
    events: str = ""


Way = Callable[..., Awaitable[Got]]


def options(served: Served, *, retries: int = 0, key: str = TA) -> dict[str, Any]:
    headers = {"x-context-guru-token": key} if key else {}
    return {
        "base_url": served.gateway.url,
        "api_key": "sk-ant-agent",
        "max_retries": retries,
        "default_headers": headers,
    }


def asked(changes: dict[str, Any]) -> dict[str, Any]:
    return {"model": "claude-sonnet-5", "max_tokens": 2048, "messages": HELLO, **changes}


async def create(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    async with anthropic.AsyncAnthropic(**options(served, retries=retries, key=key)) as client:
        return Got(await client.messages.create(**asked(changes)))


async def stream(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    async with (
        anthropic.AsyncAnthropic(**options(served, retries=retries, key=key)) as client,
        client.messages.stream(**asked(changes)) as opened,
    ):
        events = [event.model_dump_json() async for event in opened]
        return Got(await opened.get_final_message(), "\n".join(events))


async def create_sync(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    def run() -> Got:
        with anthropic.Anthropic(**options(served, retries=retries, key=key)) as client:
            return Got(client.messages.create(**asked(changes)))

    return await asyncio.to_thread(run)


async def stream_sync(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    def run() -> Got:
        with (
            anthropic.Anthropic(**options(served, retries=retries, key=key)) as client,
            client.messages.stream(**asked(changes)) as opened,
        ):
            events = [event.model_dump_json() for event in opened]
            return Got(opened.get_final_message(), "\n".join(events))

    return await asyncio.to_thread(run)


every_way = pytest.mark.parametrize(
    "way",
    [
        pytest.param(create, id="111-async-create"),
        pytest.param(stream, id="111-async-stream"),
        pytest.param(create_sync, id="111-sync-create"),
        pytest.param(stream_sync, id="111-sync-stream"),
    ],
)


def kinds(message: anthropic.types.Message) -> list[str]:
    return [block.type for block in message.content]


@every_way
async def test_an_answer_of_every_kind_of_block_arrives_whole(served: Served, way: Way) -> None:
    command = {"command": "grep -rn '✓' .", "nested": [1, 2.5, None]}
    blocks = [
        {"type": "thinking", "thinking": "Let me look around."},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I run it ✓. " * 9},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": command},
    ]
    served.simulator.script({"content": blocks})

    message = (await way(served, tools=TOOLS)).message

    assert kinds(message) == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert message.content[0].signature.startswith("sim1.")  # type: ignore[union-attr]
    assert message.content[2].text == "I run it ✓. " * 9  # type: ignore[union-attr]
    assert message.content[3].input == command  # type: ignore[union-attr]
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 0


@every_way
async def test_thinking_comes_back_with_its_signature_and_is_accepted(
    served: Served, way: Way
) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    first = (await way(served, thinking=thinking, tools=TOOLS)).message
    echoed = [block.model_dump(exclude_none=True) for block in first.content]

    turns = [*HELLO, {"role": "assistant", "content": echoed}, *HELLO]
    second = (await way(served, thinking=thinking, tools=TOOLS, messages=turns)).message

    assert kinds(first) == ["thinking", "text"]
    assert second.stop_reason == "end_turn"


@every_way
async def test_images_reach_the_provider_as_they_are(served: Served, way: Way) -> None:
    result = [PICTURE, {"type": "text", "text": LONG}]
    body = json.loads(with_output(""))
    body["messages"][0]["content"] = [PICTURE, {"type": "text", "text": "What is this?"}]
    body["messages"][2]["content"][0]["content"] = result

    message = (await way(served, messages=body["messages"], tools=TOOLS)).message

    assert message.type == "message"
    sent = json.loads(served.sent[0])["messages"]
    assert sent[0]["content"][0] == PICTURE
    assert sent[2]["content"][0]["content"][0] == PICTURE
    assert "<<cg:" in sent[2]["content"][0]["content"][1]["text"]


@every_way
async def test_a_recovery_call_in_mid_answer_is_never_seen_by_the_client(
    served: Served, way: Way
) -> None:
    opening = {"type": "text", "text": "I look it up. "}
    served.simulator.script({"content": [opening, EXPAND]}, {"content": "It says 'a long line'."})
    body = json.loads(with_output(LONG))

    got = await way(served, messages=body["messages"], tools=body["tools"])

    texts = [block.text for block in got.message.content]  # type: ignore[union-attr]
    assert texts == [opening["text"], "It says 'a long line'."]
    assert got.message.stop_reason == "end_turn"
    assert "context_guru_expand" not in got.events + got.message.model_dump_json()
    first, second = (json.loads(body) for body in served.sent)
    assert LONG not in json.dumps(first["messages"], ensure_ascii=False)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-1]["content"][0]["content"] == LONG
    await served.settled()
    assert served.stats()["bounces"] == 1
    assert served.stats()["expand_unresolved_missing"] == 0


async def test_tokens_are_counted_for_the_body_as_it_came(served: Served) -> None:
    question: dict[str, Any] = {"model": "claude-sonnet-5", "messages": HELLO}

    def run() -> int:
        with anthropic.Anthropic(**options(served)) as client:
            return client.messages.count_tokens(**question).input_tokens

    async with anthropic.AsyncAnthropic(**options(served)) as client:
        counted = await client.messages.count_tokens(**question)

    assert counted.input_tokens == await asyncio.to_thread(run) == 2


async def test_models_are_listed(served: Served) -> None:
    async with anthropic.AsyncAnthropic(**options(served)) as client:
        models = await client.models.list()

    assert models.data[0].type == "model"


PROVIDER_ERRORS = [
    (400, "invalid_request_error", anthropic.BadRequestError, 1),
    (401, "authentication_error", anthropic.AuthenticationError, 1),
    (403, "permission_error", anthropic.PermissionDeniedError, 1),
    (404, "not_found_error", anthropic.NotFoundError, 1),
    (413, "request_too_large", anthropic.RequestTooLargeError, 1),
    (429, "rate_limit_error", anthropic.RateLimitError, 3),
    (500, "api_error", anthropic.InternalServerError, 3),
    (529, "overloaded_error", anthropic.OverloadedError, 3),
]


@pytest.mark.parametrize("way", [create, stream_sync])
@pytest.mark.parametrize(
    ("status", "kind", "raised", "attempts"),
    [pytest.param(*case, id=str(case[0])) for case in PROVIDER_ERRORS],
)
async def test_the_providers_errors_keep_class_message_and_retries(
    served: Served, way: Way, status: int, kind: str, raised: Any, attempts: int
) -> None:
    error = {"type": kind, "message": f"No: {status} ✓."}
    failure = {"status": status, "error": error, "headers": {"retry-after-ms": "1"}}
    served.simulator.script(*[failure] * attempts)

    with pytest.raises(raised) as caught:
        await way(served, retries=2)

    assert caught.value.status_code == status
    assert caught.value.body["error"] == error
    assert len(served.sent) == attempts


async def test_an_overloaded_provider_is_asked_again_by_the_package(served: Served) -> None:
    served.simulator.script({"status": 529, "headers": {"retry-after-ms": "1"}})

    message = (await create(served, retries=1)).message

    assert message.stop_reason == "end_turn"
    assert len(served.sent) == 2


@every_way
async def test_an_error_inside_a_stream_is_raised_and_in_a_body_reported(
    served: Served, way: Way
) -> None:
    served.simulator.script({"content": "half", "error_event": {"after": 3}})

    if way in {create, create_sync}:
        assert (await way(served)).message.type == "message"
        return
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await way(served)


@every_way
async def test_a_refusal_of_an_unknown_key_is_not_retried(served: Served, way: Way) -> None:
    with pytest.raises(anthropic.AuthenticationError) as caught:
        await way(served, retries=2, key="cg_live_" + "C" * 26)

    assert caught.value.body["error"]["type"] == "authentication_error"  # type: ignore[index]
    assert caught.value.body["error"]["message"].startswith("The tenant key")  # type: ignore[index]
    assert served.refused() == {"auth": 1}
    assert served.sent == []


async def test_a_refusal_for_want_of_a_key_is_not_retried(served: Served) -> None:
    with pytest.raises(anthropic.AuthenticationError, match="No tenant key came"):
        await create(served, retries=2, key="")

    assert served.refused() == {"auth": 1}


async def test_a_disabled_tenant_is_told_so_and_not_retried(serve: Serve) -> None:
    async with serve(specs=tenants(status="disabled", status_reason="unpaid")) as served:
        with pytest.raises(anthropic.PermissionDeniedError, match="unpaid"):
            await create(served, retries=2)

        assert served.refused("acme") == {"forbidden": 1}


async def test_a_body_that_is_too_large_is_refused_once(serve: Serve) -> None:
    async with serve(body_max=2000) as served:
        with pytest.raises(anthropic.RequestTooLargeError) as caught:
            await create(served, retries=2, messages=[{"role": "user", "content": "x" * 3000}])

        assert caught.value.body["error"]["type"] == "request_too_large"  # type: ignore[index]
        assert served.refused("acme") == {"body_too_large": 1}
        assert served.sent == []


async def test_too_many_failures_are_a_rate_limit_error(served: Served) -> None:
    node = served.gateway.node
    node.door.gatekeeper = Gatekeeper(node.snapshots, failures_per_minute=1, clock=lambda: 90.0)
    stranger = "cg_live_" + "C" * 26
    with pytest.raises(anthropic.AuthenticationError):
        await create(served, key=stranger)

    with pytest.raises(anthropic.RateLimitError) as caught:
        await create(served, key=stranger)

    assert caught.value.response.headers["retry-after"] == "60"
    assert "x-should-retry" not in caught.value.response.headers


async def test_a_full_node_is_asked_again(serve: Serve) -> None:
    async with serve(node_inflight_max=0) as served:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await create(served)

        assert caught.value.status_code == 503
        assert caught.value.body["error"]["type"] == "overloaded_error"  # type: ignore[index]
        assert caught.value.response.headers["retry-after"] == "1"


async def test_an_unreachable_provider_is_a_server_error_that_may_be_retried(
    served: Served,
) -> None:
    await served.simulator.close()

    with pytest.raises(anthropic.InternalServerError) as caught:
        await create(served)

    assert caught.value.status_code == 502
    assert caught.value.body["error"]["message"] == "The provider could not be reached."  # type: ignore[index]
    assert "x-should-retry" not in caught.value.response.headers
