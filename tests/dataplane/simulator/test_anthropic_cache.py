"""Anthropic's prompt cache as the real client sees it: marks, lifetimes and what a key covers."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from dataplane.simulator import Simulator
from tests.dataplane.simulator.requests import HELLO, TOOLS, ask, result, use

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
    claude: anthropic.AsyncAnthropic, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        await ask(claude, **changes)

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


async def at(claude: anthropic.AsyncAnthropic, seconds: float, **changes: Any) -> Any:
    return await ask(claude, extra_headers={"x-headrace-now": str(seconds)}, **changes)


async def test_the_cache_lives_by_the_clock_of_the_request(
    claude: anthropic.AsyncAnthropic,
) -> None:
    system = [text(LONG, MARK)]

    uses = [usage_of(await at(claude, now, system=system)) for now in (1000, 1299, 1598, 1898)]

    assert uses == [(0, 2200, 2), (2200, 0, 2), (2200, 0, 2), (0, 2200, 2)]


async def test_an_hour_mark_is_reported_apart_and_outlives_five_minutes(
    claude: anthropic.AsyncAnthropic,
) -> None:
    system = [text(LONG, HOUR), text(LONG, MARK)]

    first = await at(claude, 0, system=system)
    later = await at(claude, 1000, system=system)

    assert first.usage.cache_creation.ephemeral_1h_input_tokens == 2200
    assert first.usage.cache_creation.ephemeral_5m_input_tokens == 2200
    assert usage_of(later) == (2200, 2200, 2)


async def test_moving_the_mark_to_a_new_block_reads_the_old_ones(
    claude: anthropic.AsyncAnthropic,
) -> None:
    answer = {"role": "assistant", "content": "Hm."}
    first = [{"role": "user", "content": [text(LONG, MARK)]}]
    second = [
        {"role": "user", "content": LONG},
        answer,
        {"role": "user", "content": [text("b", MARK)]},
    ]

    await ask(claude, messages=first)

    assert usage_of(await ask(claude, messages=second)) == (2200, 2, 0)


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
    claude: anthropic.AsyncAnthropic, place: str
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
    written = usage_of(await ask(claude, **request))[1]

    assert written >= 2200
    assert usage_of(await ask(claude, **request))[0] == written


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
    claude: anthropic.AsyncAnthropic, changes: dict[str, Any], *, reads: bool
) -> None:
    messages = [{"role": "user", "content": [text(LONG, MARK)]}]
    await ask(claude, messages=messages)

    assert (usage_of(await ask(claude, messages=messages, **changes))[0] > 0) is reads


async def test_a_failed_request_writes_nothing(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"status": 529})
    with pytest.raises(anthropic.APIStatusError):
        await ask(claude, system=[text(LONG, MARK)])

    assert usage_of(await ask(claude, system=[text(LONG, MARK)])) == (0, 2200, 2)


async def test_a_stream_reports_the_input_first_and_the_output_last(
    simulator: Simulator, claude: anthropic.AsyncAnthropic
) -> None:
    simulator.script({"content": "word " * 40})
    opened = await ask(claude, system=[text(LONG, MARK)], stream=True)
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
