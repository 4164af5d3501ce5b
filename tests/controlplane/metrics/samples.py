"""An exposition as a test asks it."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector


class Samples:
    def __init__(self, text: str) -> None:
        self._found = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def labels(self, name: str) -> list[dict[str, str]]:
        return [sample.labels for sample in self._found if sample.name == name]

    def value(self, name: str, **labels: str) -> float:
        """Of the one series with exactly these labels."""
        (found,) = (s for s in self._found if s.name == name and s.labels == labels)
        return float(found.value)

    def sum(self, name: str) -> float:
        return float(sum(sample.value for sample in self._found if sample.name == name))


class _Given(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def read(families: Iterable[Metric]) -> Samples:
    """As a scraper sees them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(families))
    return Samples(generate_latest(registry).decode())
