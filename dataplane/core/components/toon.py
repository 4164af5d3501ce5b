"""toon: write a JSON array of equal, flat objects as a table, when reading it back gives the same.

Source: 01-components.md 2.2.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key
from dataplane.core.port.gates import BELOW_MIN_TOKENS, NON_TEXT_BLOCKS
from dataplane.core.port.signals import Gate

NOT_UNIFORM_OBJECT_ARRAY = Gate(
    "not_uniform_object_array",
    "Neither an array of objects with the same flat keys nor an object that may hold one.",
)
ENVELOPE_NO_EMBEDDED_JSON = Gate(
    "envelope_no_embedded_json", "No field of the object holds such an array in a string."
)
ENVELOPE_INNER_NOT_SMALLER = Gate(
    "envelope_inner_not_smaller", "The table inside a field would not be smaller."
)
ENVELOPE_MARSHAL_FAILED = Gate(
    "envelope_marshal_failed", "The object could not be written back with a table in a field."
)
ALREADY_DENSE = Gate("already_dense", "The table would not have fewer tokens.")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    min_tokens: Annotated[int, key("Smallest output worth reformatting.", unit="tokens", ge=1)] = 50


COMPONENT = Declaration(
    name="toon",
    kind=Kind.REFORMAT,
    summary="Writes JSON arrays of equal, flat objects as tables.",
    config=Config,
    lacks="the table encoder",
    gates=(
        NON_TEXT_BLOCKS,
        BELOW_MIN_TOKENS,
        NOT_UNIFORM_OBJECT_ARRAY,
        ENVELOPE_NO_EMBEDDED_JSON,
        ENVELOPE_INNER_NOT_SMALLER,
        ENVELOPE_MARSHAL_FAILED,
        ALREADY_DENSE,
    ),
)
