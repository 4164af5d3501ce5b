"""How long a durable store is waited for when a turn is opened.

Without its turn all that a session decided flips back, which costs more than a wait of two seconds.
But while a tenant's store fails, each of its requests would wait so long: one that follows a turn
that could not be opened waits only as long as a commit does.
"""

from __future__ import annotations

TURN_PATIENCE_S = 2.0


class Patience:
    """timeout_s: of a commit."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._failing: set[str] = set()

    def of(self, tenant: str) -> float:
        """Seconds."""
        if tenant in self._failing:
            return self._timeout_s
        return max(TURN_PATIENCE_S, self._timeout_s)

    def lose(self, tenant: str) -> None:
        """A turn of the tenant could not be opened."""
        self._failing.add(tenant)

    def regain(self, tenant: str) -> None:
        """One could."""
        self._failing.discard(tenant)
