"""Responses through a node, with the `openai` package.

Source: 03-proxy-and-recovery.md 10.5 (77), 10.6 (91), 10.7 (111) and 10.8 (115).
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest

from tests.dataplane.gateway import TA
from tests.dataplane.gateway_cases.served import LONG, Serve, Served

PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS: list[Any] = [{"type": "function", "name": "bash", "parameters": PARAMETERS, "strict": False}]
CALL = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"}
EXPAND = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": {"$marker": 0}}}
MASKED = "[full output: call context_guru_expand]"


def history(output: Any = LONG, kind: str = "function_call_output") -> list[Any]:
    return [
        {"role": "user", "content": "Fix the test."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e=="},
        CALL if kind == "function_call_output" else {**CALL, "type": "custom_tool_call"},
        {"type": kind, "call_id": "c1", "output": output},
    ]


def asked(**members: Any) -> bytes:
    body = {"model": "gpt-5.6", "input": history(), "tools": TOOLS, **members}
    return json.dumps(body, ensure_ascii=False).encode()


async def post(served: Served, body: bytes, **headers: str) -> httpx.Response:
    return await served.post(body, path="/v1/responses", **headers)


def client(served: Served) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=served.gateway.url + "/v1",
        api_key="sk-agent",
        max_retries=0,
        default_headers={"x-context-guru-token": TA},
    )


def names(body: bytes) -> list[str]:
    return [tool["name"] for tool in json.loads(body)["tools"]]


async def test_only_the_output_and_the_tools_of_a_request_change(served: Served) -> None:
    body = asked(instructions="Be brief. ✓", include=["reasoning.encrypted_content"])

    assert (await post(served, body)).status_code == 200

    before, after = json.loads(body), json.loads(served.sent[0])
    replacement = after["input"][3].pop("output")
    assert replacement.endswith(MASKED)
    assert before["input"][3].pop("output") == LONG
    assert after["tools"].pop()["name"] == "context_guru_expand"
    assert after == before
    literal = json.dumps(LONG, ensure_ascii=False).encode()
    head = body[: body.index(literal)]
    assert served.sent[0].startswith(head)


async def test_the_text_parts_of_an_output_are_masked_and_the_others_kept(served: Served) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    parts = [{"type": "input_text", "text": LONG}, image]

    await post(served, asked(input=history(parts, "custom_tool_call_output")))

    text, kept = json.loads(served.sent[0])["input"][3]["output"]
    assert text["text"].endswith(MASKED)
    assert kept == image


async def test_what_a_request_adds_to_a_history_of_the_provider_is_sent_as_it_came(
    served: Served,
) -> None:
    body = asked(conversation="conv_1")

    await post(served, body)

    after = json.loads(served.sent[0])
    assert after["tools"].pop()["name"] == "context_guru_expand"
    assert after == json.loads(body)
    assert served.stats()["bypassed"] == {"server_history": 1}


async def test_the_part_that_a_request_brings_is_shaped_where_the_operator_wants_it(
    serve: Serve,
) -> None:
    session = {"x_context_guru_session": "s1"}
    async with serve(responses_partial=True) as served:
        served.simulator.script({"content": "a"}, {"content": [EXPAND]}, {"content": "done"})
        await post(served, asked(), **session)

        part = asked(conversation="conv_1", input=history()[1:])
        answer = await post(served, part, **session)

        _, shaped, continued = (json.loads(body) for body in served.sent)
        assert MASKED in shaped["input"][-1]["output"]
        assert shaped["conversation"] == continued["conversation"] == "conv_1"
        assert [item["output"] for item in continued["input"]] == [LONG]
        assert answer.json()["output"][-1]["content"][0]["text"] == "done"
        assert served.stats()["compaction_resets"] == 0


@pytest.mark.parametrize("member", ["previous_response_id", "conversation"])
async def test_a_null_names_no_history(served: Served, member: str) -> None:
    await post(served, asked(**{member: None}))

    assert MASKED.encode() in served.sent[0]


@pytest.mark.parametrize(
    "begins_with_text", [pytest.param(False, id="91"), pytest.param(True, id="91-text-input")]
)
async def test_the_package_gets_the_answer_that_the_original_led_to(
    served: Served, *, begins_with_text: bool
) -> None:
    reasoning = {"type": "thinking", "thinking": "I look.", "encrypted_content": "e=="}
    marker = {"type": "tool_use", "name": "context_guru_expand", "input": {"id": "0" * 16}}
    served.simulator.script(
        {"content": [reasoning, marker if begins_with_text else EXPAND]},
        {"content": "It says 'a long line'."},
    )
    given: Any = "Fix the test." if begins_with_text else history()

    async with client(served) as package:
        answer = await package.responses.create(
            model="gpt-5.6", input=given, tools=TOOLS, store=False
        )

    assert answer.output_text == "It says 'a long line'."
    first, second = (json.loads(body) for body in served.sent)
    told = [{"role": "user", "content": given}] if begins_with_text else first["input"]
    echoed = second["input"][len(told) :]
    assert second["input"][: len(told)] == told
    assert [item["type"] for item in echoed] == [
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert echoed[0]["encrypted_content"] == "e=="
    assert (echoed[2]["output"] == LONG) is not begins_with_text
    await served.settled()
    assert served.stats()["bounces"] == (not begins_with_text)


async def test_reasoning_that_nobody_kept_stays_out_of_the_continuation(served: Served) -> None:
    served.simulator.script({"content": [{"type": "thinking", "thinking": "Hm."}, EXPAND]})
    served.simulator.script({"content": "It says 'a long line'."})

    async with client(served) as package:
        answer = await package.responses.create(
            model="gpt-5.6", input=history(), tools=TOOLS, store=False
        )

    assert [item.type for item in answer.output] == ["reasoning", "message"]
    kinds = [item["type"] for item in json.loads(served.sent[1])["input"][4:]]
    assert kinds == ["function_call", "function_call_output"]


async def test_case_77_a_stream_is_shaped_and_declares_the_tool_like_any_other_answer(
    served: Served,
) -> None:
    session = {"x_context_guru_session": "s1"}
    await post(served, asked(), **session)
    later = [*history(), {**CALL, "call_id": "c2"}]
    later.append({"type": "function_call_output", "call_id": "c2", "output": LONG + "more"})

    answer = await post(served, asked(input=later, stream=True), **session)

    assert b"response.completed" in answer.content
    first, second = (json.loads(body) for body in served.sent)
    assert second["input"][3] == first["input"][3]
    assert MASKED in second["input"][5]["output"]
    assert names(served.sent[0]) == names(served.sent[1]) == ["bash", "context_guru_expand"]


async def test_the_package_streams_over_a_recovery_in_the_midst(served: Served) -> None:
    reasoning = {"type": "thinking", "thinking": "I look.", "encrypted_content": "e=="}
    served.simulator.script(
        {"content": [reasoning, {"type": "text", "text": "Let me look. "}, EXPAND]},
        {"content": "It says 'a long line'."},
    )

    async with (
        client(served) as package,
        package.responses.stream(
            model="gpt-5.6", input=history(), tools=TOOLS, store=False
        ) as opened,
    ):
        seen = [event async for event in opened]
        final = await opened.get_final_response()

    assert [item.type for item in final.output] == ["reasoning", "message", "message"]
    assert final.output_text == "Let me look. It says 'a long line'."
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    first, second = (json.loads(body) for body in served.sent)
    echoed = second["input"][len(first["input"]) :]
    assert [item["type"] for item in echoed] == [
        "reasoning",
        "message",
        "function_call",
        "function_call_output",
    ]
    assert (echoed[0]["encrypted_content"], echoed[3]["output"]) == ("e==", LONG)
    await served.settled()
    assert served.stats()["bounces"] == 1
    assert served.stats()["sse_streamed"] == 1


async def test_the_package_streams(served: Served) -> None:
    served.simulator.script({"content": "One two three. ✓ " * 9})

    async with (
        client(served) as package,
        package.responses.stream(model="gpt-5.6", input=history(), tools=TOOLS) as opened,
    ):
        final = await opened.get_final_response()

    assert final.output_text == "One two three. ✓ " * 9
    await served.settled()
    assert served.stats()["output_tokens"] > 0


async def test_case_115_the_clients_own_answer_to_a_recovery_call_is_put_right(
    served: Served,
) -> None:
    await post(served, asked(), x_context_guru_session="s1")
    sent = json.loads(served.sent[0])["input"][3]["output"]
    marker_id = sent.partition("<<cg:")[2].partition(">>")[0]
    called = {
        "type": "function_call",
        "call_id": "x1",
        "name": "context_guru_expand",
        "arguments": json.dumps({"id": marker_id}),
    }
    failed = {"type": "function_call_output", "call_id": "x1", "output": "unknown tool"}
    short = {"role": "user", "content": "Go on."}

    await post(served, asked(input=[short, called, failed]), x_context_guru_session="s1")

    repaired = json.loads(served.sent[1])["input"]
    assert repaired[2] == {**failed, "output": LONG}
