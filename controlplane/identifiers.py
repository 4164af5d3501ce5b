"""Names of API objects: a type prefix and a ULID in lower case, "ten_01j…" (04 section 0.3)."""

from __future__ import annotations

import secrets
import time
from functools import partial

from django.db import models

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
ULID_CHARACTERS = 26
RANDOM_BITS = 80


def ulid() -> str:
    """48 bits of milliseconds since the epoch, then 80 random bits; sorts by time."""
    number = time.time_ns() // 1_000_000 << RANDOM_BITS | secrets.randbits(RANDOM_BITS)
    shifts = range(5 * (ULID_CHARACTERS - 1), -1, -5)
    return "".join(CROCKFORD[number >> shift & 31] for shift in shifts)


def new_uid(prefix: str) -> str:
    return f"{prefix}_{ulid()}"


def uid_field(prefix: str) -> models.CharField[str, str]:
    """The column that names a row outside the process; integer keys never leave it."""
    return models.CharField(
        max_length=32, unique=True, editable=False, default=partial(new_uid, prefix)
    )
