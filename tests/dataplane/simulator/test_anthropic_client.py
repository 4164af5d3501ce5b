"""The unmodified `anthropic` package against the simulated provider."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import anthropic
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.simulator.requests import HELLO, MODEL, TOOLS, ask, result, use

EXPAND: dict[str, Any] = {
    "type": "tool_use",
    "name": "context_guru_expand",
    "input": {"id": {"$marker": 0}},
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


async def stream(claude: anthropic.AsyncAnthropic, **changes: Any) -> anthropic.types.Message:
    request: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": HELLO, **changes}
    async with claude.messages.stream(**request) as opened:
        return await opened.get_final_message()


async def test_without_a_script_the_answer_says_how_much_arrived(
    claude: anthropic.AsyncAnthropic,
) -> None:
    message = await ask(claude)

    assert message.content[0].text == (
        "1 messages with 2 tokens arrived at the simulated provider."
    )
    assert (message.stop_reason, message.model) == ("end_turn", MODEL)
    assert message.usage.input_tokens == 2


@pytest.mark.parametrize("streams", [False, True])
async def test_a_synchronous_client_gets_the_same_answer(
    simulator: Simulator, *, streams: bool
) -> None:
    simulator.script({"content": "Ünïcödé ✓ " * 20})

    def run() -> anthropic.types.Message:
        with anthropic.Anthropic(base_url=simulator.url, api_key="sk-1") as client:
            if not streams:
                return client.messages.create(model=MODEL, max_tokens=9, messages=HELLO)
            with client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as opened:
                return opened.get_final_message()

    message = await asyncio.to_thread(run)

    assert message.content[0].text == "Ünïcödé ✓ " * 20  # type: ignore[union-attr]


@pytest.mark.parametrize("send", [ask, stream])
async def test_blocks_of_every_kind_arrive_whole(
    simulator: Simulator, claude: anthropic.AsyncAnthropic, send: Any
) -> None:
    command = {"command": "grep -rn '✓' .", "nested": {"list": [1, 2.5, None, True]}}
    simulator.script(
        {
            "content": [
                {"type": "thinking", "thinking": "Let me look around first."},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "I run it."},
                {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": command},
                {
                    "type": "server_tool_use",
                    "id": "srv_1",
                    "name": "web_search",
                    "input": {"query": "q"},
                },
            ]
        }
    )

    message = await send(claude, tools=TOOLS)

    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "server_tool_use"]
    assert message.content[0].signature.startswith("sim1.")
    assert message.content[1].data == "b3BhcXVl"
    assert message.content[3].input == command
    assert message.content[4].input == {"query": "q"}
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("send", [ask, stream])
async def test_thinking_is_answered_when_asked_for_and_must_come_back_unchanged(
    claude: anthropic.AsyncAnthropic, send: Any
) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = await send(claude, thinking=thinking)
    echoed = [block.model_dump(exclude_none=True) for block in message.content]
    turns = [*HELLO, {"role": "assistant", "content": echoed}, *HELLO]

    assert (await ask(claude, messages=turns)).type == "message"
    echoed[0]["thinking"] += " altered"
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking`"):
        await ask(claude, messages=turns)


async def test_images_are_counted_by_pixels_not_by_their_base64(
    claude: anthropic.AsyncAnthropic,
) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    picture = [{"role": "user", "content": [{"type": "image", "source": source}]}]

    message = await ask(claude, messages=picture)

    assert message.usage.input_tokens == 1600


async def test_count_tokens_equals_the_input_of_the_same_request(
    claude: anthropic.AsyncAnthropic,
) -> None:
    counted = await claude.messages.count_tokens(
        model=MODEL, messages=HELLO, tools=TOOLS, system="You are careful."
    )
    message = await ask(claude, tools=TOOLS, system="You are careful.")

    assert counted.input_tokens == message.usage.input_tokens


async def test_a_scripted_call_can_name_a_marker_of_the_messages(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": [EXPAND]})
    tools = [{**TOOLS[0], "description": "Opens <<cg:HASH>> markers."}]
    messages = [{"role": "user", "content": "See <<cg:91c9568c40c8d8d1>>."}]

    message = await ask(claude, tools=tools, messages=messages)

    assert message.content[0].input == {"id": "91c9568c40c8d8d1"}


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        pytest.param(
            [("assistant", [use("t1")]), ("user", "no")],
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately "
            "after: t1",
            id="call-without-result",
        ),
        pytest.param(
            [("assistant", [use("t1")])],
            "messages.1: `tool_use` ids were found without",
            id="call-at-the-end",
        ),
        pytest.param(
            [("assistant", "hi"), ("user", [result("t1")])],
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1",
            id="result-without-call",
        ),
        pytest.param(
            [
                ("assistant", [use("t1")]),
                ("user", [result("t1")]),
                ("assistant", "hm"),
                ("user", [result("t1")]),
            ],
            "messages.4.content.0: unexpected `tool_use_id`",
            id="result-of-an-earlier-call",
        ),
        pytest.param(
            [("assistant", [use("t1")]), ("user", [result("t1"), result("t1")])],
            "messages.2.content.1: each tool_use must have a single result",
            id="two-results",
        ),
        pytest.param(
            [("assistant", [use("t1"), use("t1")]), ("user", [result("t1")])],
            "messages.1.content.1: `tool_use` ids must be unique",
            id="one-id-twice",
        ),
    ],
)
async def test_a_call_without_its_result_or_a_result_without_its_call_is_refused(
    claude: anthropic.AsyncAnthropic, turns: list[tuple[str, Any]], says: str
) -> None:
    messages = [*HELLO, *({"role": role, "content": content} for role, content in turns)]

    with pytest.raises(anthropic.BadRequestError) as refused:
        await ask(claude, messages=messages)

    assert says in refused.value.body["error"]["message"]  # type: ignore[index]


async def test_results_may_come_in_neighbouring_user_messages(
    claude: anthropic.AsyncAnthropic,
) -> None:
    messages = [
        *HELLO,
        {"role": "assistant", "content": [use("t1"), use("t2")]},
        {"role": "user", "content": [result("t2")]},
        {"role": "user", "content": [result("t1")]},
    ]

    assert (await ask(claude, messages=messages)).type == "message"


async def test_a_script_may_put_its_own_usage_and_stop_reason(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script(
        {
            "content": "cut",
            "stop_reason": "max_tokens",
            "usage": {"output_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 3}},
        }
    )

    message = await stream(claude)

    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 7
    assert message.usage.cache_creation is not None
    assert message.usage.cache_creation.ephemeral_1h_input_tokens == 3
    assert message.usage.cache_creation.ephemeral_5m_input_tokens == 0


@pytest.mark.parametrize(
    ("status", "raises", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (413, anthropic.APIStatusError, "request_too_large"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.APIStatusError, "overloaded_error"),
    ],
)
async def test_a_scripted_status_has_the_providers_error_type(
    simulator: Simulator,
    claude: anthropic.AsyncAnthropic,
    status: int,
    raises: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    simulator.script({"status": status, "error": {"message": "as scripted"}})

    with pytest.raises(raises, match="as scripted") as refused:
        await ask(claude)

    assert refused.value.body == {
        "type": "error",
        "error": {"type": kind, "message": "as scripted"},
    }


async def test_an_error_inside_a_stream_raises_in_the_client(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "never whole", "error_event": {"message": "busy", "after": 3}})

    with pytest.raises(anthropic.APIStatusError, match="busy"):
        await stream(claude)


async def test_a_cut_connection_raises_in_the_client(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "never whole", "cut_after_events": 3})

    with pytest.raises(Exception, match=r"incomplete|peer closed|disconnect") as broken:
        await stream(claude)

    assert type(broken.value).__module__.partition(".")[0] in {"httpx", "httpx2", "anthropic"}


async def test_models_are_listed_in_the_dialect(claude: anthropic.AsyncAnthropic) -> None:
    listed = [model.id async for model in claude.models.list()]

    assert MODEL in listed
    assert (await claude.models.retrieve("claude-x")).display_name == "claude-x"
