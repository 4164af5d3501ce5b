"""Offline token counts over o200k_base (01-components.md 5, 06-stack.md 9).

The vocabulary is vendored in `_ranks` and verified by hash; nothing is ever downloaded.
"""

from __future__ import annotations

import functools
import hashlib
import lzma
from base64 import b64decode
from importlib import resources
from typing import NamedTuple

import tiktoken

ENCODING = "o200k_base"
COUNTER = f"tiktoken-{tiktoken.__version__}/{ENCODING}"  # thresholds depend on it: shown on /stats
EXACT_UP_TO_BYTES = 1_000_000
SAMPLE_BYTES = 1024

_RANKS_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
_ELISION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_PATTERN = "|".join(
    (
        f"{_LEAD}[{_UPPER}]*[{_LOWER}]+{_ELISION}",
        f"{_LEAD}[{_UPPER}]+[{_LOWER}]*{_ELISION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


class VocabularyError(RuntimeError):
    """The vendored ranks are not the file that the counts are defined by."""


class Count(NamedTuple):
    """tokens of a text; estimated when the text was too large to count exactly."""

    tokens: int
    estimated: bool = False


def count(text: str) -> Count:
    """Tokens of a text; 0 for the empty one.

    A special token's spelling counts as plain text, a lone surrogate as a question mark. Above
    EXACT_UP_TO_BYTES of UTF-8 the figure is scaled up from two samples and marked as estimated.
    """
    utf8 = text.encode("utf-8", "replace")
    if len(utf8) > EXACT_UP_TO_BYTES:
        return Count(_estimate(utf8), estimated=True)
    return Count(_exact(utf8.decode()))


def load() -> None:
    """Load and verify the vocabulary now rather than at the first count; VocabularyError."""
    _encoding()


def _exact(text: str) -> int:
    return len(_encoding().encode_ordinary(text))


def _estimate(utf8: bytes) -> int:
    """Exact tokens of a sample at one and at two thirds of the text, scaled by bytes."""
    starts = (len(utf8) // 3, 2 * len(utf8) // 3)
    # A sample may begin or end inside a character; the broken edge is left out.
    samples = [utf8[at : at + SAMPLE_BYTES].decode("utf-8", "ignore") for at in starts]
    tokens = sum(_exact(sample) for sample in samples)
    return round(len(utf8) * tokens / (len(starts) * SAMPLE_BYTES))


@functools.cache
def _encoding() -> tiktoken.Encoding:
    packed = resources.files("dataplane.core.text").joinpath("_ranks", f"{ENCODING}.tiktoken.xz")
    return tiktoken.Encoding(
        ENCODING,
        pat_str=_PATTERN,
        mergeable_ranks=parse_ranks(lzma.decompress(packed.read_bytes())),
        special_tokens=_SPECIAL,
    )


def parse_ranks(ranks: bytes) -> dict[bytes, int]:
    """Token bytes to rank; VocabularyError unless the text is exactly the published one."""
    if hashlib.sha256(ranks).hexdigest() != _RANKS_SHA256:
        raise VocabularyError(f"the vendored {ENCODING} ranks do not have the published SHA-256")
    pairs = (line.split() for line in ranks.splitlines())
    return {b64decode(token): int(rank) for token, rank in pairs}
