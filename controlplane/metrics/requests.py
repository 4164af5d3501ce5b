"""Requests of pages and API, counted in this process since start (04 §10.1)."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate

from django.http import HttpRequest, HttpResponse
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

Answer = Callable[[HttpRequest], HttpResponse]
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
NOWHERE = "unmatched"  # one name for every path that is none, or a scan would make series
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestCounts:
    """route: as Django prints the pattern, so that no identifier becomes a label."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._slots: Counter[int] = Counter()
        self._total_s = 0.0

    def add(self, route: str, method: str, status: int, took_s: float) -> None:
        with self._lock:
            self._answers[route, method, status] += 1
            self._slots[bisect_left(BOUNDS_S, took_s)] += 1
            self._total_s += took_s

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            answers, slots, total_s = dict(self._answers), Counter(self._slots), self._total_s
        counted = CounterMetricFamily(
            "cp_http_requests",
            "Requests of pages and API, in this process since start, all tenants.",
            labels=["route", "method", "status"],
        )
        for (route, method, status), number in sorted(answers.items()):
            counted.add_metric([route, method, str(status)], number)
        yield counted
        took = HistogramMetricFamily(
            "cp_http_seconds",
            "From the head of such a request to its answer, in this process since start.",
        )
        ends = [*(str(bound) for bound in BOUNDS_S), "+Inf"]
        sums = accumulate(slots[place] for place in range(len(ends)))
        took.add_metric([], list(zip(ends, sums, strict=True)), total_s)
        yield took


counts = RequestCounts()


class CountRequests:
    """Around everything that Django answers."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self._answer(request)
        match = request.resolver_match
        route = f"/{match.route}" if match else NOWHERE
        method = request.method if request.method in METHODS else "other"
        counts.add(route, str(method), response.status_code, time.perf_counter() - began)
        return response
