"""Counts finished requests and refusals, per tenant and for the whole process.

A request is counted once, where its tenant's and arm's counters of the moment stand. Those are
added to the totals, and handed to the uplink, when somebody asks for either: the process's figures
are the sum of its tenants' at any moment, and a request pays for one counting only. Everything is
called on the event loop, which is why there is no lock. Source: 03-proxy-and-recovery.md 6.1, 6.2.
"""

from __future__ import annotations

import logging
from decimal import Decimal

from dataplane.adapters.figures.counting import Moved, Seen
from dataplane.adapters.figures.tenant_refusals import TenantRefusals
from dataplane.adapters.figures.totals import Totals
from dataplane.adapters.figures.uplink import Uplink
from dataplane.core.port.report import RunReport
from dataplane.core.port.signals import Gate
from dataplane.core.record import BASE, Record

log = logging.getLogger("headrace.telemetry")

UNDECLARED_LOGGED_MAX = 100


class Telemetry:
    """The totals of every tenant, "" for what belongs to none, and of the process."""

    def __init__(self, uplink: Uplink | None = None) -> None:
        """uplink: who else is told; None where nobody listens."""
        self.uplink = uplink
        if uplink is not None:
            uplink.before_flush = self.settle
        self.refusals = TenantRefusals()
        self._moved: dict[tuple[str, str], Moved] = {}
        self._process = Totals()
        self._changed: set[str] = set()
        self._tenants: dict[str, Totals] = {}
        self._seen: dict[str, dict[str, Seen]] = {}
        self._seen_projected: dict[str, dict[str, Seen]] = {}
        self._undeclared: set[tuple[str, str]] = set()

    def add(self, record: Record) -> None:
        seen = self._seen.setdefault(record.tenant, {})
        self._place(record.tenant, record.arm).count(record, seen)
        if self.uplink is not None and not self.uplink.offer(record):
            self._place("").totals.counts["telemetry_dropped"] += 1
        for step in record.report.steps if record.report else ():
            for name in step.undeclared:
                self._log_undeclared(step.component, name)

    def refuse(self, reason: str, tenant: str = "") -> None:
        if reason:
            self._place(tenant).totals.refused[reason] += 1
            if tenant:
                self.refusals.add(tenant, reason)

    def unresolved(self, cause: str, tenant: str) -> None:
        """Somebody asked for an original, outside a conversation, that should have been there."""
        self._place(tenant).totals.unresolved[cause] += 1

    def committed(self, milliseconds: float, tenant: str) -> None:
        """The store answered, or was answered for, after this time."""
        self._place(tenant).totals.observe("store_commit", milliseconds)

    def projected(self, tenant: str, report: RunReport | None, overhead_ms: float) -> None:
        """What mode sync would have made of a request that was only observed; None: nothing."""
        self.observe_job(tenant, "processed")
        if report is not None:
            seen = self._seen_projected.setdefault(tenant, {})
            self._place(tenant).project(report, overhead_ms, seen)

    def observe_job(self, tenant: str, what: str) -> None:
        """what: queued, coalesced, dropped, processed, errors or abandoned."""
        self._place(tenant).totals.counts["observe_" + what] += 1

    def not_kept(self, tenant: str, gate: Gate) -> None:
        """A thread was not kept alive, or is not any more."""
        self._place(tenant).totals.not_kept[gate.name] += 1

    def ping_skipped(self, tenant: str) -> None:
        self._place(tenant).totals.counts["keepalive_skipped"] += 1

    def rescued(self, tenant: str, usd: Decimal) -> None:
        """A request read what it would have had to write without the pings before it."""
        totals = self._place(tenant).totals
        totals.counts["keepalive_rescues"] += 1
        totals.rescued_usd += usd

    @property
    def process(self) -> Totals:
        self.settle()
        return self._process

    def of(self, tenant: str) -> Totals:
        self.settle()
        return self._tenants.get(tenant) or Totals()

    def take_changed(self) -> set[str]:
        """Tenants that something was counted for since the last time this was asked."""
        self.settle()
        changed, self._changed = self._changed, set()
        return changed

    @property
    def is_still(self) -> bool:
        """Nothing was counted since `take_changed` was asked."""
        return not self._moved and not self._changed

    def settle(self) -> None:
        """Add what was counted lately to the totals, and tell the uplink."""
        settled, self._moved = self._moved, {}
        for (tenant, arm), moved in settled.items():
            self._tenants.setdefault(tenant, Totals()).merge(moved.totals)
            self._process.merge(moved.totals)
            self._changed.add(tenant)
            if self.uplink is not None:
                self.uplink.take(tenant, arm, moved)

    def _place(self, tenant: str, arm: str = BASE) -> Moved:
        found = self._moved.get((tenant, arm))
        if found is None:
            found = self._moved[tenant, arm] = Moved()
        return found

    def _log_undeclared(self, component: str, name: str) -> None:
        known = self._undeclared
        if (component, name) not in known and len(known) < UNDECLARED_LOGGED_MAX:
            known.add((component, name))
            log.error("cg.undeclared component=%s name=%s", component, name[:80])
