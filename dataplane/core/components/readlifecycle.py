"""readlifecycle: replace file reads that a later edit made stale, or a later read superseded.

Source: 01-components.md 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from dataplane.core.port.blocks import ColdCacheKey, MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    CACHED_PREFIX,
    MARKER_OR_KEPT_VERBATIM,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Gate

NO_FILE_READS = Gate("no_file_reads", "The request holds no read and no edit of a file.")
FRESH_READ = Gate("fresh_read", "Nothing later edits the file or reads the same part of it.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest read worth replacing.", unit="tokens", ge=1)] = 100
    stale: Annotated[bool, key("Replace reads of files that were edited later.")] = True
    superseded: Annotated[bool, key("Replace reads of what was read again later.")] = True
    stale_at_depth: Annotated[
        bool, key("Replace stale reads inside the provider's cached prefix as well.")
    ] = False
    bash_edits: Annotated[bool, key("Count shell commands that write to a file as edits.")] = False
    marker_mode: MarkerModeKey = "full"
    cold_cache: ColdCacheKey = False


def remarks(config: Config) -> Iterator[Remark]:
    if not config.stale and not config.superseded:
        why = "stale and superseded are both false"
        yield Remark("config.nothing_to_do", "stale", facts={"why": why})


COMPONENT = Declaration(
    name="readlifecycle",
    kind=Kind.OFFLOAD,
    summary="Replaces file reads that later edits or reads have overtaken.",
    config=Config,
    lacks="the index of file reads",
    remarks=remarks,
    gates=(
        NO_FILE_READS,
        NON_TEXT_BLOCKS,
        FRESH_READ,
        MARKER_OR_KEPT_VERBATIM,
        BELOW_MIN_TOKENS,
        CACHED_PREFIX,
    ),
    freezes=True,
)
