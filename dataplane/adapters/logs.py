"""One line per request, without bodies or secrets (03-proxy-and-recovery.md 1.8, 6.3)."""

from __future__ import annotations

import logging
import re
import sys

from dataplane.core.record import Record

log = logging.getLogger("headrace.request")

_SECRETS = re.compile(
    r"cg_(?:live|api|node)_[A-Za-z0-9]+|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w+|glpat-[\w-]+|hf_[A-Za-z0-9]{16,}|xox[abprs]-[\w-]+|AKIA[A-Z0-9]{12,}"
    r"|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:(?:authorization|x-api-key|bearer)[=: ]+)\S+"
)
_HIDDEN = "«secret»"


class Scrubber(logging.Filter):
    """Takes credentials out of every record that leaves a handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        clean = _SECRETS.sub(_HIDDEN, message)
        if clean != message:
            record.msg, record.args = clean, ()
        return True


def configure(level: str) -> None:
    """Lines to standard error, scrubbed; for a process that has no logging of its own."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.addFilter(Scrubber())
    root = logging.getLogger("headrace")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False


def safe_path(path: str) -> str:
    return _SECRETS.sub(_HIDDEN, path)[:200]


def request(record: Record) -> None:
    """cg.request: what a client asked for and what became of it."""
    if not log.isEnabledFor(logging.INFO):
        return
    report, usage = record.report, record.usage
    before, after = (report.tokens_before, report.tokens_after) if report else (0, 0)
    log.info(
        "cg.request id=%s tenant=%s route=%s session=%s thread=%s snapshot=%s status=%d outcome=%s"
        " serve_ms=%.1f cg_ms=%.1f rounds=%d expands=%d sse=%d buffered=%d tiers=%s before=%d"
        " after=%d phase=%s bypassed=%s",
        record.request_id,
        record.tenant or "local",
        record.route,
        record.session,
        record.thread,
        record.snapshot[:19],
        record.status,
        record.outcome,
        record.serve_ms,
        record.added_ms or 0,
        record.rounds,
        record.recoveries.bounces,
        record.streamed,
        record.buffered,
        "/".join(
            str(tier)
            for tier in (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output)
        )
        if usage
        else "unknown",
        before,
        after,
        record.cache_phase,
        record.bypassed or "-",
    )
