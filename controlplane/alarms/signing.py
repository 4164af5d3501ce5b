"""How a receiver of our webhooks knows that we sent them (04 §7)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence


def signature(secret: str, timestamp_s: int, body: bytes) -> str:
    """`v1=` and the hex HMAC-SHA256 of timestamp, a full stop, and the body."""
    signed = f"{timestamp_s}.".encode() + body
    return f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def signature_header(secrets: Sequence[str], timestamp_s: int, body: bytes) -> str:
    """One signature for each secret that is valid now, newest first."""
    return ", ".join(signature(secret, timestamp_s, body) for secret in secrets)
