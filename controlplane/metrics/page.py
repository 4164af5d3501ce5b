"""The control plane's part of /metrics, behind the node's (03 §6.2, 04 §10.1)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from django.db import DatabaseError, close_old_connections
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.metrics import facts, requests
from controlplane.metrics.months import months

log = logging.getLogger("headrace.metrics")
Source = Callable[[], Iterator[Metric]]
Clients = Callable[[], Mapping[str, int]]


def exposition(clients: Clients = dict) -> bytes:
    """In text format 0.0.4. clients: live streams of this process by kind."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(clients))
    return generate_latest(registry)


def from_a_thread(clients: Clients) -> bytes:
    """The same for a thread that keeps no connection to the databases."""
    close_old_connections()
    try:
        return exposition(clients)
    finally:
        close_old_connections()


def sources() -> Mapping[str, Source]:
    """What is read by itself: where one cannot be, the others still are."""
    return {
        "ingestion": facts.ingestion,
        "fleet": facts.fleet,
        "versions": facts.versions,
        "alarms": facts.alarms,
        "jobs": facts.jobs,
        "sizes": facts.sizes,
        "months": partial(months, timezone.now()),
    }


class _Page(Collector):
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def collect(self) -> Iterator[Metric]:
        yield from requests.counts.collect()
        streams = GaugeMetricFamily(
            "cp_live_clients", "Open live streams of this process.", labels=["kind"]
        )
        now = self._clients()
        for kind in ("sse", "websocket"):
            streams.add_metric([kind], now.get(kind, 0))
        yield streams
        yield from _read()


def _read() -> Iterator[Metric]:
    """Series that cannot be read are absent, never 0; a gauge says which those are."""
    unreadable = GaugeMetricFamily(
        "cp_unreadable",
        "1 where the series of a source are absent: no database.",
        labels=["source"],
    )
    for name, source in sources().items():
        try:
            found = list(source())
        except (DatabaseError, OSError):
            log.exception("cp.metrics_unreadable source=%s", name)
            unreadable.add_metric([name], 1)
            continue
        unreadable.add_metric([name], 0)
        yield from found
    yield unreadable
