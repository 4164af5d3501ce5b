"""Whatever a document holds, checking it and mending it ends in an answer: issue 4, bad input."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.check import check_document
from dataplane.core.config.fix import mended
from dataplane.core.config.problems import ConfigError
from dataplane.core.config.registry import leaves, registry
from tests.dataplane.core.config.checking import RUNNABLE, checked
from tests.examples import examples

ROOT = registry(RUNNABLE.components)
LEAVES = [path for path, _ in leaves(ROOT)]
PATHS = sorted({path[:length] for path in LEAVES for length in range(1, len(path) + 1)}, key=str)
REFUSED = [
    ("components", name, *dotted.split("."))
    for name, declared in RUNNABLE.components.items()
    for dotted in declared.refusals
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 400),
    st.floats(-1, 200),
    st.sampled_from(["off", "full", "cold", "config", "anthropic", "1", "", "secret:x", "a: ["]),
    st.lists(st.sampled_from(["mask", "a+", {"match": "x"}, 3, None]), max_size=2),
    st.dictionaries(st.sampled_from(["enabled", "min_tokens", "x"]), st.integers(0, 9), max_size=2),
)
NAMES = st.lists(st.sampled_from([*RUNNABLE.components, "nosuch"]), max_size=6)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Keys that exist or once did, with values that fit or do not."""
    document: dict[str, Any] = {"pipeline": draw(NAMES)}
    for path in draw(st.lists(st.sampled_from([*PATHS, *REFUSED]), max_size=6)):
        block = document
        for step in path[:-1]:
            below = block.setdefault(str(step), {})
            if not isinstance(below, dict):
                break
            block = below
        else:
            block[str(path[-1])] = draw(VALUES)
    return document


@examples(150)
@given(documents())
def test_a_document_of_known_keys_is_answered_and_the_same_way_twice(
    document: dict[str, Any],
) -> None:
    text = msgspec.json.encode(document)

    first, second = checked(text, RUNNABLE), checked(text, RUNNABLE)

    assert first.problems == second.problems
    assert (first.effective is None) == bool(first.errors)
    with contextlib.suppress(ConfigError):
        check_document(document, RUNNABLE.components)


@examples(60)
@given(documents())
def test_mending_never_adds_an_error_and_leaves_json_json(document: dict[str, Any]) -> None:
    text = msgspec.json.encode(document).decode()
    before = checked(text, RUNNABLE)

    after, outcome = mended(text, RUNNABLE)

    assert isinstance(msgspec.json.decode(after), dict)
    assert len(outcome.errors) <= len(before.errors)
