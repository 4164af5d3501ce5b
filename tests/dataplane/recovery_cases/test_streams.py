"""Streams reach the client as they come, and several upstream rounds make one of them.

Source: 03-proxy-and-recovery.md 10.7. Case 103 is exhaustive over cuts in the tests of the core;
here it goes over sockets. In case 109 minutes are fractions of a second, limits included.
"""

from __future__ import annotations

import gzip
import json

import anthropic as claude
import openai as gpt
import pytest

from tests.dataplane.core.build import anthropic_body
from tests.dataplane.core.expand import scripts
from tests.dataplane.core.expand.scripts import Script, event, kinds, text, thinking, tool_use
from tests.dataplane.gateway_cases.served import AGENT, Serve, Served
from tests.dataplane.recovery_cases.scripted import (
    STREAM,
    X4000,
    X4000_ID,
    Json,
    appended,
    raw,
    raw_json,
    raw_stream,
    results,
)
from tests.patience import until

BODY = anthropic_body(X4000, stream=True)
CALL = tool_use(1)
BEFORE = scripts.anthropic(text(0, "one ", "✓ two"), CALL, stop_reason="tool_use")
AFTER = scripts.anthropic(text(0, "three"))
OPENS_WITH_CALL = scripts.anthropic(tool_use(0), stop_reason="tool_use")


async def stream(served: Served, *rounds: Json) -> bytes:
    """What the client gets in answer to a request whose rounds are these."""
    served.simulator.script(*rounds)
    got = await served.post(BODY)
    assert got.status_code == 200
    assert got.headers["content-type"] == STREAM
    return got.content


async def spliced(served: Served) -> bytes:
    return await stream(served, raw_stream(BEFORE), raw_stream(AFTER))


# ---- what passes through --------------------------------------------------------------------


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-94")])
async def test_an_ordinary_stream_passes_unchanged_and_chunk_by_chunk(
    served: Served, _: None
) -> None:
    words = [text(0, *[f"word {n} " for n in range(40)])]
    sent = Script([b": hello\n\n", event("ping"), *scripts.anthropic(*words).chunks])
    served.simulator.script(raw_stream(sent, gap_ms=5))

    async with served.http.stream(
        "POST", served.gateway.url + "/v1/messages", content=BODY, headers=AGENT
    ) as answer:
        chunks = [chunk async for chunk in answer.aiter_raw()]
    await served.settled()

    assert b"".join(chunks) == sent.body
    assert chunks[0] == sent.chunks[0]
    assert served.stats()["sse_streamed"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-106")])
async def test_an_openai_stream_without_usage_stays_without(served: Served, _: None) -> None:
    sent = scripts.openai(scripts.delta(content="hello"))
    served.simulator.script(raw_stream(sent))

    got = await served.post(chat_body(), path="/v1/chat/completions", authorization="Bearer sk-a")

    assert got.content == sent.body
    assert "stream_options" not in json.loads(served.sent[0])


def chat_body(*, stream: bool = True) -> bytes:
    tools = [{"type": "function", "function": {"name": "bash"}}]
    messages = [{"role": "user", "content": "hello"}]
    value = {"model": "gpt-5.6", "messages": messages, "tools": tools, "stream": stream}
    return json.dumps(value).encode()


# ---- what is spliced ------------------------------------------------------------------------


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-95")])
async def test_two_rounds_are_one_stream_in_which_nobody_sees_the_call(
    served: Served, _: None
) -> None:
    got = await spliced(served)

    assert kinds(got).count("message_start") == kinds(got).count("message_stop") == 1
    assert scripts.indices(got) == [0, 1]
    assert b"context_guru" not in got
    assert results(served.sent) == [X4000]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-95-first-text")])
async def test_text_before_the_call_reaches_the_client_before_the_second_request_is_sent(
    served: Served, _: None
) -> None:
    served.simulator.script(raw_stream(BEFORE, gap_ms=50), raw_stream(AFTER))
    asked_when_text_came = None

    async with served.http.stream(
        "POST", served.gateway.url + "/v1/messages", content=BODY, headers=AGENT
    ) as answer:
        async for chunk in answer.aiter_raw():
            if b"one " in chunk:
                asked_when_text_came = len(served.sent)

    assert asked_when_text_came == 1
    assert len(served.sent) == 2


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-95-sdk")])
async def test_the_official_client_reads_two_text_blocks(served: Served, _: None) -> None:
    served.simulator.script(raw_stream(BEFORE), raw_stream(AFTER))
    async with (
        claude.AsyncAnthropic(
            base_url=served.gateway.url, api_key="sk-agent", default_headers=AGENT
        ) as client,
        client.messages.stream(**json.loads(anthropic_body(X4000))) as answer,
    ):
        message = await answer.get_final_message()

    assert [block.text for block in message.content if block.type == "text"] == [
        "one ✓ two",
        "three",
    ]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-96")])
async def test_a_round_that_opens_with_the_call_gives_only_its_head(
    served: Served, _: None
) -> None:
    got = await stream(served, raw_stream(OPENS_WITH_CALL), raw_stream(AFTER))

    assert kinds(got)[:2] == ["message_start", "content_block_start"]
    assert scripts.indices(got) == [0]
    assert b"context_guru" not in got
    assert served.stats()["sse_buffered"] == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-97")])
async def test_thinking_is_echoed_and_indices_go_on(served: Served, _: None) -> None:
    first = scripts.anthropic(thinking(0, "hm", "c2ln"), CALL, stop_reason="tool_use")
    second = scripts.anthropic(thinking(0, "so", "c2ln2"), text(1, "done"))

    got = await stream(served, raw_stream(first), raw_stream(second))

    assert scripts.indices(got) == [0, 1, 2]
    assert b'"signature":"c2ln"' in got
    assistant, _answer = appended(served.sent)
    assert assistant["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-98")])
async def test_beside_another_tool_the_stream_is_the_providers(served: Served, _: None) -> None:
    both = scripts.anthropic(
        text(0, "t"), CALL, tool_use(2, "bash", "{}", call_id="toolu_2"), stop_reason="tool_use"
    )

    got = await stream(served, raw_stream(both))

    assert got == both.body
    assert len(served.sent) == 1
    assert served.stats()["sse_expand_after_stream"] == 1


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"status": 500}, id="03-case-99-500"),
        pytest.param(raw_json(b'{"type":"message"}'), id="03-case-99-json"),
        pytest.param({"cut_after_bytes": 0}, id="03-case-99-hung-up"),
    ],
)
async def test_a_second_round_that_fails_ends_the_stream_with_the_first(
    served: Served, second: Json
) -> None:
    got = await stream(served, raw_stream(BEFORE), second)

    assert got == BEFORE.body
    assert kinds(got)[-1] == "message_stop"


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-100")])
async def test_a_second_round_that_breaks_off_is_ended_by_the_first(
    served: Served, _: None
) -> None:
    cut = AFTER.until(b"event: message_delta")

    got = await stream(served, raw_stream(BEFORE), raw(cut.chunks, cut_after_events=99))

    assert b"three" in got
    assert kinds(got)[-2:] == ["message_delta", "message_stop"]
    assert kinds(got).count("message_stop") == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-101")])
async def test_a_first_round_that_breaks_off_says_so(served: Served, _: None) -> None:
    cut = AFTER.until(b"event: content_block_stop")
    served.simulator.script(raw(cut.chunks, cut_after_events=99))

    with pytest.raises(claude.APIStatusError):
        async with (
            claude.AsyncAnthropic(
                base_url=served.gateway.url, api_key="k", default_headers=AGENT, max_retries=0
            ) as client,
            client.messages.stream(**json.loads(anthropic_body(X4000))) as answer,
        ):
            await answer.get_final_message()


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-102")])
async def test_a_call_too_large_to_hold_back_passes_through(served: Served, _: None) -> None:
    pieces = ["a" * (1 << 20)] * 17
    huge = scripts.anthropic(tool_use(0, "context_guru_expand", *pieces), stop_reason="tool_use")

    got = await stream(served, raw_stream(huge))

    assert got == huge.body
    assert len(served.sent) == 1


@pytest.mark.parametrize(
    "rewrite",
    [
        pytest.param(lambda script: script.split(1), id="03-case-103-bytes"),
        pytest.param(lambda script: script.with_crlf(), id="03-case-103-crlf"),
        pytest.param(
            lambda script: (
                script.split_at(script.body.index("✓".encode()) + 1)
                if "✓".encode() in script.body
                else script
            ),
            id="03-case-103-inside-a-character",
        ),
    ],
)
async def test_where_the_network_cuts_the_bytes_does_not_matter(
    served: Served, rewrite: object
) -> None:
    assert callable(rewrite)
    whole = await spliced(served)

    got = await stream(served, raw_stream(rewrite(BEFORE)), raw_stream(rewrite(AFTER)))

    assert got.replace(b"\r\n", b"\n") == whole


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-104")])
async def test_a_compressed_stream_is_decoded_and_spliced(served: Served, _: None) -> None:
    def packed(script: Script) -> Json:
        return raw([gzip.compress(script.body)], headers={"content-encoding": "gzip"})

    whole = await spliced(served)
    served.simulator.script(packed(BEFORE), packed(AFTER))

    got = await served.post(BODY)

    assert got.content == whole
    assert "content-encoding" not in got.headers


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-105")])
async def test_an_openai_stream_is_one_message_of_one_id(served: Served, _: None) -> None:
    first = scripts.openai(
        scripts.delta(content="one "), scripts.call_chunks(0), reason="tool_calls"
    )
    second = scripts.openai(scripts.delta(content="two"), prompt_tokens=200)
    other_id = Script([c.replace(b"chatcmpl-1", b"chatcmpl-2") for c in second.chunks])
    served.simulator.script(raw_stream(first), raw_stream(other_id))

    got = await served.post(chat_body(), path="/v1/chat/completions", authorization="Bearer sk-a")

    chunks = [json.loads(line[6:]) for line in got.text.splitlines() if line.startswith("data: {")]
    said = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    assert {c["id"] for c in chunks} == {"chatcmpl-1"}
    assert [delta["role"] for delta in said if "role" in delta] == ["assistant"]
    assert "".join(delta.get("content") or "" for delta in said) == "one two"
    assert got.text.count("data: [DONE]") == 1
    assert [c["usage"]["prompt_tokens"] for c in chunks if c.get("usage")] == [200]


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-105-sdk")])
async def test_the_official_openai_client_accumulates_it(served: Served, _: None) -> None:
    first = scripts.openai(scripts.delta(content="a"), scripts.call_chunks(0), reason="tool_calls")
    second = scripts.openai(scripts.delta(content="b"))
    served.simulator.script(raw_stream(first), raw_stream(second))
    url = served.gateway.url + "/v1"
    async with gpt.AsyncOpenAI(base_url=url, api_key="k", default_headers=AGENT) as client:
        answer = await client.chat.completions.create(**json.loads(chat_body()))
        said = [c.choices[0].delta.content or "" async for c in answer if c.choices]

    assert "".join(said) == "ab"


# ---- slow, silent and gone ------------------------------------------------------------------


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-107")])
async def test_a_client_that_leaves_ends_the_upstream_request(served: Served, _: None) -> None:
    served.simulator.script({"events": 20_000, "gap_ms": 20})

    async with served.http.stream(
        "POST", served.gateway.url + "/v1/messages", content=BODY, headers=AGENT
    ) as answer:
        seen = b""
        async for chunk in answer.aiter_raw():
            seen += chunk
            if seen.count(b"event: ") >= 3:
                break
    await until(lambda: served.simulator.requests[0].disconnected_at is not None)
    await served.settled()

    stats = served.stats()
    assert stats["client_disconnects"] == 1
    assert stats["inflight"] == 0
    assert stats["fresh_input_tokens"] > 0


async def test_case_109_a_stream_is_not_cut_however_long_it_lasts(serve: Serve) -> None:
    ping = b'event: ping\ndata: {"type":"ping"}\n\n'
    long = Script([*AFTER.chunks[:-1], *[ping] * 20, AFTER.chunks[-1]])
    async with serve(
        silence_timeout_s=1.5, first_byte_timeout_s=1.5, body_idle_timeout_s=1.5
    ) as served:
        assert await stream(served, raw_stream(long, gap_ms=150)) == long.body
        assert served.stats()["client_disconnects"] == 0


@pytest.mark.parametrize("_", [pytest.param(None, id="03-case-110")])
async def test_a_silent_upstream_is_given_up_with_an_error_event(serve: Serve, _: None) -> None:
    async with serve(silence_timeout_s=0.2) as served:
        silent = AFTER.until(b"event: content_block_stop")

        got = await stream(served, raw([*silent.chunks, b"late"], gap_ms=3000))

        assert kinds(got)[-1] == "error"
        assert "message_stop" not in kinds(got)


def test_the_call_of_these_scripts_asks_for_the_masked_output() -> None:
    assert scripts.ID == X4000_ID
