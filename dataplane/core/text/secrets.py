"""What looks like a credential, and how a value may be shown (04 §2.4 and 2.5)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

Value = str | int | float | bool | None
HIDDEN = "«secret»"
MAX_SHOWN = 120
_LARGEST_NUMBER = 2**63 - 1  # what JSON writers agree on


@dataclass(frozen=True, slots=True)
class Credential:
    """signs: one of them is in every such credential; they are cheaper to look for."""

    what: str
    signs: tuple[str, ...]
    pattern: re.Pattern[str]


CREDENTIALS = (
    Credential(
        "a private key",
        ("-----BEGIN ",),
        re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"),
    ),
    Credential("a key of this gateway", ("cg_live_",), re.compile(r"\bcg_live_[A-Za-z0-9_-]{8,}")),
    Credential("a provider's API key", ("sk-",), re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")),
    Credential(
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ),
    Credential("an AWS access key", ("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    Credential("a Google API key", ("AIza",), re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
    Credential("a Slack token", ("xox",), re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    Credential(
        "a signed token (JWT)",
        ("eyJ",),
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ),
)


def credentials_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Where credentials stand in a text: start, end, and what they look like."""
    for credential in CREDENTIALS:
        if any(sign in text for sign in credential.signs):
            for found in credential.pattern.finditer(text):
                yield found.start(), found.end(), credential.what


def is_credential(text: str) -> bool:
    return next(credentials_in(text), None) is not None


def shown(value: Value) -> Value:
    """The value as a person may see it: credentials hidden, long text and numbers cut."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
        return shown(str(value))
    if not isinstance(value, str):
        return value
    if is_credential(value):
        return HIDDEN
    return value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 1] + "…"
