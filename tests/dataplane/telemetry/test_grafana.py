"""The Grafana dashboard asks for series and labels that a node really serves."""

from __future__ import annotations

import json
import re
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests import house
from tests.dataplane.gateway_cases.served import LONG, Served, with_output

DASHBOARD: dict[str, Any] = json.loads(house.read("docker/grafana/headrace.json"))
ASKED = [
    (panel["title"], target["expr"])
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", ())
]
ADDED_BY_THE_SCRAPER = {"instance"}
SERIES = re.compile(r"\b(c[gp]_[a-z0-9_]+)(?:\{([^}]*)\})?")


async def served_labels(served: Served) -> dict[str, set[str]]:
    """Series to the names of its labels, after a request that a component acted on."""
    await served.post(with_output(LONG))
    page = (await served.send("GET", "/metrics")).text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


async def test_every_panel_asks_for_what_a_node_serves(served: Served) -> None:
    exposed = await served_labels(served)

    for title, expression in ASKED:
        asked = SERIES.findall(expression)
        assert asked, title
        for series, matchers in asked:
            assert series in exposed, f"{title}: {series}"
            named = {*re.findall(r"(\w+)\s*[=!]~?", matchers), *_grouped(expression)}
            assert named - exposed[series] <= ADDED_BY_THE_SCRAPER, f"{title}: {named}"


def _grouped(expression: str) -> list[str]:
    found = re.search(r"\bby \(([^)]*)\)", expression)
    return re.split(r",\s*", found[1]) if found else []


def test_every_panel_says_what_it_shows_and_where_its_figures_come_from() -> None:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]

    assert all(panel["description"] for panel in panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
