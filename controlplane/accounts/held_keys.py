"""Provider keys that we hold, at hand for the node in this process (03 §1.4, 9.1).

A request may not wait for a database, so the values are kept here and looked up again by the
thread that watches for changes (fleet.upkeep); a new one is here before nodes learn its name.
"""

from __future__ import annotations

import logging
from datetime import datetime

from controlplane.accounts.models import Secret
from controlplane.accounts.sealing import SealError
from controlplane.accounts.vault import reveal

log = logging.getLogger("headrace.secrets")


class HeldKeys:
    """Name to value; calling it with a name gives the value or None, from any thread."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._seen: tuple[tuple[str, int, str], ...] = ()

    def __call__(self, name: str) -> str | None:
        return self._values.get(name)

    def refresh(self, _now: datetime) -> None:
        """Read them again when one was put, sealed again or removed; one query when none was."""
        held = Secret.objects.filter(
            organisation=None, tenant=None, kind=Secret.Kind.PROVIDER_KEY
        ).order_by("uid")
        seen = tuple(held.values_list("uid", "version", "key_id"))
        if seen != self._seen:
            opened = ((secret.name, _opened(secret)) for secret in held)
            self._values = {name: value for name, value in opened if value is not None}
            self._seen = seen


def _opened(secret: Secret) -> str | None:
    try:
        return reveal(secret)
    except SealError as problem:
        log.error("secret.unreadable name=%s problem=%s", secret.name, problem)
        return None


held_keys = HeldKeys()
