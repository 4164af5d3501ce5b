"""What a component would have removed from an expired prompt cache, had its document let it.

Measured on the turns that found the cache expired, by the component's own decisions, so that what
`cold_cache: true` would save is known before anybody writes it. Source: 01-components.md 1.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dataplane.core.port.declaration import Declaration
from dataplane.core.port.turn import Offload, ToolOutput, Turn
from dataplane.core.text import marker
from dataplane.core.text.content import Content

KEY = "cold_cache"


def held_back(
    declaration: Declaration,
    config: msgspec.Struct | None,
    outputs: Sequence[ToolOutput],
    turn: Turn,
) -> dict[int, int]:
    """Message index to the tokens that the key would have left there on this turn.

    Nothing where the component has no such key, has it on, or the cache may still be held.
    """
    if config is None or declaration.decide is None or getattr(config, KEY, None) is not False:
        return {}
    if not (turn.cache_aware and turn.cache_is_cold):
        return {}
    by_index = {output.index: output for output in outputs}
    willing = msgspec.structs.replace(config, **{KEY: True})
    return {
        step.index: _tokens(step, by_index[step.index])
        for step in declaration.decide(tuple(outputs), willing, turn)
        if isinstance(step, Offload) and step.index <= turn.cached_through
    }


def _tokens(step: Offload, output: ToolOutput) -> int:
    token = marker.token(output.original.marker_id) + step.hint
    return Content(step.before + token + step.after).tokens
