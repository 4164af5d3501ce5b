"""Names of API objects: a type prefix and a ULID in lower case, "ten_01j…" (04 §0.3)."""

from __future__ import annotations

import secrets
import time
from functools import partial

from django.db import models

from dataplane.core.ulid import RANDOM_BYTES, ulid


def new_uid(prefix: str) -> str:
    now_ms = time.time_ns() // 1_000_000
    return f"{prefix}_{ulid(at_ms=now_ms, randomness=secrets.token_bytes(RANDOM_BYTES))}"


def uid_field(prefix: str) -> models.CharField[str, str]:
    """The column that names a row outside the process; integer keys never leave it."""
    return models.CharField(
        max_length=32, unique=True, editable=False, default=partial(new_uid, prefix)
    )
