"""agentdiet: a published baseline: one reflection per turn on a step of a few turns ago.

Source: 01-components.md 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey, Model, model_remarks
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import CACHED_PREFIX, NO_MODEL
from dataplane.core.port.signals import Gate

FEWER_THAN_REQUIRED_STEPS = Gate(
    "fewer_than_required_steps", "The transcript has too few steps for delay_steps."
)
NO_ELIGIBLE_RESULT = Gate("no_eligible_result", "The step has no output that may still be reduced.")
STEP_BELOW_MIN_TOKENS = Gate("step_below_min_tokens", "The step has no more than min_step_tokens.")
REFLECTION_TIMEOUT = Gate("reflection_timeout", "The model did not answer in time.")
REFLECTION_ERROR = Gate("reflection_error", "The model could not be asked, or said nothing.")
REPLY_UNPARSEABLE = Gate("reply_unparseable", "The answer holds no result of the step.")
UNLABELLED_RESULT_DROPPED = Gate(
    "unlabelled_result_dropped", "A result of the answer does not say which output it is for."
)
APPLY_GATE_NOT_MET = Gate(
    "apply_gate_not_met", "The reduction saves less than min_saved_tokens and max_keep_ratio ask."
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    delay_steps: Annotated[
        int,
        key(
            "Newest steps that are left alone.",
            unit="steps",
            ge=0,
            zero_means="the newest step is not protected",
        ),
    ] = 2
    context_steps: Annotated[
        int, key("Steps shown in front of the one that is reduced.", unit="steps", ge=0)
    ] = 1
    min_step_tokens: Annotated[
        int, key("A step must be larger than this.", unit="tokens", ge=0)
    ] = 500
    min_saved_tokens: Annotated[
        int, key("A reduction that saves this much is applied.", unit="tokens", ge=0)
    ] = 400
    max_keep_ratio: Annotated[
        float,
        key(
            "A reduction that keeps less than this share of the step is applied too.",
            unit="share",
            ge=0,
            le=1,
            zero_means="min_saved_tokens alone counts",
        ),
    ] = 0.8
    cache_tail_only: Annotated[bool, key("Reduce nothing inside the provider's cached prefix.")] = (
        False
    )
    marker_mode: MarkerModeKey = "full"
    model: Annotated[Model, key("The model that reduces.")] = Model()


def remarks(config: Config) -> Iterator[Remark]:
    yield from model_remarks(config.model)


COMPONENT = Declaration(
    name="agentdiet",
    kind=Kind.OFFLOAD,
    summary="Has a model shorten the outputs of one step per turn; a baseline to compare with.",
    config=Config,
    lacks="a client for a model of its own",
    calls_model=True,
    remarks=remarks,
    gates=(
        FEWER_THAN_REQUIRED_STEPS,
        NO_ELIGIBLE_RESULT,
        STEP_BELOW_MIN_TOKENS,
        NO_MODEL,
        REFLECTION_TIMEOUT,
        REFLECTION_ERROR,
        REPLY_UNPARSEABLE,
        UNLABELLED_RESULT_DROPPED,
        APPLY_GATE_NOT_MET,
        CACHED_PREFIX,
    ),
    freezes=True,
)
