"""textclean: remove terminal control sequences and redrawn lines, and nothing that can be seen.

Source: 01-components.md 2.3.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NO_TERMINAL_NOISE = Gate(
    "no_terminal_noise", "The text has no control sequence and no redrawn line."
)
CONTENT_WOULD_CHANGE = Gate(
    "content_would_change", "A line that is seen on a terminal would not be the same."
)
ALREADY_CLEAN = Gate("already_clean", "The cleaned text would not have fewer tokens.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth cleaning.", unit="tokens", ge=1)] = 50


COMPONENT = Declaration(
    name="textclean",
    kind=Kind.REFORMAT,
    summary="Removes terminal colours, cursor movements and redrawn progress lines.",
    config=Config,
    lacks="the terminal cleaner",
    gates=(
        NON_TEXT_BLOCKS,
        BELOW_MIN_TOKENS,
        NO_TERMINAL_NOISE,
        CONTENT_WOULD_CHANGE,
        ALREADY_CLEAN,
    ),
)
