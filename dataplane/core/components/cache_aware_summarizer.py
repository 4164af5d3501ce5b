"""cache_aware_summarizer: a summary that is asked for behind the cached conversation itself.

It runs alone. Source: 01-components.md 2.17.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from dataplane.core.port.blocks import FullWindowTrigger, MarkerModeKey, Model, model_remarks
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    BELOW_REQUEST_TRIGGER,
    CACHE_STATE_DECLINED,
    KEPT_VERBATIM_AFTER_EXPAND,
    WINDOW_NOT_EXACT,
)
from dataplane.core.port.signals import Event, Gate

REQUEST_OVER_MAX_TOKENS = Gate(
    "request_over_max_tokens", "The whole conversation is larger than max_request_tokens."
)
NO_MESSAGES_MODEL = Gate(
    "no_messages_model", "No client takes the conversation with an instruction behind it."
)
THINKING_WOULD_BE_STRIPPED = Gate(
    "thinking_would_be_stripped",
    "The model keeps the last turn's thinking only, so the cached prefix would not match.",
)
UNVERIFIED_SYSTEM_ROLE = Gate(
    "unverified_system_role", "The model is not known to take an instruction in the system role."
)
SYSTEM_ROLE_UNSUPPORTED = Gate(
    "system_role_unsupported_via_prefix_ask",
    "Behind the body that was sent, the instruction can have the user role only.",
)
NO_STASH_ROOM = Gate("no_stash_room", "The store has no room for the originals of the span.")
SUMMARY_ALREADY_IN_FLIGHT = Gate(
    "summary_already_in_flight", "A summary of this session is being written."
)
SUMMARY_CONCURRENCY_FULL = Gate(
    "summary_concurrency_full", "As many summaries as are allowed are being written."
)
COLD_COMMISSION_DEFERRED = Event(
    "cold_commission_deferred",
    "The cache was cold, so the summary is asked for once the forwarded request has written it.",
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep_last_turns: Annotated[
        int, key("Newest messages kept verbatim.", unit="messages", ge=0)
    ] = 10
    min_tokens: Annotated[int, key("Smallest span worth a summary.", unit="tokens", ge=1)] = 500
    max_request_tokens: Annotated[
        int,
        key("Largest conversation that is sent along.", unit="tokens", ge=0, zero_means="no limit"),
    ] = 0
    resummarize_tokens: Annotated[
        int,
        key("New tokens behind a summary before it is written again.", unit="tokens", ge=0),
    ] = 6000
    instruction_role: Annotated[
        Literal["auto", "user", "system"], key("Role of the instruction that asks for it.")
    ] = "auto"
    model_id: Annotated[str, key("The model that auto is resolved for.")] | None = None
    profiles_path: Annotated[str, key("A file of model profiles on the node.")] | None = None
    marker_mode: MarkerModeKey = "full"
    model: Annotated[Model, key("A separate model would read nothing from the cache.")] = Model()
    trigger: Annotated[FullWindowTrigger, key("When a summary is due.")] = FullWindowTrigger()


def remarks(config: Config) -> Iterator[Remark]:
    yield from model_remarks(config.model)


COMPONENT = Declaration(
    name="cache_aware_summarizer",
    kind=Kind.OFFLOAD,
    summary="Summarises a conversation at the price of reading it from the prompt cache.",
    config=Config,
    lacks="a client for a model of its own",
    alone=True,
    calls_model=True,
    remarks=remarks,
    gates=(
        BELOW_REQUEST_TRIGGER,
        WINDOW_NOT_EXACT,
        *CACHE_STATE_DECLINED,
        BELOW_MIN_TOKENS,
        KEPT_VERBATIM_AFTER_EXPAND,
        REQUEST_OVER_MAX_TOKENS,
        NO_MESSAGES_MODEL,
        THINKING_WOULD_BE_STRIPPED,
        UNVERIFIED_SYSTEM_ROLE,
        SYSTEM_ROLE_UNSUPPORTED,
        NO_STASH_ROOM,
        SUMMARY_ALREADY_IN_FLIGHT,
        SUMMARY_CONCURRENCY_FULL,
    ),
    events=(COLD_COMMISSION_DEFERRED,),
    freezes=True,
)
