"""Request bodies as raw JSON values, so that a cache key covers the exact bytes of a block."""

from __future__ import annotations

import zlib

import msgspec

from dataplane.simulator.problem import ProviderError

Members = dict[str, msgspec.Raw]
_MEMBERS = msgspec.json.Decoder(Members)
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
_STRING = msgspec.json.Decoder(str)
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_MISFIT = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


def plain(body: bytes, encoding: str) -> bytes:
    """The body without its content encoding (gzip, deflate or none)."""
    if encoding in {"", "identity"}:
        return body
    try:
        return zlib.decompress(body, _GZIP_OR_ZLIB)
    except zlib.error:
        raise ProviderError(f"The request body is not valid {encoding}.") from None


def top_members(body: bytes) -> Members:
    """The members of the request; anything but a valid UTF-8 JSON object is refused."""
    try:
        body.decode()
        return _MEMBERS.decode(body)
    except _MISFIT as error:
        raise ProviderError(f"The request body is not valid JSON: {error}") from None


def members(raw: msgspec.Raw, where: str) -> Members:
    """The members of one object. where: its path, for the message of a refusal."""
    try:
        return _MEMBERS.decode(raw)
    except _MISFIT:
        raise ProviderError(f"{where}: Input should be a valid dictionary", param=where) from None


def elements(raw: msgspec.Raw | None, where: str) -> list[msgspec.Raw]:
    """The elements of one array; none when it is absent or null."""
    if raw is None or is_null(raw):
        return []
    try:
        return _ELEMENTS.decode(raw)
    except _MISFIT:
        raise ProviderError(f"{where}: Input should be a valid list", param=where) from None


def text_of(raw: msgspec.Raw | None) -> str:
    """The value of a JSON string; empty for anything else."""
    if raw is None or not is_string(raw):
        return ""
    try:
        return _STRING.decode(raw)
    except _MISFIT:
        return ""


def is_string(raw: msgspec.Raw) -> bool:
    return memoryview(raw)[0] == ord('"')


def is_list(raw: msgspec.Raw) -> bool:
    return memoryview(raw)[0] == ord("[")


def is_null(raw: msgspec.Raw) -> bool:
    return memoryview(raw)[0] == ord("n")


def is_true(raw: msgspec.Raw | None) -> bool:
    return raw is not None and memoryview(raw)[0] == ord("t")


def size_of(raw: msgspec.Raw) -> int:
    """Bytes of the value as it was sent."""
    return len(memoryview(raw))
