"""Models that were seen without a price (00-start-here.md 2 (row 30); 04 §5.14)."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max

from controlplane.accounts.scopes import Scope
from controlplane.telemetry.models import RequestRecord
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.reach import reach

NEWEST = 20_000  # requests that are looked at
MODELS_MAX = 50


@dataclass(frozen=True, slots=True)
class Unpriced:
    """requests: of the newest ones. last_at: ms."""

    model: str
    requests: int
    last_at: int


def unpriced_models(scope: Scope) -> list[Unpriced]:
    """Of the newest requests that the scope may see, the most frequent first; none where the
    telemetry cannot be read.
    """
    return readable(lambda: _unpriced(scope), [])


def _unpriced(scope: Scope) -> list[Unpriced]:
    newest = RequestRecord.objects.filter(reach(scope).rows).order_by("-pk")
    oldest = newest.values_list("pk", flat=True)[NEWEST : NEWEST + 1].first()
    seen = newest.filter(accounting="partial", pk__gt=oldest or 0).exclude(model="")
    rows = seen.order_by().values("model").annotate(n=Count("pk"), last=Max("at"))
    return [
        Unpriced(row["model"], row["n"], row["last"])
        for row in rows.order_by("-n", "model")[:MODELS_MAX]
    ]
