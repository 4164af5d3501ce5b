"""What a component sees of a request, and the steps it may answer with.

Source: 01-components.md sections 1.1, 1.4, 1.7 and 1.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dataplane.core.content import Content
from dataplane.core.declaration import Event, Gate


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """One tool output, as it stands when the component runs.

    index: position among the normalised messages. content: its text now. original: its text as
    the agent sent it, which is what an offload stashes and what decisions are known by.
    rewritable: every block is text. occurrence: how many earlier outputs of this request have
    the same original, so that a decision names one place and not every copy of a text.
    carries_marker: an earlier component, or an earlier turn, has already replaced it.
    recovered: it answers a call of the recovery tool.
    """

    index: int
    content: Content
    original: Content
    rewritable: bool = True
    occurrence: int = 0
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
        """Names this occurrence of this content within its session."""
        return decision_key(self.original.content_key, self.occurrence)


def decision_key(content_key: str, occurrence: int) -> str:
    """The frozen-decision key of the occurrence-th copy of a content (0 is the oldest)."""
    return f"{content_key}#{occurrence}" if occurrence else content_key


@dataclass(frozen=True, slots=True)
class Turn:
    """The facts of one request that decisions may depend on; the same for a whole step.

    cached_through: highest message index that the provider already holds, -1 for none.
    cache_is_cold: the provider's copy has certainly expired. frozen: this component's earlier
    decisions of the session, decision key to replacement. lost: decisions that existed and were
    dropped by the store. kept: content keys that were expanded and stay verbatim. window: the
    model's input window in tokens, 0 when unknown.
    """

    cache_aware: bool = False
    cached_through: int = -1
    cache_is_cold: bool = False
    frozen: Mapping[str, str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    window: int = 0

    def replay_of(self, output: ToolOutput) -> Replay | None:
        """The earlier decision about this very occurrence, if there is one that still saves."""
        if not self.frozen or self.is_kept(output):
            return None
        replacement = self.frozen.get(output.decision_key)
        if replacement is None or Content(replacement).tokens >= output.tokens:
            return None
        return Replay(output.index, replacement)

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
        return bool(self.lost) and output.decision_key in self.lost


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
    """Apply an earlier decision again, byte for byte."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of the component."""

    event: Event
    count: int = 1


Step = Decline | Offload | Rewrite | Replay | Happened
