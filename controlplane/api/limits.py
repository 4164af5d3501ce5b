"""How often one caller may ask (04 §6.1).

Counted in windows of the clock, in this process alone: with several of them each one has its own
count. It keeps a script that runs wild from the others' share; it is no accounting.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from controlplane.api.refusals import RefusedError
from controlplane.arrivals import address_of, scope_of_request
from dataplane.core.door.addresses import site_of


@dataclass(frozen=True, slots=True)
class Rate:
    """name: what is counted together."""

    name: str
    requests: int
    window_s: int


READS = Rate("reads", 600, 60)
WRITES = Rate("writes", 60, 60)
CHECKS = Rate("checks", 30, 60)
EXPORTS = Rate("exports", 10, 3600)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a rate. reset_s: until the window ends, in whole seconds."""

    rate: Rate
    remaining: int
    reset_s: int
    is_over: bool = False


class Windows:
    """Requests of each caller in the window that it is now. clock: seconds since the epoch.

    The counts of a rate go as a whole when its next window begins, so that a request costs the
    same however many callers there are.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, dict[str, int]]] = {}

    def take(self, caller: str, rate: Rate) -> Allowance:
        """Count one request; is_over when it is more than the rate allows."""
        now = self._clock()
        window = int(now // rate.window_s)
        reset_s = math.ceil((window + 1) * rate.window_s - now)
        with self._lock:
            used = self._used_in(window, rate)
            before = used.get(caller, 0)
            if before >= rate.requests:
                return Allowance(rate, 0, reset_s, is_over=True)
            used[caller] = before + 1
        return Allowance(rate, rate.requests - before - 1, reset_s)

    def _used_in(self, window: int, rate: Rate) -> dict[str, int]:
        last, used = self._counts.get(rate.name, (window, {}))
        if last != window:
            used = {}
        self._counts[rate.name] = (window, used)
        return used


windows = Windows()


def taken(request: HttpRequest, rate: Rate) -> Allowance:
    """One request of whoever sends it: a token or a person, else an address."""
    principal = scope_of_request(request).principal
    caller = principal.actor_uid if principal else f"address {site_of(address_of(request))}"
    return windows.take(caller, rate)


def too_many(allowance: Allowance) -> RefusedError:
    rate = allowance.rate
    detail = (
        f"At most {rate.requests} {rate.name} in {rate.window_s} seconds; "
        f"the next one counts in {allowance.reset_s}."
    )
    refused = RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", detail)
    refused.headers["Retry-After"] = str(allowance.reset_s)
    return refused


def stated(response: HttpResponse, allowance: Allowance) -> HttpResponse:
    """The answer with what is left."""
    response.headers["RateLimit-Limit"] = str(allowance.rate.requests)
    response.headers["RateLimit-Remaining"] = str(allowance.remaining)
    response.headers["RateLimit-Reset"] = str(allowance.reset_s)
    return response
