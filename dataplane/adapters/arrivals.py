"""Which credentials have been used since the node started (04 section 5.13: last used).

Bounded: whoever used theirs the longest time ago is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from dataplane.core.record import Record

PRINCIPALS_MAX = 10_000


@dataclass(slots=True)
class Arrival:
    """first_at, last_at: seconds. status: of the first answer, 0 for a client that left before.

    session, model: of the first request that had a model; asking for a list of models has none.
    """

    first_at: float
    last_at: float
    session: str
    model: str
    status: int


class Arrivals:
    """By principal, the subject of a credential: a key that replaces another one shares it."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Arrival] = OrderedDict()

    def add(self, principal: str, record: Record) -> None:
        known = self._known.get(principal)
        if known is not None:
            known.last_at = record.at
            if not known.model:
                known.session, known.model = record.session, record.model
            self._known.move_to_end(principal)
            return
        self._known[principal] = Arrival(
            record.at, record.at, record.session, record.model, record.status
        )
        if len(self._known) > PRINCIPALS_MAX:
            self._known.popitem(last=False)

    def of(self, principal: str) -> Arrival | None:
        return self._known.get(principal)
