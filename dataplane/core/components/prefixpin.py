"""prefixpin: send the first text of an early message that keeps changing a little.

It leaves no marker and turns nothing away by name. Source: 01-components.md 2.24.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from dataplane.core.port.declaration import Declaration, Kind, key


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_pin_index: Annotated[
        int,
        key(
            "So many messages from the start may be pinned.",
            unit="messages",
            ge=0,
            zero_means="none is pinned",
        ),
    ] = 4
    min_similarity: Annotated[
        float, key("Share of lines that a change must leave alone.", unit="share", ge=0, le=1)
    ] = 0.80
    repeat_threshold: Annotated[int, key("Changes before a message is pinned.", ge=0)] = 2
    min_tokens: Annotated[int, key("Smallest message worth pinning.", unit="tokens", ge=1)] = 200


COMPONENT = Declaration(
    name="prefixpin",
    kind=Kind.OFFLOAD,
    summary="Keeps an early message at its first text while it changes only a little.",
    config=Config,
    lacks="the memory of early messages",
    gates=(),
)
