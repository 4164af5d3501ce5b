"""Questions about what happened, answered as rows ready to show.

Every question takes the scope of whoever asks first: what it does not reach is not in the answer,
and a tenant named in a filter can only narrow it. The number of SQL statements is fixed.
A telemetry database that cannot be read is an answer too: its state says so.
"""

from __future__ import annotations

from controlplane.telemetry.queries.components import (
    ComponentFigures,
    SignalFigures,
    SignalSeries,
    component,
    component_series,
    components,
    signal_series,
)
from controlplane.telemetry.queries.coverage import Coverage, State, coverage
from controlplane.telemetry.queries.export import CSV, NDJSON, export
from controlplane.telemetry.queries.losses import Loss, losses
from controlplane.telemetry.queries.nodes import STATES as NODE_STATES
from controlplane.telemetry.queries.nodes import NodeRow, nodes
from controlplane.telemetry.queries.paging import Page
from controlplane.telemetry.queries.processes import (
    Gauges,
    gauges,
    gauges_by_node,
    turned_away,
    uses,
)
from controlplane.telemetry.queries.reach import Reach, reach
from controlplane.telemetry.queries.requests import (
    RequestFilter,
    RequestRow,
    RunRow,
    request,
    requests,
)
from controlplane.telemetry.queries.sessions import (
    MarkerRow,
    SessionDetail,
    SessionFilter,
    SessionRow,
    marker,
    session,
    sessions,
)
from controlplane.telemetry.queries.traffic import (
    Durations,
    Traffic,
    TrafficPoint,
    by_tenant,
    series,
    totals,
    traffic_ever,
)
from controlplane.telemetry.queries.windows import Window

__all__ = [
    "CSV",
    "NDJSON",
    "NODE_STATES",
    "ComponentFigures",
    "Coverage",
    "Durations",
    "Gauges",
    "Loss",
    "MarkerRow",
    "NodeRow",
    "Page",
    "Reach",
    "RequestFilter",
    "RequestRow",
    "RunRow",
    "SessionDetail",
    "SessionFilter",
    "SessionRow",
    "SignalFigures",
    "SignalSeries",
    "State",
    "Traffic",
    "TrafficPoint",
    "Window",
    "by_tenant",
    "component",
    "component_series",
    "components",
    "coverage",
    "export",
    "gauges",
    "gauges_by_node",
    "losses",
    "marker",
    "nodes",
    "reach",
    "request",
    "requests",
    "series",
    "session",
    "sessions",
    "signal_series",
    "totals",
    "traffic_ever",
    "turned_away",
    "uses",
]
