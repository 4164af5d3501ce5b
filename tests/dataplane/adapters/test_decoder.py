"""Response bodies whose content coding is taken off (03-proxy-and-recovery.md 8.3)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
import zstandard

from dataplane.adapters.http import DECODED_MAX_BYTES, Decoder

MIB = 1 << 20
CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
}
TEXT = "".join(f"event {number} ✓\n" for number in range(5000)).encode()


def plain(decoder: Decoder, packed: bytes, size: int) -> bytes:
    return b"".join(decoder.feed(packed[at : at + size]) for at in range(0, len(packed), size))


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_a_body_is_decoded_however_it_is_cut(coding: str, size: int) -> None:
    assert plain(Decoder(coding), CODINGS[coding](TEXT), size) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_a_body_may_be_packed_in_several_parts(coding: str, size: int) -> None:
    """As servers do that compress each write by itself; the formats allow it."""
    parts = [TEXT[:100], b"", TEXT[100:50_000], TEXT[50_000:]]

    assert plain(Decoder(coding), b"".join(map(CODINGS[coding], parts)), size) == TEXT


@pytest.mark.parametrize("coding", ["", "identity"])
def test_a_plain_body_is_left_alone(coding: str) -> None:
    assert Decoder(coding).feed(b"\x00" * 9) == b"\x00" * 9


def test_a_coding_that_nobody_knows_is_not_read() -> None:
    assert not Decoder("of-next-year").known


@pytest.mark.parametrize("coding", CODINGS)
def test_a_damaged_body_is_an_error(coding: str) -> None:
    with pytest.raises(ValueError, match="damaged"):
        plain(Decoder(coding), b"\xff" * 40, 7)


@pytest.mark.parametrize("coding", CODINGS)
def test_little_that_stands_for_very_much_is_an_error(coding: str) -> None:
    packed = CODINGS[coding](bytes(40 * MIB))
    assert len(packed) < 40 * MIB // 200

    with pytest.raises(ValueError, match="beyond all measure"):
        plain(Decoder(coding), packed, 1 << 16)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_small_body_may_be_very_regular(coding: str) -> None:
    assert plain(Decoder(coding), CODINGS[coding](bytes(MIB)), 1 << 16) == bytes(MIB)


def test_no_body_is_decoded_beyond_its_largest_size() -> None:
    line = b"0123456789abcdef" * 6 + b"\n"
    packed = zlib.compress(line * (DECODED_MAX_BYTES // len(line) + 1), 1)
    noise = b"".join(bytes([n % 251]) * 3 for n in range(200_000))
    decoder = Decoder("deflate")

    with pytest.raises(ValueError, match="beyond all measure"):
        plain(decoder, packed + noise, 1 << 16)
