"""Credentials that we give out: their shapes and their digests (03 §1.3, 04 §1.1)."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import zlib
from dataclasses import dataclass

KEY_PREFIX = "cg_live_"
KEY_BYTES = 16  # 26 base32 characters
TOKEN_PREFIX = "cg_api_"  # noqa: S105  the visible start of a token
TOKEN_BYTES = 20  # 32 base32 characters
CHECKSUM_CHARACTERS = 6
SHOWN_CHARACTERS = 8
LINK_PREFIX = "cg_link_"
LINK_BYTES = 20  # 32 base32 characters
_TOKEN = re.compile(r"cg_api_[A-Z2-7]{38}")


@dataclass(frozen=True, slots=True)
class Credential:
    """plaintext: shown once and never kept. prefix: the part that may be displayed."""

    plaintext: str
    prefix: str
    digest: str


def new_key() -> Credential:
    """A data-plane key: "cg_live_" and 26 base32 characters."""
    return _credential(KEY_PREFIX, base32(secrets.token_bytes(KEY_BYTES)))


def new_token() -> Credential:
    """An API token: 32 random base32 characters and the checksum of what precedes it."""
    body = base32(secrets.token_bytes(TOKEN_BYTES))
    return _credential(TOKEN_PREFIX, body + checksum(TOKEN_PREFIX + body))


def is_token(plaintext: str) -> bool:
    """Whether it has the shape of an API token and its checksum fits."""
    body, found = plaintext[:-CHECKSUM_CHARACTERS], plaintext[-CHECKSUM_CHARACTERS:]
    return bool(_TOKEN.fullmatch(plaintext)) and checksum(body) == found


def new_link() -> Credential:
    """What an invitation or a reset link carries: "cg_link_" and 32 base32 characters."""
    return _credential(LINK_PREFIX, base32(secrets.token_bytes(LINK_BYTES)))


def checksum(text: str) -> str:
    """CRC-32 as 6 base32 characters, so that a scanner recognises a leaked token offline."""
    crc = zlib.crc32(text.encode())
    return base32(crc.to_bytes(4, "big"))[:CHECKSUM_CHARACTERS]


def digest_of(plaintext: str) -> str:
    return hashlib.sha256(plaintext.encode()).hexdigest()


def base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=")


def _credential(prefix: str, body: str) -> Credential:
    plaintext = prefix + body
    return Credential(plaintext, body[:SHOWN_CHARACTERS], digest_of(plaintext))
