"""skeleton: replace the bodies of functions in code dumps, never those of the newest read.

Source: 01-components.md 2.22.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from dataplane.core.port.blocks import ColdCacheKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    CACHED_PREFIX,
    MARKER_OR_KEPT_VERBATIM,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Gate

NO_STASH = Gate("no_stash", "Originals cannot be kept on this request.")
NEWEST_READ_OF_PATH = Gate("newest_read_of_path", "It is the newest read of its file.")
DUMP_NOT_REDUCIBLE = Gate(
    "dump_not_reducible", "The code has no body to elide, or would not parse without it."
)
NOT_A_CODE_DUMP = Gate("not_a_code_dump", "Neither a numbered file dump nor a fenced block.")
_ONE_WAY = "A body of code that is elided without a marker could never be brought back."


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest dump worth reducing.", unit="tokens", ge=1)] = 80
    marker_mode: Annotated[
        Literal["full"],
        key(
            "Originals are always stashed.",
            unavailable={"summary": _ONE_WAY, "off": _ONE_WAY},
        ),
    ] = "full"
    cold_cache: ColdCacheKey = False


COMPONENT = Declaration(
    name="skeleton",
    kind=Kind.OFFLOAD,
    summary="Replaces bodies of functions in code that was read, keeping the signatures.",
    config=Config,
    lacks="a parser of programming languages",
    gates=(
        NO_STASH,
        NON_TEXT_BLOCKS,
        NEWEST_READ_OF_PATH,
        MARKER_OR_KEPT_VERBATIM,
        BELOW_MIN_TOKENS,
        CACHED_PREFIX,
        DUMP_NOT_REDUCIBLE,
        NOT_A_CODE_DUMP,
    ),
    freezes=True,
)
