"""failed_run: replace the output of a failed test or build run that a later run supersedes.

Source: 01-components.md 2.6.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.blocks import ColdCacheKey, MarkerModeKey
from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import (
    BELOW_MIN_TOKENS,
    CACHED_PREFIX,
    KEPT_VERBATIM_AFTER_EXPAND,
    NON_TEXT_BLOCKS,
)
from dataplane.core.port.signals import Gate

MARKER_PRESENT = Gate("marker_present", "An earlier component has replaced the output.")
NOT_RUN_LIKE = Gate("not_run_like", "The text does not look like a test or build run.")
FEWER_THAN_TWO_RUNS = Gate(
    "fewer_than_two_runs", "The request holds no two runs, so nothing is superseded."
)
EARLIER_RUN_PASSED = Gate("earlier_run_passed", "The earlier run did not fail, so it stays.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest run worth replacing.", unit="tokens", ge=1)] = 100
    marker_mode: MarkerModeKey = "full"
    cold_cache: ColdCacheKey = False


COMPONENT = Declaration(
    name="failed_run",
    kind=Kind.OFFLOAD,
    summary="Replaces failed test and build runs that a later run supersedes.",
    config=Config,
    lacks="the recogniser of runs",
    gates=(
        NON_TEXT_BLOCKS,
        BELOW_MIN_TOKENS,
        MARKER_PRESENT,
        NOT_RUN_LIKE,
        FEWER_THAN_TWO_RUNS,
        KEPT_VERBATIM_AFTER_EXPAND,
        EARLIER_RUN_PASSED,
        CACHED_PREFIX,
    ),
    freezes=True,
)
