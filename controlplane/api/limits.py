"""How often one caller may ask (04 section 6.1).

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

CALLERS_KEPT = 10_000  # before counts of earlier windows are thrown away


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
    """Requests of each caller in the window that it is now. clock: seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, caller: str, rate: Rate) -> Allowance:
        """Count one request; is_over when it is more than the rate allows."""
        now = self._clock()
        window = int(now // rate.window_s)
        reset_s = math.ceil((window + 1) * rate.window_s - now)
        with self._lock:
            last, used = self._counts.get((caller, rate.name), (window, 0))
            used = used if last == window else 0
            if used >= rate.requests:
                return Allowance(rate, 0, reset_s, is_over=True)
            if len(self._counts) >= CALLERS_KEPT:
                self._forget(now)
            self._counts[caller, rate.name] = (window, used + 1)
        return Allowance(rate, rate.requests - used - 1, reset_s)

    def _forget(self, now: float) -> None:
        """Whoever has not asked for an hour is in no window any more."""
        rates = {each.name: each for each in (READS, WRITES, CHECKS, EXPORTS)}
        self._counts = {
            key: (window, used)
            for key, (window, used) in self._counts.items()
            if window == int(now // rates[key[1]].window_s)
        }


windows = Windows()


def taken(request: HttpRequest, rate: Rate) -> Allowance:
    """One request of whoever sends it: a token or a person, else an address."""
    principal = scope_of_request(request).principal
    caller = principal.actor_uid if principal else f"address {address_of(request)}"
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
