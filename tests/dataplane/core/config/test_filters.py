"""Filter documents inside a configuration: 01 §2.7."""

from __future__ import annotations

import pytest

from dataplane.core.config.filters import MAX_FILTERS, remarks_on


def one(body: str) -> str:
    return f"schema_version: 1\nfilters:\n  x: {body}\n"


GOOD = one("{match: '^make', cap: list, cap_reduce: 3, replace: [{pattern: a, replacement: b}]}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "The filter document is empty."),
        ("schema_version: 2\nfilters: {}\n", "schema_version must be 1."),
        ("filters: {}\n", "schema_version must be 1."),
        ("schema_version: 1\n", "filters must name filters."),
        ("schema_version: 1\nfilters: []\n", "filters must name filters."),
        ("schema_version: 1\nfilters: {}\nfilter: {}\n", "A filter document has no key filter."),
        (one("3"), "x must be a block of keys."),
        (one("{cap: list}"), "x has no match."),
        (
            one("{match: a, strip_lines_matching: [a], keep_lines_matching: [b]}"),
            "x both strips and keeps lines.",
        ),
        (one("{match: a, cap: most}"), 'cap cannot be "most".'),
        (one("{match: a, cap_reduce: 1}"), "x has cap_reduce without cap."),
        (one("{match: a, bogus: 1}"), "The document has no key bogus."),
        (one("{match: a, replace: [{patern: a}]}"), "replace.0 has no key patern."),
    ],
)
def test_a_filter_that_would_not_load_is_named(text: str, sentence: str) -> None:
    (remark,) = remarks_on([text])

    assert remark.code == "config.filter_invalid"
    assert sentence in [said for _, _, said in remark.inner]


def test_a_good_filter_has_nothing_to_say() -> None:
    assert list(remarks_on([GOOD])) == []


def test_names_count_across_documents() -> None:
    (remark,) = remarks_on([GOOD, GOOD])

    assert (remark.code, remark.key) == ("config.filter_invalid", "filters.1")
    assert remark.inner == ((3, 3, "There are two filters named x."),)


@pytest.mark.parametrize("extra", [0, 1])
def test_there_are_at_most_two_hundred_filters(extra: int) -> None:
    names = ", ".join(f"f{index}: {{match: a}}" for index in range(MAX_FILTERS + extra))

    found = list(remarks_on([f"schema_version: 1\nfilters: {{{names}}}\n"]))

    assert [remark.code for remark in found] == ["config.limit_exceeded"] * extra


def test_each_kind_of_fault_is_a_remark_of_its_own() -> None:
    text = one("{match: '(', strip_lines_matching: ['(a+)+'], x: 1}")

    assert [remark.code for remark in remarks_on([text])] == [
        "config.filter_invalid",
        "config.regex_invalid",
        "config.regex_too_slow",
    ]
