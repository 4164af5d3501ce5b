"""mask: keep the newest tool outputs verbatim, replace older ones by a marker.

Source: 01-components.md 2.11; its table of gates is the operator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import ColdCacheKey, MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    CACHED_PREFIX,
    MARKER_OR_KEPT_VERBATIM,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Gate
from dataplane.core.port.turn import Decline, Offload, Step, ToolOutput, Turn
from dataplane.core.text.marker import HINT, defang

WITHIN_KEEP_RECENT = Gate(
    "within_keep_recent",
    'The request holds no more tool outputs than keep_recent, so nothing is "older".',
)
_BYTES_PER_PEEK_CHAR = 4


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep_recent: Annotated[
        int,
        key(
            "Newest tool outputs kept verbatim.",
            unit="outputs",
            ge=0,
            zero_means="every output may be masked",
        ),
    ] = 3
    min_tokens: Annotated[
        int, key("Only older outputs at least this large are masked.", unit="tokens", ge=1)
    ] = 100
    keep_head_chars: Annotated[
        int,
        key(
            "Characters of the hidden output left in the marker as a one-line head-peek.",
            unit="characters",
            ge=0,
            zero_means="an opaque marker",
        ),
    ] = 96
    marker_mode: MarkerModeKey = "full"
    cold_cache: ColdCacheKey = False


def decide(outputs: tuple[ToolOutput, ...], config: Config, turn: Turn) -> Iterator[Step]:
    """One step for each output older than the newest keep_recent, oldest first."""
    older = outputs[: max(0, len(outputs) - config.keep_recent)]
    if not older:
        yield Decline(WITHIN_KEEP_RECENT)
    for output in older:
        if step := _step(output, config, turn):
            yield step


def _step(output: ToolOutput, config: Config, turn: Turn) -> Step | None:
    """What happens to one older output; None for an empty one, which is nobody's candidate."""
    if not output.rewritable:
        return Decline(NON_TEXT_BLOCKS, output.index)
    if not output.text:
        return None
    if replay := turn.replay_of(output):
        return replay
    if gate := _closed_gate(output, config, turn):
        return Decline(gate, output.index)
    head = peek(output.text, config.keep_head_chars)
    starts = f"; starts: {head}" if head else ""
    return Offload(output.index, before=f"[older tool output masked{starts}] ", hint=HINT)


def _closed_gate(output: ToolOutput, config: Config, turn: Turn) -> Gate | None:
    """The first gate that keeps this output verbatim, None when it may be masked."""
    if turn.is_settled(output):
        return MARKER_OR_KEPT_VERBATIM
    if output.tokens < config.min_tokens:
        return BELOW_MIN_TOKENS
    if turn.is_cached(output, act_when_cold=config.cold_cache):
        return CACHED_PREFIX
    return None


def peek(text: str, chars: int) -> str:
    """The first chars characters of a text on one line, "…" added when there were more.

    Only the first 4 x chars bytes are looked at. Nothing in it parses as a marker.
    """
    # Slicing characters first bounds the work: a character is at least one byte.
    window = _BYTES_PER_PEEK_CHAR * chars
    head = text[:window].encode()[:window].decode(errors="ignore")
    line = " ".join(defang(head).split())
    return line if len(line) <= chars else line[:chars] + "…"


COMPONENT = Declaration(
    name="mask",
    kind=Kind.OFFLOAD,
    summary="Replaces tool outputs older than the newest few by a short, resolvable marker.",
    config=Config,
    decide=decide,
    gates=(
        WITHIN_KEEP_RECENT,
        BELOW_MIN_TOKENS,
        MARKER_OR_KEPT_VERBATIM,
        CACHED_PREFIX,
        NON_TEXT_BLOCKS,
    ),
    freezes=True,
    repairable=True,
)
