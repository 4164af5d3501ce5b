"""Random JSON texts with every freedom of spelling that JSON leaves."""

from __future__ import annotations

import functools
import json

from hypothesis import strategies as st

SPACES = st.sampled_from(["", " ", "\n", "\t ", "\r\n  "])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['"', "\\", "/", "</a>", "\x00\x1f", "✓ naïve", "😀", '{"a":[1]}', "<<cg:91c9568c40c8d8d1>>"]
)
NUMBERS = st.sampled_from(["0", "-0", "1.0", "1e5", "1.0E+2", "-0.0e-7", "1" * 30])


@st.composite
def literals(draw: st.DrawFn, texts: st.SearchStrategy[str] = TEXTS) -> str:
    """A string literal: each character raw or escaped."""
    return spell(draw, draw(texts))


def spell(draw: st.DrawFn, text: str) -> str:
    if draw(st.booleans()):
        return json.dumps(text, ensure_ascii=draw(st.booleans()))
    units = memoryview(text.encode("utf-16-le")).cast("H").tolist()
    return '"' + "".join("\\/" if unit == ord("/") else f"\\u{unit:04X}" for unit in units) + '"'


@functools.cache
def values() -> st.SearchStrategy[str]:
    """Any JSON value as text; one strategy for all, since each is looked through when it is new."""
    plain = st.sampled_from(["null", "true", "false"]) | NUMBERS | literals()
    return st.recursive(plain, lambda inner: objects(inner) | arrays(inner), max_leaves=5)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    names = draw(st.lists(TEXTS, max_size=4, unique=True))
    return draw(spaced_object([(spell(draw, name), draw(inner)) for name in names]))


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    return draw(spaced_array(draw(st.lists(inner, max_size=4))))


@st.composite
def spaced_object(draw: st.DrawFn, members: list[tuple[str, str]]) -> str:
    """An object of these spelt members, with space wherever JSON allows it."""
    one, two, three, four = draw(st.tuples(SPACES, SPACES, SPACES, SPACES))
    inside = ",".join(f"{one}{key}{two}:{three}{value}{four}" for key, value in members)
    return "{" + (inside or one) + "}"


@st.composite
def spaced_array(draw: st.DrawFn, elements: list[str]) -> str:
    one, two = draw(st.tuples(SPACES, SPACES))
    inside = ",".join(f"{one}{element}{two}" for element in elements)
    return "[" + (inside or one) + "]"


@st.composite
def surrounded(draw: st.DrawFn, text: str) -> bytes:
    """A whole body: the text between spaces."""
    return f"{draw(SPACES)}{text}{draw(SPACES)}".encode()
