"""Regular expressions of filters: 04 §2.5, values."""

from __future__ import annotations

import pytest

from dataplane.core.config.regexes import ALIKE, NESTED, compile_fault, slow_fault


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(a+)+", NESTED),
        ("(a*)*b", NESTED),
        (r"(\w+\s?)*$", NESTED),
        ("(.*,)*", NESTED),
        ("(?:x|y+)*", NESTED),
        ("((a+))*", NESTED),
        ("(a{2,})+", NESTED),
        ("(a|a)*", ALIKE),
        ("(?:ab|ac)+", ALIKE),
        (r"(?:\s+foo)*", None),
        ("(foo|bar)*", None),
        ("(a+)?", None),
        ("(a{1,3})+", None),
        ("^=+ FAILURES", None),
        (r"^\s*(?:PASSED|FAILED) .*$", None),
        (r"[(+]*(a)", None),
        (r"\(a+\)+", None),
        ("(?P<name>a)+(?P=name)", None),
        ("(?i)make(?:\\[\\d+\\])?: .*", None),
        ("a(?#note)b", None),
        ("", None),
    ],
)
def test_a_shape_that_may_never_end_is_known_without_running_it(
    pattern: str, fault: str | None
) -> None:
    assert compile_fault(pattern) is None
    assert slow_fault(pattern) == fault


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", "(?P<1>a)", "*a", r"\2"])
def test_an_expression_that_does_not_compile_says_why(pattern: str) -> None:
    assert compile_fault(pattern)
