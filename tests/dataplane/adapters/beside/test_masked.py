"""What is kept beyond its request is masked, and overwritten when it goes (03 §7.3)."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from dataplane.adapters.beside.masked import Masked, overwrite


@given(st.binary(max_size=300))
@example(bytes(200_000))
@example(b"x" * 65_536)
@example(b"")
def test_what_was_masked_comes_back(value: bytes) -> None:
    masked = Masked(value)

    assert masked.reveal() == value
    assert len(masked) == len(value)


def test_the_value_does_not_lie_in_memory_as_it_is() -> None:
    secret = b"sk-ant-api03-" + b"k" * 40

    masked = Masked(secret)

    assert secret not in bytes(masked._buffer)
    assert secret[:8] not in bytes(masked._buffer)


def test_after_it_was_wiped_the_very_buffer_holds_zeros() -> None:
    masked = Masked(b"sk-ant-api03-secret")
    buffer = masked._buffer

    masked.wipe()

    assert masked._buffer is buffer
    assert bytes(buffer) == bytes(19)
    assert masked.reveal() == bytes(19)


def test_what_was_revealed_can_be_overwritten() -> None:
    revealed = Masked(b"secret").reveal()

    overwrite(revealed)

    assert revealed == bytes(6)
