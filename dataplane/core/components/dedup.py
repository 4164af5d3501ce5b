"""dedup: replace a tool output that is identical to an earlier one by a marker.

Nothing is frozen: the same request yields the same bytes, at any depth.
Source: 01-components.md 2.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate
from dataplane.core.port.turn import Decline, Offload, Step, ToolOutput, Turn

NO_EARLIER_IDENTICAL_OUTPUT = Gate(
    "no_earlier_identical_output", "No earlier tool output of the request has the same text."
)
_REPLACEMENT = "[identical to an earlier tool output] "


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth replacing.", unit="tokens", ge=1)] = 100
    marker_mode: MarkerModeKey = "full"


def decide(outputs: tuple[ToolOutput, ...], config: Config, turn: Turn) -> Iterator[Step]:
    """One step for each output, in order of the request."""
    seen: set[str] = set()
    for output in outputs:
        # A first copy counts also when another component has replaced it: else a later copy,
        # replaced on an earlier turn, would come back inside the cached prefix.
        repeats = output.original.text in seen
        if output.rewritable:
            seen.add(output.original.text)
        if gate := _closed_gate(output, config, turn):
            yield Decline(gate, output.index)
        elif repeats:
            yield Offload(output.index, before=_REPLACEMENT)
        else:
            yield Decline(NO_EARLIER_IDENTICAL_OUTPUT, output.index)


def _closed_gate(output: ToolOutput, config: Config, turn: Turn) -> Gate | None:
    """The gate that keeps an output out of the comparison, None when it takes part."""
    if not output.rewritable:
        return NON_TEXT_BLOCKS
    if output.tokens < config.min_tokens:
        return BELOW_MIN_TOKENS
    return MARKER_OR_KEPT_VERBATIM if turn.is_settled(output) else None


COMPONENT = Declaration(
    name="dedup",
    kind=Kind.OFFLOAD,
    summary="Replaces a tool output that repeats an earlier one of the same request.",
    config=Config,
    decide=decide,
    gates=(
        NON_TEXT_BLOCKS,
        BELOW_MIN_TOKENS,
        MARKER_OR_KEPT_VERBATIM,
        NO_EARLIER_IDENTICAL_OUTPUT,
    ),
)
