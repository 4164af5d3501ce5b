"""extract: drop what is provably noise: progress lines, blank runs, blocks repeated in place.

Source: 01-components.md 2.9.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey, Trigger
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_OUTPUT_FLOOR, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NO_OBVIOUS_NOISE = Gate("no_obvious_noise", "Nothing in the output is provably noise.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth reducing.", unit="tokens", ge=1)] = 300
    marker_mode: MarkerModeKey = "full"
    trigger: Annotated[
        Trigger, key("Only its floors for a single output count here; the rest is accepted.")
    ] = Trigger()


COMPONENT = Declaration(
    name="extract",
    kind=Kind.OFFLOAD,
    summary="Drops progress lines, blank runs and blocks that repeat at once.",
    config=Config,
    lacks="the noise reducer",
    gates=(NON_TEXT_BLOCKS, BELOW_OUTPUT_FLOOR, MARKER_OR_KEPT_VERBATIM, NO_OBVIOUS_NOISE),
)
