"""That a node fell silent, or is heard again: no report tells it."""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.telemetry.queries.living import heard
from controlplane.topics import tell

LOOK_EVERY = timedelta(seconds=5)


class ChangesOfState:
    """A step of the upkeep: tells of nodes that are heard again and of those that fell silent."""

    def __init__(self) -> None:
        self._looked_at: datetime | None = None
        self._living: frozenset[str] | None = None

    def __call__(self, now: datetime) -> None:
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY:
            return
        before = self._living
        self._looked_at = now
        self._living = frozenset(node for node, _ in heard().living)
        for node in sorted(self._living ^ before if before is not None else ()):
            tell("node", "state", node, data={"node": node})
