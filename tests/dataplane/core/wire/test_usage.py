"""What a response says it cost (03 §2.9 and 4.7)."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from dataplane.core.wire.usage import TOKENS_MAX, Reading, RoundUsage, Usage, UsageMeter, total


def metered(dialect: str, *blocks: bytes) -> RoundUsage:
    meter = UsageMeter(dialect)
    for block in blocks:
        meter.offer(block)
    return meter.result()


@pytest.mark.parametrize(
    ("dialect", "block", "expected"),
    [
        pytest.param(
            "anthropic",
            b'{"input_tokens":12,"cache_read_input_tokens":4000,"cache_creation_input_tokens":90,'
            b'"cache_creation":{"ephemeral_5m_input_tokens":60,"ephemeral_1h_input_tokens":30},'
            b'"output_tokens":9}',
            Usage(12, 4000, 90, 30, 9),
            id="anthropic-excludes-cache",
        ),
        pytest.param(
            "openai-chat",
            b'{"prompt_tokens":90,"completion_tokens":3,'
            b'"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":6}}',
            Usage(20, 64, 6, 0, 3),
            id="openai-includes-cache",
        ),
        pytest.param(
            "openai-chat",
            b'{"prompt_tokens":10,"completion_tokens":3,'
            b'"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":6}}',
            Usage(0, 8, 6, 0, 3),
            id="openai-never-below-zero",
        ),
        pytest.param(
            "responses",
            b'{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":7}',
            Usage(60, 40, 0, 0, 7),
            id="responses",
        ),
    ],
)
def test_each_dialect_names_its_tiers_in_its_own_way(
    dialect: str, block: bytes, expected: Usage
) -> None:
    assert metered(dialect, block) == RoundUsage(expected, Reading.READ)


def test_a_later_figure_replaces_an_earlier_one_and_an_absent_one_erases_nothing() -> None:
    found = metered(
        "anthropic",
        b'{"input_tokens":12,"cache_read_input_tokens":7,"output_tokens":1}',
        b'{"output_tokens":9}',
        b'{"input_tokens":3,"cache_read_input_tokens":null,"output_tokens":10}',
    )

    assert found.usage == Usage(fresh_input=3, cache_read=7, output=10)


def test_details_that_arrive_later_still_reduce_the_fresh_input() -> None:
    found = metered(
        "openai-chat",
        b'{"prompt_tokens":287}',
        b'{"prompt_tokens":287,"prompt_tokens_details":{"cached_tokens":256}}',
    )

    assert found.usage == Usage(fresh_input=31, cache_read=256)


@pytest.mark.parametrize("nothing", [b"", b"null"])
def test_a_usage_of_null_neither_counts_nor_erases(nothing: bytes) -> None:
    assert metered("openai-chat", nothing).reading is Reading.ABSENT
    assert metered("openai-chat", b'{"prompt_tokens":3}', nothing).usage.fresh_input == 3


@pytest.mark.parametrize("block", [b'{"tokens":5}', b'"5"', b"[]", b"{}"])
def test_a_usage_in_an_unknown_form_is_unparsed_whatever_else_was_read(block: bytes) -> None:
    known = b'{"input_tokens":12}'

    assert metered("anthropic", block).reading is Reading.UNPARSED
    assert metered("anthropic", known, block).reading is Reading.UNPARSED
    assert metered("anthropic", block, known).reading is Reading.UNPARSED


FIGURES = {
    "anthropic": (
        b'{"input_tokens":%s}',
        b'{"cache_read_input_tokens":%s}',
        b'{"cache_creation_input_tokens":%s}',
        b'{"cache_creation":{"ephemeral_1h_input_tokens":%s}}',
        b'{"output_tokens":%s}',
    ),
    "openai-chat": (
        b'{"prompt_tokens":%s}',
        b'{"prompt_tokens_details":{"cached_tokens":%s}}',
        b'{"prompt_tokens_details":{"cache_write_tokens":%s}}',
        b'{"completion_tokens":%s}',
    ),
    "responses": (
        b'{"input_tokens":%s}',
        b'{"input_tokens_details":{"cached_tokens":%s}}',
        b'{"output_tokens":%s}',
    ),
}


@pytest.mark.parametrize(
    "number",
    [
        b"99999999999999999999",
        b"100000001",
        b"-1",
        b"1.5",
        b"1e400",
        b"1e3",
        b"NaN",
        b'"5"',
        b"[]",
        b"9" * 5000,
    ],
)
@pytest.mark.parametrize(
    ("dialect", "block"),
    [(dialect, block) for dialect, blocks in FIGURES.items() for block in blocks],
)
def test_a_figure_that_counts_no_tokens_is_named_unreadable_and_never_counted(
    dialect: str, block: bytes, number: bytes
) -> None:
    found = metered(dialect, block % number, block % b"7")

    assert found.reading is Reading.UNREADABLE
    assert max(astuple(found.usage)) <= 7


def test_a_usage_that_is_nested_without_end_is_unreadable() -> None:
    block = b'{"input_tokens":5,"more":' + b"[" * 200_000 + b"}"

    assert metered("anthropic", block).reading is Reading.UNREADABLE


def test_the_largest_figure_that_counts_is_read() -> None:
    written = b'{"input_tokens":%d}' % TOKENS_MAX

    assert metered("anthropic", written) == RoundUsage(Usage(TOKENS_MAX), Reading.READ)


def test_bytes_that_could_not_be_read_matter_only_while_no_usage_was_found() -> None:
    meter = UsageMeter("anthropic")
    meter.unreadable()
    assert meter.result().reading is Reading.UNREADABLE

    meter.offer(b'{"input_tokens":12}')
    meter.unreadable()
    assert meter.result().reading is Reading.READ


def test_rounds_are_separate_bills() -> None:
    first = metered("anthropic", b'{"input_tokens":10,"output_tokens":2}')
    second = metered("anthropic", b'{"input_tokens":5,"cache_read_input_tokens":7}')

    assert total([first, second]) == Usage(15, 7, 0, 0, 2)
