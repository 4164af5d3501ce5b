"""The sentences that cases state about bodies, as checks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from dataplane.core.wire.spans import Span, elements, members, whole
from tests.dataplane.field_cases.playing import Played


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer points to. Raises KeyError or IndexError."""
    for step in pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step]
    return value


def messages(body: bytes) -> list[bytes]:
    """The exact bytes of each message."""
    place = members(body, whole(body))["messages"].value
    return [body[span.start : span.end] for span in elements(body, place)]


def identical_except(asked: bytes, sent: bytes, pointers: Sequence[str]) -> None:
    """All bytes outside the named values are equal."""
    assert cut(sent, pointers) == cut(asked, pointers)


def cut(body: bytes, pointers: Sequence[str]) -> bytes:
    """The body without the values at these places."""
    spans = sorted((_span(body, pointer) for pointer in pointers), key=lambda span: span.start)
    for span in reversed(spans):
        body = body[: span.start] + body[span.end :]
    return body


def _span(body: bytes, pointer: str) -> Span:
    span = whole(body)
    for step in pointer.split("/")[1:]:
        in_list = body[span.start : span.start + 1] == b"["
        span = elements(body, span)[int(step)] if in_list else members(body, span)[step].value
    return span


# ---- pairs of calls and results ----------------------------------------------------------------


def _blocks(message: Any, kind: str) -> list[Any]:
    content = message["content"]
    return [b for b in content if b["type"] == kind] if isinstance(content, list) else []


def _ids(message: Any, kind: str, name: str) -> list[str]:
    return [block[name] for block in _blocks(message, kind)]


def every_call_has_one_result(turns: list[Any]) -> None:
    for message, following in pairwise([*turns, {"role": "user", "content": []}]):
        calls = _ids(message, "tool_use", "id")
        results = _ids(following, "tool_result", "tool_use_id")
        assert [each for each in calls if results.count(each) != 1] == []


def every_result_has_its_call(turns: list[Any]) -> None:
    for preceding, message in pairwise([{"role": "assistant", "content": []}, *turns]):
        calls = _ids(preceding, "tool_use", "id")
        assert set(_ids(message, "tool_result", "tool_use_id")) <= set(calls)


def no_message_is_empty(turns: list[Any]) -> None:
    for message in turns:
        assert message["content"]
        results = [block["content"] for block in _blocks(message, "tool_result")]
        texts = [block["text"] for block in _blocks(message, "text")]
        assert all(results)
        assert all(texts)


def pairs_hold(turns: list[Any]) -> None:
    every_call_has_one_result(turns)
    every_result_has_its_call(turns)


def _of_sent(check: Callable[[list[Any]], None]) -> Callable[[Played], None]:
    def sent(played: Played) -> None:
        check(json.loads(played.body())["messages"])

    return sent


def _roles_are_the_clients(played: Played) -> None:
    asked, sent = played.turn.asked.json["messages"], json.loads(played.body())["messages"]
    assert [each["role"] for each in sent] == [each["role"] for each in asked]


def _coding_matches_the_bytes(played: Played) -> None:
    coding = played.answer.headers.get("content-encoding")
    if coding == "gzip":
        gzip.decompress(played.answer.body)
    else:
        assert coding is None
        assert played.answer.body.startswith(b"event: ")
    assert "content-length" not in played.answer.headers


OF_TURN: dict[str, Callable[[Played], None]] = {
    "every tool_use id in an assistant message has exactly one tool_result with that id in the "
    "next user message": _of_sent(every_call_has_one_result),
    "every tool_result refers to a tool_use of the directly preceding assistant message": _of_sent(
        every_result_has_its_call
    ),
    "no message has empty content": _of_sent(no_message_is_empty),
    "roles alternate as in the client's body": _roles_are_the_clients,
    "content-encoding of the client response matches its bytes": _coding_matches_the_bytes,
}


# ---- the second request of a recovery ----------------------------------------------------------


def _both_results_in_order(body: Any) -> None:
    last = body["messages"][-1]
    assert last["role"] == "user"
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result"]
    assert _ids(last, "tool_result", "tool_use_id") == ["toolu_e1", "toolu_e2"]
    pairs_hold(body["messages"])


def _second_result_says_something(body: Any) -> None:
    text = body["messages"][-1]["content"][1]["content"]
    assert isinstance(text, str)
    assert text.strip()
    assert "no longer available" in text
    assert "orchid" not in text


OF_CONTINUATION: dict[str, Callable[[Any], None]] = {
    "last user message holds exactly two tool_results, ids toolu_e1 and toolu_e2 in that order": (
        _both_results_in_order
    ),
    "result of toolu_e2 is non-empty text": _second_result_says_something,
}
