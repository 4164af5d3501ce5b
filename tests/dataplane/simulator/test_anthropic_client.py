"""The unmodified `anthropic` package against the simulated provider."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from dataplane.simulator import Simulator

MODEL = "claude-sonnet-5"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
TOOLS: list[Any] = [
    {
        "name": "bash",
        "description": "Run a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    }
]
EXPAND: dict[str, Any] = {
    "type": "tool_use",
    "name": "context_guru_expand",
    "input": {"id": {"$marker": 0}},
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.fixture
async def client(simulator: Simulator) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(
        base_url=simulator.url, api_key="sk-1", max_retries=0
    ) as made:
        yield made


async def ask(client: anthropic.AsyncAnthropic, **changes: Any) -> Any:
    request: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": HELLO, **changes}
    return await client.messages.create(**request)


async def stream(client: anthropic.AsyncAnthropic, **changes: Any) -> anthropic.types.Message:
    request: dict[str, Any] = {"model": MODEL, "max_tokens": 100, "messages": HELLO, **changes}
    async with client.messages.stream(**request) as opened:
        return await opened.get_final_message()


async def test_without_a_script_the_answer_says_how_much_arrived(
    client: anthropic.AsyncAnthropic,
) -> None:
    message = await ask(client)

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
    simulator: Simulator, client: anthropic.AsyncAnthropic, send: Any
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

    message = await send(client, tools=TOOLS)

    kinds = [block.type for block in message.content]
    assert kinds == ["thinking", "redacted_thinking", "text", "tool_use", "server_tool_use"]
    assert message.content[0].signature.startswith("sim1.")
    assert message.content[1].data == "b3BhcXVl"
    assert message.content[3].input == command
    assert message.content[4].input == {"query": "q"}
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("send", [ask, stream])
async def test_thinking_is_answered_when_asked_for_and_must_come_back_unchanged(
    client: anthropic.AsyncAnthropic, send: Any
) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = await send(client, thinking=thinking)
    echoed = [block.model_dump(exclude_none=True) for block in message.content]
    turns = [*HELLO, {"role": "assistant", "content": echoed}, *HELLO]

    assert (await ask(client, messages=turns)).type == "message"
    echoed[0]["thinking"] += " altered"
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking`"):
        await ask(client, messages=turns)


async def test_images_are_counted_by_pixels_not_by_their_base64(
    client: anthropic.AsyncAnthropic,
) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    picture = [{"role": "user", "content": [{"type": "image", "source": source}]}]

    message = await ask(client, messages=picture)

    assert message.usage.input_tokens == 1600


async def test_count_tokens_equals_the_input_of_the_same_request(
    client: anthropic.AsyncAnthropic,
) -> None:
    counted = await client.messages.count_tokens(
        model=MODEL, messages=HELLO, tools=TOOLS, system="You are careful."
    )
    message = await ask(client, tools=TOOLS, system="You are careful.")

    assert counted.input_tokens == message.usage.input_tokens


async def test_a_scripted_call_can_name_a_marker_of_the_messages(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": [EXPAND]})
    tools = [{**TOOLS[0], "description": "Opens <<cg:HASH>> markers."}]
    messages = [{"role": "user", "content": "See <<cg:91c9568c40c8d8d1>>."}]

    message = await ask(client, tools=tools, messages=messages)

    assert message.content[0].input == {"id": "91c9568c40c8d8d1"}


def result(tool_id: str, **changes: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": "out", **changes}


def use(tool_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_id, "name": "bash", "input": {}}


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
    client: anthropic.AsyncAnthropic, turns: list[tuple[str, Any]], says: str
) -> None:
    messages = [*HELLO, *({"role": role, "content": content} for role, content in turns)]

    with pytest.raises(anthropic.BadRequestError) as refused:
        await ask(client, messages=messages)

    assert says in refused.value.body["error"]["message"]  # type: ignore[index]


async def test_results_may_come_in_neighbouring_user_messages(
    client: anthropic.AsyncAnthropic,
) -> None:
    messages = [
        *HELLO,
        {"role": "assistant", "content": [use("t1"), use("t2")]},
        {"role": "user", "content": [result("t2")]},
        {"role": "user", "content": [result("t1")]},
    ]

    assert (await ask(client, messages=messages)).type == "message"


MARK: dict[str, Any] = {"type": "ephemeral"}
HOUR: dict[str, Any] = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, mark: dict[str, Any] | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": words}
    return {**block, "cache_control": mark} if mark else block


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            {
                "tools": [{**TOOLS[0], "cache_control": MARK}],
                "system": [text("s", MARK)],
                "messages": [{"role": "user", "content": [text("a", MARK), text("b", MARK)]}],
                "extra_body": {"cache_control": MARK},
            },
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
            id="five-marks",
        ),
        pytest.param(
            {"system": [text("s", MARK)], "extra_body": {"cache_control": HOUR}},
            "cache_control.ttl: a ttl='1h' cache_control block must not come after",
            id="1h-after-5m",
        ),
        pytest.param(
            {"system": [text("s", {**MARK, "ttl": "2h"})]}, "Input should be '5m' or '1h'", id="2h"
        ),
        pytest.param(
            {"system": [text("", MARK)]}, "cannot be set for empty text blocks", id="empty-text"
        ),
    ],
)
async def test_cache_marks_are_policed(
    client: anthropic.AsyncAnthropic, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        await ask(client, **changes)

    assert says in refused.value.body["error"]["message"]  # type: ignore[index]


LONG = "All work and no play. " * 400  # 2200 tokens


def usage_of(message: anthropic.types.Message) -> tuple[int, int, int]:
    """Read, written and fresh tokens."""
    found = message.usage
    return (
        found.cache_read_input_tokens or 0,
        found.cache_creation_input_tokens or 0,
        found.input_tokens,
    )


async def at(client: anthropic.AsyncAnthropic, seconds: float, **changes: Any) -> Any:
    return await ask(client, extra_headers={"x-headrace-now": str(seconds)}, **changes)


async def test_the_cache_lives_by_the_clock_of_the_request(
    client: anthropic.AsyncAnthropic,
) -> None:
    system = [text(LONG, MARK)]

    uses = [usage_of(await at(client, now, system=system)) for now in (1000, 1299, 1598, 1898)]

    assert uses == [(0, 2200, 2), (2200, 0, 2), (2200, 0, 2), (0, 2200, 2)]


async def test_an_hour_mark_is_reported_apart_and_outlives_five_minutes(
    client: anthropic.AsyncAnthropic,
) -> None:
    system = [text(LONG, HOUR), text(LONG, MARK)]

    first = await at(client, 0, system=system)
    later = await at(client, 1000, system=system)

    assert first.usage.cache_creation.ephemeral_1h_input_tokens == 2200
    assert first.usage.cache_creation.ephemeral_5m_input_tokens == 2200
    assert usage_of(later) == (2200, 2200, 2)


async def test_moving_the_mark_to_a_new_block_reads_the_old_ones(
    client: anthropic.AsyncAnthropic,
) -> None:
    answer = {"role": "assistant", "content": "Hm."}
    first = [{"role": "user", "content": [text(LONG, MARK)]}]
    second = [
        {"role": "user", "content": LONG},
        answer,
        {"role": "user", "content": [text("b", MARK)]},
    ]

    await ask(client, messages=first)

    assert usage_of(await ask(client, messages=second)) == (2200, 2, 0)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("tools", id="tools"),
        pytest.param("system", id="system"),
        pytest.param("content", id="content"),
        pytest.param("nested", id="nested-content"),
        pytest.param("top", id="top-level"),
    ],
)
async def test_a_mark_counts_wherever_the_provider_takes_one(
    client: anthropic.AsyncAnthropic, place: str
) -> None:
    mark = {place: {"cache_control": MARK}}
    nested = {"type": "text", "text": LONG, **mark.get("nested", {})}
    request: dict[str, Any] = {
        "tools": [{**TOOLS[0], "description": LONG, **mark.get("tools", {})}],
        "system": [{"type": "text", "text": LONG, **mark.get("system", {})}],
        "messages": [
            *HELLO,
            {"role": "assistant", "content": [use("t1")]},
            {
                "role": "user",
                "content": [result("t1", content=[nested], **mark.get("content", {}))],
            },
        ],
        "extra_body": mark.get("top", {}),
    }
    written = usage_of(await ask(client, **request))[1]

    assert written >= 2200
    assert usage_of(await ask(client, **request))[0] == written


@pytest.mark.parametrize(
    ("changes", "reads"),
    [
        pytest.param({}, True, id="same"),
        pytest.param({"model": "claude-opus-5"}, False, id="other-model"),
        pytest.param({"extra_headers": {"x-api-key": "sk-2"}}, False, id="other-key"),
        pytest.param({"tools": TOOLS}, False, id="tools-added"),
        pytest.param({"tool_choice": {"type": "auto"}}, True, id="default-tool-choice"),
        pytest.param({"tool_choice": {"type": "none"}}, False, id="other-tool-choice"),
    ],
)
async def test_what_the_prefix_covers(
    client: anthropic.AsyncAnthropic, changes: dict[str, Any], *, reads: bool
) -> None:
    messages = [{"role": "user", "content": [text(LONG, MARK)]}]
    await ask(client, messages=messages)

    assert (usage_of(await ask(client, messages=messages, **changes))[0] > 0) is reads


async def test_a_failed_request_writes_nothing(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"status": 529})
    with pytest.raises(anthropic.APIStatusError):
        await ask(client, system=[text(LONG, MARK)])

    assert usage_of(await ask(client, system=[text(LONG, MARK)])) == (0, 2200, 2)


async def test_a_stream_reports_the_input_first_and_the_output_last(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "word " * 40})
    opened = await ask(client, system=[text(LONG, MARK)], stream=True)
    events = [event async for event in opened]

    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0].message.usage.cache_creation_input_tokens == 2200
    assert events[0].message.usage.output_tokens == 1
    assert events[-2].usage.output_tokens == 51


async def test_a_script_may_put_its_own_usage_and_stop_reason(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script(
        {
            "content": "cut",
            "stop_reason": "max_tokens",
            "usage": {"output_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 3}},
        }
    )

    message = await stream(client)

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
    client: anthropic.AsyncAnthropic,
    status: int,
    raises: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    simulator.script({"status": status, "error": {"message": "as scripted"}})

    with pytest.raises(raises, match="as scripted") as refused:
        await ask(client)

    assert refused.value.body == {
        "type": "error",
        "error": {"type": kind, "message": "as scripted"},
    }


async def test_an_error_inside_a_stream_raises_in_the_client(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "never whole", "error_event": {"message": "busy", "after": 3}})

    with pytest.raises(anthropic.APIStatusError, match="busy"):
        await stream(client)


async def test_a_cut_connection_raises_in_the_client(
    simulator: Simulator, client: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "never whole", "cut_after_events": 3})

    with pytest.raises(Exception, match=r"incomplete|peer closed|disconnect") as broken:
        await stream(client)

    assert type(broken.value).__module__.partition(".")[0] in {"httpx", "httpx2", "anthropic"}


async def test_models_are_listed_in_the_dialect(client: anthropic.AsyncAnthropic) -> None:
    listed = [model.id async for model in client.models.list()]

    assert MODEL in listed
    assert (await client.models.retrieve("claude-x")).display_name == "claude-x"
