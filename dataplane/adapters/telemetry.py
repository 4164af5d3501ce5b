"""Counts finished requests and refusals, per tenant and for the whole process.

One pass per request: what a record comes to is worked out once and then added twice, so the
process's figures are the sum of its tenants' at any moment. Everything is called on the event
loop, which is why there is no lock. Source: 03-proxy-and-recovery.md 6.1, 6.2.
"""

from __future__ import annotations

import logging
from collections import Counter

from dataplane.adapters.tenant_refusals import TenantRefusals
from dataplane.adapters.totals import Totals
from dataplane.adapters.uplink import Uplink
from dataplane.core.record import Record
from dataplane.core.report import StepReport

log = logging.getLogger("headrace.telemetry")

GENERATION = 50_000
UNDECLARED_LOGGED_MAX = 100


class Seen:
    """The texts that one component's savings were credited for; the oldest are forgotten.

    They are forgotten a whole generation at a time, which costs no request a search.
    """

    def __init__(self) -> None:
        self._new: set[str] = set()
        self._old: set[str] = set()

    def is_new(self, key: str) -> bool:
        """True at the first time of asking."""
        if key in self._new:
            return False
        if len(self._new) >= GENERATION:
            self._old, self._new = self._new, set()
        self._new.add(key)
        return key not in self._old


class Telemetry:
    """The totals of every tenant, "" for what belongs to none, and of the process."""

    def __init__(self, uplink: Uplink | None = None) -> None:
        """uplink: who else is told; None where nobody listens."""
        self.uplink = uplink
        self.process = Totals()
        self.refusals = TenantRefusals()
        self._changed: set[str] = set()
        self._tenants: dict[str, Totals] = {}
        self._seen: dict[str, dict[str, Seen]] = {}
        self._undeclared: set[tuple[str, str]] = set()

    def add(self, record: Record) -> None:
        seen = self._seen.setdefault(record.tenant, {})
        self._count(record.tenant, totals_of(record, seen), record)
        for step in record.report.steps if record.report else ():
            for name in step.undeclared:
                self._log_undeclared(step.component, name)

    def refuse(self, reason: str, tenant: str = "") -> None:
        if reason:
            self._count(tenant, Totals(refused=Counter({reason: 1})))
            if tenant:
                self.refusals.add(tenant, reason)

    def unresolved(self, cause: str, tenant: str) -> None:
        """Somebody asked for an original, outside a conversation, that should have been there."""
        self._count(tenant, Totals(unresolved=Counter({cause: 1})))

    def committed(self, milliseconds: float, tenant: str) -> None:
        """The store answered, or was answered for, after this time."""
        change = Totals()
        change.observe("store_commit", milliseconds)
        self._count(tenant, change)

    def of(self, tenant: str) -> Totals:
        return self._tenants.get(tenant) or Totals()

    def take_changed(self) -> set[str]:
        """Tenants that something was counted for since the last time this was asked."""
        changed, self._changed = self._changed, set()
        return changed

    def _count(self, tenant: str, change: Totals, record: Record | None = None) -> None:
        self._tenants.setdefault(tenant, Totals()).merge(change)
        self.process.merge(change)
        self._changed.add(tenant)
        if self.uplink is not None and not self.uplink.offer(tenant, change, record):
            self._count("", Totals(counts=Counter({"telemetry_dropped": 1})))

    def _log_undeclared(self, component: str, name: str) -> None:
        known = self._undeclared
        if (component, name) not in known and len(known) < UNDECLARED_LOGGED_MAX:
            known.add((component, name))
            log.error("cg.undeclared component=%s name=%s", component, name[:80])


# ---- what one request comes to -----------------------------------------------------------------


def totals_of(record: Record, seen: dict[str, Seen]) -> Totals:
    """The counters of one request. seen: what the tenant was credited for, by component."""
    totals = Totals()
    _add_report(totals, record, seen)
    _add_usage(totals, record)
    _add_response(totals, record)
    _add_recoveries(totals, record)
    return totals


def _add_report(totals: Totals, record: Record, seen: dict[str, Seen]) -> None:
    totals.counts.update(
        {
            "all_requests": 1,
            f"outcome_{record.outcome}": 1,
            "compaction_resets": int(record.compacted),
            "rewrite_failures": int(record.rewrite_failed),
        }
    )
    if record.bypassed:
        totals.bypassed[record.bypassed] = 1
    report = record.report
    if report is None:
        return
    totals.counts.update(
        {
            "requests": 1,
            "tokens_before": report.tokens_before,
            "tokens_after": report.tokens_after,
            "attempted_tokens": report.attempted,
        }
    )
    for step in report.steps:
        _add_step(totals, step, seen.setdefault(step.component, Seen()))


def _add_step(totals: Totals, step: StepReport, seen: Seen) -> None:
    saved = 0 if step.reverted else step.saved
    unique = 0 if step.reverted else _unique(step, seen)
    totals.counts.update(
        {
            "saved_tokens_unique": unique,
            "frozen_hits": step.replays,
            "frozen_misses": step.misses,
            "expand_prefix_flips": step.abandoned,
        }
    )
    component = totals.component(step.component)
    component.duration_ms += step.duration_ms
    component.gates.update(step.gates)
    component.events.update(step.events)
    component.counts.update(
        {
            "runs": 1,
            "acted": int(step.acted),
            "acted_fresh": int(step.acted and step.fresh_saved > 0),
            "acted_replay": int(step.acted and step.fresh_saved <= 0),
            "mutated": int(step.mutated),
            "reverted": int(step.reverted),
            "saved_tokens": saved,
            "saved_tokens_unique": unique,
            "discarded_changes": step.discarded,
        }
    )


def _unique(step: StepReport, seen: Seen) -> int:
    """Tokens saved on texts that are not in `seen` yet; all of them where no text has a key."""
    if not step.keys:
        return step.saved
    return max(0, sum(saved for key, saved in step.keys.items() if seen.is_new(key)))


def _add_usage(totals: Totals, record: Record) -> None:
    counts, usage = totals.counts, record.usage
    counts.update(record.usage_misses)
    counts["upstream_rounds"] = record.rounds
    if usage is None:
        return
    counts.update(
        {
            "fresh_input_tokens": usage.fresh_input,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "cache_write_1h_tokens": usage.cache_write_1h,
            "output_tokens": usage.output,
            "priced_requests": int(record.cost_usd is not None),
            "unpriced_requests": int(record.cost_usd is None),
        }
    )
    totals.billed_usd = record.cost_usd or totals.billed_usd


def _add_response(totals: Totals, record: Record) -> None:
    totals.counts.update(
        {
            "sse_streamed": int(record.streamed and not record.buffered),
            "sse_buffered": int(record.streamed and record.buffered),
            "sse_expand_after_stream": int(record.expand_after_stream),
            "client_disconnects": int(record.outcome == "client_disconnect"),
        }
    )
    if record.pristine_resend:
        totals.counts[f"pristine_{record.pristine_resend}"] = 1
    totals.observe("request_duration", record.serve_ms, record.route)
    totals.observe("upstream_first_byte", record.upstream_ms)
    if record.report is not None and record.added_ms is not None:
        totals.observe("added", record.added_ms)
        totals.mean("cg_added_ms").add(record.added_ms)
    if record.upstream_ms is None:
        return
    totals.mean("upstream_ms_bypassed" if record.bypassed else "upstream_ms").add(
        record.upstream_ms
    )
    if record.streamed and record.first_byte_ms is not None:
        name = "sse_ttfb_ms_buffered" if record.buffered else "sse_ttfb_ms"
        totals.mean(name).add(record.upstream_ms + record.first_byte_ms)


def _add_recoveries(totals: Totals, record: Record) -> None:
    recoveries = record.recoveries
    totals.unresolved.update(recoveries.unresolved)
    totals.counts.update(
        {
            "bounces": recoveries.bounces,
            "wasted_tokens": recoveries.wasted_tokens,
            "adjudicate_stray": recoveries.strays,
            "expand_oversize": recoveries.oversize,
        }
    )
