"""What a page of telemetry looks at: whose figures, over which window; and its links (04 5.0)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Max

from controlplane.accounts.scopes import Scope as Reach
from controlplane.arrivals import scope_of_request
from controlplane.telemetry.models import LiveEvent
from controlplane.telemetry.queries import Window
from controlplane.telemetry.queries.coverage import readable
from controlplane.ui.frame import PersonRequest
from controlplane.ui.scope import ALL_TENANTS, Choice, Scope, handle, scope_of

STREAM = "/live/stream"
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


@dataclass(frozen=True, slots=True)
class Look:
    """scope: the tenant on screen, or all of them. reach: what whoever asks may read.

    cursor: of the stream, read before any figure; None while the telemetry cannot be read.
    kept: what else is in the page's address.
    """

    path: str
    scope: Scope
    reach: Reach
    window: Window
    seconds: int
    cursor: int | None
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
        return next(words for seconds, words in WINDOWS if seconds == self.seconds)

    def href(self, path: str = "", **changed: str) -> str:
        """This page, or another one, with the same tenant and window unless they are changed."""
        window = str(self.seconds) if self.seconds != DEFAULT_S else ""
        kept = {"tenant": self.handle, "window": window, **dict(() if path else self.kept)}
        said = {name: value for name, value in {**kept, **changed}.items() if value}
        return (path or self.path) + (f"?{urlencode(said)}" if said else "")

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
                is_current=seconds == self.seconds,
                keys="w" if seconds == following else "",
            )
            for seconds, words in WINDOWS
        )

    def stream(self, *topics: str) -> str:
        said = {"topics": ",".join(topics), "tenant": self.handle, "window": str(self.seconds)}
        return f"{STREAM}?{urlencode({name: value for name, value in said.items() if value})}"


def look_of(request: PersonRequest, *kept: str) -> Look:
    """kept: names of further parameters that links carry along. Http404 for a foreign tenant."""
    cursor = readable(_newest, None)
    wanted = request.GET.get("window", "")
    seconds = next((each for each, _ in WINDOWS if str(each) == wanted), DEFAULT_S)
    return Look(
        path=request.path,
        scope=scope_of(request.user, request.GET.get("tenant", "")),
        reach=scope_of_request(request),
        window=Window.last(seconds),
        seconds=seconds,
        cursor=cursor,
        kept=tuple((name, request.GET[name]) for name in kept if request.GET.get(name)),
    )


def _newest() -> int | None:
    return int(LiveEvent.objects.aggregate(seq=Max("seq"))["seq"] or 0)
