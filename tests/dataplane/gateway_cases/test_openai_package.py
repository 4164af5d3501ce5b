"""Case 111 of 03-proxy-and-recovery.md 10.7: the unmodified `openai` package and a node."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import openai
import pytest

from tests.dataplane.gateway import TA, tenants
from tests.dataplane.gateway_cases.served import LONG, Serve, Served

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}]
PNG = "data:image/png;base64," + b64encode(b"\x89PNG\r\n\x1a\n" * 50).decode()
PICTURE = {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}
CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
EXPAND = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": {"$marker": 0}}}
WITH_OUTPUT: list[Any] = [
    {"role": "user", "content": "Fix the test."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": LONG},
]


class Got(NamedTuple):
    """What the package made of the answer. chunks: of a stream, spelt out."""

    completion: Any
    chunks: str = ""

    @property
    def message(self) -> Any:
        return self.completion.choices[0].message


Way = Callable[..., Awaitable[Got]]


def options(served: Served, *, retries: int = 0, key: str = TA) -> dict[str, Any]:
    headers = {"x-context-guru-token": key} if key else {}
    return {
        "base_url": served.gateway.url + "/v1",
        "api_key": "sk-agent",
        "max_retries": retries,
        "default_headers": headers,
    }


def asked(changes: dict[str, Any]) -> dict[str, Any]:
    return {"model": "gpt-5.6", "messages": HELLO, **changes}


def streamed(changes: dict[str, Any]) -> dict[str, Any]:
    return asked(changes) | {"stream_options": {"include_usage": True}}


async def create(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    async with openai.AsyncOpenAI(**options(served, retries=retries, key=key)) as client:
        return Got(await client.chat.completions.create(**asked(changes)))


async def stream(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    async with (
        openai.AsyncOpenAI(**options(served, retries=retries, key=key)) as client,
        client.chat.completions.stream(**streamed(changes)) as opened,
    ):
        chunks = [repr(event) async for event in opened]
        return Got(await opened.get_final_completion(), "\n".join(chunks))


async def create_sync(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    def run() -> Got:
        with openai.OpenAI(**options(served, retries=retries, key=key)) as client:
            return Got(client.chat.completions.create(**asked(changes)))

    return await asyncio.to_thread(run)


async def stream_sync(served: Served, *, retries: int = 0, key: str = TA, **changes: Any) -> Got:
    def run() -> Got:
        with (
            openai.OpenAI(**options(served, retries=retries, key=key)) as client,
            client.chat.completions.stream(**streamed(changes)) as opened,
        ):
            chunks = [repr(event) for event in opened]
            return Got(opened.get_final_completion(), "\n".join(chunks))

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


@every_way
async def test_text_and_tool_calls_arrive_whole(served: Served, way: Way) -> None:
    command = {"command": "grep -rn '✓' ."}
    call = {"type": "tool_use", "id": "call_1", "name": "bash", "input": command}
    served.simulator.script({"content": [{"type": "text", "text": "I run it ✓. " * 9}, call]})

    got = await way(served, tools=TOOLS)

    assert got.message.content == "I run it ✓. " * 9
    assert [called.id for called in got.message.tool_calls] == ["call_1"]
    assert json.loads(got.message.tool_calls[0].function.arguments) == command
    assert got.completion.choices[0].finish_reason == "tool_calls"
    assert got.completion.usage.completion_tokens > 0


@every_way
async def test_several_choices_arrive_whole(served: Served, way: Way) -> None:
    served.simulator.script({"content": "one of two"})

    got = await way(served, n=2, tools=TOOLS)

    assert [each.message.content for each in got.completion.choices] == ["one of two"] * 2


@every_way
async def test_images_reach_the_provider_as_they_are(served: Served, way: Way) -> None:
    looking = {"role": "user", "content": [{"type": "text", "text": "What is this?"}, PICTURE]}

    await way(served, messages=[looking, *WITH_OUTPUT], tools=TOOLS)

    sent = json.loads(served.sent[0])["messages"]
    assert sent[0] == looking
    assert "<<cg:" in sent[3]["content"]


@every_way
async def test_a_recovery_call_in_mid_answer_is_never_seen_by_the_client(
    served: Served, way: Way
) -> None:
    opening = "I look it up. "
    served.simulator.script(
        {"content": [{"type": "text", "text": opening}, EXPAND]},
        {"content": "It says 'a long line'."},
    )

    got = await way(served, messages=WITH_OUTPUT, tools=TOOLS)

    assert got.message.content == opening + "It says 'a long line'."
    assert not got.message.tool_calls
    assert got.completion.choices[0].finish_reason == "stop"
    assert "context_guru_expand" not in got.chunks + got.completion.model_dump_json()
    first, second = (json.loads(body) for body in served.sent)
    assert LONG not in json.dumps(first["messages"], ensure_ascii=False)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-1]["role"] == "tool"
    assert second["messages"][-1]["content"] == LONG
    await served.settled()
    assert served.stats()["bounces"] == 1
    assert served.stats()["expand_unresolved_missing"] == 0


async def test_other_routes_pass_through(served: Served) -> None:
    async with openai.AsyncOpenAI(**options(served)) as client:
        responded = await client.responses.create(model="gpt-5.6", input="Hello")
        async with client.responses.stream(model="gpt-5.6", input="Hello") as opened:
            final = await opened.get_final_response()
        vectors = await client.embeddings.create(model="e", input=["a", "b"])
        models = await client.models.list()

    assert responded.output_text == final.output_text != ""
    assert len(vectors.data) == 2
    assert models.data[0].object == "model"
    assert [request.path for request in served.simulator.requests] == [
        "/v1/responses",
        "/v1/responses",
        "/v1/embeddings",
        "/v1/models",
    ]


async def test_other_routes_pass_through_synchronously(served: Served) -> None:
    def run() -> str:
        with openai.OpenAI(**options(served)) as client:
            return client.responses.create(model="gpt-5.6", input="Hello").output_text

    assert await asyncio.to_thread(run) != ""


async def test_the_prefixed_address_serves_the_package_too(served: Served) -> None:
    given = options(served) | {"base_url": served.gateway.url + "/openai/v1"}

    async with openai.AsyncOpenAI(**given) as client:
        await client.chat.completions.create(**asked({}))

    assert served.simulator.requests[0].path == "/v1/chat/completions"


PROVIDER_ERRORS = [
    (400, "invalid_request_error", openai.BadRequestError, 1),
    (401, "authentication_error", openai.AuthenticationError, 1),
    (403, "permission_error", openai.PermissionDeniedError, 1),
    (404, "not_found_error", openai.NotFoundError, 1),
    (413, "request_too_large", openai.APIStatusError, 1),
    (429, "rate_limit_error", openai.RateLimitError, 3),
    (500, "server_error", openai.InternalServerError, 3),
    (529, "overloaded_error", openai.InternalServerError, 3),
]


@pytest.mark.parametrize("way", [create, stream_sync])
@pytest.mark.parametrize(
    ("status", "kind", "raised", "attempts"),
    [pytest.param(*case, id=str(case[0])) for case in PROVIDER_ERRORS],
)
async def test_the_providers_errors_keep_class_message_and_retries(
    served: Served, way: Way, status: int, kind: str, raised: Any, attempts: int
) -> None:
    error = {"type": kind, "message": f"No: {status} ✓.", "code": "its_code"}
    failure = {"status": status, "error": error, "headers": {"retry-after-ms": "1"}}
    served.simulator.script(*[failure] * attempts)

    with pytest.raises(raised) as caught:
        await way(served, retries=2)

    assert caught.value.status_code == status
    assert (caught.value.type, caught.value.code) == (kind, "its_code")
    assert error["message"] in caught.value.message
    assert len(served.sent) == attempts


@every_way
async def test_an_error_inside_a_stream_is_raised(served: Served, way: Way) -> None:
    served.simulator.script({"content": "half", "error_event": {"after": 2}})

    if way in {create, create_sync}:
        assert (await way(served)).message.content == "half"
        return
    with pytest.raises(openai.APIError, match="Overloaded"):
        await way(served)


@every_way
async def test_a_refusal_of_an_unknown_key_is_not_retried(served: Served, way: Way) -> None:
    with pytest.raises(openai.AuthenticationError) as caught:
        await way(served, retries=2, key="cg_live_" + "C" * 26)

    assert (caught.value.type, caught.value.code) == ("authentication_error", "cg_bad_token")
    assert "The tenant key is unknown" in caught.value.message
    assert served.refused() == {"auth": 1}
    assert served.sent == []


async def test_a_key_in_the_place_of_the_providers_is_a_tenant_key_without_a_provider_key(
    served: Served,
) -> None:
    given = options(served, retries=2, key="") | {"api_key": TA}

    async with openai.AsyncOpenAI(**given) as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            await client.chat.completions.create(**asked({}))

    assert caught.value.code == "cg_no_provider_key"
    assert served.refused("acme") == {"no_provider_key": 1}


async def test_a_disabled_tenant_is_told_so_and_not_retried(serve: Serve) -> None:
    async with serve(specs=tenants(status="disabled", status_reason="unpaid")) as served:
        with pytest.raises(openai.PermissionDeniedError, match="unpaid"):
            await create(served, retries=2)

        assert served.refused("acme") == {"forbidden": 1}


async def test_a_body_that_is_too_large_is_refused_once(serve: Serve) -> None:
    async with serve(body_max=2000) as served:
        with pytest.raises(openai.APIStatusError) as caught:
            await create(served, retries=2, messages=[{"role": "user", "content": "x" * 3000}])

        assert (caught.value.status_code, caught.value.type) == (413, "request_too_large")
        assert served.refused("acme") == {"body_too_large": 1}


async def test_an_unreachable_provider_is_a_server_error_that_may_be_retried(
    served: Served,
) -> None:
    await served.simulator.close()

    with pytest.raises(openai.InternalServerError) as caught:
        await create(served)

    assert (caught.value.status_code, caught.value.code) == (502, "cg_upstream_error")
    assert "x-should-retry" not in caught.value.response.headers
