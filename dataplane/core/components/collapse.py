"""collapse: keep the head and the tail of a large tool output, replace the middle by a marker.

Lines and characters are counted in code points; the halving test is in UTF-8 bytes.
Source: 01-components.md 2.12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import ColdCacheKey, MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import CACHED_PREFIX, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Event, Gate
from dataplane.core.port.turn import Decline, Offload, Step, ToolOutput, Turn
from dataplane.core.text.content import Content
from dataplane.core.text.marker import HINT, defang

BELOW_MAX_TOKENS = Gate("below_max_tokens", "The output is not larger than the threshold.")
TOO_FEW_LINES_AND_CHARS = Gate(
    "too_few_lines_and_chars",
    "Neither a window of lines nor one of characters leaves anything out.",
)
CHAR_WINDOW = Event(
    "char_window", "The output was cut by characters, because its lines are few or long."
)

_CHARS_PER_TOKEN = 4
_LEAST_CHARS = 200
_MOST_SHRINKS = 3


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_tokens: Annotated[
        int,
        key(
            "Outputs larger than this are collapsed.",
            unit="tokens",
            ge=0,
            zero_means="every output is too large",
        ),
    ] = 2000
    max_frac: Annotated[
        float,
        key(
            "The same threshold as a share of the model's input window, where that is known.",
            unit="share",
            ge=0,
            le=1,
            zero_means="max_tokens counts",
        ),
    ] = 0.0
    head_lines: Annotated[int, key("Lines kept from the start.", unit="lines", ge=0)] = 20
    tail_lines: Annotated[int, key("Lines kept from the end.", unit="lines", ge=0)] = 20
    marker_mode: MarkerModeKey = "full"
    cold_cache: ColdCacheKey = False


@dataclass(frozen=True, slots=True)
class Window:
    """What stays of a text: head and tail of it, and the count of what lay between."""

    head: str
    tail: str
    omitted: str

    @property
    def before(self) -> str:
        lead = f"{defang(self.head)}\n" if self.head else ""
        return f"{lead}... ({self.omitted} omitted) "

    @property
    def after(self) -> str:
        return f"\n{defang(self.tail)}" if self.tail else ""

    @property
    def text(self) -> str:
        """The replacement with an empty marker token, which is how it is measured."""
        return self.before + self.after


def decide(outputs: tuple[ToolOutput, ...], config: Config, turn: Turn) -> Iterator[Step]:
    """One step for each output."""
    threshold = threshold_of(config, turn.window)
    for output in outputs:
        yield from _steps(output, threshold, config, turn)


def threshold_of(config: Config, window: int) -> int:
    """Tokens above which an output is collapsed. window: the model's, 0 when unknown."""
    if config.max_frac > 0 and window > 0:
        return math.ceil(Fraction(str(config.max_frac)) * window)
    return config.max_tokens


def _steps(output: ToolOutput, threshold: int, config: Config, turn: Turn) -> Iterator[Step]:
    """Nothing for an empty output, which is nobody's candidate."""
    if not output.rewritable:
        yield Decline(NON_TEXT_BLOCKS, output.index)
    elif not output.text:
        return
    elif replay := turn.replay_of(output):
        yield replay
    elif gate := _closed_gate(output, threshold, turn):
        yield Decline(gate, output.index)
    else:
        yield from _collapsed(output, threshold, config, turn)


def _closed_gate(output: ToolOutput, threshold: int, turn: Turn) -> Gate | None:
    if output.tokens <= threshold:
        return BELOW_MAX_TOKENS
    return MARKER_OR_KEPT_VERBATIM if turn.is_settled(output) else None


def _collapsed(output: ToolOutput, threshold: int, config: Config, turn: Turn) -> Iterator[Step]:
    lines = line_window(output.text, config)
    if lines is None and len(output.text) <= _LEAST_CHARS:
        yield Decline(TOO_FEW_LINES_AND_CHARS, output.index)
    elif turn.is_cached(output, act_when_cold=config.cold_cache):
        yield Decline(CACHED_PREFIX, output.index)
    elif lines is not None:
        yield Offload(output.index, before=lines.before, after=lines.after, hint=HINT)
    else:
        chars = char_window(output.text, threshold, config)
        yield Offload(
            output.index, before=chars.before, after=chars.after, hint=HINT, event=CHAR_WINDOW
        )


def line_window(text: str, config: Config) -> Window | None:
    """The first and last lines, None unless they are at most half of the text's bytes."""
    omitted = text.count("\n") + 1 - config.head_lines - config.tail_lines
    if config.head_lines + config.tail_lines == 0 or omitted <= 0:
        return None
    window = Window(
        head=_first_lines(text, config.head_lines),
        tail=_last_lines(text, config.tail_lines),
        omitted=f"{omitted} lines",
    )
    return window if 2 * len(window.text.encode()) <= len(text.encode()) else None


def _first_lines(text: str, count: int) -> str:
    """Of a text that has more."""
    end = -1
    for _ in range(count):
        end = text.index("\n", end + 1)
    return text[: max(end, 0)]


def _last_lines(text: str, count: int) -> str:
    """Of a text that has more."""
    start = len(text)
    for _ in range(count):
        start = text.rindex("\n", 0, start)
    return text[start + 1 :]


def char_window(text: str, threshold: int, config: Config) -> Window:
    """The first and last characters in the ratio of the lines, shrunk towards the threshold.

    text is longer than the least window, so something is left out always.
    """
    budget = max(_LEAST_CHARS, min(threshold * _CHARS_PER_TOKEN, len(text) - 1))
    window = _cut(text, budget, config)
    for _ in range(_MOST_SHRINKS):
        measured = Content(window.text).tokens
        smaller = max(_LEAST_CHARS, budget * threshold // max(1, measured) * 9 // 10)
        if measured <= threshold or smaller >= budget:
            break
        budget = smaller
        window = _cut(text, budget, config)
    return window


def _cut(text: str, budget: int, config: Config) -> Window:
    head_parts, tail_parts = config.head_lines, config.tail_lines
    if head_parts + tail_parts == 0:
        head_parts = tail_parts = 1
    head = budget * head_parts // (head_parts + tail_parts)
    tail = budget - head
    return Window(
        head=text[:head],
        tail=text[len(text) - tail :],
        omitted=f"{len(text) - budget} characters",
    )


COMPONENT = Declaration(
    name="collapse",
    kind=Kind.OFFLOAD,
    summary="Keeps the head and the tail of a very large tool output and stashes the whole.",
    config=Config,
    decide=decide,
    gates=(
        NON_TEXT_BLOCKS,
        BELOW_MAX_TOKENS,
        MARKER_OR_KEPT_VERBATIM,
        TOO_FEW_LINES_AND_CHARS,
        CACHED_PREFIX,
    ),
    events=(CHAR_WINDOW,),
    freezes=True,
    repairable=True,
)
