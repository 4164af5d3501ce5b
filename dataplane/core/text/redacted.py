"""What looks like a credential in a text that leaves the process (03 §1.8, 04 §8.3).

Every process that writes a log line takes its lines through `scrubbed`; text of a conversation
that is kept goes through `redacted` before it leaves the node (04 §8.7). Patterns are an
aid: a credential that looks like prose passes. Each is linear in the text.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

from dataplane.core.text.secrets import CREDENTIALS, HIDDEN

_BEFORE_VALUE = r"""[\\"'`]{0,4}\s{0,4}(?:=>|:=|[:=])\s{0,4}"""
_VALUE = r"""(?:\\*"[^"\r\n]*"|\\*'[^'\r\n]*'|[^\s;,&"'<>]+)"""
# A name that stays, and the value that goes.
_NAMED = re.compile(
    rf"((?i:(?:proxy-)?authorization{_BEFORE_VALUE}[\\\"']{{0,4}}"
    r"(?:(?:basic|bearer|digest|negotiate|token|apikey)\s{1,4})?))[^\s\"'\\]+"
    rf"|((?i:x-api-key{_BEFORE_VALUE}|(?:authorization|x-api-key|bearer)[=: ]{{1,4}}))[^\s\"'\\]+"
    r"|((?i:basic) {1,4})(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/_-]{8,}={0,2}"
    r"|((?i:cookie2?)[\\\"']{1,4}\s{0,4}:\s{0,4}\\*\")[^\"\r\n]+"
    r"|((?i:cookie2?)\s{0,4}[:=]\s{0,4})[^\s\"'][^\r\n]*"
    rf"|((?i:--cookie)[ =]{{1,4}}){_VALUE}"
    rf"|((?i:passw(?:or)?d|pwd|passphrase|client_?secret|account_?key|shared_?access_?key)"
    rf"{_BEFORE_VALUE}){_VALUE}"
)
_KEY_BLOCK = (
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)"
)
_WHOLE = re.compile(
    "|".join(
        (
            _KEY_BLOCK,
            r"cg_(?:live|test|api|node|link)_[A-Za-z0-9]+|sk-[A-Za-z0-9_-]{8,}",
            r"gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]+|hf_[A-Za-z0-9]{16,}|xox[abprs]-[\w-]+",
            r"AKIA[A-Z0-9]{12,}|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{8,}|gsk_[A-Za-z0-9]{20,}",
            r"npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|ya29\.[\w-]{8,}",
            r"eyJ[\w-]{8,2048}\.[\w-]+\.[\w-]+",
            r"(?<=://)[^/\s:@]{0,256}:[^/\s]+(?=@)",
            *(each.pattern.pattern for each in CREDENTIALS),
        )
    )
)
_LONG = re.compile(r"[A-Za-z0-9+/_.~-]{32,}={0,2}")
_BESIDE_KEY = re.compile(
    r"(?i:key|secret|token|passw|credential|auth|signature|bearer|cookie|session)[\w.-]{0,32}"
    r"""[\\"'`>\])]{0,4}\s{0,4}(?:=>|:=|[:=,])?\s{0,4}[\\"'`]{0,4}\Z"""
)
_LOOK_BACK = 80
_RANDOM_BITS = 3.0  # per character; names and sentences of one alphabet stay below


class Redaction(NamedTuple):
    """taken: how many values were taken out."""

    text: str
    taken: int


def scrubbed(text: str) -> str:
    """The text without what looks like a credential."""
    return _taken_out(text).text


def redacted(text: str) -> Redaction:
    """The same and, beside names like those of keys, without long random strings."""
    shaped, count = _taken_out(text)
    found = [match for match in _LONG.finditer(shaped) if _is_key(shaped, match)]
    parts, at = [], 0
    for match in found:
        parts += [shaped[at : match.start()], HIDDEN]
        at = match.end()
    return Redaction("".join((*parts, shaped[at:])), count + len(found))


def _taken_out(text: str) -> Redaction:
    named, by_name = _NAMED.subn(_without_value, text)
    whole, by_shape = _WHOLE.subn(HIDDEN, named)
    return Redaction(whole, by_name + by_shape)


def _without_value(match: re.Match[str]) -> str:
    return f"{match[match.lastindex or 0]}{HIDDEN}"


def _is_key(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
    return bool(_BESIDE_KEY.search(before)) and _bits(match[0]) >= _RANDOM_BITS


def _bits(text: str) -> float:
    """Shannon entropy per character."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())
