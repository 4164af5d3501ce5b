"""How an event is bound to the one before it: hash = sha256(prev_hash + event) (04 §8.8)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

HASHED = (
    "uid", "seq", "organisation_uid", "actor_kind", "actor_uid", "actor_label", "via", "ip",
    "request_id", "action", "object_uid", "object_label", "before", "after", "reason",
)  # fmt: skip


def canonical(event: Any) -> bytes:
    """The event as JSON: keys sorted, no spaces, UTF-8, its time in ISO 8601 with microseconds.

    event: an AuditEvent, of the present or of a migration.
    """
    fields = {name: getattr(event, name) for name in HASHED}
    fields["at"] = event.at.isoformat(timespec="microseconds")
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def hash_of(event: Any, prev_hash: str) -> str:
    """prev_hash: hex of the event before, "" for the first."""
    return hashlib.sha256(prev_hash.encode() + canonical(event)).hexdigest()


def actor_kind(actor_uid: str) -> str:
    """Read off the prefix of its identifier; nobody in particular is the product itself."""
    return {"usr": "user", "tok": "token", "node": "node"}.get(
        actor_uid.partition("_")[0], "system"
    )
