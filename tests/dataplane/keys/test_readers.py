"""No key without a reader: whatever a document may say changes something, or is named.

A key is tied to its reader by a witness: two documents that differ in it alone, and a probe, which
runs what a node runs, that must tell them apart. A mention in the code proves nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from dataplane.core.components import components
from dataplane.core.config.registry import leaves, registry
from tests.dataplane.keys.probes import (
    asked_back,
    cold,
    components_in_force,
    kept_alive,
    observed,
    sent,
    stored,
    warm,
    without_tools,
)

Document = Mapping[str, Any]
ABSENT = object()


MASK: Document = MappingProxyType({"pipeline": ["mask"]})


class Witness(NamedTuple):
    """values: two of the key, ABSENT to leave it out. document: the rest of it."""

    probe: Callable[[Document], object]
    values: tuple[Any, Any]
    document: Document = MASK


def only(component: str, **keys: Any) -> Document:
    return {"pipeline": [component], "components": {component: keys}}


ELSEWHERE = {  # said where the whole gateway is needed
    "cache.keepalive": "tests/dataplane/gateway_cases/test_keepalive.py",
}
WITNESSES: dict[str, Witness] = {
    "preset": Witness(components_in_force, ("cache", ABSENT), {}),
    "pipeline": Witness(sent, (["mask"], ["collapse"]), {}),
    "store.enabled": Witness(stored, (True, False), only("mask", marker_mode="off")),
    "store.backend": Witness(stored, ("memory", "sqlite")),
    "store.ttl_seconds": Witness(stored, (60, 5000), {"store": {"backend": "memory"}}),
    "store.max_entries": Witness(stored, (16, 200)),
    "store.max_sessions": Witness(stored, (3, 100)),
    "store.stash_ttl_seconds": Witness(stored, (60, 5000)),
    "store.stash_max_bytes": Witness(stored, (4096, 1 << 20)),
    "mode": Witness(sent, ("sync", "observe")),
    "observe.max_queue": Witness(observed, (1, 9), {"mode": "observe"}),
    "observe.workers": Witness(observed, (1, 3), {"mode": "observe"}),
    "cache.mode": Witness(warm, ("auto", "off")),
    "cache.keepalive_idle_seconds": Witness(kept_alive, (0, 280)),
    "cache.keepalive_max_pings": Witness(kept_alive, (0, 2)),
    "cache.keepalive_min_prefix_tokens": Witness(kept_alive, (20_000, 40_000)),
    "cache.keepalive_max_usd_per_ping": Witness(kept_alive, (0.001, 0.25)),
    "inject_expand": Witness(sent, ("auto", "never")),
    "recovery_require_path": Witness(without_tools, (True, False)),
    "recovery.sharing": Witness(asked_back, ("key", "tenant")),
    "recovery.keep_verbatim": Witness(asked_back, ("session", "tenant")),
    "force_model": Witness(sent, ("claude-opus-5", ABSENT)),
    "components.collapse.max_tokens": Witness(sent, (100, 9000), only("collapse")),
    "components.collapse.max_frac": Witness(sent, (0.001, 0.9), only("collapse")),
    "components.collapse.head_lines": Witness(sent, (3, 4), only("collapse")),
    "components.collapse.tail_lines": Witness(sent, (3, 4), only("collapse")),
    "components.collapse.marker_mode": Witness(sent, ("full", "off"), only("collapse")),
    "components.collapse.cold_cache": Witness(cold, (True, False), only("collapse")),
    "components.dedup.min_tokens": Witness(sent, (100, 90_000), only("dedup")),
    "components.dedup.marker_mode": Witness(sent, ("full", "summary"), only("dedup")),
    "components.format.min_tokens": Witness(sent, (50, 90_000), only("format")),
    "components.mask.keep_recent": Witness(sent, (1, 6), only("mask")),
    "components.mask.min_tokens": Witness(sent, (10, 900), only("mask")),
    "components.mask.keep_head_chars": Witness(sent, (20, 40), only("mask")),
    "components.mask.marker_mode": Witness(sent, ("full", "off"), only("mask")),
    "components.mask.cold_cache": Witness(cold, (True, False), only("mask")),
}


def with_key(document: Document, dotted: str, value: Any) -> Document:
    changed = copy.deepcopy(dict(document))
    block, (*steps, name) = changed, dotted.split(".")
    for step in steps:
        block = block.setdefault(step, {})
    if value is not ABSENT:
        block[name] = value
    return changed


def test_every_key_has_a_witness_or_is_named_as_not_in_effect() -> None:
    """A key that is new, or whose component this build learned to run, is missing here at first."""
    obeyed = {".".join(map(str, p)) for p, key in leaves(registry(components())) if not key.lacks}

    assert obeyed == WITNESSES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("dotted", WITNESSES)
def test_a_document_that_differs_in_one_key_does_something_else(dotted: str) -> None:
    probe, values, document = WITNESSES[dotted]

    one, other = (probe(with_key(document, dotted, value)) for value in values)

    assert one != other


@pytest.mark.parametrize("dotted", WITNESSES)
def test_what_tells_them_apart_is_the_key_and_not_chance(dotted: str) -> None:
    probe, (value, _), document = WITNESSES[dotted]

    one, again = (probe(with_key(document, dotted, value)) for _ in range(2))

    assert one == again


def test_a_key_that_nobody_reads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind that this is about: the reader is there, and what it reads never arrives."""
    monkeypatch.setattr("dataplane.core.prices.money.PriceCard.window", lambda *_, **__: 0)
    dotted = "components.collapse.max_frac"
    probe, values, document = WITNESSES[dotted]

    one, other = (probe(with_key(document, dotted, value)) for value in values)

    assert one == other
