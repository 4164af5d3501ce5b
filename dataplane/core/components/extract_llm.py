"""extract_llm: have a model trim large outputs behind the cached prefix.

Source: 01-components.md 2.14 and 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from dataplane.core.port.blocks import MarkerModeKey, Model, Trigger, model_remarks
from dataplane.core.port.declaration import Declaration, Kind, Refusal, Remark, Successor, key
from dataplane.core.port.gates import (
    BELOW_OUTPUT_FLOOR,
    CACHED_PREFIX,
    EMPTY_OR_MARKER_PRESENT,
    KEPT_VERBATIM_AFTER_EXPAND,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Event, Gate

_CONTENT_CLASSES = (
    "ls", "markdown", "bundle", "source", "numbered_read", "yaml", "ansi", "grep", "json",
    "test_log",
)  # fmt: skip
_MEANINGS = {
    "no_goal_keywords": "The conversation states no goal to trim for.",
    "cached_prefix_above_floor": "Inside the cached prefix, and large enough to be worth it.",
    "reapplied_cross_session": "Resolved by a result that another session has paid for.",
    "request_trigger_not_fired": "The request has not reached the sizes of the trigger.",
    "no_model_this_request": "llm_every_n_requests left this request without a model.",
    "skip_file_read": "A numbered dump of a file; the agent will quote its lines.",
    "over_model_context": "The output does not fit into the model's input.",
    "economic_gate": "The call would cost more than it is expected to save.",
    "economic_gate_advisory": "The call would not pay, and fire_on: size makes it all the same.",
    **{
        f"low_yield_content_class:{name}": f"Outputs of class {name} rarely shrink enough."
        for name in _CONTENT_CLASSES
    },
    "over_per_request_cap": "llm_max_per_request calls have been made on this request.",
    "over_per_session_cap": "llm_max_per_session calls have been made in this session.",
    "reply_truncated": "The answer filled its limit, so its end is missing.",
    "model_source_fell_back_to_config": "The caller's model could not be called; ours was.",
    "cheap_model_price_unconfigured": "The model has no price, so what it saves is unknown.",
}
REAPPLIED_SAME_SESSION = Event(
    "reapplied_same_session", "An earlier result of this session was put in place again."
)
_SWEEP = "Add extract_llm_sweep to the pipeline"
_SPLIT = (
    "The sweep is a component of its own now, extract_llm_sweep: being in the pipeline is what "
    "switches it on, and extract_llm is the pass over new outputs only."
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fire_on: Annotated[
        Literal["pressure", "size"],
        key("Act when the window fills, or on every output that is large enough."),
    ] = "pressure"
    min_tokens: Annotated[int, key("Smallest output worth a call.", unit="tokens", ge=1)] = 300
    strategy: Annotated[
        Literal["auto", "code", "single", "rlm", "deterministic"],
        key("How the output is trimmed; deterministic calls no model."),
    ] = "code"
    aggressiveness: Annotated[
        Literal["low", "medium", "high"],
        key("How much the model is asked to remove; what is accepted does not change."),
    ] = "medium"
    context: Annotated[
        Literal["goal", "recent", "full"], key("How much of the conversation the model sees.")
    ] = "recent"
    context_messages: Annotated[
        int, key("Messages shown with context: recent.", unit="messages", ge=0, zero_means="2")
    ] = 2
    max_chars: Annotated[
        int,
        key("Characters of the output that the model sees.", unit="characters", ge=0,
            zero_means="4000"),
    ] = 0  # fmt: skip
    llm_every_n_requests: Annotated[int, key("Every so many requests may call a model.", ge=0)] = 1
    llm_max_per_request: Annotated[
        int, key("Calls for one request.", ge=0, zero_means="unlimited")
    ] = 0
    llm_max_per_session: Annotated[
        int, key("Calls for one session.", ge=0, zero_means="unlimited")
    ] = 0
    allow_on_caching_backend: Annotated[
        bool, key("Call a model also where the provider caches the prompt.")
    ] = False
    economic_gate: Annotated[
        bool, key("Call only where the saving is expected to exceed the call's price.")
    ] = True
    rewrite: Annotated[bool, key("Accept a text in other words; false accepts deletions only.")] = (
        True
    )
    skip_file_reads: (
        Annotated[bool, key("Leave numbered file dumps alone; unset: where the prompt is cached.")]
        | None
    ) = None
    model_max_input_tokens: Annotated[
        int, key("Input limit of the model.", unit="tokens", ge=0, zero_means="the model's own")
    ] = 0
    marker_mode: MarkerModeKey = "full"
    model: Annotated[Model, key("The model that trims.")] = Model()
    trigger: Annotated[Trigger, key("When a call may be made; cache_state is inert.")] = Trigger()


def remarks(config: Config) -> Iterator[Remark]:
    if config.allow_on_caching_backend:
        yield Remark("advice.llm_on_caching_backend", "allow_on_caching_backend", better=False)
    yield from model_remarks(config.model)


_REFUSALS = {
    "per_output": Refusal(
        "config.removed_key",
        _SPLIT,
        "Delete per_output: extract_llm in the pipeline is the pass over new outputs. Where it "
        "was false, take extract_llm out of the pipeline and put extract_llm_sweep in.",
        successor=Successor("extract_llm_sweep", when=False, replaces=True),
    ),
    "cold_cache": Refusal(
        "config.removed_key",
        _SPLIT,
        f"{_SWEEP}, directly after extract_llm or in its place.",
        successor=Successor("extract_llm_sweep", when=True),
    ),
    "cold_cache.enabled": Refusal(
        "config.removed_key",
        _SPLIT,
        f"{_SWEEP}, directly after extract_llm or in its place.",
        successor=Successor("extract_llm_sweep", when=True),
    ),
    "cold_cache.min_tokens": Refusal(
        "config.removed_key",
        "The floor belongs to the sweep, which is a component of its own now.",
        "Write extract_llm_sweep.min_tokens; its default is 1000.",
        moved_to="extract_llm_sweep.min_tokens",
    ),
    "cold_cache.min_idle_seconds": Refusal(
        "config.removed_key",
        "The sweep does not wait until a session has been idle: its clock acts before the cache "
        "expires, so there is no equivalent.",
        "Delete it; see extract_llm_sweep.pre_expiry_seconds and extract_llm_sweep.econ_trigger.",
    ),
    "cold_cache.max_calls": Refusal(
        "config.removed_key",
        "One ask covers every candidate, so there are no calls to count.",
        "Delete it; nothing replaces it.",
    ),
}

COMPONENT = Declaration(
    name="extract_llm",
    kind=Kind.OFFLOAD,
    summary="Has a model trim large new outputs to what the agent needs next.",
    config=Config,
    lacks="a client for a model of its own",
    calls_model=True,
    remarks=remarks,
    refusals=_REFUSALS,
    gates=(
        NON_TEXT_BLOCKS,
        EMPTY_OR_MARKER_PRESENT,
        KEPT_VERBATIM_AFTER_EXPAND,
        CACHED_PREFIX,
        BELOW_OUTPUT_FLOOR,
        *(Gate(name, meaning) for name, meaning in _MEANINGS.items()),
    ),
    events=(REAPPLIED_SAME_SESSION,),
    freezes=True,
)
