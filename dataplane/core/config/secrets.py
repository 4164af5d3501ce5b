"""What looks like a credential, and how a value may be shown (04 sections 2.4 and 2.5)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dataplane.core.config.tree import ScalarValue

HIDDEN = "«secret»"
MAX_SHOWN = 120
_LARGEST_NUMBER = 2**63 - 1  # what JSON writers agree on

CREDENTIALS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a private key", re.compile(r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----")),
    ("a key of this gateway", re.compile(r"\bcg_live_[A-Za-z0-9_-]{8,}")),
    ("a provider's API key", re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")),
    (
        "a GitHub token",
        re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ),
    ("an AWS access key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("a Google API key", re.compile(r"\bAIza[A-Za-z0-9_-]{35}")),
    ("a Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    (
        "a signed token (JWT)",
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ),
)


def credentials_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Where credentials stand in a text: start, end, and what they look like."""
    for what, pattern in CREDENTIALS:
        for found in pattern.finditer(text):
            yield found.start(), found.end(), what


def is_credential(text: str) -> bool:
    return next(credentials_in(text), None) is not None


def shown(value: ScalarValue) -> ScalarValue:
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
