"""coref: cut outputs whose identifiers nobody has used since, in batches that pay for themselves.

Source: 01-components.md 2.23.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey, Trigger
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

TRIGGER = Gate("trigger", "The request has not reached the sizes of the trigger.")
REWRITE_BUDGET = Gate("rewrite_budget", "The session has used up its rewrites of the prefix.")
BATCH_TOO_SMALL = Gate(
    "batch_too_small", "All cuts together would save less than min_batch_frac of the request."
)
BREAK_EVEN = Gate(
    "break_even", "Writing the suffix again would not be paid back in the turns that are left."
)
NOT_INDEXED = Gate("not_indexed", "The index of identifiers has no record of this output.")
_CLASSES = {
    "open": "Its identifiers are in use, or it is too recent to tell.",
    "closed": "Its identifiers were used and are no longer, and cut_closed is false.",
    "opaque": "It introduced no identifier, so whether it is in use cannot be told.",
    "unreferenced": "Nothing used its identifiers, and cut_unreferenced is false.",
}
CLASSES = tuple(Gate(f"class_{name}", meaning) for name, meaning in _CLASSES.items())


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth cutting.", unit="tokens", ge=1)] = 300
    cut_unreferenced: Annotated[bool, key("Cut outputs of which nothing was used afterwards.")] = (
        True
    )
    cut_closed: Annotated[bool, key("Cut outputs whose use has ended.")] = False
    min_later_turns: Annotated[
        int, key("Turns of the model behind an output before it is judged.", unit="turns", ge=0)
    ] = 8
    closed_dist: Annotated[
        int,
        key("Messages since the last use after which a use has ended.", unit="messages", ge=0),
    ] = 12
    open_reps: Annotated[int, key("So many uses keep an output open.", unit="messages", ge=0)] = 3
    min_batch_frac: Annotated[
        float, key("Share of the request that one batch must save.", unit="share", ge=0, le=1)
    ] = 0.05
    rewrite_budget: Annotated[
        int,
        key("Batches for one session.", ge=0, zero_means="earlier cuts are repeated, none is made"),
    ] = 3
    break_even: Annotated[bool, key("Cut only what is paid back in the turns that are left.")] = (
        True
    )
    keep_head_chars: Annotated[
        int,
        key(
            "Characters of the output left in the marker.",
            unit="characters",
            ge=0,
            zero_means="an opaque marker",
        ),
    ] = 96
    marker_mode: MarkerModeKey = "full"
    trigger: Annotated[Trigger, key("When a batch may be made.")] = Trigger()


def remarks(config: Config) -> Iterator[Remark]:
    if not config.cut_unreferenced and not config.cut_closed:
        why = "cut_unreferenced and cut_closed are both false"
        yield Remark("config.nothing_to_do", "cut_unreferenced", facts={"why": why})


COMPONENT = Declaration(
    name="coref",
    kind=Kind.OFFLOAD,
    summary="Cuts outputs whose identifiers are no longer referred to.",
    config=Config,
    lacks="the index of identifiers",
    remarks=remarks,
    gates=(
        TRIGGER,
        REWRITE_BUDGET,
        BATCH_TOO_SMALL,
        BREAK_EVEN,
        NON_TEXT_BLOCKS,
        BELOW_MIN_TOKENS,
        MARKER_OR_KEPT_VERBATIM,
        NOT_INDEXED,
        *CLASSES,
    ),
    freezes=True,
)
