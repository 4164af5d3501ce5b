"""Which bytes of an Anthropic request make up its cache key."""

from __future__ import annotations

import pytest

from dataplane.simulator.anthropic_prompt import read_prompt


def digests(content: str) -> list[bytes]:
    body = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":%b}]}'
    return [block.digest for block in read_prompt(body % content.encode()).blocks]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            '[{"type":"text","text":"a"}]',
            '[ {"type" : "text", "text": "a"} ]',
            id="white-space-between-members",
        ),
        pytest.param('"a"', '[{"type":"text","text":"a"}]', id="string-or-one-text-block"),
        pytest.param(
            '[{"type":"text","text":"a"}]',
            '[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]',
            id="a-mark-added",
        ),
        pytest.param(
            '[{"type":"document","content":[{"type":"text","text":"a"}]}]',
            '[{"type":"document","content":[{"type":"text","text":"a",'
            '"cache_control":{"type":"ephemeral"}}]}]',
            id="a-nested-mark-added",
        ),
    ],
)
def test_what_is_rendered_alike_has_one_key(one: str, other: str) -> None:
    assert digests(one) == digests(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param('"\\u00e9"', '"é"', id="another-escape"),
        pytest.param('"a"', '"a "', id="another-byte"),
        pytest.param(
            '[{"type":"document","x":1,"y":2}]',
            '[{"type":"document","y":2,"x":1}]',
            id="another-member-order",
        ),
        pytest.param(
            '[{"type":"document","input":{"a":1}}]',
            '[{"type":"document","input":{"a": 1}}]',
            id="white-space-inside-a-value",
        ),
        pytest.param(
            '[{"type":"document","n":1.0}]', '[{"type":"document","n":1}]', id="another-number"
        ),
    ],
)
def test_a_changed_byte_in_a_value_is_another_key(one: str, other: str) -> None:
    assert digests(one) != digests(other)


def test_the_role_is_part_of_the_key() -> None:
    body = b'{"model":"m","max_tokens":1,"messages":[{"role":"%b","content":"a"}]}'
    user, assistant = (read_prompt(body % role).blocks for role in (b"user", b"assistant"))

    assert user[0].digest != assistant[0].digest
