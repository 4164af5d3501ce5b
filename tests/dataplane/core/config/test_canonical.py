"""One spelling per meaning: 04 §2.3."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.config.canonical import canonical, content_hash, encode
from dataplane.core.config.parse import parse
from tests.dataplane.core.config.checking import WIDE, checked

SWEEP = """\
preset: housellm
mode: sync
components: {extract_llm_sweep: {evidence: true, econ_trigger: true}}
"""


def canonical_of(text: str) -> bytes:
    tree = parse(text).tree
    assert tree is not None
    return canonical(tree)


def test_the_check_vector_of_04_section_2_3() -> None:
    body = canonical_of(SWEEP)

    assert body == (
        b'{"components":{"extract_llm_sweep":{"econ_trigger":true,"evidence":true}},'
        b'"mode":"sync","preset":"housellm"}'
    )
    assert content_hash(body) == "7c130e43fc3a43eab601c6d7feb74aaf58574e8a89c03887f24f6dd23d43a1ba"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a: 1\nb: 2\n", "# words\nb: 2\n\na: 1\n"),
        ("a: off\n", "a: 'off'\n"),
        ("a: [1, 2]\n", "a:\n- 1\n- 2\n"),
        ("a: &x {b: 1}\nc: *x\n", "a: {b: 1}\nc: {b: 1}\n"),
        ("a: é\n", "a: e\u0301\n"),
        ("a: 0x10\n", "a: 16\n"),
        ("a: 1e-7\n", "a: 0.0000001\n"),
    ],
)
def test_spelling_does_not_change_the_canonical_form(one: str, other: str) -> None:
    assert canonical_of(one) == canonical_of(other)


def test_the_order_of_a_list_does() -> None:
    assert canonical_of("a: [1, 2]\n") != canonical_of("a: [2, 1]\n")


def test_numbers_are_typed_by_the_registry() -> None:
    text = "pipeline: [everything]\ncomponents:\n  everything: {size: 1000.0, share: 1}\nstore:\n"

    assert checked(text, WIDE).canonical == (
        b'{"components":{"everything":{"share":1.0,"size":1000}},"pipeline":["everything"],"store":{}}'
    )


def test_defaults_are_not_filled_in() -> None:
    assert checked("pipeline: []\n").canonical == b'{"pipeline":[]}'


def test_a_number_that_is_not_finite_has_no_canonical_form() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_of("a: .nan\n")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_canonical_bytes_are_json_and_stable(value: object) -> None:
    assert encode(json.loads(encode(value))) == encode(value)
