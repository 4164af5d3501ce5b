"""What a pipeline run says about itself: one report per component, one for the run.

Source: 01-components.md 1.1 (Report) and 1.3.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dataplane.core.port.declaration import Kind


@dataclass(slots=True)
class StepReport:
    """What one component did to one request. Tokens are over the whole message list.

    keys: marker ids of what it offloaded, or an id per rewritten text; they make savings unique.
    fresh_saved: the part of the saving that comes from decisions of this turn and not from
    replays. texts: how many messages it changed. discarded: changes that could not be written
    back and were taken out again. misses: outputs that were looked up among the frozen decisions
    and had none. abandoned: frozen decisions that are not replayed, because the agent expanded
    their text. undeclared: names of gates and events that the component does not declare; they are
    counted as one. unique: the part of the saving that nobody was credited for before; known once
    the request was counted.
    """

    component: str
    kind: Kind
    tokens_before: int
    tokens_after: int
    duration_ms: float = 0.0
    keys: dict[str, int] = field(default_factory=dict)
    gates: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    texts: int = 0
    fresh_saved: int = 0
    unique: int = 0
    replays: int = 0
    misses: int = 0
    abandoned: int = 0
    undeclared: set[str] = field(default_factory=set)
    skipped: bool = False
    reverted: bool = False
    irreversible: bool = False
    discarded: int = 0
    error: str = ""

    def credit(self, keys: tuple[str, ...], saved: int, *, fresh: bool) -> None:
        """A text was changed. keys: what its saving is known by. fresh: decided on this turn."""
        self.texts += 1
        self.fresh_saved += saved if fresh else 0
        for key in keys:
            self.keys[key] = self.keys.get(key, 0) + saved

    def withdraw(self, keys: tuple[str, ...], saved: int, *, fresh: bool) -> None:
        """Such a change did not last: whatever it was credited with is taken back."""
        self.texts -= 1
        self.skipped = not self.texts
        self.fresh_saved -= saved if fresh else 0
        self.replays -= not fresh
        for key in keys:
            left = self.keys.pop(key, 0) - saved
            if left > 0:
                self.keys[key] = left

    @property
    def saved(self) -> int:
        return max(0, self.tokens_before - self.tokens_after)

    @property
    def mutated(self) -> bool:
        return not self.reverted and not self.skipped

    @property
    def acted(self) -> bool:
        return self.mutated and self.saved > 0


@dataclass(slots=True)
class RunReport:
    """One run of the pipeline over one request.

    attempted: tokens of the messages that decisions, new or replayed, were allowed to touch. held:
    tokens that cold_cache would have taken out of an expired cache.
    """

    tokens_before: int
    tokens_after: int
    attempted: int = 0
    steps: list[StepReport] = field(default_factory=list)
    held: int = 0

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What the caller is told of the run."""
        return [
            (b"x-context-guru-tokens-before", b"%d" % self.tokens_before),
            (b"x-context-guru-tokens-after", b"%d" % self.tokens_after),
        ]

    @property
    def saved(self) -> int:
        return max(0, self.tokens_before - self.tokens_after)
