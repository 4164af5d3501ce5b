"""What a problem's text is made of; the texts themselves are in wording.py and advice.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True)
class Wording:
    severity: Severity
    message: str
    reason: str = ""
    fix: str = ""


def error(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("error", message, reason, fix)


def warning(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("warning", message, reason, fix)


def advice(message: str, reason: str = "", fix: str = "") -> Wording:
    return Wording("advice", message, reason, fix)
