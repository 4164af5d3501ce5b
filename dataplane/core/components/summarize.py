"""summarize: replace the middle of a long transcript by one summary. It runs alone.

Source: 01-components.md 2.16.
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
    NO_MODEL,
    WINDOW_NOT_EXACT,
)
from dataplane.core.port.signals import Event

FRESH_SUMMARY = Event("fresh_summary", "A model wrote a summary.")
REUSED_CHECKPOINT = Event("reused_checkpoint", "An earlier summary still fits and was used.")
GATED_REPLAYED_CHECKPOINT = Event(
    "gated_replayed_checkpoint", "No new summary was due; the earlier one was used."
)
RESERVE_EXHAUSTED_REPLAYED_CHECKPOINT = Event(
    "reserve_exhausted_replayed_checkpoint",
    "The store had no room for a new original; the earlier summary was used.",
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    summary_level: Annotated[
        Literal["concise", "regular", "highly_detailed"], key("How much the summary keeps.")
    ] = "regular"
    keep_last: Annotated[int, key("Newest messages kept verbatim.", unit="messages", ge=0)] = 3
    min_tokens: Annotated[int, key("Smallest span worth a summary.", unit="tokens", ge=1)] = 500
    start_from_message: (
        Annotated[
            int,
            key(
                "Fewest messages, where trigger.min_messages is 0.",
                unit="messages",
                ge=0,
                deprecated="trigger.min_messages",
            ),
        ]
        | None
    ) = None
    resummarize_tokens: Annotated[
        int,
        key(
            "New tokens behind a summary before it is written again.",
            unit="tokens",
            ge=0,
            zero_means="a fresh summary on every turn that allows one",
        ),
    ] = 6000
    include_tool_calls: Annotated[
        bool, key("Show the outputs of tools to the model that summarises.")
    ] = False
    marker_mode: MarkerModeKey = "full"
    model: Annotated[Model, key("The model that writes the summary.")] = Model()
    trigger: Annotated[FullWindowTrigger, key("When a summary is due.")] = FullWindowTrigger()


def remarks(config: Config) -> Iterator[Remark]:
    yield from model_remarks(config.model)


COMPONENT = Declaration(
    name="summarize",
    kind=Kind.OFFLOAD,
    summary="Replaces the middle of a long transcript by one summary.",
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
        NO_MODEL,
    ),
    events=(
        FRESH_SUMMARY,
        REUSED_CHECKPOINT,
        GATED_REPLAYED_CHECKPOINT,
        RESERVE_EXHAUSTED_REPLAYED_CHECKPOINT,
    ),
    freezes=True,
)
