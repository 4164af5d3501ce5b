"""Which credentials have been used since the node started (04 §5.13: last used).

Bounded: whoever used theirs the longest time ago is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from dataplane.core.record import Record
from dataplane.core.uplink import UseRow

NAME_MAX = 128
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
        self._used: dict[str, str] = {}

    def add(self, principal: str, record: Record) -> None:
        self._used[principal] = record.tenant
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

    def take_used(self) -> list[UseRow]:
        """Those that were used since this was last asked."""
        used, self._used = self._used, {}
        found = ((name, tenant, self._known.get(name)) for name, tenant in used.items())
        return [_row(name, tenant, each) for name, tenant, each in found if each is not None]


def _row(principal: str, tenant: str, each: Arrival) -> UseRow:
    first_at, last_at = round(each.first_at * 1000), round(each.last_at * 1000)
    session, model = each.session[:NAME_MAX], each.model[:NAME_MAX]
    return UseRow(principal, tenant, first_at, last_at, session, model, each.status)
