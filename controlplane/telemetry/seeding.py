"""Invented telemetry in bulk, so that pages can be tried at the size of a busy deployment.

Every figure follows from the number of a request, so that two seeded databases are alike and
the rows add up to the buckets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, Model

from controlplane.databases import TELEMETRY
from controlplane.telemetry.inserting import Row, blank, insert
from controlplane.telemetry.models import (
    ComponentBucket,
    NodeStream,
    RequestRecord,
    SessionRecord,
    SignalBucket,
    TrafficBucket,
)
from controlplane.telemetry.resolutions import KEPT_S, bucket_of
from controlplane.telemetry.runs import packed
from dataplane.core.spread import slot_of
from dataplane.core.uplink import ComponentRow

CHUNK = 10_000
NODE = "seeded"
MODELS = ("claude-sonnet-5", "claude-unlisted-77")
GATES = ("cached_prefix", "below_min_tokens", "within_keep_recent")
TURNS = 5
SUMS = (
    "tokens_before", "tokens_after", "attempted_tokens", "saved_unique", "fresh_input",
    "cache_read", "cache_write", "output",
)  # fmt: skip
NANO_PER_OUTPUT = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """until: ms; the requests are spread evenly over the span_s seconds before it.

    runs: the newest requests that say what each component did. tenants: uids.
    """

    requests: int
    tenants: Sequence[str]
    components: Sequence[str]
    until: int
    span_s: int = 86_400
    runs: int = 20_000

    def at(self, number: int) -> int:
        return self.until - self.span_s * 1000 + number * self.span_s * 1000 // self.requests

    def tenant(self, number: int) -> str:
        return self.tenants[number // TURNS % len(self.tenants)]


def seed(plan: Plan) -> None:
    """Add the rows and the buckets of that many requests."""
    first = (RequestRecord.objects.aggregate(pk=Max("pk"))["pk"] or 0) + 1
    for start in range(0, plan.requests, CHUNK):
        numbers = range(start, min(start + CHUNK, plan.requests))
        with transaction.atomic(using=TELEMETRY):
            _insert(RequestRecord, [_request(plan, first, number) for number in numbers])
            _insert(SessionRecord, list(_sessions(plan, first, numbers)))
    for table, rows in _buckets(plan):
        with transaction.atomic(using=TELEMETRY):
            _insert(table, rows)
    _stream(plan, first)


def _insert(table: type[Model], rows: Sequence[Row]) -> None:
    """What a later column holds that nothing is invented for is its default."""
    default = blank(table)
    insert(table, [{**default, **row} for row in rows])


def _tokens(number: int) -> dict[str, int]:
    before = 8_000 + number * 37 % 9_000
    saved = before * (number % 40) // 100
    return {
        "tokens_before": before,
        "tokens_after": before - saved,
        "attempted_tokens": before // 2,
        "saved_unique": saved // 10,
        "fresh_input": 200 + number % 300,
        "cache_read": before - saved - 800,
        "cache_write": 400 + number % 200,
        "output": 100 + number % 400,
    }


def _is_priced(number: int) -> bool:
    return number % 100 != 0


# What all seeded requests have in common: the columns of RequestRecord that nothing is told by.
ALIKE: dict[str, Any] = {
    "thread": "",
    "node_id": NODE,
    "route": "messages",
    "provider": "anthropic",
    "effective_hash": "",
    "variant": "",
    "arm": "base",
    "origin": "agent",
    "status": 200,
    "outcome": "ok",
    "error_code": "",
    "bypassed": "",
    "cache_phase": "warm",
    "pristine_resend": "",
    "streamed": True,
    "sse_buffered": False,
    "compacted": False,
    "rewrite_failed": False,
    "ending": "",
    "rounds": 1,
    "reverts": 0,
    "shaped": True,
    "cache_write_1h": 0,
    "usage_miss": "",
    "priced_by": "",
    "first_byte_ms": 20,
    "serve_ms": 1_500,
    "expands": 0,
    "expand_tokens": 0,
    "expand_missing": 0,
    "expand_malformed": 0,
    "recoveries": "[]",
    "captured": False,
    "texts_left_out": 0,
}


def _request(plan: Plan, first: int, number: int) -> Row:
    tokens, at = _tokens(number), plan.at(number)
    is_priced = _is_priced(number)
    return {
        **ALIKE,
        **tokens,
        "id": first + number,
        "uid": f"req_{first + number:026}",
        "at": at,
        "node_at": at,
        "tenant_uid": plan.tenant(number),
        "session_uid": _session(first, number),
        "turn": number % TURNS + 1,
        "boot_id": f"{NODE}-{first}",
        "model": MODELS[0] if is_priced else MODELS[1],
        "cost_usd": tokens["output"] * NANO_PER_OUTPUT if is_priced else None,
        "saved_usd": 0 if is_priced else None,
        "accounting": "complete" if is_priced else "partial",
        "added_ms": 1 + number % 20,
        "upstream_ms": 300 + number % 900,
        "runs": packed(_runs(plan, number)),
    }


def _session(first: int, number: int) -> str:
    return f"seed-{first}-{number // TURNS}"


def _sessions(plan: Plan, first: int, numbers: range) -> Iterator[Row]:
    """CHUNK is a multiple of TURNS, so that no session lies in two chunks."""
    for start in range(numbers.start, numbers.stop, TURNS):
        own = range(start, min(start + TURNS, numbers.stop))
        tokens = [_tokens(number) for number in own]
        priced = [each for each, n in zip(tokens, own, strict=True) if _is_priced(n)]
        yield {
            "tenant_uid": plan.tenant(start),
            "session_uid": _session(first, start),
            "model_names": MODELS[0],
            "arm": "base",
            "effective_hash_first": "",
            "effective_hash_last": "",
            "first_at": plan.at(own[0]),
            "last_at": plan.at(own[-1]),
            "requests": len(own),
            **{name: sum(each[name] for each in tokens) for name in SUMS},
            "cache_write_1h": 0,
            "cost_usd": sum(each["output"] for each in priced) * NANO_PER_OUTPUT,
            "saved_usd": 0,
            "priced": len(priced),
            "unpriced": len(own) - len(priced),
            "errors": 0,
            "expands": 0,
            "expand_missing": 0,
            "expand_malformed": 0,
        }


def _gates(number: int) -> dict[str, int]:
    return {GATES[number % len(GATES)]: 1 + number % 5}


def _runs(plan: Plan, number: int) -> Iterator[ComponentRow]:
    if number < plan.requests - plan.runs:
        return
    for position, component in enumerate(plan.components):
        acts = (number + position) % 3 == 0
        yield ComponentRow(
            component,
            "offload",
            acted=acts,
            acted_replay=acts and number % 2 == 0,
            mutated=acts,
            skipped=not acts,
            saved=50 if acts else 0,
            saved_unique=5 if acts else 0,
            duration_ms=0.3,
            gates=_gates(number + position),
        )


def _buckets(plan: Plan) -> Iterator[tuple[type[Model], list[Row]]]:
    for resolution_s, kept_s in KEPT_S.items():
        oldest = max(0, plan.requests - plan.requests * kept_s // plan.span_s)
        traffic: dict[tuple[str, int], dict[str, int]] = {}
        for number in range(oldest, plan.requests):
            place = plan.tenant(number), bucket_of(plan.at(number), resolution_s)
            _count(
                traffic.setdefault(place, dict.fromkeys((*SUMS, "n", "cost", "priced"), 0)), number
            )
        places = traffic.items()
        yield TrafficBucket, [_traffic(resolution_s, place, sums) for place, sums in places]
        yield (
            ComponentBucket,
            [
                {**_place(resolution_s, place), "component": name, **_component(sums)}
                for place, sums in places
                for name in plan.components
            ],
        )
        yield (
            SignalBucket,
            [
                {
                    **_place(resolution_s, place),
                    "component": name,
                    "signal": gate,
                    "kind": "gate",
                    "n": sums["n"] * 3,
                    "requests": sums["n"],
                }
                for place, sums in places
                for name in plan.components
                for gate in GATES
            ],
        )


def _count(sums: dict[str, int], number: int) -> None:
    tokens = _tokens(number)
    for name in SUMS:
        sums[name] += tokens[name]
    sums["n"] += 1
    if _is_priced(number):
        sums["priced"] += 1
        sums["cost"] += tokens["output"] * NANO_PER_OUTPUT


def _place(resolution_s: int, place: tuple[str, int]) -> dict[str, Any]:
    tenant, at = place
    return {"resolution_s": resolution_s, "bucket_at": at, "tenant_uid": tenant, "arm": "base"}


def _traffic(resolution_s: int, place: tuple[str, int], sums: dict[str, int]) -> Row:
    absent = (
        "errors", "cache_write_1h", "expands", "expand_tokens", "expand_missing",
        "expand_malformed", "stash_refused", "stash_missing", "refused",
    )  # fmt: skip
    return {
        **_place(resolution_s, place),
        **{name: sums[name] for name in SUMS},
        **dict.fromkeys(absent, 0),
        "requests": sums["n"],
        "shaped": sums["n"],
        "sessions": sums["n"] // TURNS,
        "cost_usd": sums["cost"],
        **dict.fromkeys(("saved_usd", "pings_usd", "rescued_usd"), 0),
        "priced": sums["priced"],
        "unpriced": sums["n"] - sums["priced"],
        "counts": "{}",
        "added_spread": json.dumps({slot_of(5.0): sums["n"]}),
        "upstream_spread": json.dumps({slot_of(600.0): sums["n"]}),
    }


def _component(sums: dict[str, int]) -> dict[str, Any]:
    acted = sums["n"] // 3
    return {
        "runs": sums["n"],
        "acted": acted,
        "acted_fresh": acted // 2,
        "acted_replay": acted - acted // 2,
        "mutated": acted,
        "reverted": 0,
        "discarded": 0,
        "saved_gross": acted * 50,
        "saved_unique": acted * 5,
        "duration_us": sums["n"] * 300,
        "spread": json.dumps({slot_of(0.3): sums["n"]}),
    }


def _stream(plan: Plan, first: int) -> None:
    NodeStream.objects.create(
        node_id=NODE,
        boot_id=f"{NODE}-{first}",
        seq=1,
        batches=1,
        rows=plan.requests,
        requests=plan.requests,
        claimed=plan.requests,
        first_at=plan.at(0),
        last_at=plan.until,
    )
