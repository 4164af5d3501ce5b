"""What a component says about itself: the only home of its keys, defaults, gates and events.

Validation, the JSON schema, forms, metrics and the reference pages are derived from here.
Source: 07-house-style.md section 5, 01-components.md section 1.2.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from dataplane.core.turn import Step

MarkerMode = Literal["full", "summary", "off"]


class Kind(enum.Enum):
    """What a component may do to a request."""

    REFORMAT = "reformat"  # the same information in fewer tokens; nothing is stashed
    OFFLOAD = "offload"  # content leaves the request; its original is stashed
    ENVELOPE = "envelope"  # its presence in the pipeline enables a rewrite outside the messages


@dataclass(frozen=True, slots=True)
class Gate:
    """A named reason for which a component leaves a candidate, or a whole request, alone."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something a component did; never counted in the same series as a gate."""

    name: str
    meaning: str
    alert: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key that once existed, or that belongs elsewhere, and what to write instead."""

    code: Literal["config.removed_key", "config.refused_key"]
    reason: str
    replacement: str


def key(
    title: str,
    *,
    unit: str | None = None,
    ge: float | None = None,
    le: float | None = None,
    zero_means: str | None = None,
    secret: bool = False,
) -> msgspec.Meta:
    """The annotation of one configuration key.

    title: one sentence, printed under the control and in the reference. unit: of the value.
    ge, le: inclusive bounds. zero_means: what a written 0 does, where that is not obvious.
    """
    facts = {"unit": unit, "zero_means": zero_means, "secret": secret or None}
    return msgspec.Meta(
        ge=ge,
        le=le,
        description=title,
        extra={name: fact for name, fact in facts.items() if fact is not None},
    )


# Called as decide(outputs: tuple[ToolOutput, ...], config, turn: Turn). config is an instance of
# the component's own struct, which one callable type cannot say for all components.
Decide = Callable[..., "Iterable[Step]"]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One component: its name, kind, keys, gates, events and the function that decides.

    config: a frozen msgspec struct that forbids unknown fields, or None when the component
    takes no keys. decide: yields one step per tool output it looked at; None for an envelope
    component, whose rewrite happens in the codec. repairable: the replacement is a pure
    function of content and configuration, so a lost decision may be made again at any depth.
    """

    name: str
    kind: Kind
    summary: str
    config: type[msgspec.Struct] | None
    gates: tuple[Gate, ...]
    decide: Decide | None = None
    events: tuple[Event, ...] = ()
    freezes: bool = False
    repairable: bool = False
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
