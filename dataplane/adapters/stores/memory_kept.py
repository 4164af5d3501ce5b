"""What one tenant keeps verbatim, in memory: the rule that the durable stores follow.

Source: 01-components.md 1.7; 00-start-here.md 2 (row 32).
"""

from __future__ import annotations

from dataplane.adapters.stores import retention
from dataplane.core.effects import Reach, Recall

WHOLE_TENANT = ""  # stands for a session; the key of one is never empty


class KeptVerbatim:
    """When (s) each session last asked for a content, oldest first; by session key and content."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], float] = {}

    def __len__(self) -> int:
        return len(self._asked)

    def of(self, session_key: str, reach: Reach) -> frozenset[str]:
        """The content keys that stay verbatim in a session."""
        reached = {session_key} if reach == "session" else {session_key, WHOLE_TENANT}
        return frozenset(key for session, key in self._asked if session in reached)

    def keep(self, wanted: Recall, key: str, *, capacity: int) -> None:
        """Remember a content that was asked back; the oldest such contents make room for it."""
        own, at = wanted.scope.session_key, wanted.at
        if wanted.reach == "tenant":
            self._asked[WHOLE_TENANT, key] = at
        else:
            self._asked[own, key] = max(at, self._asked.get((own, key), at))
            if wanted.reach == "auto" and self._is_asked_elsewhere(own, key, at):
                self._asked[WHOLE_TENANT, key] = at
        while len(self._asked) > capacity:
            del self._asked[next(iter(self._asked))]

    def forget(self, session_key: str) -> None:
        self._asked = {key: at for key, at in self._asked.items() if key[0] != session_key}

    def _is_asked_elsewhere(self, own: str, key: str, at: float) -> bool:
        return any(
            abs(at - asked_at) <= retention.ASKED_BACK_WITHIN_S
            for (session, known), asked_at in self._asked.items()
            if known == key and session not in (WHOLE_TENANT, own)
        )
