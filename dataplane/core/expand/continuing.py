"""The body of the next round: the one before, with what the model said and what answers its calls.

Source: 03-proxy-and-recovery.md 4.4; 00-start-here.md 2 (row 26).
"""

from __future__ import annotations

from collections.abc import Iterable

from dataplane.core.wire.spans import STRING, outline
from dataplane.core.wire.splice import Edit, append_to_array, splice


def continued(sent: bytes, list_name: str, items: Iterable[bytes], *, collects: bool) -> bytes:
    """The body with raw items behind the others of its list.

    Nothing before the end is touched, so the provider's cached prefix stays. collects: the
    provider itself has added the round to the conversation, so that of the items only those behind
    the first, which echoes the round, are sent, and nothing that was sent before.
    """
    top, readable = outline(sent)
    place = top[list_name].value
    if collects:
        _, *results = items
        edit = Edit(place, b"[" + b",".join(results) + b"]")
    elif readable[place.start] == STRING:
        told = b'{"role":"user","content":' + sent[place.start : place.end] + b"}"
        edit = Edit(place, b"[" + b",".join((told, *items)) + b"]")
    else:
        edit = append_to_array(sent, place, items)
    return splice(sent, [edit])
