"""The unmodified `openai` package against the simulated provider: Chat and Responses."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from dataplane.simulator import Simulator

MODEL = "gpt-5.6"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}}
CHAT_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "bash", "parameters": PARAMETERS}}
]
CALL: dict[str, Any] = {
    "type": "tool_use",
    "id": "call_1",
    "name": "bash",
    "input": {"command": "grep -rn '✓' ."},
}
ARGUMENTS = '{"command":"grep -rn \'✓\' ."}'
PICTURE = "data:image/png;base64," + "A" * 100_000


async def ask(gpt: openai.AsyncOpenAI, **changes: Any) -> Any:
    request: dict[str, Any] = {"model": MODEL, "messages": HELLO, **changes}
    return await gpt.chat.completions.create(**request)


async def stream(gpt: openai.AsyncOpenAI, **changes: Any) -> Any:
    request: dict[str, Any] = {
        "model": MODEL,
        "messages": HELLO,
        "stream_options": {"include_usage": True},
        **changes,
    }
    async with gpt.chat.completions.stream(**request) as opened:
        return await opened.get_final_completion()


async def respond(gpt: openai.AsyncOpenAI, **changes: Any) -> Any:
    request: dict[str, Any] = {"model": MODEL, "input": "Hello", **changes}
    return await gpt.responses.create(**request)


async def stream_response(gpt: openai.AsyncOpenAI, **changes: Any) -> Any:
    request: dict[str, Any] = {"model": MODEL, "input": "Hello", **changes}
    async with gpt.responses.stream(**request) as opened:
        return await opened.get_final_response()


@pytest.mark.parametrize("send", [ask, stream])
async def test_chat_text_and_calls_arrive_whole(
    simulator: Simulator, gpt: openai.AsyncOpenAI, send: Any
) -> None:
    simulator.script({"content": [{"type": "text", "text": "I run it ✓. " * 9}, CALL]})

    completion = await send(gpt, tools=CHAT_TOOLS)

    choice = completion.choices[0]
    assert choice.message.content == "I run it ✓. " * 9
    assert choice.message.tool_calls[0].id == "call_1"
    assert choice.message.tool_calls[0].function.name == "bash"
    assert choice.message.tool_calls[0].function.arguments == ARGUMENTS
    assert choice.finish_reason == "tool_calls"
    assert completion.usage.total_tokens > completion.usage.completion_tokens > 1


@pytest.mark.parametrize("send", [respond, stream_response])
async def test_response_items_arrive_whole(
    simulator: Simulator, gpt: openai.AsyncOpenAI, send: Any
) -> None:
    simulator.script(
        {
            "content": [
                {"type": "thinking", "thinking": "Plan.", "encrypted_content": "opaque"},
                {"type": "text", "text": "I run it ✓. " * 9},
                CALL,
            ]
        }
    )

    response = await send(gpt)

    assert response.status == "completed"
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert response.output[0].encrypted_content == "opaque"
    assert response.output_text == "I run it ✓. " * 9
    assert (response.output[2].call_id, response.output[2].arguments) == ("call_1", ARGUMENTS)


async def test_a_synchronous_client_gets_the_same_answers(simulator: Simulator) -> None:
    def run() -> tuple[str | None, list[str], str]:
        with openai.OpenAI(base_url=f"{simulator.url}/v1", api_key="sk-1") as client:
            chat = client.chat.completions.create(model=MODEL, messages=HELLO)
            chunks = client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
            pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
            response = client.responses.create(model=MODEL, input=HELLO)
            return chat.choices[0].message.content, pieces, response.output_text

    whole, pieces, response = await asyncio.to_thread(run)

    assert whole == "".join(pieces) == response
    assert whole is not None
    assert whole.startswith("1 messages with ")


@pytest.mark.parametrize("send", [ask, stream])
async def test_n_choices_are_answered(
    simulator: Simulator, gpt: openai.AsyncOpenAI, send: Any
) -> None:
    simulator.script({"content": "same"})

    completion = await send(gpt, n=3)

    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    assert {choice.message.content for choice in completion.choices} == {"same"}


async def test_usage_comes_in_a_stream_only_when_asked_for(gpt: openai.AsyncOpenAI) -> None:
    silent = [chunk async for chunk in await ask(gpt, stream=True)]
    asked = [
        chunk async for chunk in await ask(gpt, stream=True, stream_options={"include_usage": True})
    ]

    assert all(chunk.usage is None and chunk.choices for chunk in silent)
    assert asked[-1].choices == []
    assert asked[-1].usage is not None
    assert all(chunk.usage is None for chunk in asked[:-1])


LONG = "All work and no play. " * 400


async def cached(gpt: openai.AsyncOpenAI, now: float, words: str, **changes: Any) -> int:
    messages = [{"role": "system", "content": LONG}, {"role": "user", "content": words}]
    completion = await ask(
        gpt, messages=messages, extra_headers={"x-headrace-now": str(now)}, **changes
    )
    details = completion.usage.prompt_tokens_details
    assert details.cached_tokens + details.cache_write_tokens <= completion.usage.prompt_tokens
    return int(details.cached_tokens)


async def test_a_chat_prefix_is_cached_in_steps_until_half_an_hour_without_use(
    gpt: openai.AsyncOpenAI,
) -> None:
    reads = [
        await cached(gpt, 0, "one"),
        await cached(gpt, 1700, "two"),
        await cached(gpt, 3400, "three"),
        await cached(gpt, 5200, "four"),
    ]

    assert reads == [0, 2176, 2176, 0]


async def test_a_chat_prefix_can_be_kept_for_a_day(gpt: openai.AsyncOpenAI) -> None:
    await cached(gpt, 0, "one", prompt_cache_retention="24h")

    assert await cached(gpt, 80_000, "two") == 2176


async def test_responses_share_the_accounting(gpt: openai.AsyncOpenAI) -> None:
    first = await respond(gpt, instructions=LONG, input="one")
    second = await respond(gpt, instructions=LONG, input="two")

    assert first.usage.input_tokens_details.cached_tokens == 0
    assert second.usage.input_tokens_details.cached_tokens == 2176
    assert first.usage.input_tokens_details.cache_write_tokens == 2176


async def test_images_are_counted_by_pixels_not_by_their_base64(
    gpt: openai.AsyncOpenAI,
) -> None:
    chat = [{"type": "image_url", "image_url": {"url": PICTURE}}]
    item = [{"type": "input_image", "image_url": PICTURE, "detail": "auto"}]

    completion = await ask(gpt, messages=[{"role": "user", "content": chat}])
    response = await respond(gpt, input=[{"role": "user", "content": item}])

    assert 765 <= completion.usage.prompt_tokens < 800
    assert 765 <= response.usage.input_tokens < 800


def call(*ids: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def output(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "out"}


@pytest.mark.parametrize(
    ("turns", "says", "param"),
    [
        pytest.param(
            [call("c1", "c2"), output("c2")],
            "did not have response messages: c1",
            "messages.[3].role",
            id="call-without-result",
        ),
        pytest.param(
            [call("c1"), *HELLO, output("c1")],
            "did not have response messages: c1",
            "messages.[2].role",
            id="result-too-late",
        ),
        pytest.param(
            [output("c1")],
            "must be a response to a preceeding message with 'tool_calls'",
            "messages.[1].role",
            id="result-without-call",
        ),
        pytest.param(
            [call("c1"), output("c1"), output("c1")],
            "Duplicate value for 'tool_call_id' of 'c1'",
            "messages.[3].tool_call_id",
            id="two-results",
        ),
        pytest.param(
            [call("c1", "c1"), output("c1")],
            "Duplicate value for 'id' of 'c1'",
            "messages.[1].tool_calls",
            id="one-id-twice",
        ),
    ],
)
async def test_chat_calls_and_results_must_pair(
    gpt: openai.AsyncOpenAI, turns: list[Any], says: str, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await ask(gpt, messages=[*HELLO, *turns])

    assert says in refused.value.message
    assert refused.value.param == param


async def test_paired_chat_calls_are_accepted(gpt: openai.AsyncOpenAI) -> None:
    turns = [*HELLO, call("c1", "c2"), output("c2"), output("c1"), *HELLO]

    assert (await ask(gpt, messages=turns)).object == "chat.completion"


FUNCTION_CALL: dict[str, Any] = {
    "type": "function_call",
    "call_id": "c1",
    "name": "bash",
    "arguments": "{}",
}
FUNCTION_OUTPUT: dict[str, Any] = {
    "type": "function_call_output",
    "call_id": "c1",
    "output": "out",
}


@pytest.mark.parametrize(
    ("items", "says"),
    [
        pytest.param([FUNCTION_CALL], "No tool output found for function call c1.", id="call"),
        pytest.param(
            [FUNCTION_OUTPUT],
            "No tool call found for function call output with call_id c1.",
            id="output",
        ),
        pytest.param([FUNCTION_CALL] * 2, "Duplicate call_id 'c1'", id="one-id-twice"),
    ],
)
async def test_response_calls_and_outputs_must_pair(
    gpt: openai.AsyncOpenAI, items: list[Any], says: str
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await respond(gpt, input=[*HELLO, *items])

    assert says in refused.value.message


async def test_paired_response_calls_are_accepted(gpt: openai.AsyncOpenAI) -> None:
    response = await respond(gpt, input=[*HELLO, FUNCTION_CALL, FUNCTION_OUTPUT])

    assert response.status == "completed"


@pytest.mark.parametrize(("send", "where"), [(ask, "messages"), (respond, "input")])
async def test_a_scripted_call_can_name_a_marker(
    simulator: Simulator, gpt: openai.AsyncOpenAI, send: Any, where: str
) -> None:
    expand = {"type": "tool_use", "name": "expand", "input": {"id": {"$marker": 0}}}
    simulator.script({"content": [expand]})
    messages = [{"role": "user", "content": "See <<cg:91c9568c40c8d8d1>>."}]

    answer = await send(gpt, **{where: messages})

    assert '{"id":"91c9568c40c8d8d1"}' in answer.model_dump_json().replace("\\", "")


@pytest.mark.parametrize(
    ("status", "raises", "kind"),
    [
        (400, openai.BadRequestError, "invalid_request_error"),
        (401, openai.AuthenticationError, "invalid_request_error"),
        (429, openai.RateLimitError, "rate_limit_error"),
        (503, openai.InternalServerError, "server_error"),
    ],
)
async def test_a_scripted_status_has_the_providers_error_type(
    simulator: Simulator,
    gpt: openai.AsyncOpenAI,
    status: int,
    raises: type[openai.APIStatusError],
    kind: str,
) -> None:
    simulator.script({"status": status, "error": {"message": "as scripted"}})

    with pytest.raises(raises, match="as scripted") as refused:
        await ask(gpt)

    assert refused.value.type == kind


async def test_an_error_inside_a_chat_stream_raises_in_the_client(
    simulator: Simulator, gpt: openai.AsyncOpenAI
) -> None:
    simulator.script({"content": "never whole", "error_event": {"message": "busy", "after": 2}})

    with pytest.raises(openai.APIError, match="busy"):
        await stream(gpt)


async def test_an_error_inside_a_response_stream_is_its_last_event(
    simulator: Simulator, gpt: openai.AsyncOpenAI
) -> None:
    simulator.script({"content": "never whole", "error_event": {"message": "busy", "after": 2}})

    events = [event async for event in await respond(gpt, stream=True)]

    assert [event.type for event in events[1:]] == ["response.in_progress", "error"]
    assert (events[-1].message, events[-1].sequence_number) == ("busy", 2)


@pytest.mark.parametrize(("reason", "finish"), [("max_tokens", "length"), ("end_turn", "stop")])
async def test_stop_reasons_are_spelled_in_the_dialect(
    simulator: Simulator, gpt: openai.AsyncOpenAI, reason: str, finish: str
) -> None:
    simulator.script(
        {"content": "x", "stop_reason": reason}, {"content": "x", "stop_reason": reason}
    )

    completion, response = await ask(gpt), await respond(gpt)

    assert completion.choices[0].finish_reason == finish
    assert response.status == ("incomplete" if finish == "length" else "completed")


async def test_an_earlier_response_is_never_remembered(gpt: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await respond(gpt, previous_response_id="resp_1")

    assert refused.value.code == "previous_response_not_found"


async def test_models_and_embeddings(gpt: openai.AsyncOpenAI) -> None:
    listed = [model.id async for model in gpt.models.list()]
    vectors = await gpt.embeddings.create(model="text-embedding-3-small", input=["a", "b", "a"])

    assert MODEL in listed
    assert (await gpt.models.retrieve("gpt-x")).id == "gpt-x"
    assert vectors.data[0].embedding == vectors.data[2].embedding != vectors.data[1].embedding
