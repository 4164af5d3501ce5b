"""What the control plane's databases say about nodes, jobs, alarms and messages (04 §10.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.db import connections
from django.db.models import Count, Sum
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from controlplane.alarms.models import Alarm, Channel, Delivery, Severity
from controlplane.fleet.models import NodeAck, PublishedResource
from controlplane.jobs.models import JobRun
from controlplane.metrics.labels import TENANTS_MAX
from controlplane.telemetry.files import bytes_used
from controlplane.telemetry.models import NodeStream, TelemetryGap
from controlplane.telemetry.queries import NODE_STATES, nodes
from dataplane.core import resource

HERE = "From the database, all tenants."


def ingestion() -> Iterator[Metric]:
    streams = NodeStream.objects.values("node_id").order_by("node_id")
    found = list(
        streams.annotate(
            stored=Sum("batches"), again=Sum("duplicates"), held=Sum("rows"), lost=Sum("dropped")
        )
    )
    batches = CounterMetricFamily(
        "cp_ingest_batches", f"Batches of reports, by node. {HERE}", labels=["node", "outcome"]
    )
    rows = CounterMetricFamily("cp_ingest_rows", f"Rows of reports. {HERE}", labels=["kind"])
    dropped = CounterMetricFamily(
        "cp_telemetry_dropped",
        f"Rows that a node had no room for, or that no database can store. {HERE}",
        labels=["node", "class"],
    )
    for row in found:
        batches.add_metric([row["node_id"], "stored"], row["stored"])
        batches.add_metric([row["node_id"], "duplicate"], row["again"])
        dropped.add_metric([row["node_id"], "rows"], row["lost"])
    rows.add_metric(["request"], sum(row["held"] for row in found))
    gaps = CounterMetricFamily(
        "cp_telemetry_gaps", f"Stretches that did not arrive, by node. {HERE}", labels=["node"]
    )
    missing = TelemetryGap.objects.filter(kind="batches").values_list("node_id")
    for node, number in missing.annotate(n=Count("id")).order_by("node_id"):
        gaps.add_metric([node], number)
    yield from (batches, rows, dropped, gaps)


def fleet() -> Iterator[Metric]:
    found = nodes()
    states = Counter(node.state for node in found)
    yield _gauge("cp_nodes", "Nodes by how far they follow.", "state",
                 {state: states[state] for state in NODE_STATES})  # fmt: skip
    yield _gauge("cp_ingest_lag_seconds", "How late a node's reports arrive.", "node",
                 {node.node_id: node.lag_ms / 1000 for node in found})  # fmt: skip
    pushed = CounterMetricFamily(
        "cp_config_push", f"Answers of nodes to what was published. {HERE}", labels=["outcome"]
    )
    refused = CounterMetricFamily(
        "cp_config_nack", f"Refusals of what was published. {HERE}", labels=["node", "code"]
    )
    answers = dict(NodeAck.objects.values_list("status").annotate(n=Count("id")).order_by())
    for outcome in NodeAck.Status.values:
        pushed.add_metric([outcome], answers.get(outcome, 0))
    for (node, code), number in _nacks().items():
        refused.add_metric([node, code], number)
    yield from (pushed, refused)


def _nacks() -> Counter[tuple[str, str]]:
    rows = NodeAck.objects.filter(status=NodeAck.Status.NACK).values_list("node_id", "errors")
    return Counter(
        (node, str(error.get("code", "unknown"))) for node, errors in rows for error in errors
    )


def versions() -> Iterator[Metric]:
    """Of the first tenants by uid; beyond the limit nobody reads a series each."""
    wanted = PublishedResource.objects.filter(type=resource.TENANT).order_by("name")
    published = dict(wanted.values_list("name", "version")[:TENANTS_MAX])
    yield _gauge("cp_resource_version", "Newest published version of a tenant.", "tenant",
                 published)  # fmt: skip
    acked = GaugeMetricFamily(
        "cp_resource_acked_version",
        "Newest version of a tenant that the node accepted.",
        labels=["tenant", "node"],
    )
    accepted = NodeAck.objects.filter(type=resource.TENANT, status=NodeAck.Status.ACK)
    newest: dict[tuple[str, str], int] = {}
    for tenant, node, version in accepted.values_list("name", "node_id", "version"):
        newest[tenant, node] = max(version, newest.get((tenant, node), 0))
    for (tenant, node), version in sorted(newest.items()):
        if tenant in published:
            acked.add_metric([tenant, node], version)
    yield acked


def alarms() -> Iterator[Metric]:
    open_now = Alarm.objects.exclude(state=Alarm.State.RESOLVED)
    found = dict(open_now.values_list("severity").annotate(n=Count("id")).order_by())
    yield _gauge("cp_alarms_open", "Alarms that are not resolved.", "severity",
                 {severity: found.get(severity, 0) for severity in Severity.values})  # fmt: skip
    told = CounterMetricFamily(
        "cp_notifications",
        f"Messages to channels; falls when old ones are deleted. {HERE}",
        labels=["kind", "outcome"],
    )
    kinds = Delivery.objects.values_list("channel__kind", "state")
    counted = {(kind, state): n for kind, state, n in kinds.annotate(n=Count("id")).order_by()}
    for kind in Channel.Kind.values:
        for state in Delivery.State.values:
            told.add_metric([kind, state.replace(" ", "_")], counted.get((kind, state), 0))
    yield told


def jobs() -> Iterator[Metric]:
    rows = list(JobRun.objects.order_by("task"))
    yield _gauge("cp_job_seconds", "How long the last run of a job took.", "task",
                 {row.task: row.duration_ms / 1000 for row in rows
                  if row.duration_ms is not None})  # fmt: skip
    yield _gauge("cp_job_failures", "Runs of a job that failed since its last success.", "task",
                 {row.task: row.failures for row in rows})  # fmt: skip
    yield _gauge("cp_job_last_success_timestamp_seconds", "When a job last succeeded.", "task",
                 {row.task: row.succeeded_at / 1000 for row in rows
                  if row.succeeded_at is not None})  # fmt: skip


def sizes() -> Iterator[Metric]:
    found = {alias: _bytes(alias) for alias in connections}
    yield _gauge("cp_db_bytes", "Size of a database, with its log.", "db", found)


def _bytes(alias: str) -> int:
    connection = connections[alias]
    if connection.vendor == "sqlite":
        return bytes_used(Path(str(connection.settings_dict["NAME"])))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
