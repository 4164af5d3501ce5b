"""image_offload: replace old images by markers, to stay within what a provider accepts.

Source: 05-scoped-recovery-and-image-offload.md B9 (keys) and B10 (gates).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.signals import Event, Gate

_GATES = {
    "no_images": "The request holds no image that could be replaced.",
    "within_budget": "The images of the request fit.",
    "bypassed_observe": "Requests are only measured, so images stay.",
    "assistant_image": "The image stands in a message of the assistant, which stays as it is.",
    "unsupported_carrier": "The image stands in a block that cannot hold text.",
    "opaque_source": "The shape of the image block is not known.",
    "log_read_failed": "The log could not be read, so no decision is repeated.",
    "log_write_failed": "The log did not keep the new decision, so it is not applied.",
    "non_image_bytes_dominate": "The text alone exceeds what the request may weigh.",
    "rejection_unclassified": "The provider's refusal speaks of images in words not known here.",
    "path_unmapped": "The refusal names a block that holds no image.",
    "stream_started": "The answer had begun when the provider refused, so nothing is sent again.",
    "retry_disabled": "max_attempts is 0, so a refused request is not sent again.",
    "retry_spent": "A refused request has been sent again as often as max_attempts allows.",
    "exhausted": "Every image that may be replaced has been.",
}
_EVENTS = {
    "image_offload_replayed": "An image was replaced as before.",
    "image_offload_advanced": "An image was replaced for the first time.",
    "image_offload_retry_ok": "A refused request was sent again and accepted.",
    "image_offload_retry_rejected": "A refused request was sent again and refused again.",
    "image_offload_expanded": "The model asked for an image back.",
}

Trigger = Literal["budget", "rejection"]
Status = Literal[400, 413, 500]


class Bounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request may carry; a bound that is not written does not bind."""

    representation: Annotated[
        Literal["wire", "raw", "base64"], key("How the size of an image is counted.")
    ] = "wire"
    max_images: Annotated[int, key("Most images.", unit="images", ge=1)] | None = None
    count_quantum: Annotated[
        int, key("Images that are replaced at once; at most max_images.", unit="images", ge=1)
    ] = 20
    max_bytes: Annotated[int, key("Most bytes of images.", unit="bytes", ge=1)] | None = None
    byte_quantum: Annotated[
        int, key("Bytes that are replaced at once; at most max_bytes.", unit="bytes", ge=1)
    ] = 10_485_760
    max_request_bytes: (
        Annotated[int, key("Most bytes of the whole request.", unit="bytes", ge=1)] | None
    ) = None


class Anthropic(Bounds, frozen=True, forbid_unknown_fields=True):
    """30,000,000 bytes leave room below 32 MB for headers."""

    max_images: Annotated[int, key("Most images.", unit="images", ge=1)] = 100
    max_request_bytes: Annotated[
        int, key("Most bytes of the whole request.", unit="bytes", ge=1)
    ] = 30_000_000


class OpenAI(Bounds, frozen=True, forbid_unknown_fields=True):
    max_images: Annotated[int, key("Most images.", unit="images", ge=1)] = 500
    max_request_bytes: Annotated[
        int, key("Most bytes of the whole request.", unit="bytes", ge=1)
    ] = 48_000_000


class Override(Bounds, frozen=True, forbid_unknown_fields=True):
    """Bounds for models whose name matches; the longest match wins."""

    match: Annotated[str, key("Name of the model, * for any characters.")] | None = None


class Budgets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    anthropic: Annotated[Anthropic, key("Anthropic Messages.")] = Anthropic()
    openai_chat: Annotated[OpenAI, key("OpenAI Chat Completions.")] = OpenAI()
    openai_responses: Annotated[OpenAI, key("OpenAI Responses.")] = OpenAI()


class Retry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What follows when the provider refuses a request because of its images."""

    max_attempts: Annotated[
        int, key("Times a refused request is sent again.", ge=0, le=3, zero_means="never")
    ] = 1
    statuses: Annotated[
        list[Status], key("Answers that may be such a refusal; 500 by its text only.")
    ] = msgspec.field(default_factory=lambda: [400, 413, 500])


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    triggers: Annotated[list[Trigger], key("What makes it act.")] = msgspec.field(
        default_factory=lambda: ["budget", "rejection"]
    )
    budgets: Annotated[Budgets, key("Bounds by dialect.")] = Budgets()
    model_overrides: Annotated[list[Override], key("Bounds by model.")] = []
    retry: Annotated[Retry, key("Sending a refused request again.")] = Retry()
    exact_targets: Annotated[bool, key("Replace the very image that a refusal names.")] = True
    learn_limits: Annotated[bool, key("Remember limits that refusals state.")] = True
    learned_ttl_seconds: Annotated[
        int, key("How long a learned limit is remembered.", unit="s", ge=1)
    ] = 86_400
    marker_mode: MarkerModeKey = "full"
    on_stash_refused: Annotated[
        Literal["decline", "summary"],
        key("Keep the image, or replace it for good, when the store refuses it."),
    ] = "decline"
    log_retention_seconds: Annotated[
        int, key("How long decisions are remembered after a session's end.", unit="s", ge=1)
    ] = 604_800


def remarks(config: Config) -> Iterator[Remark]:
    if not config.triggers:
        why = "triggers is empty"
        yield Remark("config.nothing_to_do", "triggers", facts={"why": why})
    for dialect in ("anthropic", "openai_chat", "openai_responses"):
        yield from _quanta(getattr(config.budgets, dialect), f"budgets.{dialect}.")
    for index, override in enumerate(config.model_overrides):
        at = f"model_overrides.{index}."
        if override.match is None:
            yield Remark("config.requires_key", f"model_overrides.{index}", f"{at}match")
        yield from _quanta(override, at)


def _quanta(bounds: Bounds, at: str) -> Iterator[Remark]:
    """A quantum above its limit would replace everything at once."""
    pairs = (
        ("count_quantum", bounds.count_quantum, "max_images", bounds.max_images),
        ("byte_quantum", bounds.byte_quantum, "max_bytes", bounds.max_bytes),
    )
    for quantum, size, limit, most in pairs:
        if most is not None and size > most:
            yield _above(at + quantum, size, at + limit, most)


def _above(quantum: str, size: int, limit: str, most: int) -> Remark:
    facts = {
        "name": f"{quantum} of image_offload",
        "bound": most,
        "actual": size,
        "reason": f"{limit} is {most}: a larger step would replace more than may be there.",
        "fix": f"Write {most} or less, or raise {limit}.",
    }
    return Remark("config.above_max", quantum, other=limit, facts=facts, better=most)


COMPONENT = Declaration(
    name="image_offload",
    kind=Kind.OFFLOAD,
    summary="Replaces the oldest images of a request that carries more than its provider takes.",
    config=Config,
    lacks="the store of images",
    remarks=remarks,
    gates=tuple(Gate(name, meaning) for name, meaning in _GATES.items()),
    events=tuple(Event(name, meaning) for name, meaning in _EVENTS.items()),
    freezes=True,
)
