"""linecap: cut over-long lines in their middle and keep one copy of repeated ones.

Source: 01-components.md 2.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import BELOW_MIN_SIZE, MARKER_OR_KEPT_VERBATIM, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NO_LONG_OR_REPEATED_LINES = Gate(
    "no_long_or_repeated_lines", "No line is too long, and none is repeated."
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_line_chars: Annotated[
        int,
        key(
            "Lines longer than this are cut in their middle.",
            unit="characters",
            ge=0,
            zero_means="no line is cut",
        ),
    ] = 500
    collapse_duplicate_lines: Annotated[bool, key("Keep one copy of a repeated line.")] = True
    min_size: Annotated[
        int,
        key("Smallest output worth looking at.", unit="bytes", ge=0, zero_means="every output"),
    ] = 400
    marker_mode: MarkerModeKey = "full"


def remarks(config: Config) -> Iterator[Remark]:
    if not config.max_line_chars and not config.collapse_duplicate_lines:
        why = "max_line_chars is 0 and collapse_duplicate_lines is false"
        yield Remark("config.nothing_to_do", "max_line_chars", facts={"why": why})


COMPONENT = Declaration(
    name="linecap",
    kind=Kind.OFFLOAD,
    summary="Cuts over-long lines and drops repeated ones.",
    config=Config,
    lacks="the line cutter",
    remarks=remarks,
    gates=(NON_TEXT_BLOCKS, BELOW_MIN_SIZE, MARKER_OR_KEPT_VERBATIM, NO_LONG_OR_REPEATED_LINES),
)
