"""Where members and elements lie, whatever their spelling (03 §2.7)."""

from __future__ import annotations

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.wire.spans import (
    ELEMENTS_MAX,
    Span,
    UnparseableError,
    elements,
    members,
    opening,
    outline,
    whole,
    without_lone_surrogates,
)
from tests.dataplane.core.wire import jsontext


@given(data=st.data())
def test_members_are_exactly_the_keys_and_values_of_the_text(data: st.DataObject) -> None:
    names = data.draw(st.lists(jsontext.TEXTS, max_size=5, unique=True))
    keys = [data.draw(jsontext.literals(st.just(name))) for name in names]
    values = [data.draw(jsontext.values()) for _ in names]
    pairs = list(zip(keys, values, strict=True))
    body = data.draw(jsontext.surrounded(data.draw(jsontext.spaced_object(pairs))))

    found = members(body, whole(body))

    assert list(found) == names
    for name, key, value in zip(names, keys, values, strict=True):
        member = found[name]
        assert body[slice(*member.key)] == key.encode()
        assert body[slice(*member.value)] == value.encode()


@given(data=st.data())
def test_elements_are_exactly_the_values_of_the_text(data: st.DataObject) -> None:
    values = data.draw(st.lists(jsontext.values(), max_size=5))
    body = data.draw(jsontext.surrounded(data.draw(jsontext.spaced_array(values))))

    found = elements(body, whole(body))

    assert [body[slice(*span)] for span in found] == [value.encode() for value in values]


@given(data=st.data(), before=st.binary(max_size=5), after=st.binary(max_size=5))
def test_a_value_inside_other_bytes_is_placed_by_its_span(
    data: st.DataObject, before: bytes, after: bytes
) -> None:
    values = data.draw(st.lists(jsontext.values(), max_size=4))
    text = data.draw(jsontext.spaced_array(values)).encode()
    body, span = before + text + after, Span(len(before), len(before) + len(text))

    found = elements(body, span)

    assert [body[slice(*each)] for each in found] == [value.encode() for value in values]


@given(data=st.data())
def test_a_key_that_is_there_twice_is_refused(data: st.DataObject) -> None:
    name = data.draw(jsontext.TEXTS)
    twice = [(data.draw(jsontext.literals(st.just(name))), data.draw(jsontext.values()))] * 2
    twice[1] = (data.draw(jsontext.literals(st.just(name))), data.draw(jsontext.values()))
    others = [(f'"other {n}"', data.draw(jsontext.values())) for n in range(2)]
    pairs = data.draw(st.permutations([*twice, *others]))
    body = data.draw(jsontext.spaced_object(pairs)).encode()

    with pytest.raises(UnparseableError):
        members(body, whole(body))


@pytest.mark.parametrize(
    "body",
    [b'{"a":12,"a":1,"b":2}', b'{"a":1,"a":12}', rb'{"a":1,"\u0061":1}', b'{"b":1,"a":1,"a":1}'],
)
def test_case_38_values_that_begin_alike_do_not_hide_a_second_key(body: bytes) -> None:
    with pytest.raises(UnparseableError):
        members(body, whole(body))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"x"',
        b"{bad",
        b'{"a":1',
        b'{"a":1}}',
        b'{"a":1,}',
        b'{"a":1} {"b":2}',
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":' + b"[" * 3000 + b"]" * 3000 + b"}",
        b'{"a":"\xff"}\x00',
    ],
)
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(UnparseableError):
        members(body, whole(body))


@pytest.mark.parametrize("body", [b"{}", b"1", b"[1", b"[1,]"])
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(UnparseableError):
        elements(body, whole(body))


@given(
    parts=st.lists(
        st.sampled_from(
            [r"\ud800", r"\uDFFF", r"\ud83d\ude00", r"\\ud800", r"\\", r"\"", r"\u0041", "x", "✓"]
        ),
        max_size=12,
    )
)
def test_only_lone_surrogates_read_as_the_replacement_character(parts: list[str]) -> None:
    body = ('{"a":"' + "".join(parts) + '"}').encode()
    text: str = json.loads(body)["a"]
    has_lone = any("\ud800" <= char <= "\udfff" for char in text)

    shadow = without_lone_surrogates(body)

    assert (shadow is None) is not has_lone
    if shadow is not None:
        assert len(shadow) == len(body)
        assert len(msgspec.json.decode(shadow)["a"]) == len(text)


def test_an_outline_reads_around_lone_surrogates_and_gives_spans_of_the_body() -> None:
    body = rb'{"a":"\ud800","messages":[1]}'

    top, readable = outline(body)

    assert body[slice(*top["a"].value)] == rb'"\ud800"'
    assert readable == rb'{"a":"\ufffd","messages":[1]}'
    assert outline(b'{"a":1}')[1] == b'{"a":1}'


@pytest.mark.parametrize("body", [b"{bad", rb'{"a":"\ud800","a":1}'])
def test_an_outline_of_what_cannot_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(UnparseableError):
        outline(body)


@pytest.mark.parametrize(
    ("raw", "first"), [(b'"x"', ord('"')), (b"[1]", ord("[")), (b"", 0), (b"null", ord("n"))]
)
def test_the_first_byte_tells_the_type_of_a_value(raw: bytes, first: int) -> None:
    assert opening(msgspec.Raw(raw)) == first


@pytest.mark.parametrize("spelling", [b"k", rb"\n"])
def test_a_long_key_takes_no_more_memory_than_the_text_itself(spelling: bytes) -> None:
    body = b'{"' + spelling * (1 << 18) + b'":1}'
    tracemalloc.start()
    try:
        members(body, whole(body))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 * len(body)


def test_more_elements_than_a_provider_takes_messages_are_refused() -> None:
    most = b"[" + b"1," * (ELEMENTS_MAX - 1) + b"1]"

    assert len(elements(most, whole(most))) == ELEMENTS_MAX
    more = b"[1," + most[1:]
    with pytest.raises(UnparseableError):
        elements(more, whole(more))
