"""What a page of telemetry looks at: whose figures, over which window; and its links (04 §5.0)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Max

from controlplane.accounts.scopes import Scope as Reach
from controlplane.arrivals import scope_of_request
from controlplane.figures.scope import ALL_TENANTS, Choice, Scope, handle, scope_of
from controlplane.telemetry.models import LiveEvent
from controlplane.telemetry.queries import Window
from controlplane.telemetry.queries.coverage import readable
from controlplane.telemetry.queries.windows import now_ms
from controlplane.ui.frame.page import PersonRequest
from controlplane.ui.watch.windows import (
    DEFAULT_S,
    SHORTEST_MS,
    WINDOWS,
    fixed_of,
    in_words,
    seconds_of,
)

STREAM = "/live/stream"


@dataclass(frozen=True, slots=True)
class Look:
    """scope: the tenant on screen, or all of them. reach: what whoever asks may read.

    cursor: of the stream, read before any figure; None while the telemetry cannot be read.
    is_fixed: the window stays where it is, so that nothing on the page moves. is_ranged: a list
    shows what lies in the window, and not all that is kept.
    kept: what else is in the page's address.
    """

    path: str
    scope: Scope
    reach: Reach
    window: Window
    seconds: int
    cursor: int | None
    is_fixed: bool = False
    is_ranged: bool = False
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def tenant(self) -> str:
        """Its uid, "" for all."""
        return self.scope.chosen.uid if self.scope.chosen else ""

    @property
    def handle(self) -> str:
        chosen = self.scope.chosen
        return handle(chosen, self.scope.tenants) if chosen else ""

    @property
    def label(self) -> str:
        return self.scope.label

    @property
    def words(self) -> str:
        """`the last 15 min`, or from when to when."""
        if self.is_fixed:
            return in_words(self.window)
        return f"the last {dict(WINDOWS)[self.seconds]}"

    @property
    def title(self) -> str:
        return self.words.removeprefix("the ").capitalize() if not self.is_fixed else self.words

    def href(self, path: str = "", **changed: str) -> str:
        """This page, or another one, with the same tenant and window unless they are changed."""
        kept = {"tenant": self.handle, **self._window(), **dict(() if path else self.kept)}
        if "window" in changed or "from" in changed:
            kept = {name: kept[name] for name in kept if name not in {"window", "from", "to"}}
        said = {name: value for name, value in {**kept, **changed}.items() if value}
        return (path or self.path) + (f"?{urlencode(said)}" if said else "")

    def _window(self) -> dict[str, str]:
        if self.is_fixed:
            return {"from": str(self.window.since), "to": str(self.window.until)}
        is_said = self.is_ranged or self.seconds != DEFAULT_S
        return {"window": str(self.seconds) if is_said else ""}

    @property
    def range(self) -> Mapping[str, str]:
        """What says it in the address of a list; nothing for all that is kept."""
        return self._window() if self.is_ranged else {}

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """since and until of a list, ms; None for all that is kept."""
        return (self.window.since, self.window.until) if self.is_ranged else (None, None)

    def earlier(self) -> str:
        """The window before this one, which stays where it is."""
        return self._moved(-(self.window.until - self.window.since))

    def later(self) -> str:
        """The window after this one; "" where that has not begun."""
        return self._moved(self.window.until - self.window.since) if self.is_fixed else ""

    def _moved(self, by_ms: int) -> str:
        since, until = self.window.since + by_ms, min(self.window.until + by_ms, self.window.now)
        if until - since < SHORTEST_MS:
            return ""
        return self.href(**{"from": str(since), "to": str(until)})

    def tenants(self) -> tuple[Choice, ...]:
        return (
            Choice(ALL_TENANTS, self.href(tenant=""), is_current=self.scope.chosen is None),
            *(
                Choice(
                    tenant.label,
                    self.href(tenant=handle(tenant, self.scope.tenants)),
                    is_current=tenant == self.scope.chosen,
                )
                for tenant in self.scope.tenants
            ),
        )

    def windows(self) -> tuple[Choice, ...]:
        """The key w leads to the next one, and from the longest to the shortest."""
        known = [seconds for seconds, _ in WINDOWS]
        following = known[(known.index(self.seconds) + 1) % len(known)]
        return tuple(
            Choice(
                words,
                self.href(window="" if seconds == DEFAULT_S else str(seconds)),
                is_current=seconds == self.seconds and not self.is_fixed,
                keys="w" if seconds == following else "",
            )
            for seconds, words in WINDOWS
        )

    def ranges(self) -> tuple[Choice, ...]:
        """The same for a list, which shows all that is kept as long as none is chosen."""
        every = Choice("Any time", self.href(window=""), is_current=not self.is_ranged)
        return every, *(
            Choice(
                f"Last {words}",
                self.href(window=str(seconds)),
                is_current=self.is_ranged and seconds == self.seconds and not self.is_fixed,
            )
            for seconds, words in WINDOWS
        )

    def stream(self, *topics: str) -> str:
        said = {"topics": ",".join(topics), "tenant": self.handle, "window": str(self.seconds)}
        return f"{STREAM}?{urlencode({name: value for name, value in said.items() if value})}"


def look_of(request: PersonRequest, *kept: str, is_list: bool = False) -> Look:
    """kept: names of further parameters that links carry along. Http404 for a foreign tenant."""
    cursor = readable(_newest, None)
    seconds = seconds_of(request.GET)
    fixed = fixed_of(request.GET, now_ms()) if "from" in request.GET else None
    return Look(
        path=request.path,
        scope=scope_of(request.user, request.GET.get("tenant", "")),
        reach=scope_of_request(request),
        window=fixed or Window.last(seconds),
        seconds=seconds,
        cursor=cursor,
        is_fixed=fixed is not None,
        is_ranged=is_list and (fixed is not None or "window" in request.GET),
        kept=tuple((name, request.GET[name]) for name in kept if request.GET.get(name)),
    )


def _newest() -> int | None:
    return int(LiveEvent.objects.aggregate(seq=Max("seq"))["seq"] or 0)
