"""Is the product itself well: databases, disk, reports, jobs, messages (04 section 5.15)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count

from controlplane.accounts.models import Secret
from controlplane.alarms.models import Channel, Delivery
from controlplane.fleet import running
from controlplane.jobs.models import JobRun
from controlplane.telemetry.models import TelemetryGap
from controlplane.telemetry.queries import nodes
from controlplane.ui.component_rows import Verdict
from controlplane.ui.numerals import NO_DATA, UNKNOWN, Figure, count, duration, plural, share
from controlplane.ui.session_rows import at

PASSES = Verdict("pass", "ok", "ok")
LOOK = Verdict("look", "watch", "watch")
FAILS = Verdict("fail", "alarm", "alarm")
NOT_KNOWN = Verdict("unknown", "unknown", "quiet")
DISK_HIGH = 0.85
SCALES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at. said: the sentence behind the verdict."""

    name: str
    verdict: Verdict
    said: str


def checks(now: datetime) -> list[Check]:
    """Each by itself: one that cannot be done says so, and the others go on."""
    return [_done(name, look, now) for name, look in LOOKS]


def _done(name: str, look: Callable[[datetime], tuple[Verdict, str]], now: datetime) -> Check:
    try:
        verdict, said = look(now)
    except (DatabaseError, OSError) as problem:
        return Check(name, FAILS, f"It cannot be looked at: {type(problem).__name__}.")
    return Check(name, verdict, said)


def _node(_now: datetime) -> tuple[Verdict, str]:
    if not running.is_here():
        return NOT_KNOWN, "No node runs in this process."
    stats = running.stats(None) or {}
    return PASSES, f"{stats.get('node', 'The node')} serves in this process."


def _reports(_now: datetime) -> tuple[Verdict, str]:
    found = nodes()
    heard = [node for node in found if node.state != "offline"]
    if not found:
        return NOT_KNOWN, "No node has reported yet."
    lag = max((node.lag_ms for node in heard), default=0)
    said = f"{len(heard)} of {plural(len(found), 'node')} report; the slowest {lag} ms late."
    return (PASSES if len(heard) == len(found) else LOOK), said


def _dropped(_now: datetime) -> tuple[Verdict, str]:
    found = nodes()
    dropped, missing = sum(n.dropped for n in found), sum(n.missing for n in found)
    gaps = TelemetryGap.objects.filter(kind="batches").count()
    if not (dropped or missing or gaps):
        return PASSES, "Every batch arrived, and no row was dropped."
    return LOOK, (
        f"{plural(gaps, 'gap')} in the batches; {plural(dropped, 'row')} dropped by full queues or "
        f"past what a database holds; "
        f"{plural(missing, 'request')} counted by nodes and not here."
    )


def _disk(_now: datetime) -> tuple[Verdict, str]:
    used = shutil.disk_usage(settings.ENVIRONMENT.data_dir)
    ratio = used.used / (used.used + used.free)
    said = f"{share(used.used, used.used + used.free)} of the data directory's disk is used."
    return (LOOK if ratio > DISK_HIGH else PASSES), said


def _migrations(_now: datetime) -> tuple[Verdict, str]:
    waiting = 0
    for alias in connections:
        executor = MigrationExecutor(connections[alias])
        waiting += len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if waiting:
        return FAILS, f"{plural(waiting, 'migration')} waiting: run `manage.py migrate`."
    return PASSES, "Every migration is applied."


def _keys(_now: datetime) -> tuple[Verdict, str]:
    known = {key_id for key_id, _ in settings.SECRET_SEALING_KEYS}
    used = dict(
        Secret.objects.values_list("key_id").annotate(number=Count("id")).order_by("key_id")
    )
    unknown = used.keys() - known
    if unknown:
        return FAILS, f"Secrets are sealed with keys that are not here: {', '.join(unknown)}."
    named = ", ".join(f"{key_id} ({number})" for key_id, number in used.items())
    return PASSES, f"Sealing keys in use: {named}." if named else "No secret is held."


def _messages(now: datetime) -> tuple[Verdict, str]:
    day = Delivery.objects.filter(created_at__gt=now - timedelta(days=1))
    by_state = dict(day.values_list("state").annotate(number=Count("id")).order_by())
    off = Channel.objects.exclude(disabled_at=None).count()
    if not by_state and not off:
        return NOT_KNOWN, "Nobody had to be told of anything in 24 hours."
    said = ", ".join(f"{number} {state}" for state, number in sorted(by_state.items()))
    said = f"In 24 hours: {said or 'none'}."
    if off:
        said += f" {plural(off, 'channel')} switched off."
    return (LOOK if off or by_state.get("given up") else PASSES), said


def _jobs(_now: datetime) -> tuple[Verdict, str]:
    known = list(JobRun.objects.all())
    failing = sorted(job.task for job in known if job.failures)
    if not known:
        return NOT_KNOWN, "No job has run yet."
    if failing:
        return LOOK, f"The last run of {', '.join(failing)} failed."
    return PASSES, f"{plural(len(known), 'job')} did what they should."


LOOKS: Sequence[tuple[str, Callable[[datetime], tuple[Verdict, str]]]] = (
    ("Node in this process", _node),
    ("Reports of nodes", _reports),
    ("Nothing dropped", _dropped),
    ("Disk", _disk),
    ("Migrations", _migrations),
    ("Sealing keys", _keys),
    ("Jobs", _jobs),
    ("Messages", _messages),
)


@dataclass(frozen=True, slots=True)
class DatabaseRow:
    name: str
    engine: str
    size: Figure
    wal: Figure


def database_rows() -> list[DatabaseRow]:
    return [_database(alias) for alias in connections]


def _database(alias: str) -> DatabaseRow:
    connection = connections[alias]
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            size = bytes_of(cursor.fetchone()[0])
        return DatabaseRow(alias, "PostgreSQL", size, UNKNOWN)
    path = Path(str(connection.settings_dict["NAME"]))
    return DatabaseRow(alias, "SQLite", _size(path), _size(path.with_name(f"{path.name}-wal")))


def _size(path: Path) -> Figure:
    return bytes_of(path.stat().st_size) if path.exists() else NO_DATA


def bytes_of(size: int) -> Figure:
    for scale, unit in SCALES:
        if size >= scale:
            return Figure(f"{size / scale:.1f}", unit)
    return Figure(f"{size}", "B")


@dataclass(frozen=True, slots=True)
class JobRow:
    """succeeded_at, due_at: None for never. said: what it did, or why it failed."""

    task: str
    state: Verdict
    runs: Figure
    succeeded_at: datetime | None
    due_at: datetime | None
    took: Figure
    said: str


def job_rows() -> list[JobRow]:
    """Failing ones first."""
    found = JobRun.objects.order_by("task")
    return [_job(job) for job in sorted(found, key=lambda job: not job.failures)]


def _job(job: JobRun) -> JobRow:
    state = Verdict("works", "ok", "ok") if job.runs else Verdict("never ran", "wait", "quiet")
    if job.failures:
        state = Verdict(f"failed {plural(job.failures, 'time')} in a row", "no", "alarm")
    return JobRow(
        task=job.task,
        state=state,
        runs=count(job.runs),
        succeeded_at=at(job.succeeded_at) if job.succeeded_at else None,
        due_at=at(job.due_at) if job.due_at else None,
        took=duration(job.duration_ms),
        said=job.error if job.failures else job.result,
    )


def node_counts() -> list[tuple[str, Figure]]:
    """Queues and limits of the node in this process."""
    stats = running.stats(None) or {}
    found = (
        ("Requests in flight", "inflight"),
        ("Tasks", "tasks"),
        ("Originals held", "stash_live"),
        ("Room for originals", "stash_capacity"),
    )
    return [(name, count(stats.get(key))) for name, key in found]
