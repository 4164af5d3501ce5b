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


class Restraint(NamedTuple):
    """What a session may send after the provider had accepted a body only as it came in.

    replay_only: nothing new may be removed for a while. verbatim: SHA-256 (hex) of texts whose
    replacement was refused; they go out as the agent sends them. bare: nothing but the envelope
    had been changed in the refused body, so for a while nothing is declared or split either.
    """

    replay_only: bool = False
    verbatim: frozenset[str] = frozenset()
    bare: bool = False


FREE = Restraint()


class _Past(NamedTuple):
    """resent_at and restrained_until in seconds, 0 for never."""

    resent_at: float = 0.0
    restrained_until: float = 0.0
    verbatim: frozenset[str] = frozenset()
    bare: bool = False


_NOTHING = _Past()


class Resends:
    """What was sent once more, by tenant and session; of this process, the latest sessions."""

    def __init__(self) -> None:
        self._past: OrderedDict[tuple[str, str], _Past] = OrderedDict()

    def may_resend(self, tenant: str, session: str, at: float) -> bool:
        """Once a minute at most, so that a session that is always refused costs little more."""
        past = self._past.get((tenant, session))
        return past is None or at - past.resent_at >= AGAIN_AFTER_S

    def note(self, tenant: str, session: str, at: float, *, refused: frozenset[str] | None) -> None:
        """A resend was made. refused: SHA-256 (hex) of what the provider takes only as it came,
        None where the resend did not help.
        """
        past = self._past.get((tenant, session), _NOTHING)._replace(resent_at=at)
        if refused is not None:
            past = _Past(at, at + REPLAY_ONLY_S, past.verbatim | refused, bare=not refused)
        self._past[tenant, session] = past
        self._past.move_to_end((tenant, session))
        while len(self._past) > KEPT_SESSIONS:
            self._past.popitem(last=False)

    def restraint(self, tenant: str, session: str, at: float) -> Restraint:
        past = self._past.get((tenant, session))
        if past is None:
            return FREE
        is_recent = at < past.restrained_until
        return Restraint(is_recent, past.verbatim, is_recent and past.bare)
