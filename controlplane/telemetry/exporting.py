"""Request records leave as a file, and the trail says who took which (04 §7 and 8.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from controlplane.accounts.scopes import Scope
from controlplane.audit.actions import Subject, record
from controlplane.audit.origin import Origin, coming_from, current
from controlplane.telemetry import queries
from controlplane.telemetry.queries import RequestFilter
from controlplane.telemetry.queries.export import MAY

BEGUN, FINISHED = "requests.export_begun", "requests.exported"


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, for whom. places: each organisation whose trail it is told to."""

    scope: Scope
    wanted: RequestFilter
    form: str
    places: Sequence[Subject]
    origin: Origin = field(default_factory=current)

    def pieces(self) -> Iterator[bytes]:
        """The file. A trail without FINISHED says that it did not arrive whole."""
        self._tell(BEGUN, {"format": self.form, "filters": _given(self.wanted)})
        digest, size, rows = hashlib.sha256(), 0, 0
        for piece in queries.export(self.scope, self.wanted, self.form):
            digest.update(piece.body)
            size += len(piece.body)
            rows += piece.rows
            yield piece.body
        self._tell(FINISHED, {"rows": rows, "bytes": size, "sha256": digest.hexdigest()})

    def _tell(self, action: str, after: Mapping[str, Any]) -> None:
        with coming_from(self.origin):  # the request's own has ended when a stream has
            for place in self.places:
                record(action, place, self.scope.principal, after=after)


def export_of(scope: Scope, wanted: RequestFilter, form: str) -> Export:
    """wanted.tenant: uid of one that the scope may export, "" for all of those."""
    tenants = scope.tenants(MAY)
    if wanted.tenant:
        tenants = tenants.filter(uid=wanted.tenant)
    elif scope.may(MAY, None):
        return Export(scope, wanted, form, [Subject("", "requests of all tenants")])
    by_place: dict[str, list[str]] = {}
    for tenant in tenants.order_by("pk"):
        by_place.setdefault(tenant.organisation.uid, []).append(tenant.slug)
    places = [
        Subject(wanted.tenant, f"requests of {', '.join(slugs)}"[:200], organisation)
        for organisation, slugs in by_place.items()
    ]
    return Export(scope, wanted, form, places)


def _given(wanted: RequestFilter) -> dict[str, Any]:
    return {name: value for name, value in asdict(wanted).items() if value not in ("", None, False)}
