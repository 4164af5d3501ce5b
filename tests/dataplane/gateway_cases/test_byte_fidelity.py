"""What the provider gets, byte for byte: 03-proxy-and-recovery.md 10.3.

Bodies that are no JSON of ours (cases 32 to 34) are here, too. Case 42 (cacheinject) is not part
of the product yet; 45 and 46 are in test_pristine_resend.py.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import pytest

from dataplane.core import exchange
from dataplane.core.port.declaration import Declaration, Kind, PipelineStep
from dataplane.core.port.turn import Rewrite, Step, ToolOutput, Turn
from dataplane.core.tools.tool import DECLARED, EXPAND
from dataplane.core.wire import envelope
from dataplane.core.wire.message import Dialect
from tests.dataplane.core.build import OffConfig, off_step
from tests.dataplane.gateway_cases.served import LONG, MASK_ALL, MASKED, Serve, Served, with_output

TOOL = DECLARED[Dialect.ANTHROPIC].definition
X4000, X4000_ID = "x" * 4000, "91c9568c40c8d8d1"
NAIVE, NAIVE_ID = "naïve ✓\n" * 500, "c4e9a6acac55dab2"
OFF_TEXT = "[x] <<cg:{id}>> [full output: call context_guru_expand]"
ODD = rb"""
 { "model" :"claude-sonnet-5",  "max_tokens":64 , "temperature": 1.0,"top_k":1e5,
   "x_unknown" : {"deep":[ 1 , -0.0e-7,null ], "\u00e9\/":"\u00e9\/\ud83d\ude00"},
   "messages":[ {"content":"Fix \u00e9 \/ this." ,"role":"user"} ,
     {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"bash","input":{"n":123456789012345678901234567890}}]},
     {"role":"user","content":[{"x_more":true,"type":"tool_result","content":"short","tool_use_id":"a"}]},
     {"role":"assistant","content":[ {"type":"tool_use","id":"b","name":"bash","input":{ } } ]},
     {"role":"user" , "content":[{"type":"tool_result","tool_use_id":"b",
       "x_odd":1.0E+2,"content" : @LITERAL@ ,"is_error":false}]},
     {"role":"assistant","content":"done\u0021"},{"role":"user","content":"next"},
     {"role":"assistant","content":"ok"} , {"role":"user",
       "content":[{"type":"text","text":"\u2713 \\u0041"}]}
   ] , "tools" : [ {"name":"bash","input_schema":{"type":"object"}} ] }
"""


def odd(literal: bytes, tools: bytes = b"") -> bytes:
    """A body of unusual spelling; what stands in message 4, and what is added to the tools."""
    whole = ODD.replace(b"@LITERAL@", literal)
    head, _, tail = whole.rpartition(b"] }")
    return head + tools + b"] }" + tail


def literal(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("original", "spelt", "marker_id"),
    [
        pytest.param(X4000, literal(X4000), X4000_ID, id="36-plain"),
        pytest.param(NAIVE, literal(NAIVE), NAIVE_ID, id="36-utf8"),
        pytest.param(NAIVE, json.dumps(NAIVE).encode(), NAIVE_ID, id="36-escaped"),
    ],
)
async def test_only_the_changed_literal_and_the_added_tool_differ(
    served: Served, original: str, spelt: bytes, marker_id: str
) -> None:
    served.use(off_step())

    answer = await served.post(odd(spelt))

    assert answer.status_code == 200
    replaced = literal(OFF_TEXT.format(id=marker_id))
    assert served.sent == [odd(replaced, tools=b"," + TOOL)]
    assert json.loads(odd(spelt))["messages"][4]["content"][0]["content"] == original


async def test_case_37_a_body_that_nobody_changes_is_forwarded_as_it_is(serve: Serve) -> None:
    body = odd(literal("short"))

    async with serve(MASK_ALL + "inject_expand: never\n") as served:
        served.use(off_step())
        await served.post(body)

        assert served.sent == [body]
        assert served.stats()["requests"] == 1


async def test_case_32_a_compressed_request_passes_with_its_coding(served: Served) -> None:
    packed = gzip.compress(with_output(LONG))

    await served.post(packed, content_encoding="gzip")

    assert served.sent == [packed]
    assert served.simulator.requests[0].header("content-encoding") == "gzip"
    assert served.stats()["bypassed"] == {"encoded_request": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"[]", "unparseable", id="33-array"),
        pytest.param(b'"x"', "unparseable", id="33-string"),
        pytest.param(b"{bad", "unparseable", id="33-broken"),
        pytest.param(b"\xef\xbb\xbf" + with_output(LONG), "unparseable", id="33-bom"),
        pytest.param(b'{"messages":[{"\xff":1}]}', "unparseable", id="33-not-utf8"),
        pytest.param(b'{"temperature":NaN,"messages":[]}', "unparseable", id="33-nan"),
        pytest.param(b'{"model":"m"}', "no_messages", id="33-no-messages"),
        pytest.param(b'{"messages":' + b"[" * 500 + b"]" * 500 + b"}", "unparseable", id="34-deep"),
    ],
)
async def test_what_is_no_request_of_a_known_shape_gets_the_providers_own_answer(
    served: Served, body: bytes, reason: str
) -> None:
    refusal = b'{ "error":"what is this?" }'
    served.simulator.script({"status": 400, "raw_b64": [b64encode(refusal).decode()]})

    answer = await served.post(body)

    assert (answer.status_code, answer.content) == (400, refusal)
    assert served.sent == [body]
    assert served.stats()["bypassed"] == {reason: 1}


async def test_case_38_two_members_of_one_name_are_never_edited(served: Served) -> None:
    once = with_output(LONG)
    twice = once[:-1] + b', "messages": []}'

    await served.post(twice)

    assert served.sent == [twice]
    assert served.stats()["bypassed"] == {"unparseable": 1}


async def test_case_39_a_text_with_a_lone_surrogate_stays_as_it_came(served: Served) -> None:
    served.use(off_step())
    body = odd(rb'"' + b"x" * 400 + rb'\ud800"')

    await served.post(body)

    assert served.sent[0] == odd(rb'"' + b"x" * 400 + rb'\ud800"', tools=b"," + TOOL)
    stats = served.stats()
    assert stats["components"]["off_long"]["discarded_changes"] == 1
    assert stats["saved_tokens"] == stats["components"]["off_long"]["saved_tokens"] == 0
    assert stats["rewrite_failures"] == 0


async def test_a_lone_surrogate_elsewhere_hinders_neither_edits_nor_recovery(
    served: Served,
) -> None:
    body = with_output(X4000).replace(b"Fix the test.", rb"Fix \udead test.")
    call = {"type": "tool_use", "id": "c", "name": EXPAND, "input": {"id": X4000_ID}}
    served.simulator.script(
        as_answered([call], stop="tool_use"),
        as_answered([{"type": "text", "text": "recovered"}], stop="end_turn"),
    )

    answer = await served.post(body)

    assert answer.json()["content"][0]["text"] == "recovered"
    assert rb"\udead" in served.sent[0]
    assert X4000.encode() not in served.sent[0]
    result = json.loads(served.sent[1])["messages"][-1]["content"][0]
    assert result["content"] == X4000


def as_answered(content: list[Any], *, stop: str) -> dict[str, Any]:
    """A round for a request that the simulated provider itself would refuse."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    message |= {"content": content, "stop_reason": stop}
    return {
        "raw_b64": [b64encode(json.dumps(message).encode()).decode()],
        "headers": {"content-type": "application/json"},
    }


class Said(OffConfig, frozen=True):
    """The text that SAYS puts in place of every output."""

    text: str = ""


def _say(outputs: tuple[ToolOutput, ...], config: Said, turn: Turn) -> Iterable[Step]:
    return [Rewrite(output.index, config.text) for output in outputs]


def says(text: str) -> PipelineStep:
    declared = Declaration("says", Kind.REFORMAT, "Says one thing.", Said, (), _say)
    return PipelineStep(declared, Said(text=text))


async def test_case_40_a_replacement_is_spelt_the_one_pinned_way(served: Served) -> None:
    served.use(says('" \\ \t \x01 \x7f </script> ✓ é'))

    await served.post(odd(literal(X4000)))

    spelt = '"\\" \\\\ \\t \\u0001 \x7f </script> ✓ é"'.encode()
    assert served.sent == [odd(spelt)]


async def test_case_41_what_was_sent_once_is_a_prefix_of_every_later_turn(
    served: Served,
) -> None:
    outputs = [f"output {turn} ✓\n" * (30 + turn) for turn in range(6)]
    for turn in range(1, 6):
        await served.post(conversation(outputs[: turn + 1]))

    assert len(served.sent) == 5
    for earlier, later in zip(served.sent, served.sent[1:], strict=False):
        kept = earlier[: earlier.rindex(b'], "tools"')]
        assert b"<<cg:" in kept
        assert later.startswith(kept)


def conversation(outputs: list[str]) -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix the test."}]
    for number, output in enumerate(outputs):
        call = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}
    return json.dumps(body).encode()


async def test_case_43_both_texts_around_an_image_are_editable_and_the_image_is_not_touched(
    served: Served,
) -> None:
    image = b'{ "type":"image","source":{"type":"base64","media_type":"image\\/png","data":"aGk="}}'
    first, second = literal("first " * 60), literal("second " * 60)
    parts = b'[ {"type":"text","text":%b}, %b ,{"text": %b,"type":"text"}]'

    await served.post(odd(parts % (first, image, second)))

    sent = served.sent[0]
    expanded = json.loads(sent)["messages"][4]["content"][0]["content"]
    texts = [literal(expanded[place]["text"]) for place in (0, 2)]
    assert all(text.startswith(b'"[older tool output masked] <<cg:') for text in texts)
    assert parts % (texts[0], image, texts[1]) in sent


async def test_case_44_an_error_of_the_provider_passes_byte_for_byte(served: Served) -> None:
    odd_error = b'{ "error" :\t"no \\u00e9" , }<html>'
    headers = {"request-id": "req_7", "content-type": "text/html"}
    failure = {"status": 400, "raw_b64": [b64encode(odd_error).decode()], "headers": headers}
    served.simulator.script(failure, failure)

    answer = await served.post(with_output(LONG))

    assert (answer.status_code, answer.content) == (400, odd_error)
    assert answer.headers["request-id"] == "req_7"
    assert answer.headers["content-type"] == "text/html"
    assert "x-cg-error" not in answer.headers


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError("broken on purpose")


BROKEN = PipelineStep(
    Declaration("broken", Kind.OFFLOAD, "Raises.", OffConfig, (), _raise), OffConfig()
)


async def test_case_47_a_component_that_raises_is_reverted_alone(served: Served) -> None:
    served.use(BROKEN, off_step())

    answer = await served.post(odd(literal(X4000)))

    assert answer.status_code == 200
    assert served.sent == [odd(literal(OFF_TEXT.format(id=X4000_ID)), tools=b"," + TOOL)]
    assert served.stats()["components"]["broken"]["reverted"] == 1


@pytest.mark.parametrize(
    ("place", "name"),
    [
        pytest.param(exchange, "splice", id="47-splice"),
        pytest.param(envelope, "declare_tool", id="47-injector"),
    ],
)
async def test_a_fault_of_ours_sends_the_body_as_it_came(
    served: Served, monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    monkeypatch.setattr(place, name, _raise)
    body = with_output(LONG)

    answer = await served.post(body)

    assert answer.status_code == 200
    assert served.sent == [body]
    assert served.stats()["rewrite_failures"] == 1
    assert served.stats()["bypassed"] == {"rewrite_failed": 1}


@pytest.mark.parametrize("lasts", [pytest.param(False, id="47-once"), pytest.param(True, id="47")])
async def test_case_47_what_was_removed_on_earlier_turns_is_removed_again_where_that_can_be_built(
    served: Served, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    """A fault in making the new original durable; or one that stays, in the splice itself."""
    session = {"x_context_guru_session": "s"}
    await served.post(with_output(LONG), **session)
    second = json.loads(with_output(LONG))
    call, result = json.loads(with_output(LONG + "1").replace(b"toolu_0", b"toolu_1"))["messages"][
        1:
    ]
    second["messages"] += [call, result]
    body = json.dumps(second).encode()
    owner: Any = exchange if lasts else exchange.Exchange
    monkeypatch.setattr(owner, "splice" if lasts else "_commit", _raise)

    answer = await served.post(body, **session)

    assert answer.status_code == 200
    assert served.stats()["rewrite_failures"] == 1
    if lasts:
        assert served.sent[1] == body
        return
    before, after = (json.loads(sent) for sent in served.sent)
    assert after["messages"][2] == before["messages"][2]
    assert after["messages"][4] == second["messages"][4]
    assert after["tools"] == before["tools"]
    assert "rewrite_failed" not in served.stats()["bypassed"]


async def test_a_masked_output_names_its_original(served: Served) -> None:
    await served.post(odd(literal(X4000)))

    replaced = json.loads(served.sent[0])["messages"][4]["content"][0]["content"]
    assert replaced == MASKED.format(id=X4000_ID)
