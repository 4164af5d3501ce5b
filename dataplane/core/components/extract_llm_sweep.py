"""extract_llm_sweep: ask the request's own model which outputs are spent, and remove those.

The names of gates and events are a contract: alert rules are written against them.
Source: 02-sweep-and-ledger.md 10 and 12, 04-controlplane-and-dashboard.md 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Literal

import msgspec

from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, Refusal, Remark, key
from dataplane.core.port.gates import (
    BELOW_OUTPUT_FLOOR,
    EMPTY_OR_MARKER_PRESENT,
    KEPT_VERBATIM_AFTER_EXPAND,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Event, Gate

MAX_INVENTORY = 24
_ADVISED_INVENTORY = 10
_ADVISED_PRESSURE = 0.30
_ADVISED_EXPIRY_S = 120
_ADVISED_RECHECK = 8
_GATES = {
    "sweep_kept": "Judged needed.",
    "sweep_drop_refused_obligation": "A drop that itself names something still owed.",
    "sweep_quote_fabricated": "The verdict cites a text that the transcript does not hold.",
    "sweep_criterion_missing": "The verdict does not say what the output is needed by.",
    "sweep_verdict_unusable": "The verdict is neither keep nor drop.",
    "sweep_verdict_missing": "Shown, and not answered.",
    "sweep_verdict_unknown_label": "An answer about nothing that was shown.",
    "sweep_verdict_duplicate_label": "A second answer for the same output.",
    "sweep_unparseable": "The answer could not be read.",
    "sweep_reply_truncated": "The answer filled its limit, so its end is missing.",
    "sweep_kept_everything": "Everything that was shown is needed.",
    "sweep_fallback_kept_everything": "The same, asked without the cached prefix.",
    "sweep_drop_would_not_shrink": "The marker would be larger than the output.",
    "sweep_drop_stash_refused": "The store did not keep the original, so the output stays.",
    "drop_unaffordable_pruned": "Dropping this one would cost more than it saves.",
    "sweep_inventory_below_min": "Fewer candidates than min_inventory; counted in candidates.",
    "sweep_over_ask_cap": "More candidates than one ask takes.",
    "sweep_candidate_too_new": "Fewer turns behind it than min_later_turns.",
    "sweep_keep_still_held": "Judged needed less than keep_recheck_turns ago.",
    "sweep_candidate_not_in_prefix": "Not part of the body that the ask is put behind.",
    "not_in_pre_expiry_window": "The cache is not about to expire; counted when econ acts too.",
    "sweep_below_min_pressure": "The window is filled less than min_pressure.",
    "prefix_rewrite_not_repaid": "Writing the prefix again would not be paid back.",
    "econ_ask_not_repaid": "The price of the ask would not be paid back.",
    "econ_window_unknown": "The model's window is not known, so it cannot be priced.",
    "econ_rate_card_incomplete": "The model's prices are not known, so it cannot be priced.",
    "sweep_prefix_cache_read_ZERO": "The ask read nothing from the cache and paid fresh price.",
    "sweep_prefix_cache_write": "The ask wrote the prefix again, at 1.25 times the price.",
    "sweep_no_prefix": "No sent body is stored for this session.",
    "sweep_no_asker": "This route cannot ask behind a sent body.",
    "sweep_stale_prefix": "The stored body is not the beginning of this request.",
    "sweep_prefix_unusable": "The stored body does not declare the tool, or forces another.",
    "sweep_ask_failed": "The provider could not be asked.",
    "sweep_fallback_blocked": "Asking without the cached prefix is not allowed here.",
    "sweep_fallback_failed": "Asking without the cached prefix failed.",
    "sweep_fallback_no_model": "There is no model to ask without the cached prefix.",
    "sweep_ask_shed": "Too many asks at once.",
    "sweep_budget_exhausted": "The asks of today have used up their budget.",
}
_EVENTS = {
    "sweep_asks": "An ask was made.",
    "sweep_offered": "A candidate was assembled.",
    "sweep_adjudicated": "A candidate was shown and the answer came.",
    "sweep_dropped": "A vote to drop was accepted.",
    "sweep_drop_applied": "An output was removed from the request.",
    "sweep_answered_via_tool": "The answer came as a tool call.",
    "sweep_answered_via_prose": "The answer came as text.",
    "reapplied_same_session": "An earlier drop was put in place again.",
    "sweep_candidate_at_depth": "A candidate lay inside the cached prefix.",
    "sweep_inventory_of_one": "One candidate alone was asked about.",
    "sweep_inventory_empty": "A request had no candidate.",
    "evidence_no_index_record": "The index knows nothing about a candidate.",
    "prefix_rewrite_repaid": "The economic trigger acted.",
    "econ_horizon_zero": "No turn is left in which a drop could pay.",
    "econ_probe_optimistic": "An ask was made to learn its yield.",
    "econ_probe_heartbeat": "An ask was made because none had been for long.",
    "sweep_prefix_cache_read_ok": "The ask read the prefix from the cache.",
    "sweep_fallback_used": "An ask was made without the cached prefix.",
    "sweep_paid_reply_discarded": "An answer that was paid for could not be used.",
    "sweep_ttl_downgraded": "The cache lives shorter than was asked for.",
}
_ALERTS = {
    "sweep_inventory_thinned": "Candidates were removed by a filter that must not exist.",
    "ledger_unavailable": "The ledger could not be read; priors were used.",
}


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output that is asked about.", unit="tokens", ge=1)] = (
        1000
    )
    min_inventory: Annotated[
        int,
        key(
            "Fewest outputs worth an ask.",
            unit="outputs",
            ge=1,
            le=MAX_INVENTORY,
            lower="asks more often, about smaller batches",
            higher="asks less often, about larger batches",
        ),
    ] = 10
    pre_expiry_seconds: Annotated[
        int,
        key(
            "How long before the cache expires the clock may act; the shortest lifetime is 300.",
            unit="s",
            ge=1,
            le=299,
            lower="acts on fewer turns",
            higher="acts on more turns, with more lifetime left to lose",
        ),
    ] = 60
    econ_trigger: Annotated[
        bool, key("Act whenever removing is expected to repay what it costs.")
    ] = False
    evidence: Annotated[bool, key("Show the model what was used since; changes what is asked.")] = (
        False
    )
    econ_ignore_ask_cost: Annotated[
        bool, key("Leave the ask's own price out of the test; for attribution runs.")
    ] = False
    min_later_turns: Annotated[
        int, key("Turns behind an output before it is asked about.", unit="turns", ge=0)
    ] = 0
    min_pressure: Annotated[
        float,
        key(
            "Share of the window that must be filled.",
            unit="share",
            ge=0,
            under=1,
            lower="acts earlier in a session",
            higher="acts later in a session",
        ),
    ] = 0.0
    keep_recheck_turns: Annotated[
        int,
        key(
            "Turns for which an output judged needed is not asked about again.", unit="turns", ge=0
        ),
    ] = 0
    reward_premium: Annotated[
        float,
        key(
            "Factor on the expected saving: a belief that removal is worth more than its tokens.",
            ge=1,
            le=100,
            higher="acts where the measured saving alone would not pay",
            lower="acts only where the saving pays",
        ),
    ] = 1.0
    block_fallback: (
        Annotated[
            bool,
            key("Forbid asking without the cached prefix; unset: as the log level says."),
        ]
        | None
    ) = None
    estimator: Annotated[
        Literal["scalar", "shrink", "curve"], key("How the expected share of drops is learned.")
    ] = "curve"
    probe_budget_usd_per_day: Annotated[
        Decimal,
        key("Spending on asks that are made to learn.", unit="usd", zero_means="no probing"),
    ] = Decimal("0.50")
    max_ask_usd_per_day: Annotated[Decimal, key("Spending on asks.", unit="usd")] = Decimal(5)
    marker_mode: MarkerModeKey = "full"


def remarks(config: Config) -> Iterator[Remark]:
    """Advice that never blocks (04 §2.5)."""
    if not config.econ_trigger:
        yield Remark("advice.sweep_without_econ_trigger", "econ_trigger", better=True)
    if config.min_inventory < _ADVISED_INVENTORY:
        yield _more("inventory_low", "min_inventory", config.min_inventory, _ADVISED_INVENTORY)
    if config.min_pressure > _ADVISED_PRESSURE:
        yield _more("pressure_floor_high", "min_pressure", config.min_pressure, _ADVISED_PRESSURE)
    if config.reward_premium > 1:
        yield _more("premium_above_one", "reward_premium", config.reward_premium, 1)
    yield from _timing(config)
    if config.econ_ignore_ask_cost:
        yield Remark("advice.sweep_ignores_ask_cost", "econ_ignore_ask_cost", better=False)
    if not config.evidence:
        yield Remark("advice.sweep_evidence_off", "evidence", better=True)


def _timing(config: Config) -> Iterator[Remark]:
    if (seconds := config.pre_expiry_seconds) > _ADVISED_EXPIRY_S:
        yield _more("pre_expiry_wide", "pre_expiry_seconds", seconds, _ADVISED_EXPIRY_S)
    if (turns := config.keep_recheck_turns) > _ADVISED_RECHECK:
        yield _more("keep_recheck_long", "keep_recheck_turns", turns, _ADVISED_RECHECK)


def _more(name: str, key_name: str, value: float, better: float) -> Remark:
    facts = {"value": f"{value:g}"}
    return Remark(f"advice.sweep_{name}", key_name, facts=facts, better=better)


def _refused(reason: str, replacement: str) -> Refusal:
    return Refusal("config.refused_key", reason, replacement)


def _removed(replacement: str) -> Refusal:
    reason = "extract_llm_sweep in the pipeline is what switches the sweep on."
    return Refusal("config.removed_key", reason, replacement)


_CONTEXT = "The conversation is the cached prefix itself, so there is no amount of it to choose."
_REFUSALS = {
    "model": _refused(
        "The question goes to the request's own model, because only that model's prompt cache "
        "holds the transcript that the inventory refers to. Another model would read nothing "
        "from a cache and pay the fresh price for everything.",
        "Delete it. For a cheaper model that trims outputs, see extract_llm.model, whose prompt "
        "carries the output itself.",
    ),
    "strategy": _refused(
        "The model returns a verdict on each output; there is no strategy to choose.",
        "Delete it; extract_llm.strategy is the key of the component that trims.",
    ),
    "rewrite": _refused(
        "Nothing is rewritten: an output stays word for word or goes. rewrite: false would read "
        "as if deletion alone had been verified.",
        "Delete it; extract_llm.rewrite is the key of the component that trims.",
    ),
    "aggressiveness": _refused(
        "There is no target size; the one question is whether an output is spent.",
        "Delete it; extract_llm.aggressiveness is the key of the component that trims.",
    ),
    "max_chars": _refused(
        "No part of an output is cut off; what is dropped leaves a description of its shape.",
        "Delete it; extract_llm.max_chars is the key of the component that trims.",
    ),
    "context": _refused(_CONTEXT, "Delete it; extract_llm.context is the key that chooses."),
    "context_messages": _refused(
        _CONTEXT, "Delete it; extract_llm.context_messages is the key that chooses."
    ),
    "max_calls": _refused(
        "One ask covers every candidate, so there are no calls to limit.",
        "Delete it; min_inventory says from how many outputs on an ask is made.",
    ),
    "economic_gate": _refused(
        "It prices one call to a cheap model for one output; this is one cached read of the "
        "whole transcript.",
        "Delete it; extract_llm_sweep.econ_trigger is the break-even of the sweep.",
    ),
    "min_idle_seconds": _refused(
        "The sweep's clock acts before the cache expires, not after a time of idling.",
        "Delete it; extract_llm_sweep.pre_expiry_seconds is the window of the clock.",
    ),
    "model_max_input_tokens": _refused(
        "The prompt is the cached transcript, so there is no input to bound.",
        "Delete it; nothing replaces it.",
    ),
    "per_output": _removed("Delete it; keep extract_llm_sweep in the pipeline for the sweep."),
    "cold_cache": _removed(
        "Delete it; min_tokens and pre_expiry_seconds stand directly under extract_llm_sweep."
    ),
    "enabled": _removed("Delete it; take extract_llm_sweep out of the pipeline to switch it off."),
}

COMPONENT = Declaration(
    name="extract_llm_sweep",
    kind=Kind.OFFLOAD,
    summary="Asks the request's own model which outputs are spent, and removes those.",
    config=Config,
    lacks="the adjudicator",
    calls_model=True,
    injects="the tool context_guru_adjudicate, 946 bytes at the head of the cached prefix, on "
    "Anthropic routes",
    dialects=("anthropic",),
    remarks=remarks,
    refusals=_REFUSALS,
    gates=(
        NON_TEXT_BLOCKS,
        EMPTY_OR_MARKER_PRESENT,
        KEPT_VERBATIM_AFTER_EXPAND,
        BELOW_OUTPUT_FLOOR,
        *(Gate(name, meaning) for name, meaning in _GATES.items()),
    ),
    events=(
        *(Event(name, meaning) for name, meaning in _EVENTS.items()),
        *(Event(name, meaning, alert=True) for name, meaning in _ALERTS.items()),
    ),
    freezes=True,
)
