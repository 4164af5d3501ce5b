"""Which stretch of time an address asks for: the last minutes, or one that does not move (04 §5.0).

?window=900 is the last 900 seconds. ?from=…&to=… are each now, now-6h, ms since the epoch, or a
date and time in UTC; such a window stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from controlplane.telemetry.queries import Window

WINDOWS = (
    (300, "5 min"),
    (900, "15 min"),
    (3600, "1 h"),
    (21_600, "6 h"),
    (86_400, "24 h"),
    (604_800, "7 d"),
    (2_592_000, "30 d"),
)
DEFAULT_S = 3600
SHORTEST_MS = 60_000
LONGEST_MS = 400 * 86_400_000  # what is kept at all
UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_RELATIVE = re.compile(r"now(?:-(\d{1,6})([smhd]))?")
_EPOCH = re.compile(r"\d{10,15}")


def seconds_of(asked: Mapping[str, str]) -> int:
    """How many seconds back ?window= looks; one that is not on offer is the default."""
    wanted = asked.get("window", "")
    return next((each for each, _ in WINDOWS if str(each) == wanted), DEFAULT_S)


def fixed_of(asked: Mapping[str, str], now_ms: int) -> Window | None:
    """The window between ?from= and ?to=; None without both ends of one that can be."""
    since = moment_of(asked.get("from", ""), now_ms)
    until = moment_of(asked.get("to", "") or "now", now_ms)
    if since is None or until is None or until - since < SHORTEST_MS:
        return None
    if until > now_ms + SHORTEST_MS or now_ms - since > LONGEST_MS:
        return None
    return Window(since, until, now_ms)


def moment_of(said: str, now_ms: int) -> int | None:
    """In ms; None for what says no moment."""
    if relative := _RELATIVE.fullmatch(said):
        number, unit = relative.groups()
        return now_ms - (int(number) * UNITS_MS[unit] if number else 0)
    if _EPOCH.fullmatch(said):
        return int(said)
    try:
        found = datetime.fromisoformat(said)
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def in_words(window: Window) -> str:
    """`30 Nov 08:00 to 09:00 UTC`; the day is said again where it is another."""
    since, until = (datetime.fromtimestamp(at / 1000, UTC) for at in (window.since, window.until))
    day = "" if since.date() == until.date() else f"{until.day} {until:%b} "
    return f"{since.day} {since:%b %H:%M} to {day}{until:%H:%M} UTC"
