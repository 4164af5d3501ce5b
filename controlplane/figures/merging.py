"""Statistics of several tenants as one, for a person who may see some tenants and not all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from controlplane.figures.stats import Stats, all_requests

# Facts about the node, the same for each of its tenants.
NOT_ADDED = frozenset(
    {"uptime_s", "staleness_s", "inflight", "stash_capacity", "stash_max_bytes", "version", "epoch"}
    | {"llm_call_timeout_ms", "summarize_call_timeout_ms", "agentdiet_call_timeout_ms"}
)
NOT_ADDABLE = ("_avg", "_pct", "_ratio", "_p50", "_p99")


def merged(several: Iterable[Stats]) -> Stats:
    """Counters add, means are left out, and one unpriced tenant makes the dollars unknown.

    A tenant without a request has nothing to be priced, so it does not take part.
    """
    found = list(several)
    total: Stats = {}
    for stats in [stats for stats in found if all_requests(stats)] or found[:1]:
        total = _added(total, stats)
    return total


def _added(total: Stats, more: Stats) -> Stats:
    keys = [key for key in {**total, **more} if not _is_derived(key)]
    return {
        key: _sum(key, total[key], more[key])
        if key in total and key in more
        else total.get(key, more.get(key))
        for key in keys
    }


def _is_derived(key: str) -> bool:
    return any(mark in key for mark in NOT_ADDABLE)


def _sum(key: str, left: object, right: object) -> object:
    if key in NOT_ADDED or isinstance(left, bool):
        return left
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _added(left, right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right
    if key.endswith("_usd"):
        return _dollars(left, right)
    return left


def _dollars(left: object, right: object) -> str | None:
    if isinstance(left, str) and isinstance(right, str):
        return str(Decimal(left) + Decimal(right))
    return None
