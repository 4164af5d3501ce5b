"""Cache breakpoints are found by structure (03 §2.5, 10.4 (54, 55))."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Dialect

FIVE, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


def marks(*messages: Any, **members: Any) -> tuple[int, bool]:
    body = json.dumps({"messages": list(messages), **members}).encode()
    found = decode(Dialect.ANTHROPIC, body)
    return found.marks, found.offers_1h


def user(*blocks: Any, **members: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **members}


TEXT = {"type": "text", "text": "t"}
NESTED = {"type": "tool_result", "content": [TEXT | {"cache_control": HOUR}]}


@pytest.mark.parametrize(
    ("messages", "members", "expected"),
    [
        pytest.param([], {}, (0, False), id="none"),
        pytest.param([], {"cache_control": HOUR}, (1, True), id="top-level"),
        pytest.param([], {"system": [TEXT | {"cache_control": FIVE}]}, (1, False), id="system"),
        pytest.param([], {"tools": [{"name": "a", "cache_control": HOUR}]}, (1, True), id="tools"),
        pytest.param([user(TEXT, cache_control=FIVE)], {}, (1, False), id="message"),
        pytest.param(
            [user(TEXT)], {"system": [TEXT | {"cache_control": FIVE}]}, (1, False), id="beside"
        ),
        pytest.param([user(TEXT | {"cachePoint": {}})], {}, (1, False), id="cachepoint"),
        pytest.param([user(TEXT | {"cache_control": FIVE})], {}, (1, False), id="block"),
        pytest.param([user(NESTED)], {}, (1, True), id="54-nested"),
        pytest.param(
            [user(NESTED), user(TEXT | {"cache_control": FIVE})],
            {"tools": [{"name": "a", "cache_control": FIVE}]},
            (3, True),
            id="54-several",
        ),
        pytest.param([user({"type": "text", "text": '"cache_control"'})], {}, (0, False), id="55"),
        pytest.param(
            [user({"type": "tool_use", "input": {"cache_control": HOUR}})],
            {},
            (0, False),
            id="55-argument",
        ),
        pytest.param([], {"cache_control": "1h"}, (0, False), id="no-object"),
        pytest.param([user("cache_control")], {}, (0, False), id="no-block"),
        pytest.param([], {"metadata": {"cache_control": HOUR}}, (0, False), id="elsewhere"),
    ],
)
def test_breakpoints_count_where_the_provider_reads_them(
    messages: list[Any], members: dict[str, Any], expected: tuple[int, bool]
) -> None:
    assert marks(*messages, **members) == expected


def test_what_cannot_be_read_carries_no_breakpoint() -> None:
    block = b'{"cache_control":{"type":"ephemeral"},"x":1e999}'

    found = decode(Dialect.ANTHROPIC, b'{"messages":[' + block + b"]}")

    assert (found.marks, found.offers_1h) == (0, False)
