"""What a panel says when it cannot show figures, or not all of them (04 §5.0).

loading is left to the browser: a page is complete when it arrives, and dims while it is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.figures.numerals import plural, span
from controlplane.telemetry.queries import Coverage, State, Window, coverage
from controlplane.telemetry.queries.coverage import SILENT_MS

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Panel:
    """kind: empty, error, partial or stale. act, href: the one thing to do; "" for nothing."""

    kind: str
    fact: str
    why: str = ""
    act: str = ""
    href: str = ""

    @property
    def tone(self) -> str:
        return {"error": "alarm", "partial": "watch", "stale": "watch"}.get(self.kind, "")


UNREADABLE = Panel(
    "error",
    "The telemetry database cannot be read.",
    "Traffic goes on, and nothing is known of it here. The other pages are not affected.",
    "Try again",
)


def notes_of(window: Window | None = None) -> Sequence[Panel]:
    """What has to be said above figures: that some are missing, or that none came lately."""
    looked = window or Window.last(DAY_S)
    covered = coverage(looked)
    if covered.state is State.UNKNOWN:
        return (UNREADABLE,)
    found = [_partial(covered)] if covered.state is State.PARTIAL else []
    if covered.last_at is not None and looked.now - covered.last_at > SILENT_MS:
        age = span((looked.now - covered.last_at) / 1000)
        found.append(Panel("stale", f"The newest report is {age} old.", "Figures end there."))
    return tuple(found)


def _partial(covered: Coverage) -> Panel:
    heard = covered.nodes - covered.silent
    said = f"{heard} of {plural(covered.nodes, 'node')} reported; figures are a lower bound."
    missing = [
        f"{plural(number, noun)} never arrived"
        for number, noun in (
            (covered.lost_batches, "batch"),
            (covered.dropped_rows, "request row"),
        )
        if number
    ]
    return Panel("partial", said, f"{'; '.join(missing)}." if missing else "")
