"""How a request signs in at its provider: with the caller's own key, or with one that we hold.

Decided once per request; whatever else calls the provider on its behalf reads the same plan.
Source: 03-proxy-and-recovery.md 1.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dataplane.core.door.identity import (
    ACCOUNT_SLOTS,
    AUTH_SLOTS,
    Headers,
    foreign_slots,
    has_provider_key,
)
from dataplane.core.resource import Upstream


class CredentialError(ValueError):
    """Nothing to sign in with; the argument is the name of the refusal."""


@dataclass(frozen=True, slots=True)
class CredentialPlan:
    """drops: the caller's headers that stay here. adds: the header of a key that we hold."""

    drops: frozenset[bytes] = frozenset()
    adds: tuple[bytes, bytes] | None = field(default=None, repr=False)

    @property
    def is_held(self) -> bool:
        return self.adds is not None


def names_a_key(upstream: Upstream) -> bool:
    """True when the provider is paid with a key that we hold."""
    return upstream.key_ref is not None or upstream.key_env is not None


def plan_for(upstream: Upstream, headers: Headers, held: str | None) -> CredentialPlan:
    """The plan of one request. Raises CredentialError.

    held: the key that the upstream names, as it is now. One that is missing never falls back on
    the caller's: what stands in those slots may be a placeholder, or meant for somebody else.
    """
    if not names_a_key(upstream):
        ours = foreign_slots(headers)
        if not has_provider_key(headers, ours):
            raise CredentialError("no_provider_key")
        return CredentialPlan(ours)
    key = (held or "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise CredentialError("upstream_credential_missing")
    name, scheme = _slot(upstream)
    return CredentialPlan(
        frozenset((*AUTH_SLOTS, *ACCOUNT_SLOTS, name)), (name, scheme + key.encode())
    )


def _slot(upstream: Upstream) -> tuple[bytes, bytes]:
    """The header that carries the key, and what stands before the key in it."""
    default = "x-api-key" if upstream.dialect == "anthropic" else "authorization"
    name = (upstream.header or default).lower().encode("ascii")
    return name, b"Bearer " if name == b"authorization" else b""
