"""The official clients read a spliced stream as one message (cases 95, 97, 101, 105)."""

from __future__ import annotations

import anthropic
import httpx2
import openai as openai_sdk
import pytest

from dataplane.core.wire.message import Dialect
from tests.dataplane.core.expand.scripts import (
    Played,
    Script,
    call_chunks,
    data_of,
    delta,
    openai,
    play,
    stream_relay,
    text,
    thinking,
    tool_use,
)
from tests.dataplane.core.expand.scripts import (
    anthropic as anthropic_script,
)

FIRST = anthropic_script(
    thinking(0, "Hm.", "c2ln"), text(1, "Let me look."), tool_use(2), stop_reason="tool_use"
)
SECOND = anthropic_script(text(0, "It says ✓."))


def client_of(played: Played) -> httpx2.Client:
    """An HTTP client whose every request is answered by what the relay gave out."""
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers=headers, content=played.client)
    )
    return httpx2.Client(transport=transport)


def anthropic_message(played: Played) -> anthropic.types.Message:
    client = anthropic.Anthropic(api_key="k", http_client=client_of(played))
    with client.messages.stream(
        model="model-a", max_tokens=9, messages=[{"role": "user", "content": "?"}]
    ) as stream:
        return stream.get_final_message()


def test_95_the_anthropic_client_sees_one_message_with_the_blocks_of_both_rounds() -> None:
    message = anthropic_message(play(stream_relay(), FIRST, SECOND))

    assert [block.type for block in message.content] == ["thinking", "text", "text"]
    assert message.content[0].signature == "c2ln"  # type: ignore[union-attr]
    assert [block.text for block in message.content if block.type == "text"] == [
        "Let me look.",
        "It says ✓.",
    ]
    assert message.stop_reason == "end_turn"


def test_99_the_anthropic_client_sees_a_whole_message_after_a_refused_continuation() -> None:
    message = anthropic_message(play(stream_relay(), FIRST, None))

    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("interceptable", [True, False])
def test_101_the_anthropic_client_raises_when_the_stream_broke_off(*, interceptable: bool) -> None:
    played = play(stream_relay(interceptable=interceptable), SECOND.until(b"event: message_delta"))

    with pytest.raises(anthropic.APIStatusError, match="ended before it was complete"):
        anthropic_message(played)


def openai_completion(played: Played) -> openai_sdk.types.chat.ChatCompletion:
    client = openai_sdk.OpenAI(api_key="k", http_client=client_of(played))
    with client.chat.completions.stream(
        model="gpt-a", messages=[{"role": "user", "content": "?"}]
    ) as stream:
        return stream.get_final_completion()


def test_105_the_openai_client_accumulates_one_message() -> None:
    first = openai(delta(content="Let me look. "), call_chunks(0), reason="tool_calls")
    second = openai(delta(role="assistant", content="It says ✓."))
    renamed = Script([second.body.replace(b"chatcmpl-1", b"chatcmpl-2")])
    played = play(stream_relay(Dialect.OPENAI_CHAT), first, renamed)

    final = openai_completion(played)

    assert final.choices[0].message.content == "Let me look. It says ✓."
    assert final.choices[0].message.role == "assistant"
    assert not final.choices[0].message.tool_calls
    assert final.choices[0].finish_reason == "stop"
    assert final.usage is not None
    assert final.usage.prompt_tokens == 90
    assert {value["id"] for value in data_of(played.client)} == {"chatcmpl-1"}
