"""The built-in rules: what each one watches, how grave it is, and what to do (04 §5.3)."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.alarms.models import Severity
from dataplane.core.expand.endings import ENDINGS
from dataplane.core.port.signals import Event

CRITICAL, WARNING, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """one, many: the headline for one and for several, {n} and {subject} filled in.

    means: one sentence. field: the counter or state that it watches. is_loss: an original is gone;
    such an alarm never resolves by itself, and another session fires it again. steps: what to do.
    """

    key: str
    severity: Severity
    one: str
    many: str
    means: str
    field: str
    is_loss: bool = False
    clears_itself: bool = False
    steps: tuple[str, ...] = ()


def _of_ending(ending: Event) -> Rule:
    """The rule of something that should not become of a recovery call."""
    word = ending.name.replace("_", " ")
    return Rule(
        key=ending.name,
        severity=WARNING,
        one=f"1 recovery call ended badly: {word}",
        many=f"{{n}} recovery calls ended badly: {word}",
        means=ending.meaning,
        field=f"recovery_endings.{ending.name}",
        clears_itself=True,
        steps=(
            "Nothing was lost. The turns of its sessions are marked; the log line cg.request has "
            "ending=" + ending.name + ", and names route and request.",
        ),
    )


RULES: dict[str, Rule] = {
    rule.key: rule
    for rule in (
        Rule(
            key="expand_missing",
            severity=CRITICAL,
            one="1 original lost",
            many="{n} originals lost",
            means="An agent asked for a text that was removed, and it cannot be given back.",
            field="expand_unresolved_missing",
            is_loss=True,
            steps=(
                "Switch the tenant to observe mode: nothing new is removed while you look.",
                "Read the cause. `expired`: keep originals longer (`store.ttl_seconds`). "
                "`lost`: the store lost data; look at its disk and at restarts. `store_error`: "
                "the store was down. `decrypt_error`: its key is gone.",
                "Resolve when the store is in order. Acknowledging resolves and resumes nothing.",
            ),
        ),
        Rule(
            key="stash_missing",
            severity=CRITICAL,
            one="1 marker sent without its original",
            many="{n} markers sent without their originals",
            means="A replayed marker went to the provider although nothing stands behind it.",
            field="stash_missing",
            is_loss=True,
            steps=(
                "Look at the store: the originals of these markers could not be written again.",
                "Switch the tenant to observe mode until it is durable.",
                "Resolve when no marker of the open sessions lacks its original.",
            ),
        ),
        Rule(
            key="stash_refused",
            severity=WARNING,
            one="1 removal declined, store full",
            many="{n} removals declined, store full",
            means="The store refused originals, so their texts stayed verbatim; nothing was lost.",
            field="stash_refused",
            clears_itself=True,
            steps=(
                "It is the leading sign of loss. Raise `store.max_entries` or "
                "`store.stash_max_bytes`, or shorten `store.ttl_seconds`.",
            ),
        ),
        Rule(
            key="store_reserve_high",
            severity=WARNING,
            one="A store is nearly full",
            many="A store is nearly full",
            means="The originals held take more than 80 % of what the store may hold.",
            field="stash_live, stash_bytes",
            clears_itself=True,
            steps=("Raise the limits of the store before it declines removals.",),
        ),
        Rule(
            key="store_unavailable",
            severity=WARNING,
            one="The store did not answer in time",
            many="The store did not answer in time, {n} times",
            means="Originals could not be made durable, so nothing new was removed meanwhile.",
            field="store.commit_timeouts",
            clears_itself=True,
            steps=(
                "commit_timeouts in /stats of each node says which one it is.",
                "Look at the disk of that node: its latency, its free space, its errors.",
            ),
        ),
        Rule(
            key="never_minted_rate",
            severity=WARNING,
            one="Models ask for ids that were never written",
            many="Models ask for ids that were never written",
            means="More than 1 % of the recovery calls name an id that no marker here ever had.",
            field="expand_unresolved_never_minted",
            clears_itself=True,
            steps=(
                "Nothing was lost. A model invents ids, or a conversation came from elsewhere.",
            ),
        ),
        Rule(
            key="frozen_flips",
            severity=WARNING,
            one="1 earlier decision was dropped",
            many="{n} earlier decisions were dropped",
            means="A message that was compacted before went out verbatim: its prefix is rewritten.",
            field="frozen_flips",
            clears_itself=True,
            steps=("Raise `store.max_sessions` or keep sessions longer.",),
        ),
        Rule(
            key="rewrite_failures",
            severity=WARNING,
            one="1 request went out unshaped after a fault of ours",
            many="{n} requests went out unshaped after a fault of ours",
            means="Shaping a request raised an error; it was sent as it came, and was answered.",
            field="rewrite_failures",
            clears_itself=True,
            steps=("The log of the node has the traceback: look for cg.rewrite_failed.",),
        ),
        Rule(
            key="usage_unparsed",
            severity=WARNING,
            one="The usage of 1 answer could not be read",
            many="The usage of {n} answers could not be read",
            means="A provider reported usage in a form that is not known; its cost is unknown.",
            field="usage_unparsed, usage_unreadable",
            clears_itself=True,
            steps=("Money on these pages is a lower bound until the form is supported.",),
        ),
        Rule(
            key="price_missing",
            severity=INFO,
            one="1 request of a model without a price",
            many="{n} requests of models without a price",
            means="Their cost is unknown, and what is shown as spent is a lower bound.",
            field="unpriced_requests",
            clears_itself=True,
            steps=(
                "Requests, filtered by Cost: no price, names the models. Add them to the card.",
            ),
        ),
        Rule(
            key="adjudicate_stray",
            severity=INFO,
            one="1 call of our own tool that nobody had offered",
            many="{n} calls of our own tool that nobody had offered",
            means="A model called context_guru_adjudicate outside an ask; the call was answered.",
            field="adjudicate_stray",
            clears_itself=True,
            steps=("Nothing was lost. Above 1 % of the requests, look which model does it.",),
        ),
        *(_of_ending(ending) for ending in ENDINGS if ending.alert),
        Rule(
            key="error_rate",
            severity=WARNING,
            one="Providers fail",
            many="Providers fail",
            means="More than 10 % of the requests of the last 5 minutes ended with an error.",
            field="outcome_error",
            clears_itself=True,
            steps=(
                "Open the requests that failed: status and the provider's error name the cause.",
            ),
        ),
        Rule(
            key="refusal_rate",
            severity=WARNING,
            one="Requests are refused",
            many="Requests are refused",
            means="More than 10 % of the requests of the last 15 minutes got an error of ours.",
            field="refused",
            clears_itself=True,
            steps=("The reasons are on the Overview and in cg_refused_requests_total.",),
        ),
        Rule(
            key="node_nack",
            severity=CRITICAL,
            one="A node refused a configuration",
            many="A node refused a configuration",
            means="The node goes on with the version before; the new one is not in force there.",
            field="config_nacks",
            clears_itself=True,
            steps=(
                "Read the problem below and save a version without it; the node asks by itself.",
            ),
        ),
        Rule(
            key="node_offline",
            severity=WARNING,
            one="A node is silent",
            many="A node is silent",
            means="Nothing was heard of it for a minute: loss counters there are unknown.",
            field="last contact",
            clears_itself=True,
            steps=("Look at the process. Agents that reach it are still served.",),
        ),
        Rule(
            key="node_skew",
            severity=WARNING,
            one="The clock of a node is wrong",
            many="The clock of a node is wrong",
            means="It differs from ours by more than 30 seconds; its figures are placed by ours.",
            field="skew_ms",
            clears_itself=True,
            steps=("Let the host synchronise its clock: leases and cache lifetimes depend on it.",),
        ),
        Rule(
            key="telemetry_gap",
            severity=WARNING,
            one="Reports of a node are missing",
            many="Reports of a node are missing",
            means="A batch never arrived, so figures of that time are a lower bound.",
            field="batch numbers",
            clears_itself=True,
            steps=("Totals of the node itself (/stats) are complete.",),
        ),
        Rule(
            key="telemetry_dropped",
            severity=WARNING,
            one="1 report was dropped",
            many="{n} reports were dropped",
            means="The queue of reports was full; no request waited for it, some rows are missing.",
            field="telemetry_dropped",
            clears_itself=True,
            steps=("Look at the telemetry database: it is slow, locked or full.",),
        ),
        Rule(
            key="telemetry_refused",
            severity=WARNING,
            one="1 part of a report could not be stored",
            many="{n} parts of reports could not be stored",
            means="A value was past what any database holds; the rest of the report was stored.",
            field="telemetry_refused",
            clears_itself=True,
            steps=("The line telemetry.rows_refused of the log names the node and why.",),
        ),
        Rule(
            key="disk_high",
            severity=WARNING,
            one="A disk is nearly full",
            many="A disk is nearly full",
            means="Past 90 % the store declines removals and retention deletes early.",
            field="store.disk_used_ratio",
            clears_itself=True,
            steps=("Free space, or move the data directory.",),
        ),
        Rule(
            key="job_late",
            severity=WARNING,
            one="A job is late",
            many="A job is late",
            means="It missed three of its turns, so what it keeps up to date is old.",
            field="job runs",
            clears_itself=True,
            steps=("System shows its last error. With Celery: look whether a worker runs.",),
        ),
        Rule(
            key="channel_disabled",
            severity=WARNING,
            one="A notification channel is switched off",
            many="A notification channel is switched off",
            means="50 deliveries in a row failed, so nothing more is sent there.",
            field="channel failures",
            steps=("Correct its address, send a test, and switch it on again.",),
        ),
    )
}


def headline(rule: str, number: int, subject: str = "", node: str = "") -> str:
    """What happened, in one clause; an unknown rule of a newer release is shown by its key."""
    known = RULES.get(rule)
    if known is None:
        return rule
    said = (known.one if number == 1 else known.many).format(n=f"{number:,}")
    about = f": {subject}" if subject else ""
    return f"{said}{about}{f' on {node}' if node else ''}"
