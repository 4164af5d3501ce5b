"""Blocks of keys that several components have: when to act, and which model to call.

Source: 01-components.md 1.12 and 1.13, 04-controlplane-and-dashboard.md 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from dataplane.core.port.declaration import MarkerMode, Remark, key

_REFERENCE = r"^secret:[A-Za-z0-9._-]{1,64}$"
MarkerModeKey = Annotated[
    MarkerMode, key("Stash and leave a resolvable marker, leave a sign only, or nothing.")
]
ColdCacheKey = Annotated[
    bool, key("Act at any depth on a turn whose prompt cache has certainly expired.")
]
_WITHDRAWN = {
    "cold": "It acted only once the prefix was already dead, which is later than any value that "
    "is left and gains nothing.",
    "pre_expiry_or_cold": "Waiting cost more than it saved: acting warm pays back within 2 to 3 "
    "turns, and all of its measured downside came to $0.84.",
}
CacheStateKey = Annotated[
    Literal["any", "pre_expiry"],
    key(
        "Act as soon as the sizes are reached, or hold the result until the cache goes cold.",
        removed=_WITHDRAWN,
    ),
]
PreExpiryKey = Annotated[
    int,
    key(
        "How long before the cache expires a turn counts as pre_expiry. 300 would make every "
        "warm turn one.",
        unit="s",
        ge=0,
        le=299,
        zero_means="the default, 60",
    ),
]


class Trigger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All thresholds must be reached; 0 sets none."""

    min_request_tokens: Annotated[
        int, key("Smallest request worth acting on.", unit="tokens", ge=0)
    ] = 0
    min_messages: Annotated[int, key("Fewest messages.", unit="messages", ge=0)] = 0
    min_output_tokens: Annotated[
        int,
        key(
            "Smallest single output.", unit="tokens", ge=0, zero_means="the component's min_tokens"
        ),
    ] = 0
    min_request_frac: Annotated[
        float,
        key(
            "Share of what the window can hold that the last billed input must have reached.",
            unit="share",
            ge=0,
            le=1,
        ),
    ] = 0.0
    min_output_frac: Annotated[
        float,
        key(
            "Raises the floor for one output to this share of the window.", unit="share", ge=0, le=1
        ),
    ] = 0.0
    huge_output_frac: Annotated[
        float,
        key(
            "An output of this share of the window is acted on whatever the request's size.",
            unit="share",
            ge=0,
            le=1,
            zero_means="no output is that large",
        ),
    ] = 0.0
    cache_state: CacheStateKey = "any"
    pre_expiry_seconds: PreExpiryKey = 60


class FullWindowTrigger(Trigger, frozen=True, forbid_unknown_fields=True):
    """As Trigger, for what acts when the window is nearly full; a written 0 is honoured."""

    min_request_frac: Annotated[
        float,
        key(
            "Share of what the window can hold that the last billed input must have reached.",
            unit="share",
            ge=0,
            le=1,
            zero_means="no such threshold",
        ),
    ] = 0.9


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which model answers, and at which endpoint."""

    source: Annotated[
        Literal["incoming", "config"],
        key("The caller's own endpoint and model, or the deployment's compaction model."),
    ] = "incoming"
    model: Annotated[str, key("Another model at the same endpoint.")] | None = None
    provider: Annotated[
        Literal["anthropic", "openai"], key("Dialect of the endpoint in base_url.")
    ] = "anthropic"
    base_url: (
        Annotated[
            str,
            key("An endpoint of its own: the address of an upstream of this deployment."),
            msgspec.Meta(pattern="^https?://[^ ]+$"),
        ]
        | None
    ) = None
    api_key: (
        Annotated[
            str,
            key("The name of a stored secret, as secret:NAME.", secret=True),
            msgspec.Meta(pattern=_REFERENCE),
        ]
        | None
    ) = None
    auth: (
        Annotated[Literal["x-api-key", "bearer"], key("Header that carries the key (Anthropic).")]
        | None
    ) = None


def model_remarks(model: Model) -> Iterator[Remark]:
    """What does not go together inside a `model` block."""
    if model.base_url is not None and model.model is None:
        yield Remark("config.requires_key", "model.base_url", "model.model")
    if model.auth is not None and model.provider == "openai":
        yield Remark("config.conflicting_keys", "model.auth", "model.provider")
