"""cmdfilter: reduce the outputs of known commands by declared line filters.

Source: 01-components.md 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from dataplane.core.config.filters import remarks_on
from dataplane.core.port.blocks import MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, Remark, key
from dataplane.core.port.gates import (
    BELOW_MIN_SIZE,
    EMPTY,
    MARKER_OR_KEPT_VERBATIM,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Gate

NO_FILTER_MATCH = Gate("no_filter_match", "No filter knows the command or its first lines.")
FILTER_MATCHED_NO_CHANGE = Gate(
    "filter_matched_no_change", "A filter knows the output and found nothing to drop."
)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    filters: Annotated[
        list[str], key("Filter documents (YAML text) that are added to the built-in ones.")
    ] = []
    disable_builtins: Annotated[bool, key("Leave the built-in filters out.")] = False
    agent_filters: Annotated[
        Literal["off", "safe", "lossy"], key("Further filters for coding agents.")
    ] = "off"
    min_size: Annotated[
        int,
        key("Smallest output worth looking at.", unit="bytes", ge=0, zero_means="every output"),
    ] = 400
    marker_mode: MarkerModeKey = "full"


def remarks(config: Config) -> Iterator[Remark]:
    if config.disable_builtins and not config.filters and config.agent_filters == "off":
        why = "the built-in filters are disabled, there are no others, and agent_filters is off"
        yield Remark("config.nothing_to_do", "disable_builtins", facts={"why": why})
    yield from remarks_on(config.filters)


COMPONENT = Declaration(
    name="cmdfilter",
    kind=Kind.OFFLOAD,
    summary="Drops known boilerplate from the outputs of commands.",
    config=Config,
    lacks="the filters of commands",
    remarks=remarks,
    gates=(
        NON_TEXT_BLOCKS,
        EMPTY,
        BELOW_MIN_SIZE,
        MARKER_OR_KEPT_VERBATIM,
        NO_FILTER_MATCH,
        FILTER_MATCHED_NO_CHANGE,
    ),
    freezes=True,
)
