"""A running node that answers with given statistics, by tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dataplane.core.effects import Found, Recalled
from dataplane.settings import Settings

NOTHING: dict[str, Any] = {
    "requests": 0,
    "all_requests": 0,
    "bounces": 0,
    "components": {},
    "bypassed": {},
    "billed_usd": None,
    "expand_unresolved_missing": 0,
    "stash_missing": 0,
    "stash_refused": 0,
    "uptime_s": 40,
    "node": "node-a",
    "snapshot": {"version": 12, "hash": "sha256:98a7c5d2e1f00aa"},
}


MASK: dict[str, Any] = {
    "runs": 16_204,
    "acted": 9_120,
    "acted_fresh": 1_220,
    "acted_replay": 7_900,
    "reverted": 2,
    "saved_tokens": 180_000_000,
    "saved_tokens_unique": 12_100_000,
    "duration_ms": 51_852.8,
    "verdict": "acted",
    "gates": {"cached_prefix": 12_030, "below_min_tokens": 40_213},
    "events": {"sweep_dropped": 7},
}


def busy(**changed: Any) -> dict[str, Any]:
    """Statistics of a node that has seen traffic, in the shape of 03 §6.1."""
    return NOTHING | {
        "requests": 16_204,
        "all_requests": 18_402,
        "tokens_before": 1_440_000_000,
        "tokens_after": 1_213_000_000,
        "saved_tokens": 227_000_000,
        "saved_tokens_unique": 17_400_000,
        "bounces": 214,
        "wasted_tokens": 500_000,
        "adjusted_saved": 226_500_000,
        "components": {"mask": MASK},
        "bypassed": {"observe": 2_073, "unparseable": 7},
        "fresh_input_tokens": 21_400_000,
        "cache_read_tokens": 1_089_900_000,
        "cache_write_tokens": 96_800_000,
        "cache_write_1h_tokens": 8_200_000,
        "output_tokens": 9_600_000,
        "billed_usd": "611.28",
        "llm_calls": 0,
        "cg_added_ms_avg": 11.2,
        "sse_streamed": 16_950,
        "sse_ttfb_ms_avg": 1_100.0,
        "sse_buffered": 0,
        **changed,
    }


class FakeNode:
    """What fleet.running asks of a node. whole: of all tenants; one: by the tenant's uid."""

    def __init__(self, whole: dict[str, Any], **one: dict[str, Any]) -> None:
        self._whole = whole
        self._one = one
        self.settings = Settings(Path("var/state"))
        self.originals: dict[tuple[str, str, str], bytes] = {}

    def stats(self, tenant: str | None) -> dict[str, Any]:
        return self._whole if tenant is None else self._one.get(tenant, NOTHING)

    def original(self, tenant: str, session: str, marker_id: str) -> Recalled:
        """Held originals by tenant, session and marker."""
        held = self.originals.get((tenant, session, marker_id))
        return Recalled(Found.RESOLVED, held) if held is not None else Recalled(Found.NEVER_MINTED)
