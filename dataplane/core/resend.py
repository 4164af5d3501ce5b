"""When the body that came in is sent once more, because the provider refused the shaped one.

Source: 03-proxy-and-recovery.md 2.10.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

REFUSALS_OF_A_BODY = frozenset({400, 413, 422})
AGAIN_AFTER_S = 60
REPLAY_ONLY_S = 3600
KEPT_SESSIONS = 20_000


class _Past(NamedTuple):
    """resent_at and replay_only_until in seconds, 0 for never."""

    resent_at: float = 0.0
    replay_only_until: float = 0.0


class Resends:
    """What was sent once more, by tenant and session; of this process, the latest sessions."""

    def __init__(self) -> None:
        self._past: OrderedDict[tuple[str, str], _Past] = OrderedDict()

    def may_resend(self, tenant: str, session: str, at: float) -> bool:
        """Once a minute at most, so that a session that is always refused costs little more."""
        past = self._past.get((tenant, session))
        return past is None or at - past.resent_at >= AGAIN_AFTER_S

    def note(self, tenant: str, session: str, at: float, *, recovered: bool) -> None:
        """A resend was made; where it helped, the session makes no new removals for a while."""
        until = self._past.get((tenant, session), _Past()).replay_only_until
        self._past[tenant, session] = _Past(at, at + REPLAY_ONLY_S if recovered else until)
        self._past.move_to_end((tenant, session))
        while len(self._past) > KEPT_SESSIONS:
            self._past.popitem(last=False)

    def is_replay_only(self, tenant: str, session: str, at: float) -> bool:
        return at < self._past.get((tenant, session), _Past()).replay_only_until
