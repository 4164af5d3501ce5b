"""Who is calling, from headers alone (03-proxy-and-recovery.md 1.3, 1.4, 1.8)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

Headers = Sequence[tuple[bytes, bytes]]

TOKEN_HEADER = b"x-context-guru-token"
AUTH_SLOTS = (b"authorization", b"x-api-key", b"x-goog-api-key")
# Which part of the provider's account a request belongs to: for whoever's account it is to say.
ACCOUNT_SLOTS = (
    b"openai-organization",
    b"openai-project",
    b"anthropic-workspace-id",
    b"anthropic-user-profile-id",
)
OWN_PREFIX = b"cg_"
_TOKEN = re.compile(rb"cg_live_[A-Z2-7]{26}")
_TOKEN_LENGTH = 34
_OURS = re.compile(rb"cg_(?:live|node|api|link)_[A-Z2-7]{26}")
_SCHEME_ALONE = re.compile(rb"bearer|basic|apikey|token", re.IGNORECASE)


def credentials_in(headers: Headers, names: Sequence[bytes] = AUTH_SLOTS) -> Iterator[bytes]:
    """Every credential in these headers, without its scheme; a lone scheme is nothing."""
    for name, value in headers:
        if name in names:
            words = value.split()
            if len(words) > 1:
                yield words[-1]
            elif words and not _SCHEME_ALONE.fullmatch(words[0]):
                yield words[0]


def tenant_token(headers: Headers) -> bytes | None:
    """The tenant key: from its own header first, else from an auth slot of exactly its shape."""
    for token in credentials_in(headers, (TOKEN_HEADER,)):
        return token
    for token in credentials_in(headers):
        if token.startswith(b"cg_live_") and len(token) == _TOKEN_LENGTH:
            return token
    return None


def has_token_shape(token: bytes) -> bool:
    return _TOKEN.fullmatch(token) is not None


def holds_key(text: bytes) -> bool:
    """True when one of our keys stands anywhere in a header's value or in an address."""
    return OWN_PREFIX in text and _OURS.search(text) is not None


def digest_of(token: bytes) -> str:
    """What the auth index knows a credential by: its SHA-256 in hex."""
    return hashlib.sha256(token).hexdigest()


def foreign_slots(headers: Headers) -> frozenset[bytes]:
    """Auth slots in which any value starts as one of our keys: none of them may leave.

    The test is looser than authentication on purpose: a truncated key must not reach a provider.
    """
    found: set[bytes] = set()
    for name, value in headers:
        if name in AUTH_SLOTS and OWN_PREFIX in value:
            found.update(name for word in value.split() if word.startswith(OWN_PREFIX))
    return frozenset(found)


def has_provider_key(headers: Headers, ours: frozenset[bytes]) -> bool:
    """True when the caller brought a credential that may be forwarded. ours: foreign_slots."""
    theirs = [name for name in AUTH_SLOTS if name not in ours]
    return next(credentials_in(headers, theirs), None) is not None
