"""When the pings of one idle span are due, and when it ends. Times in seconds.

Source: 03-proxy-and-recovery.md 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dataplane.core.session.lifetime import ANTHROPIC_TTL_S


@dataclass(frozen=True, slots=True)
class Idle:
    """From the start of a request on, with nothing but pings in between.

    began_at: the start of that request. touched_at: the last start that the provider's copy has
    lived from; tried_at: the last attempt. idle_s and max_pings: what the document says.
    """

    began_at: float
    touched_at: float
    tried_at: float
    idle_s: float
    max_pings: int
    pings: int = 0

    @property
    def due_at(self) -> float:
        """The lifetime runs from the start of whatever used the copy last, not from its end."""
        return self.tried_at + self.idle_s

    @property
    def ends_at(self) -> float:
        """Nothing is kept from here on, whatever happened."""
        return self.began_at + (self.max_pings + 1) * self.idle_s

    @property
    def next_at(self) -> float:
        """When something happens by itself."""
        return min(self.due_at, self.ends_at)

    @property
    def is_spent(self) -> bool:
        return self.pings >= self.max_pings or self.due_at >= self.ends_at

    def is_alive(self, at: float) -> bool:
        """Whether the provider still holds the prefix; it may end a ping's only purpose."""
        return at < self.touched_at + ANTHROPIC_TTL_S

    def would_have_expired(self, at: float) -> bool:
        """Whether the copy would be gone without the pings."""
        return at >= self.began_at + ANTHROPIC_TTL_S

    def skipped(self, at: float) -> Idle:
        return replace(self, tried_at=at)

    def pinged(self, at: float, *, kept_alive: bool) -> Idle:
        """at: when the ping started."""
        touched_at = at if kept_alive else self.touched_at
        return replace(self, tried_at=at, touched_at=touched_at, pings=self.pings + 1)


def from_request(at: float, idle_s: float, max_pings: int) -> Idle:
    """The span that begins with a request that started at this time."""
    return Idle(at, at, at, idle_s, max_pings)
