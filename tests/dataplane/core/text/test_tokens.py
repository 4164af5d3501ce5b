"""tokens.count: the figures every threshold depends on (01 §5, 06 §9)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.core.text import tokens
from dataplane.core.text.tokens import (
    COUNTER,
    EXACT_UP_TO_BYTES,
    Count,
    VocabularyError,
    count,
    parse_ranks,
)

ROWS = "\n".join(f"row {i:03d} value {i * i}" for i in range(1, 41))
LOG = "\n".join(f"log line {i:04d}: worker heartbeat ok" for i in range(1, 201))
JSON_LINE = '{"rows":[' + ",".join(f'{{"id":{i},"v":"x{i * 7}"}}' for i in range(1, 301)) + "]}"
WITHOUT_NETWORK = """
import socket
socket.socket = socket.create_connection = socket.getaddrinfo = None
from dataplane.core.text import tokens
tokens.load()
print(tokens.count("hello world").tokens)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ROWS, 288, id="01-section-6.1"),
        pytest.param(LOG, 1999, id="01-vector-13"),
        pytest.param(JSON_LINE, 2863, id="01-vector-14"),
        ("", 0),
        ("a", 1),
        ("hello world", 2),
        ("Hello, World!", 4),
        (" leading space", 2),
        ("trailing space ", 4),
        ("\n\n\n", 1),
        ("   \t  \n  x", 4),
        ("don't you'll WE'RE", 5),
        ("camelCaseIdentifier snake_case_name", 6),
        ("1234567890", 4),
        ("3.14159", 4),
        ("12345678901234567890", 7),
        ("<|endoftext|>", 7),
        ("<|endofprompt|> and <|im_start|>", 14),
        ("<s>[CLS] [SEP]</s>", 9),
        ("\ud800", 1),
        ("a\udc00b", 3),
        ("na\xefve caf\xe9", 4),
        ("\u4f60\u597d\uff0c\u4e16\u754c", 3),
        ("\u3053\u3093\u306b\u3061\u306f", 1),
        ("\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440", 4),
        ("\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645", 4),
        ("\U0001f9d1\u200d\U0001f527\U0001f7e2", 9),
        ("e\u0301 \xe9", 3),
        ("def f(x):\n    return x ** 2\n", 11),
        ('{"id":1,"v":"x7"}', 10),
        ("https://example.org/a?b=c#d", 10),
        ("deadbeef0123456789abcdef", 8),
        ("a" * 1000, 125),
        (" " * 200, 2),
        ("\xa0\u2028\x00\x7f", 4),
        ("aGVsbG8gd29ybGQ=", 11),
        ("\r\n\r\n", 1),
        ("ffi \ufb03 \u2167 \xbd", 8),
    ],
)
def test_the_contract_of_fixed_texts_and_counts(text: str, expected: int) -> None:
    """Another counter may take this one's place when it passes, and an ADR says why."""
    assert count(text) == Count(expected)


def test_the_counter_names_package_version_and_encoding() -> None:
    assert COUNTER.startswith("tiktoken-")
    assert COUNTER.endswith("/o200k_base")


def test_ranks_that_are_not_the_published_ones_are_refused() -> None:
    with pytest.raises(VocabularyError):
        parse_ranks(b"IQ== 0\n")


def test_the_vocabulary_comes_from_the_package_and_not_from_the_network() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK], capture_output=True, text=True, check=True
    )

    assert done.stdout == "2\n"


def test_a_text_of_a_million_bytes_is_counted_and_a_larger_one_estimated() -> None:
    largest = "ab " * (EXACT_UP_TO_BYTES // 3) + "x"

    assert len(largest) == EXACT_UP_TO_BYTES
    assert not count(largest).estimated
    assert count(largest + "x").estimated
    assert count("é" * (EXACT_UP_TO_BYTES // 2 + 1)).estimated


@pytest.mark.parametrize("piece", [LOG, JSON_LINE, "Привет, мир. " * 50, "x = f(🧑‍🔧)\n" * 20])
def test_an_estimate_is_near_the_exact_count_whatever_the_text(piece: str) -> None:
    large = piece * (EXACT_UP_TO_BYTES // len(piece.encode()) + 1)

    exact = sum(count(large[at : at + 200_000]).tokens for at in range(0, len(large), 200_000))
    assert count(large).tokens == pytest.approx(exact, rel=0.06)


@given(st.text(max_size=200))
def test_no_text_has_more_tokens_than_bytes(text: str) -> None:
    assert (text != "") <= count(text).tokens <= len(text.encode())


def test_loading_twice_reads_the_vocabulary_once() -> None:
    tokens.load()
    first = tokens._encoding()
    tokens.load()

    assert tokens._encoding() is first
