"""Byte-exact edits and the one spelling of a replaced text (03 §2.7, 10.3 (36, 40))."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.wire.decode import decode
from dataplane.core.wire.message import Conversation, Dialect, Message, Role
from dataplane.core.wire.spans import Span
from dataplane.core.wire.splice import Edit, add_member, append_to_array, splice, string_literal
from tests.dataplane.core.wire import jsontext
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        pytest.param('"', rb'"\""', id="40-quote"),
        pytest.param("\\", rb'"\\"', id="40-backslash"),
        pytest.param("\t", rb'"\t"', id="40-tab"),
        pytest.param("\b\n\f\r", rb'"\b\n\f\r"', id="40-short-escapes"),
        pytest.param("\x01\x1f\x00", rb'"\u0001\u001f\u0000"', id="40-control"),
        pytest.param("\x7f", b'"\x7f"', id="40-delete"),
        pytest.param("</script>&", b'"</script>&"', id="40-html"),
        pytest.param("✓ é 😀 \u2028", '"✓ é 😀 \u2028"'.encode(), id="40-raw-utf8"),
    ],
)
def test_a_text_has_one_spelling_for_ever(text: str, literal: bytes) -> None:
    assert string_literal(text) == literal


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_spelt_text_reads_as_itself(text: str) -> None:
    assert json.loads(string_literal(text)) == text


def test_a_lone_surrogate_has_no_spelling() -> None:
    with pytest.raises(UnicodeEncodeError):
        string_literal("\ud800")


@given(data=st.data(), body=st.binary(max_size=60))
def test_bytes_outside_the_edits_stay(data: st.DataObject, body: bytes) -> None:
    bounds = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=8)))
    spans = [Span(*pair) for pair in zip(bounds[::2], bounds[1::2], strict=False)]
    edits = [Edit(span, data.draw(st.binary(max_size=4))) for span in spans]

    result = splice(body, data.draw(st.permutations(edits)))

    expected = body
    for span, replacement in reversed(edits):
        expected = expected[: span.start] + replacement + expected[span.end :]
    assert result == expected


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlapping"):
        splice(b"abcdef", [Edit(Span(0, 3), b""), Edit(Span(2, 4), b"")])


@pytest.mark.parametrize(
    ("array", "items", "result"),
    [(b"[ ]", [b"1", b"2"], b"[ 1,2]"), (b"[0 ]", [b"1", b"2"], b"[0 ,1,2]")],
)
def test_items_are_added_behind_the_last_one(
    array: bytes, items: list[bytes], result: bytes
) -> None:
    edit = append_to_array(array, Span(0, len(array)), items)

    assert splice(array, [edit]) == result


# ---- a whole request: decode, edit one tool output, splice ------------------------------------

MODELS = st.tuples(st.just('"model"'), jsontext.literals(st.just("claude")))


@st.composite
def extras(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Members that no codec knows."""
    return [(f'"x_{n}"', draw(jsontext.values())) for n in range(draw(st.integers(0, 2)))]


@st.composite
def shuffled(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    pairs = draw(st.permutations([*members, *draw(extras())]))
    return draw(jsontext.spaced_object(pairs))


@st.composite
def anthropic_results(draw: st.DrawFn, content: str) -> str:
    block = draw(
        shuffled(
            [
                ('"type"', draw(jsontext.literals(st.just("tool_result")))),
                ('"tool_use_id"', '"t"'),
                ('"content"', content),
            ]
        )
    )
    blocks = draw(jsontext.spaced_array([block]))
    return draw(shuffled([('"role"', '"user"'), ('"content"', blocks)]))


@st.composite
def openai_results(draw: st.DrawFn, content: str) -> str:
    role = draw(jsontext.literals(st.just("tool")))
    return draw(shuffled([('"role"', role), ('"content"', content), ('"tool_call_id"', '"t"')]))


@st.composite
def responses_results(draw: st.DrawFn, content: str) -> str:
    kind = draw(st.sampled_from(["function_call_output", "custom_tool_call_output"]))
    named = draw(jsontext.literals(st.just(kind)))
    return draw(shuffled([('"type"', named), ('"output"', content), ('"call_id"', '"t"')]))


RESULTS = {
    Dialect.ANTHROPIC: anthropic_results,
    Dialect.OPENAI_CHAT: openai_results,
    Dialect.OPENAI_RESPONSES: responses_results,
}


@st.composite
def requests(draw: st.DrawFn, dialect: Dialect) -> tuple[bytes, list[str], list[str]]:
    """A body, the text of each of its tool outputs, and the literal that spells it."""
    texts = draw(st.lists(jsontext.TEXTS, min_size=1, max_size=3))
    marked = [f"{number}:{text}" for number, text in enumerate(texts)]
    literals = [draw(jsontext.literals(st.just(text))) for text in marked]
    told = draw(shuffled([('"role"', '"user"'), ('"content"', draw(jsontext.literals()))]))
    messages = [told, *(draw(RESULTS[dialect](each)) for each in literals)]
    array = draw(jsontext.spaced_array(messages))
    body = draw(shuffled([draw(MODELS), (f'"{dialect.list_name}"', array)]))
    return draw(jsontext.surrounded(body)), marked, literals


def outputs(conversation: Conversation) -> list[Message]:
    return [message for message in conversation.messages if message.role is Role.TOOL]


@pytest.mark.parametrize("dialect", [Dialect.ANTHROPIC, Dialect.OPENAI_CHAT])
@examples(40)
@given(data=st.data())
def test_only_the_edited_literal_differs_whatever_the_spelling(
    dialect: Dialect, data: st.DataObject
) -> None:
    body, texts, literals = data.draw(requests(dialect))

    conversation = decode(dialect, body)

    found = outputs(conversation)
    assert [message.content.text for message in found] == texts
    assert splice(body, []) == body
    for message, literal in zip(found, literals, strict=True):
        assert message.rewritable
        assert message.locate is not None
        span = message.locate()
        assert body[slice(*span)] == literal.encode()
        edited = splice(body, [Edit(span, b'"new"')])
        assert edited == body[: span.start] + b'"new"' + body[span.end :]
        assert "new" in [m.content.text for m in outputs(decode(dialect, edited))]


def test_a_member_is_added_behind_the_last_one() -> None:
    conversation = decode(Dialect.ANTHROPIC, b' {"messages":[] , "x":{"y":1} } ')

    edited = splice(conversation.body, [add_member(conversation, "tools", b"[1]")])

    assert edited == b' {"messages":[] , "x":{"y":1},"tools":[1] } '
