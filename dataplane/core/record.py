"""What is known of one finished client request; the source of every counter and of the log line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from dataplane.core.expand.recovery import Recoveries
from dataplane.core.outgoing import Outgoing
from dataplane.core.pipeline.rewritten import Rewritten
from dataplane.core.port.report import RunReport
from dataplane.core.port.signals import Event
from dataplane.core.prices.money import Rates
from dataplane.core.wire.usage import Usage

# The arm of every request that no rollout changes.
BASE = "base"


@dataclass(slots=True)
class Record:
    """One client request. Durations in milliseconds; None where nothing was measured.

    upstream_ms: until the head of the provider's answer. first_byte_ms: from there to the first
    byte for the client. usage_estimated: the answer was cut, and its output is what was delivered.
    address: of the upstream. prompt: input tokens of the largest round. rates: of the model;
    priced_by: whose they are, "" for unknown. cost_usd, saved_usd: None for unknown; what was saved
    is known once the request was counted. ending: what became of calls of ours that were not
    answered, a name of dataplane.core.expand.endings. outcome: ok, error, truncated or
    client_disconnect. error_type: what the provider called its error. pristine_resend: "", or how
    the unchanged body fared after the provider refused the changed one: recovered, or same.
    variant: id of the configuration in force. arm: its part in a rollout. ping: "" for a request of
    a client; of a keep-alive ping, how it ended: read, wrote or failed. captured: changed texts are
    kept; rewritten: those, and never in the log; texts_left_out: how many found no room.
    """

    request_id: str
    tenant: str
    route: str
    dialect: str
    at: float
    session: str = ""
    thread: str = ""
    model: str = ""
    status: int = 0
    outcome: str = "ok"
    error_type: str = ""
    bypassed: str = ""
    snapshot: str = ""
    cache_phase: str = "unknown"
    report: RunReport | None = None
    compacted: bool = False
    added_ms: float | None = None
    upstream_ms: float | None = None
    first_byte_ms: float | None = None
    serve_ms: float = 0.0
    streamed: bool = False
    buffered: bool = False
    expand_after_stream: bool = False
    ending: str = ""
    rounds: int = 0
    usage: Usage | None = None
    usage_estimated: bool = False
    usage_misses: Counter[str] = field(default_factory=Counter)
    address: str = ""
    prompt: int = 0
    rates: Rates | None = None
    priced_by: str = ""
    cost_usd: Decimal | None = None
    saved_usd: Decimal | None = None
    recoveries: Recoveries = field(default_factory=Recoveries)
    rewrite_failed: bool = False
    pristine_resend: str = ""
    variant: str = ""
    arm: str = BASE
    ping: str = ""
    captured: bool = False
    rewritten: tuple[Rewritten, ...] = ()
    texts_left_out: int = 0

    @property
    def origin(self) -> str:
        return "keepalive" if self.ping else "agent"

    def end_as(self, ending: Event | None) -> None:
        """Note what became of calls of ours, where there were any."""
        self.ending = self.ending if ending is None else ending.name

    def take(self, outgoing: Outgoing) -> None:
        """Note what the request became."""
        self.session, _, self.thread = outgoing.identity
        self.model, self.report = outgoing.model, outgoing.report
        self.bypassed, self.compacted = outgoing.bypassed, outgoing.compacted
        self.cache_phase = outgoing.cache_phase
        self.rewritten = outgoing.rewritten
