"""Codes that change every half minute: TOTP of RFC 6238 with SHA-1 and six digits (04 §8.1)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from urllib.parse import quote, urlencode

STEP_S = 30
DIGITS = 6
SECRET_BYTES = 20
DRIFT = 1  # steps that a clock may be off, either way


def new_secret() -> str:
    """32 base32 characters."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode()


def code_at(secret: str, step: int) -> str:
    """The code of one step since the epoch."""
    mac = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), hashlib.sha1)
    place = mac[-1] & 0xF
    number = int.from_bytes(mac[place : place + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def matching_step(secret: str, code: str, at_s: float, *, after: int) -> int | None:
    """The step whose code this is, near the moment and later than `after`; None for none.

    after: the step of the last code that was taken, so that none is good for twice.
    """
    now = int(at_s // STEP_S)
    for step in range(max(now - DRIFT, after + 1), now + DRIFT + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode()):
            return step
    return None


def address(secret: str, account: str, issuer: str) -> str:
    """What an authenticator reads off a QR code."""
    asked = {"secret": secret, "issuer": issuer, "digits": DIGITS, "period": STEP_S}
    return f"otpauth://totp/{quote(issuer)}:{quote(account)}?{urlencode(asked)}"
