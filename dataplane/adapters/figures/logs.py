"""One line per request, without bodies or secrets (03-proxy-and-recovery.md 1.8, 6.3)."""

from __future__ import annotations

import logging
import sys
import traceback

from dataplane.core.port.report import StepReport
from dataplane.core.record import Record
from dataplane.core.text.redacted import scrubbed

log = logging.getLogger("headrace.request")

_PLAIN = logging.Formatter()


class Scrubber(logging.Filter):
    """Takes credentials out of every record that leaves a handler, tracebacks included."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        clean = scrubbed(message)
        if clean != message:
            record.msg, record.args = clean, ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _PLAIN.formatException(record.exc_info)
        if record.exc_text:
            # A formatter takes this text where it is set, and does not look at the exception.
            record.exc_text = scrubbed(record.exc_text)
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
    """A path on one line: a client may put line ends and a terminal's escapes into it."""
    return scrubbed(path)[:200].encode("unicode_escape").decode("ascii")


def fault(where: logging.Logger, message: str, error: BaseException, *facts: object) -> None:
    """A fault of ours in the middle of a conversation: ERROR, with the way that led to it.

    What the exception says about itself is left out, because it may quote the conversation.
    """
    where.error(f"{message}\n%s", *facts, trace_of(error))


def trace_of(error: BaseException) -> str:
    """The frames and the types of an exception and of those before it, without their texts; of a
    group those of its members.
    """
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(map(trace_of, error.exceptions))
    told = "".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__
    before = error.__cause__ or error.__context__
    return told if before is None else f"{trace_of(before)}\nwhich led to\n{told}"


def request(record: Record) -> None:
    """cg.request: what a client asked for and what became of it; then its parts, if asked for."""
    if log.isEnabledFor(logging.INFO):
        log.info("cg.request %s", _line(_request_fields(record)))
    _expands(record)
    if not log.isEnabledFor(logging.DEBUG):
        return
    if record.streamed and record.rounds > 1:
        log.debug("cg.sse_splice id=%s rounds=%d", record.request_id, record.rounds)
    for step in record.report.steps if record.report else ():
        log.debug("cg.component %s", _line(_component_fields(record, step)))


def _line(fields: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


def _request_fields(record: Record) -> dict[str, object]:
    report = record.report
    before, after = (report.tokens_before, report.tokens_after) if report else (0, 0)
    return {
        "id": record.request_id,
        "tenant": record.tenant or "local",
        "route": record.route,
        "origin": record.origin,
        # A client chooses these, and not every process scrubs what its handlers print.
        "session": scrubbed(record.session),
        "thread": scrubbed(record.thread),
        "variant": record.variant or "-",
        "snapshot": record.snapshot[:19],
        "status": record.status,
        "outcome": record.outcome,
        "error": record.error_type or "-",
        "serve_ms": f"{record.serve_ms:.1f}",
        "cg_ms": f"{record.added_ms or 0:.1f}",
        "upstream_rounds": record.rounds,
        "expands": record.recoveries.bounces,
        "ending": record.ending or "-",
        "sse": int(record.streamed),
        "sse_buffered": int(record.buffered),
        "tiers": _tiers(record),
        "usage_miss": "+".join(sorted(record.usage_misses)) or "-",
        "tokens_before": before,
        "tokens_after": after,
        "tokens_saved": before - after,
        "phase": record.cache_phase,
        "bypassed": record.bypassed or "-",
    }


def _tiers(record: Record) -> str:
    """Fresh input, cache read, cache write and output, as they are billed."""
    usage = record.usage
    if usage is None:
        return "unknown"
    tiers = (usage.fresh_input, usage.cache_read, usage.cache_write, usage.output)
    return "/".join(map(str, tiers)) + ",estimated" * record.usage_estimated


def _expands(record: Record) -> None:
    """cg.expand: a line that matters only when an original was asked for and not found."""
    recoveries = record.recoveries
    unresolved = sum(recoveries.unresolved.values())
    if unresolved or recoveries.bounces:
        log.log(
            logging.INFO if unresolved else logging.DEBUG,
            "cg.expand id=%s tenant=%s resolved=%d tokens=%d unresolved=%s",
            record.request_id,
            record.tenant or "local",
            recoveries.bounces,
            recoveries.wasted_tokens,
            dict(recoveries.unresolved),
        )


def _component_fields(record: Record, step: StepReport) -> dict[str, object]:
    verdict = "acted" if step.acted else "moved" if step.mutated else "skipped"
    return {
        "id": record.request_id,
        "component": step.component,
        "verdict": "reverted" if step.reverted else verdict,
        "delta": step.tokens_after - step.tokens_before,
        "ms": f"{step.duration_ms:.2f}",
        "gates": ",".join(f"{gate}:{count}" for gate, count in step.gates.items()) or "-",
        "error": bool(step.error),
    }
