"""What a component sees of a request, and the steps it may answer with.

Source: 01-components.md 1.1, 1.4, 1.7 and 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dataplane.core.port.signals import Event, Gate
from dataplane.core.text import marker
from dataplane.core.text.content import Content


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """One tool output, as it stands when the component runs.

    index: position among the normalised messages. content: its text now. original: its text as
    the agent sent it, which is what an offload stashes and what decisions are known by.
    rewritable: every block is text. occurrence: how many earlier outputs of this request are the
    very same text, so that a decision names one place and not every copy of it.
    call_id: of the call that it answers, "" where the dialect has none.
    carries_marker: an earlier component, or an earlier turn, has already replaced it.
    recovered: it answers a call of the recovery tool.
    """

    index: int
    content: Content
    original: Content
    rewritable: bool = True
    occurrence: int = 0
    call_id: str = ""
    carries_marker: bool = False
    recovered: bool = False

    @property
    def text(self) -> str:
        return self.content.text

    @property
    def tokens(self) -> int:
        return self.content.tokens

    @property
    def decision_key(self) -> str:
        """Names this occurrence of this very text within its session."""
        return decision_key(self.original.sha256, self.occurrence)


def decision_key(sha256: str, occurrence: int) -> str:
    """The frozen-decision key of the occurrence-th copy of a text (0 is the oldest)."""
    return f"{sha256}#{occurrence}" if occurrence else sha256


@dataclass(frozen=True, slots=True)
class Turn:
    """The facts of one request that decisions may depend on; the same for a whole step.

    cached_through: highest message index that the provider already holds, -1 for none.
    cache_is_cold: the provider's copy has certainly expired. frozen: this component's earlier
    decisions of the session, decision key to replacement. by_call: they are about the output of
    one call, as a model's must be: a text that was fetched again is a new output. lost: decisions
    that existed and were dropped by the store. kept: content keys that were expanded and stay
    verbatim. window: the model's input window in tokens, 0 when unknown.
    """

    cache_aware: bool = False
    cached_through: int = -1
    cache_is_cold: bool = False
    frozen: Mapping[str, str] = field(default_factory=dict)
    by_call: bool = False
    lost: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    window: int = 0

    def replay_of(self, output: ToolOutput) -> Replay | None:
        """The earlier decision about this very occurrence, if there is one that still saves."""
        if not self.frozen or self.is_kept(output):
            return None
        replacement = self.decision_about(output)
        if replacement is None or Content(replacement).tokens >= output.tokens:
            return None
        return Replay(output.index)

    def decision_about(self, output: ToolOutput) -> str | None:
        """What was once put in the place of this very text; None where nothing was.

        A replacement whose marker opens to another text is no decision about this one.
        """
        replacement = self.frozen.get(self.key_of(output))
        if replacement is None:
            return None
        own = output.original.marker_id
        return replacement if all(each == own for each in marker.find(replacement)) else None

    def is_kept(self, output: ToolOutput) -> bool:
        """True when the agent asked for this very text, now or at an earlier turn."""
        if output.recovered:
            return True
        return bool(self.kept) and output.original.content_key in self.kept

    def is_settled(self, output: ToolOutput) -> bool:
        """True when the output was offloaded already or expanded by the agent."""
        return output.carries_marker or self.is_kept(output)

    def is_cached(self, output: ToolOutput, *, act_when_cold: bool = False) -> bool:
        """True when a new decision about this output would flip bytes the provider holds."""
        if not self.cache_aware or output.index > self.cached_through:
            return False
        return not (act_when_cold and self.cache_is_cold) and not self.was_lost(output)

    def was_lost(self, output: ToolOutput) -> bool:
        return bool(self.lost) and self.key_of(output) in self.lost

    def key_of(self, output: ToolOutput) -> str:
        """What a decision of this component about an output is known by."""
        key = output.decision_key
        return f"{key}@{output.call_id}" if self.by_call and output.call_id else key


@dataclass(frozen=True, slots=True)
class Decline:
    """The component leaves one output (index) or the whole request (index None) alone."""

    gate: Gate
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Offload:
    """Replace an output by `before` + marker token + `after`; the original is stashed.

    hint: text that follows the marker in full mode only, its leading space included. event:
    counted when the replacement is made, and not when it is declined or taken back.
    """

    index: int
    before: str
    after: str = ""
    hint: str = ""
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace an output by an equivalent, smaller spelling; nothing is stashed."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Replay:
    """Apply the earlier decision about this output again, byte for byte.

    It carries no text: the pipeline looks that up by the output's own identity, so that no
    component can put the replacement of one text in the place of another.
    """

    index: int


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of the component."""

    event: Event
    count: int = 1


Step = Decline | Offload | Rewrite | Replay | Happened
