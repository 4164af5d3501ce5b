"""What a component says about itself: the only home of its keys, defaults, gates and events.

Validation, the JSON schema, forms, metrics and the reference pages are derived from here.
Source: 07-house-style.md 5, 01-components.md 1.2.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypedDict, Unpack

import msgspec

from dataplane.core.port.signals import Event, Gate
from dataplane.core.port.turn import Step
from dataplane.core.wire.message import Conversation
from dataplane.core.wire.splice import Edit

MarkerMode = Literal["full", "summary", "off"]


class Kind(enum.Enum):
    """What a component may do to a request."""

    REFORMAT = "reformat"  # the same information in fewer tokens; nothing is stashed
    OFFLOAD = "offload"  # content leaves the request; its original is stashed
    ENVELOPE = "envelope"  # its presence in the pipeline enables a rewrite outside the messages


@dataclass(frozen=True, slots=True)
class Successor:
    """The component that took over what a removed key switched on.

    when: the written value for which a fix puts it into the pipeline, behind the old one;
    replaces: and takes the old one out.
    """

    component: str
    when: bool
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A key that once existed, or that belongs elsewhere, and what to write instead.

    moved_to: "component.key" where the same value is written now. The fix deletes the key, and
    does what moved_to and successor say.
    """

    code: Literal["config.removed_key", "config.refused_key"]
    reason: str
    replacement: str
    moved_to: str = ""
    successor: Successor | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What a component has to say about its own keys taken together.

    code: of 04 §2.5, where its severity and words are. key: dotted, where it is shown;
    "" for the pipeline entry. other: the second key of a conflict. better: what a fix sets key
    to. inner: (line, column, sentence) inside a value that is itself a document.
    """

    code: str
    key: str = ""
    other: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    better: bool | int | float | str | None = None
    inner: tuple[tuple[int, int, str], ...] = ()


class Facts(TypedDict, total=False):
    """What may be said of a key beside its title and bounds.

    unit: of the value. under: an exclusive bound. zero_means: what a written 0 does, where that
    is not obvious. secret:
    holds the name of a secret. lower, higher: what a smaller, a larger value does. deprecated:
    the dotted key of the same component to write instead. removed, unavailable: values that were
    withdrawn, or cannot be had, with the reason. lacks: what this build is missing to obey it.
    """

    unit: str
    under: float
    zero_means: str
    secret: bool
    lower: str
    higher: str
    deprecated: str
    removed: Mapping[str, str]
    unavailable: Mapping[str, str]
    lacks: str


def key(
    title: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    **facts: Unpack[Facts],
) -> msgspec.Meta:
    """The annotation of one configuration key.

    title: one sentence, printed under the control and in the reference. ge, le: inclusive bounds.
    """
    return msgspec.Meta(ge=ge, le=le, description=title, extra={**facts})


# Called as decide(outputs: tuple[ToolOutput, ...], config, turn: Turn). config is an instance of
# the component's own struct, which one callable type cannot say for all components.
Decide = Callable[..., Iterable[Step]]
# Called as rewrite(conversation, config) with the request as the client sent it. UnparseableError
# leaves it as it is.
RewriteEnvelope = Callable[[Conversation, msgspec.Struct | None], list[Edit]]
# Called as remarks(config: the component's own struct).
Remarks = Callable[..., Iterable[Remark]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One component: its name, kind, keys, gates, events and the function that decides.

    config: a frozen msgspec struct that forbids unknown fields, or None when the component
    takes no keys. decide: yields one step per tool output it looked at; None for an envelope
    component. rewrite: what such a one edits outside the messages. repairable: the replacement
    is a pure function of content and configuration, so a lost decision may be made again at any
    depth.
    lacks: what this build is missing to run it; its keys are checked all the same, but a
    pipeline may not name it. alone: it changes the number of messages, so no other component may
    run beside it. calls_model: it spends money of its own. injects: what it adds to every
    request. dialects: of the upstreams it can act on, empty for all. remarks: called with the
    merged keys.
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
    lacks: str = ""
    alone: bool = False
    calls_model: bool = False
    injects: str = ""
    dialects: tuple[str, ...] = ()
    remarks: Remarks | None = None
    rewrite: RewriteEnvelope | None = None

    @property
    def available(self) -> bool:
        """Whether this build can run it."""
        return not self.lacks


class PipelineStep(NamedTuple):
    """One entry of a compiled pipeline: what is declared, and its configuration."""

    declaration: Declaration
    config: msgspec.Struct | None
