"""smartcrush: keep the first, the last and the failing items of a long JSON array.

Source: 01-components.md 2.10.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NOT_JSON_ARRAY = Gate("not_json_array", "The output is not one JSON array.")
BELOW_MIN_ITEMS = Gate("below_min_items", "The array has fewer items than min_items.")
NOTHING_TO_DROP = Gate("nothing_to_drop", "Every item of the array would be kept.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_items: Annotated[int, key("Shortest array worth sampling.", unit="items", ge=1)] = 5
    min_tokens: Annotated[int, key("Smallest output worth sampling.", unit="tokens", ge=1)] = 200
    keep_first: Annotated[int, key("Items kept from the start.", unit="items", ge=0)] = 3
    keep_last: Annotated[int, key("Items kept from the end.", unit="items", ge=0)] = 2
    marker_mode: MarkerModeKey = "full"


COMPONENT = Declaration(
    name="smartcrush",
    kind=Kind.OFFLOAD,
    summary="Keeps the ends of long JSON arrays and the items that report a failure.",
    config=Config,
    lacks="the array sampler",
    gates=(
        NON_TEXT_BLOCKS,
        MARKER_OR_KEPT_VERBATIM,
        NOT_JSON_ARRAY,
        BELOW_MIN_TOKENS,
        BELOW_MIN_ITEMS,
        NOTHING_TO_DROP,
    ),
)
