"""searchfold: write a path that many search hits share once, as a heading.

Source: 01-components.md 2.4.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NO_PATH_SHAPE = Gate("no_path_shape", "The text has no path and no line number.")
NO_REPEATED_PREFIX = Gate(
    "no_repeated_prefix", "No path stands on two lines, or folding it would not be smaller."
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth folding.", unit="tokens", ge=1)] = 50


COMPONENT = Declaration(
    name="searchfold",
    kind=Kind.REFORMAT,
    summary="Writes the paths that search hits and listings share once.",
    config=Config,
    lacks="the path folder",
    gates=(NON_TEXT_BLOCKS, BELOW_MIN_TOKENS, NO_PATH_SHAPE, NO_REPEATED_PREFIX),
)
