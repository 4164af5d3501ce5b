"""A finished request is priced, counted and logged, in this order."""

from __future__ import annotations

from dataplane.adapters.figures import logs
from dataplane.adapters.figures.telemetry import Telemetry
from dataplane.adapters.serving.snapshots import Snapshots
from dataplane.core.prices.money import Sale, cost
from dataplane.core.record import Record


class Books:
    """Prices are those that are served when the request ends."""

    def __init__(self, snapshots: Snapshots, telemetry: Telemetry) -> None:
        self._snapshots = snapshots
        self.telemetry = telemetry

    def account(self, record: Record) -> None:
        """A request without a status, whose client left before it had one, is not counted."""
        if record.usage is not None:
            sale = Sale(record.address, record.at, record.prompt or record.usage.prompt)
            priced = self._snapshots.price_card.priced(record.model, sale)
            record.rates = priced.rates if priced else None
            record.priced_by = priced.source if priced else ""
            record.cost_usd = cost(record.usage, record.rates)
        if record.status:
            self.telemetry.add(record)
            logs.request(record)
