"""What the Overview lists beside its tiles, as rows ready to print (04 §5.1).

A key that is absent from the statistics was not observed and is shown as a word. Templates only
place what is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.figures import numerals
from controlplane.figures.numerals import NO_DATA, UNKNOWN, Figure
from controlplane.figures.stats import Stats, all_requests, amount, part, real, whole
from controlplane.telemetry.queries import Traffic


@dataclass(frozen=True, slots=True)
class TierRow:
    name: str
    tokens: Figure
    share: Figure
    width: str


@dataclass(frozen=True, slots=True)
class ReasonRow:
    name: str
    requests: Figure
    share: Figure
    width: str


@dataclass(frozen=True, slots=True)
class LatencyRow:
    name: str
    mean: Figure
    observed: str


NOT_MEASURED = ("observe_dropped", "observe_abandoned", "observe_errors")


def projection(stats: Stats) -> str:
    """What mode sync would have saved, where requests were only observed; "" where none was.

    What found no room in the queue, was given up or failed was sent and not measured: the figures
    are lower bounds then.
    """
    observed, saved = whole(stats, "observe_hypothetical_requests"), "potential_saved_tokens"
    missed = sum(whole(stats, name) or 0 for name in NOT_MEASURED)
    if not observed:
        lost = f"mode observe: {numerals.plural(missed, 'request')} could not be measured"
        return lost if missed else ""
    share = numerals.share(whole(stats, saved), whole(stats, "actual_baseline_tokens"))
    saved_words = (
        f"mode observe: {numerals.plural(observed, 'request')} measured and sent unchanged; "
        f"sync would have left out {'at least ' if missed else ''}"
        f"{numerals.count(whole(stats, saved))} tokens ({share})"
    )
    if not missed:
        return saved_words
    return f"{saved_words}; {numerals.plural(missed, 'more request')} could not be measured"


def tiers(stats: Stats) -> tuple[tuple[str, int | None], ...]:
    """The billed tiers by name; a write for an hour is part of all writes, so it is taken off."""
    write, hour = whole(stats, "cache_write_tokens"), whole(stats, "cache_write_1h_tokens")
    short = write - hour if write is not None and hour is not None else write
    return (
        ("Fresh input", whole(stats, "fresh_input_tokens")),
        ("Cache read", whole(stats, "cache_read_tokens")),
        ("Cache write, 5 min", short),
        ("Cache write, 1 h", hour),
        ("Output", whole(stats, "output_tokens")),
    )


def billed_tiers(stats: Stats) -> tuple[TierRow, ...]:
    """What the providers reported, by billed tier, over all rounds of a request."""
    known = tiers(stats)
    total = sum(tokens or 0 for _, tokens in known)
    return tuple(
        TierRow(
            name,
            numerals.count(tokens),
            numerals.share(tokens, total),
            numerals.per_hundred(tokens, total),
        )
        for name, tokens in known
    )


def billed_total(stats: Stats) -> Figure:
    known = [tokens for _, tokens in tiers(stats) if tokens is not None]
    return numerals.count(sum(known)) if known else NO_DATA


def billed_cost(stats: Stats) -> Figure:
    """Dollars for the billed tokens: unknown when a model has no price, no data without usage."""
    if not any(tokens for _, tokens in tiers(stats)):
        return NO_DATA
    return numerals.usd(amount(stats, "billed_usd"))


BYPASSES = {
    "header": "Bypassed by header",
    "kill_switch": "Stopped by the kill switch",
    "agent_compaction": "The agent summarises its own history",
    "encoded_request": "Body arrived compressed",
    "server_history": "History is held by the provider",
    "no_messages": "No messages in the body",
    "unparseable": "Body could not be read",
    "observe": "Tenant in observe mode",
    "rewrite_failed": "A fault of ours: the original was sent",
}


def not_compacted(stats: Stats) -> tuple[ReasonRow, ...]:
    """Why requests went through untouched, the commonest reason first; shares are of all."""
    reasons, every = part(stats, "bypassed"), all_requests(stats)
    counted = [(name, whole(reasons, name) or 0) for name in reasons]
    return tuple(
        ReasonRow(
            BYPASSES.get(name, name.replace("_", " ")),
            numerals.count(requests),
            numerals.share(requests, every),
            numerals.per_hundred(requests, every),
        )
        for name, requests in sorted(counted, key=lambda pair: (-pair[1], pair[0]))
        if requests
    )


def latency(stats: Stats) -> tuple[LatencyRow, ...]:
    """Mean times of streams; streamed and buffered answers are never averaged together."""
    return tuple(
        _latency(name, real(stats, mean), whole(stats, observed))
        for name, mean, observed in (
            ("First byte, streamed", "sse_ttfb_ms_avg", "sse_streamed"),
            ("Last byte, buffered", "sse_ttfb_ms_buffered_avg", "sse_buffered"),
        )
    )


def _latency(name: str, mean_ms: float | None, observed: int | None) -> LatencyRow:
    """A mean over nothing is no data; one that cannot be told from its parts is unknown."""
    if not observed:
        return LatencyRow(name, NO_DATA, str(numerals.count(observed)))
    mean = UNKNOWN if mean_ms is None else numerals.duration(mean_ms)
    return LatencyRow(name, mean, str(numerals.count(observed)))


CHOOSE_TENANT = "choose a tenant above to see which"


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence about the running node: text is the figure in it, rest what follows."""

    key: str
    title: str
    text: str
    rest: str
    sub: str


def running(node: Stats, stats: Stats, reporting: tuple[int, int]) -> tuple[Fact, ...]:
    """The nodes, what the one in this process serves from, and how decisions are remembered.

    node: the memory of that node; empty without one. reporting: how many nodes, and of how many.
    """
    replayed, flips = whole(stats, "frozen_hits"), whole(stats, "frozen_flips")
    heard, known = reporting
    return (
        Fact("node", "Nodes", f"{heard} of {known}", "report", _node(node)),
        _snapshot(part(node, "snapshot")),
        Fact(
            "replay",
            "Decisions replayed",
            str(numerals.count(replayed)),
            "" if replayed is None else "the same bytes as on earlier turns",
            "" if flips is None else f"{numerals.count(flips)} changed after being sent",
        ),
    )


def _node(stats: Stats) -> str:
    """The one in this process; others are on the page of nodes."""
    seconds, name = real(stats, "uptime_s"), stats.get("node")
    if name is None:
        return "none in this process"
    started = "" if seconds is None else f"started {numerals.span(seconds)} ago"
    return ", ".join(filter(None, (str(name or ""), started)))


@dataclass(frozen=True, slots=True)
class WithinRow:
    """Within which time half of the requests were done, and 95 %."""

    name: str
    half: Figure
    most: Figure
    observed: str


def within(traffic: Traffic) -> tuple[WithinRow, ...]:
    """The bounds of the slots that durations were counted in."""
    return tuple(
        WithinRow(
            name,
            numerals.duration(found.half_ms),
            numerals.duration(found.most_ms),
            str(numerals.count(found.n)),
        )
        for name, found in (
            ("Added by Headrace", traffic.added),
            ("Provider, until it answers", traffic.upstream),
        )
    )


def _snapshot(snapshot: Stats) -> Fact:
    version = whole(snapshot, "version")
    if version is None:
        return Fact("snapshot", "Configuration", "One version", "for each tenant", CHOOSE_TENANT)
    digest = str(snapshot.get("hash") or "").removeprefix("sha256:")[:12]
    sub = f"hash {digest}" if digest else ""
    return Fact("snapshot", "Configuration", f"Version {version}", "is served", sub)


def uptime(stats: Stats) -> str:
    seconds = real(stats, "uptime_s")
    if seconds is None:
        return "The node does not say since when it counts."
    return f"Started {numerals.span(seconds)} ago; counters began at zero then."
