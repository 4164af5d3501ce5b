"""Addresses that a client makes of a base URL with too little or too much at its end.

Clients append to their base URL what their own documentation says, some with `/v1` and some
without, so one setting is right for one and wrong for the next. What such an address means is
clear: it is refused with the right one, and nothing goes to a provider, whose 404 would not say
it. Source: 03-proxy-and-recovery.md 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

VERSION = "v1"
_SHAPED = (["messages"], ["chat", "completions"], ["responses"])
_ENDPOINTS = (*_SHAPED, ["completions"], ["embeddings"], ["models"])
# The first segments of addresses that lack the version.
BARE = frozenset(endpoint[0] for endpoint in _ENDPOINTS)
_PLACE = re.compile(r"((?:/t/[^/]+)?(?:/(?:anthropic|openai|inference))?)/(.*)", re.DOTALL)


class Meant(NamedTuple):
    """The address that was meant, and what to change at the client's base URL to ask there."""

    path: str
    change: str


def meant(path: str) -> Meant | None:
    """What a misspelt address means; None for one that is not misspelt in a way known here.

    path: as the client spelt it, without its query.
    """
    single = re.sub("/{2,}", "/", path)
    parts = _PLACE.fullmatch(single)
    if parts is None:
        return None
    place, rest = parts.groups()
    segments = rest.split("/")
    right = _right(segments)
    if right != segments:
        return Meant("/".join((place, *right)), _change(segments, right))
    return Meant(single, "take the slash off its end") if single != path else None


def _right(segments: list[str]) -> list[str]:
    """With one version in front of one endpoint; the same where nothing is wrong with them."""
    filled = segments[:-1] if segments[-1] == "" else segments
    versions = [place for place, segment in enumerate(filled) if segment == VERSION]
    asked = filled[versions[-1] + 1 :] if versions else filled
    if not any(_begins(asked, endpoint) for endpoint in _ENDPOINTS):
        return segments
    for endpoint in _SHAPED:
        if asked in (endpoint, endpoint * 2):
            return [VERSION, *endpoint]
    return [VERSION, *asked] if len(versions) != 1 or filled[0] != VERSION else segments


def _begins(segments: Sequence[str], endpoint: Sequence[str]) -> bool:
    return [*segments[: len(endpoint)]] == [*endpoint]


def _change(segments: list[str], right: list[str]) -> str:
    if VERSION not in segments:
        return f"add /{VERSION} at its end"
    if segments[-1] == "":
        return "take the slash off its end"
    endpoint = right[1:]
    is_doubled = segments[-2 * len(endpoint) :] == endpoint * 2
    surplus = endpoint if is_doubled else segments[: len(segments) - len(right)]
    return f"take /{'/'.join(surplus)} off its end"
